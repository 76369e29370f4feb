import pytest

from pincite.generate.evidence import rank_sentences
from pincite.generate.relevance import Terms
from pincite.ground.answer import answer_events
from pincite.ground.check import check_text
from pincite.ground.conflict import conflicts
from tests.ground.fakes import Scripted, hits, text_of

TERMS = Terms()
BRIDGE = "The Falcon bridge was opened on 3 May 1987 and is 420 metres long."


def found(one, *others, claim=""):
    sentences = {s.text: s for s in rank_sentences("", hits(one, *others), encoder=None, terms=TERMS).sentences}
    return conflicts(claim or one, [sentences[one]], list(sentences.values()), TERMS)


@pytest.mark.parametrize(
    ("other", "ours", "theirs"),
    [
        (BRIDGE.replace("420", "460"), "420 metres", "460 metres"),
        (BRIDGE.replace("3 May", "3 July"), "3 May 1987", "3 July 1987"),
        (BRIDGE.replace("1987", "1989"), "3 May 1987", "3 May 1989"),
        ("The Falcon bridge, opened in May 1987, is 440 metres long.", "420 metres", "440 metres"),
        (BRIDGE.replace("was", "was not"), "this", "not opened on 3 May 1987"),
    ],
)
def test_one_changed_fact_is_a_conflict(other, ours, theirs):
    (conflict,) = found(BRIDGE, other)
    assert (conflict.we_say, conflict.they_say) == (ours, theirs)
    assert conflict.theirs.text == other
    assert "/doc2.txt" in conflict.problem and "/doc1.txt" in conflict.message
    (reverse,) = found(other, BRIDGE)
    assert reverse.theirs.text == BRIDGE


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (BRIDGE, BRIDGE),
        (BRIDGE, "The Falcon bridge was opened in May 1987."),
        (BRIDGE, BRIDGE.replace("420", "0.42 thousand")),
        (BRIDGE, BRIDGE.replace("Falcon", "Heron").replace("420", "460")),
        (BRIDGE, BRIDGE.replace("1987", "1989").replace("420", "460")),
        ("Paris has 2,100,000 inhabitants in the city.", "London has 9,000,000 inhabitants in the city."),
        ("Sales were 12 million euros in 2020.", "Sales were 15 million euros in 2021."),
        ("The Seine flows through Paris into the sea.", "The Loire flows through Paris into the sea."),
        ("It weighs 12 kg with the battery.", "It weighs 26 pounds with the battery."),
        ("Does the Falcon bridge open at 8?", "Does the Falcon bridge open at 9?"),
    ],
)
def test_two_facts_are_no_conflict(one, other):
    assert found(one, other) == []
    assert found(other, one) == []


def test_a_changed_name_behind_the_verb_is_a_conflict():
    (conflict,) = found(
        "The bridge was designed by Anna Berg in Malmö.", "The bridge was designed by Tom Hill in Malmö."
    )
    assert (conflict.we_say, conflict.they_say) == ("Anna Berg", "Tom Hill")


def test_only_what_a_claim_says_itself_is_contested():
    other = BRIDGE.replace("420", "460")
    assert found(BRIDGE, other, claim="The Falcon bridge is 420 metres long.")
    assert not found(BRIDGE, other, claim="The Falcon bridge was opened on 3 May 1987.")


def test_sources_that_say_the_same_against_it_count_once():
    other = BRIDGE.replace("420", "460")
    assert len(found(BRIDGE, other, other + " ", BRIDGE.replace("420", "470"))) == 2


def answer(*texts, question="How long is the Falcon bridge?", **options):
    given = {"generator": None, "encoder": None, "text_of": text_of} | options
    return list(answer_events(question, hits(*texts), **given))[-1].answer


@pytest.mark.parametrize("generator", [None, Scripted("The Falcon bridge is 420 metres long [1].")])
def test_an_answer_shows_both_sides(generator):
    told = answer(BRIDGE, BRIDGE.replace("420", "460"), generator=generator)
    assert told.claims[0].verdict == "conflicting"
    assert {told.citations[number - 1].uri for number in told.claims[0].citations} == {
        "file:///doc1.txt",
        "file:///doc2.txt",
    }
    assert "460 metres" in told.claims[0].problems[0]
    assert [finding.kind for finding in told.findings] == ["sources_conflict"]


def test_a_checked_text_is_contested_too():
    found = check_text(BRIDGE, lambda claim: hits(BRIDGE, BRIDGE.replace("420", "460")), encoder=None, text_of=text_of)
    assert [claim.verdict for claim in found.claims] == ["conflicting"]
    assert len(found.claims[0].citations) == 2
    assert [finding.kind for finding in found.findings] == ["sources_conflict"]
