"""What a question takes from the turns before it."""

import numpy as np
import pytest

from pincite.find import followup
from pincite.find.analyze import ANALYZER, analyze
from pincite.find.followup import FollowUp, Part, blended, depends_on_past, joined, understand
from pincite.find.search import search
from pincite.store.sqlite.store import open_store
from pincite.types import Answer, Candidate, Stage, Turn
from tests.fakes import HashEncoder
from tests.find.test_search import names, put

GOODS = Turn("How long is the seller of goods liable for defects?", "For two years. [1]")


@pytest.mark.parametrize(
    ("question", "depends"),
    [
        ("What about a service?", True),
        ("Are those the only steps?", True),
        ("Why?", True),
        ("and in winter, when the river freezes over completely?", True),
        ("How does the provider of a cloud service report security defects?", False),
        ("Wie lange haftet der Verkäufer einer gebrauchten Maschine für verborgene Mängel?", False),
        ("Und bei Diensten?", True),
        ("", True),
        ("\ud800", True),
    ],
)
def test_pointing_words_and_few_words_tell_that_a_question_depends(question, depends):
    assert depends_on_past(question, ("en", "de")) is depends


def test_a_first_question_takes_nothing():
    assert understand("How long?", ()) == FollowUp("How long?")
    assert understand("How long?", [Turn("  ", "said")]).past == ()
    assert understand("How long?", ()).whole == "How long?"
    assert understand("How long?", ()).stages == ()


def test_a_follow_up_takes_two_turns_and_the_last_answer_without_its_numbers():
    history = [Turn("oldest"), Turn("older", "old answer"), GOODS]
    form = understand("What about a service?", history)
    assert form.past == (
        Part(GOODS.question, followup.PREVIOUS, followup.PREVIOUS),
        Part("older", pytest.approx(followup.PREVIOUS**2), pytest.approx(followup.PREVIOUS**2)),
        Part("For two years.", followup.ANSWER_VECTOR, followup.ANSWER_TERMS),
    )
    assert form.whole == "How long is the seller of goods liable for defects? What about a service?"
    assert form.stages == (Stage("understand", 0.0, {"depends": True, "taken": GOODS.question, "parts": 3}),)


def test_a_question_that_stands_alone_takes_less_and_stays_as_it_is():
    question = "Which bank pays interest on savings deposits abroad?"
    form = understand(question, [GOODS])
    assert [part.vector for part in form.past] == [
        followup.ALONE * followup.PREVIOUS,
        followup.ALONE * followup.ANSWER_VECTOR,
    ]
    assert form.whole == question


def test_an_answer_that_the_documents_did_not_give_is_no_part_of_the_conversation():
    assert Answer("q", "These documents do not answer.", "not_in_documents").turn == Turn("q")
    assert Answer("q", "Two years. [1]", "answered").turn == Turn("q", "Two years. [1]")


def test_blended_is_the_weighted_sum_at_length_one():
    question, past = np.float32([1, 0, 0]), [Part("x", 0.5, 0), Part("y", 0.25, 0)]
    vectors = {"x": np.float32([0, 1, 0]), "y": np.float32([0, 0, 1])}
    expected = np.float32([1, 0.5, 0.25]) / np.sqrt(1 + 0.25 + 0.0625)
    np.testing.assert_allclose(blended(question, past, vectors.__getitem__), expected, rtol=1e-6)
    assert blended(question, (), vectors.__getitem__) is question


def test_joined_adds_weighted_scores_and_asks_for_each_term_once():
    asked = []

    def ask(terms):
        asked.append(terms)
        return [Candidate(1, 2.0), Candidate(3, 1.0)]

    past = [Part("river delta", 0, 0.5), Part("delta sediment river", 0, 0.25), Part("the river", 0, 9.0)]
    found = joined([Candidate(1, 4.0), Candidate(2, 3.0)], ["delta"], past, ("en",), ask, 2)
    assert asked == [["river"], ["sediment"]]
    assert found == [Candidate(1, 4 + 0.5 * 2 + 0.25 * 2), Candidate(2, 3.0)]  # key 3 has 0.75, and the limit is 2


def test_equal_scores_come_in_order_of_keys():
    past = [Part("river", 0, 1.0)]
    found = joined([Candidate(9, 1.0)], [], past, ("en",), lambda _: [Candidate(7, 1.0), Candidate(8, 1.0)], 9)
    assert [candidate.key for candidate in found] == [7, 8, 9]


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
def test_the_past_decides_between_passages_that_fit_the_question_alike(tmp_path, mode):
    encoder = HashEncoder()
    store = open_store(tmp_path / "library", analyze=analyze, analyzer=ANALYZER)
    put(store, encoder, "train", "The ticket for a train costs nine pounds and a service fee.")
    put(store, encoder, "defects", "The provider of a service is liable for defects for six months.")
    put(store, encoder, "other", "Cats sleep most of the day.")
    past = understand("What about a service?", [GOODS], ("en",)).past
    alone, _ = search("What about a service?", store=store, encoder=encoder, mode=mode)
    hits, _ = search("What about a service?", store=store, encoder=encoder, mode=mode, past=past)
    assert names(hits)[0] == "defects"
    assert {hit.passage.title: hit.score for hit in alone}["train"] > 0
    again, _ = search("What about a service?", store=store, encoder=encoder, mode=mode, past=past)
    assert again == hits
    store.close()
