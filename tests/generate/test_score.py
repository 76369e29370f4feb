"""What tells that a sentence holds the answer."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.generate.score import WEIGHTS, features, has_kind, kind_asked, scores, words_of


@dataclass(frozen=True)
class Said:
    text: str

    @property
    def terms(self) -> frozenset[str]:
        return frozenset(self.text.lower().replace(".", "").split())


def measure(question, *texts, follows=None):
    sentences = [Said(text) for text in texts]
    follows = [False] * len(texts) if follows is None else follows
    zeros = np.zeros(len(texts), np.float32)
    return features(
        question,
        question.split(),
        sentences,
        cosines=zeros,
        standing=[0.5] * len(texts),
        passages=[0.25] * len(texts),
        follows=follows,
    )


def test_a_rare_term_counts_more_than_a_frequent_one():
    rows = measure("river ferry", "river one.", "river two.", "river three.", "ferry four.")
    many, one = math.log(1 + (4 - 3 + 0.5) / (3 + 0.5)), math.log(1 + (4 - 1 + 0.5) / (1 + 0.5))
    assert rows[0, 1] == pytest.approx(many / (many + one))
    assert rows[3, 1] == pytest.approx(one / (many + one))


def test_terms_of_the_sentence_before_count_when_it_follows_that():
    together = measure("river ferry", "The river is wide.", "A ferry crosses it.", follows=[False, True])
    apart = measure("river ferry", "The river is wide.", "A ferry crosses it.")
    assert together[1, 2] == pytest.approx(1.0)
    assert apart[1, 2] == apart[1, 1] < 1.0
    assert together[0].tolist() == apart[0].tolist()


@pytest.mark.parametrize(
    ("question", "has", "lacks"),
    [
        ("When did the bridge open?", "It opened in 1932.", "It opened late."),
        ("In what month was it paid?", "It was paid in March.", "It was paid at once."),
        ("How many people live in 10 villages?", "There are 400 people.", "The 10 villages are small."),
        ("How many dogs are there?", "There are two.", "There are some."),
        ("Who built the Sydney bridge?", "It was built by Bradfield.", "The bridge in Sydney is grey."),
        ("Where is the tomb?", "The tomb lies in Samarkand.", "The tomb lies in a valley."),
    ],
)
def test_the_kind_of_thing_that_is_asked_for(question, has, lacks):
    kind = kind_asked(question)
    assert has_kind(kind, words_of(question), has)
    assert not has_kind(kind, words_of(question), lacks)


def test_a_question_that_does_not_say_what_it_asks_for_favours_nothing():
    assert kind_asked("Why is the sky blue?") == ""
    assert not has_kind("", frozenset(), "In 1932 two Germans found out.")


def test_scores_are_the_weighted_sum():
    row = np.array([[0.5, 0.25, 1.0, 0.0, 0.5, 1.0]])
    w = WEIGHTS
    expected = 0.5 * w["cosine"] + 0.25 * w["rare"] + w["near"] + 0.5 * w["passage"] + w["kind"]
    assert scores(row)[0] == pytest.approx(expected)
    assert scores(np.zeros((0, 6))).shape == (0,)


@given(st.text(), st.lists(st.text(), max_size=5))
def test_any_text_has_features_from_0_to_1(question, texts):
    rows = measure(question, *texts, follows=[i > 0 for i in range(len(texts))])
    assert rows.shape == (len(texts), len(WEIGHTS))
    assert ((rows >= 0) & (rows <= 1 + 1e-9)).all()
