from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pincite.generate.evidence import evidence, rank_sentences
from pincite.generate.relevance import Terms
from pincite.ground.cite import align, check_citation, make_citation
from pincite.ground.compose import Writer
from tests.ground.fakes import HOSTILE, hits, passage

TEXT = "Intro.\nThe KV cache stores keys.\nIt grows with the context."
KV = "The KV cache stores keys and values."
LORA = "LoRA trains small matrices."


def spans(*texts):
    return rank_sentences("cache", hits(*texts), encoder=None, terms=Terms()).sentences


def test_a_claim_is_tied_to_the_span_that_shares_its_words():
    found = align("LoRA trains matrices.", spans(KV, LORA), terms=Terms())
    assert [span.text for span in found.spans] == [LORA]
    assert found.nearby == 1.0


def test_a_claim_of_two_facts_gets_two_spans():
    found = align("The KV cache stores keys and LoRA trains matrices.", spans(KV, LORA), terms=Terms())
    assert {span.text for span in found.spans} == {KV, LORA}


def test_a_claim_about_nothing_there_gets_no_span():
    assert align("Bananas ripen in autumn.", spans(KV, LORA), terms=Terms()).spans == ()
    assert align("Bananas ripen.", (), terms=Terms()).spans == ()


def test_a_marker_breaks_a_tie_but_proves_nothing():
    same = spans(KV, KV + " Really.")
    hinted = next(s.passage.id for s in same if s.passage.key == 2)
    assert align("The KV cache stores keys.", same, terms=Terms(), hinted=[hinted]).spans[0].passage.key == 2
    assert align("Bananas ripen.", same, terms=Terms(), hinted=[hinted]).spans == ()


def test_numbers_count_from_one_by_first_use_and_are_kept():
    writer = Writer()
    one, two = (evidence(passage(text, key=key), 0, end, 1, 1) for key, (text, end) in enumerate(((KV, 6), (LORA, 4))))
    assert [writer.cite(span) for span in (two, one, two)] == [1, 2, 1]
    assert [citation.quote for citation in writer.citations] == ["LoRA", "The KV"]


def test_a_citation_names_its_lines():
    part = replace(passage(TEXT, start=7), line_from=2)
    citation = make_citation(1, part, 7, len(TEXT))
    assert (citation.line_from, citation.line_to) == (2, 3)
    assert make_citation(1, part, 33, 37).line_from == 3
    assert citation.column_from is None, "nobody said where the passage begins"
    placed = replace(part, column_from=8)
    assert make_citation(1, placed, 7, 9).column_from == 8
    assert make_citation(1, placed, 10, 12).column_from == 11
    start = TEXT.rindex("\n") + 4
    assert (
        make_citation(1, part, start, start + 2).column_from
        == make_citation(1, placed, start, start + 2).column_from
        == 4
    )
    assert check_citation(citation, TEXT) is None


def test_a_quote_that_is_not_there_is_a_finding():
    citation = make_citation(1, passage(TEXT), 7, 20)
    assert check_citation(citation, TEXT.replace("cache", "store")).kind == "citation_unresolved"
    assert check_citation(citation, "").kind == "citation_unresolved"
    assert check_citation(replace(citation, start=20, quote=""), TEXT).kind == "citation_unresolved"


@given(st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=4), st.integers(0, 50))
def test_every_sentence_of_a_hostile_document_can_be_cited(parts, lead):
    text = "x" * lead + "\n" + "\n".join(parts)
    part = passage(text, start=lead)
    ranking = rank_sentences("hidden sentences", [replace(hits("")[0], passage=part)], encoder=None, terms=Terms())
    writer = Writer()
    for sentence in ranking.sentences:
        writer.cite(sentence)
    assert all(check_citation(citation, text) is None for citation in writer.citations)
    assert all(text[c.start : c.end] == c.quote for c in writer.citations)
    assert writer.findings(lambda _: text) == []
    assert len(writer.findings(lambda _: "")) == len(writer.citations)
