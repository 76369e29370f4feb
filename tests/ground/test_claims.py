from hypothesis import given
from hypothesis import strategies as st

from pincite.ground.claims import split_claims, unknown_citations, without_markers
from tests.ground.fakes import HOSTILE


def parts(text):
    return [(claim.text, claim.plain, claim.hints) for claim in split_claims(text)]


def test_markers_belong_to_the_sentence_before_them():
    assert parts("Water is wet. [1] Fire is hot [2, 3].") == [
        ("Water is wet. [1]", "Water is wet.", (1,)),
        ("Fire is hot [2, 3].", "Fire is hot.", (2, 3)),
    ]


def test_markers_on_a_new_line_start_belong_to_what_follows():
    assert [hints for _, _, hints in parts("Water is wet.\n[2] Fire is hot.")] == [(), (2,)]


def test_several_markers_and_ranges():
    assert parts("Water is wet [1][3-5].")[0][2] == (1, 3, 4, 5)
    assert parts("Water is wet [7, 1-9999].")[0][2] == (7, 1, 9999)
    assert parts("Water is wet [9-2].")[0][2] == (9, 2)


def test_closing_marker_alone_is_no_claim():
    assert parts("Water is wet.\n[1]") == [("Water is wet.\n[1]", "Water is wet.", (1,))]


def test_words_in_brackets_are_no_markers():
    assert parts("It [the cache] grows [sic].")[0] == ("It [the cache] grows [sic].", "It [the cache] grows [sic].", ())


def test_plain_text_keeps_its_words():
    assert without_markers("Water [1] is wet [2].") == "Water is wet."


def test_unknown_numbers_are_reported_each():
    claims = split_claims("Water is wet [1]. Fire is hot [7][8].")
    assert [(f.kind, f.message[:19]) for f in unknown_citations(claims, {1})] == [
        ("citation_unknown", "The text cites [7],"),
        ("citation_unknown", "The text cites [8],"),
    ]


@given(
    st.one_of(
        st.text(alphabet=st.characters(), max_size=80), st.lists(st.sampled_from(HOSTILE), max_size=3).map(" ".join)
    )
)
def test_claims_cover_the_text_and_slice_it(text):
    at = 0
    for claim in split_claims(text):
        assert text[claim.start : claim.end] == claim.text
        assert claim.text.strip()
        assert not text[at : claim.start].strip()
        at = claim.end
    assert not text[at:].strip()


@given(
    st.lists(st.sampled_from(["Water is wet.", "[1]", "[2, 3]", "\n", " ", "Is it?", "[12-14]"]), max_size=12).map(
        "".join
    )
)
def test_claims_cover_marked_text(text):
    claims = split_claims(text)
    covered = "".join(claim.text for claim in claims)
    assert "".join(covered.split()) == "".join(text.split())
