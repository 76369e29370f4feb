from pincite.ground.check import check_text
from tests.ground.fakes import hits, text_of

KV = "The KV cache keeps the keys of earlier tokens."
LORA = "LoRA trains small matrices."


def checked(text, read=text_of):
    return check_text(text, lambda claim: hits(KV, LORA) if claim else (), encoder=None, text_of=read)


def test_each_sentence_is_checked_where_it_stands():
    text = "LoRA trains small matrices [4].  Bananas ripen in autumn.\nThe KV cache keeps 12 keys."
    found = checked(text)
    assert [text[c.start : c.end] == c.text for c in found.claims] == [True] * 3
    assert [c.verdict == "supported" for c in found.claims] == [True, False, False]
    assert found.claims[0].citations == (1,)
    assert found.citations[0].quote == LORA
    assert found.claims[1].citations == ()
    assert "the number 12 is not in the cited text" in found.claims[2].problems


def test_an_empty_text_has_no_claims():
    assert checked(" \n ").claims == ()
    assert checked("[1]").claims[0].verdict == "unsupported"


def test_a_quote_that_moved_is_reported():
    found = checked("LoRA trains small matrices.", read=lambda passage: "Another text.")
    assert [finding.kind for finding in found.findings] == ["citation_unresolved"]
