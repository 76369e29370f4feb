from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pincite.generate.evidence import choose_evidence, distinct, is_statement, pack, rank_sentences, relevant
from pincite.generate.relevance import Terms
from tests.ground.fakes import HOSTILE, hits, passage

KV = "Caches help. The KV cache keeps keys of earlier tokens. It grows with the context."
LORA = "LoRA trains small matrices. The weights stay frozen."
TERMS = Terms()


def words(text):
    return len(text.split())


def ranked(question, *texts):
    return rank_sentences(question, hits(*texts), encoder=None, terms=TERMS)


def test_the_sentence_that_speaks_to_the_question_is_first():
    found = choose_evidence("Which weights stay frozen?", hits(KV, LORA), encoder=None, budget_tokens=400, count=words)
    assert found.items[0].text == "The weights stay frozen."
    assert [item.number for item in found.items] == list(range(1, len(found.items) + 1))


def test_adjacent_sentences_of_a_passage_are_one_verbatim_span():
    text = "The cache keeps keys.\n\nThe cache keeps tokens too."
    (item,) = pack(ranked("cache keeps keys tokens", text), budget_tokens=400, count=words).items
    assert (item.text, item.start, item.end) == (text, 0, len(text))


def test_what_does_not_fit_is_reported_and_smaller_sentences_still_may():
    texts = ("The cache " + "very " * 50 + "long keeps keys.", "The cache keeps keys.")
    found = pack(ranked("What does the cache keep? keys", *texts), budget_tokens=15, count=words)
    assert [item.text for item in found.items] == [texts[1]]
    assert [item.text for item in found.dropped] == [texts[0]]
    assert found.tokens <= 15


def test_the_limit_counts_sentences():
    found = pack(
        ranked("cache", *(f"Cache number {n} of the house." for n in range(9))), budget_tokens=999, count=words, limit=4
    )
    assert (len(found.items), len(found.dropped)) == (4, 5)


def test_near_duplicates_count_once_but_another_number_does_not_repeat():
    sentences = ranked(
        "How tall is the tower?", "The tower is 330 m tall.", "The tower is 330 m tall!", "The tower is 340 m tall."
    ).sentences
    assert [s.text for s in distinct(sentences)] == ["The tower is 330 m tall.", "The tower is 340 m tall."]


def test_a_denial_is_no_duplicate():
    texts = [
        "The tower is open to visitors.",
        "The tower is not open to visitors.",
        "The tower isn't open to visitors.",
    ]
    assert len(distinct(ranked("Is the tower open to visitors?", *texts).sentences)) == 3


def test_headings_and_questions_are_no_statements():
    assert not is_statement("What is a cache?")
    assert not is_statement("## The KV cache of a model")
    assert not is_statement("Overview")
    assert is_statement("It grows with context.")
    assert is_statement("缓存很快。")


def test_a_faq_is_answered_by_its_answer():
    found = ranked("What does the KV cache keep?", "What does the KV cache keep?\nThe KV cache keeps keys.")
    assert found.sentences[0].text == "The KV cache keeps keys."


def test_irrelevant_sentences_are_no_evidence():
    assert [s.text for s in relevant(ranked("frozen weights", LORA, "Bananas are yellow."))] == [
        "The weights stay frozen."
    ]
    assert relevant(ranked("anything")) == []


def test_offsets_are_the_documents(encoder):
    text = "Preface. " + KV
    part = passage(text, start=9)
    (hit,) = hits("")
    found = choose_evidence(
        "Which keys are kept?", [replace(hit, passage=part)], encoder=encoder, budget_tokens=99, count=words
    )
    assert found.items
    assert all(text[item.start : item.end] == item.text for item in found.items)


def test_the_order_does_not_depend_on_equal_scores():
    texts = ("The cache is fast.", "The cache is small.", "The cache is here.")
    assert [s.passage.key for s in ranked("cache", *texts).sentences] == [1, 2, 3]


@given(st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=4), st.integers(0, 60), st.text(max_size=20))
def test_evidence_is_verbatim_in_hostile_documents(parts, budget, question):
    text = "\r\n".join(parts)
    found = choose_evidence(question, hits(text), encoder=None, budget_tokens=budget, count=words, terms=TERMS)
    assert all(text[item.start : item.end] == item.text and item.text for item in (*found.items, *found.dropped))
    assert found.tokens <= budget
