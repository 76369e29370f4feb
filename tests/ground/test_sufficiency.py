from dataclasses import replace

import pytest

from pincite.generate.evidence import rank_sentences
from pincite.generate.relevance import Terms
from pincite.ground.sufficiency import features, judge, missing_words
from tests.ground.fakes import hits

KV = "The KV cache keeps the keys and values of earlier tokens, so that they are not computed again for each new token."
LORA = "LoRA adapts a model's behaviour by training small low-rank matrices while the weights stay frozen."
TEMPERATURE = "Temperature scales the logits before sampling: lower values make the output more deterministic."
TERMS = Terms()


def gate(question, *texts, encoder=None, strictness=0.5):
    found = hits(*texts)
    return judge(
        question,
        found,
        rank_sentences(question, found, encoder=encoder, terms=TERMS),
        terms=TERMS,
        strictness=strictness,
    )


@pytest.mark.parametrize(
    "question",
    [
        "What avoids recomputing earlier tokens?",
        "How does LoRA adapt a model?",
        "What does a lower temperature do to the output?",
    ],
)
def test_questions_on_the_documents_are_answered(question, encoder):
    assert gate(question, KV, LORA, TEMPERATURE, encoder=encoder).outcome != "not_in_documents"
    best = max((KV, LORA, TEMPERATURE), key=lambda text: len(TERMS.found(text) & TERMS.found(question)))
    assert gate(question, best).outcome != "not_in_documents"


@pytest.mark.parametrize(
    "question", ["Who won the 1998 World Cup in France?", "How tall is Mount Everest?", "When did Mozart die?"]
)
def test_questions_off_the_documents_are_refused(question, encoder):
    found = gate(question, KV, LORA, TEMPERATURE, encoder=encoder)
    assert found.outcome == "not_in_documents"
    assert found.missing and found.reasons
    assert gate(question, KV, LORA, TEMPERATURE).outcome == "not_in_documents"


def test_no_hits_mean_no_answer():
    found = gate("Anything?")
    assert (found.outcome, found.score, found.reasons) == ("not_in_documents", 0.0, ("the search found no passage",))


def test_strictness_runs_from_answering_all_to_refusing_all():
    assert gate("When did Mozart die?", KV, strictness=0.0).outcome != "not_in_documents"
    assert gate("How does LoRA adapt a model's behaviour?", LORA, strictness=1.0).outcome == "not_in_documents"


def test_missing_words_are_as_written_and_hold_no_stop_words():
    found = hits("The KV cache stores keys.")
    assert missing_words("Where does the KV cache store Zürich's keys?", found, TERMS) == ("Zürich's",)
    assert missing_words("What is the KV cache?", found, TERMS) == ()
    assert missing_words("How do you make sure that the keys work?", found, TERMS) == ()


def test_agreement_is_about_the_first_hit_of_each_search():
    one, two = hits("The cache.", "The keys.")
    first = replace(one, scores={"vector": 0.9, "keyword": 3.0})
    other = replace(two, scores={"vector": 0.5, "keyword": 9.0})
    ranking = rank_sentences("cache", (one, two), encoder=None, terms=TERMS)
    assert features((first, other), ranking, terms=TERMS)["agree"] == 0.0
    assert features((first, two), ranking, terms=TERMS)["agree"] == 1.0
    assert features((replace(one, scores={"vector": 0.9}), two), ranking, terms=TERMS)["agree"] == 0.5


def test_cosines_of_an_encoder_that_the_gate_does_not_know_are_left_out(encoder):
    from pincite.ground.verify import calibrated
    from tests.fakes import HashEncoder

    assert calibrated(encoder)
    assert not calibrated(HashEncoder())
    assert not calibrated(None)
