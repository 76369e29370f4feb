import re

import numpy as np
import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from pincite.text import grapheme_floor, line_of, line_starts, printable_surrogates, quoted_places, sentences, trim

HOSTILE_PARTS = [
    *("\r\n", "\n\n", "\n", "\r", " ", "\t", "\0", "\ud800", ". ", "! ", "Dr. ", "e\u0301", "\u0301", "- a", "1. "),
    *(
        "👨‍👩‍👧‍👦",
        "🇩🇪",
        "🇫🇷",
        "。",
        "สวัสดี ",
        "中文",
        "\u200d",
        "\u0600",
        "# H\n",
        '."',
        "\xa0",
        "\u2029",
        "\x1c",
        "한국어",
    ),
]
HOSTILE = st.lists(st.sampled_from(HOSTILE_PARTS) | st.text(max_size=6), max_size=40).map("".join)


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["Dr. Smith et al. found 3.14 units (e.g. metres).", "It works!", '"Really?" he asked.', '"Yes."', "She left."],
        ["See Fig. 3.", "No. 5 is it.", "No.", "It is not."],
        ["Edgar (c. 944 to 975) was king.", "See appendix c.", "It says more."],
        ["J. R. R. Tolkien wrote it.", "In 1998.", "Then more."],
        ["Das gilt z.B. Hunden.", "Vgl. Abs. 3 bzw. Kapitel 4.", "Ende."],
        ["Wait... what happened next?", "Nothing… really!"],
        ["¿Qué?", "Nada.", "«Bien.»", "Vale."],
        ["Это первое.", "А это второе?", "Да."],
        ["نعم؟", "هذا نص."],
        ["यह पहला है।", "यह दूसरा है।"],
    ],
)
def test_sentences_joined_by_a_space_are_found_again(expected):
    assert split(" ".join(expected)) == expected


def test_cjk_needs_no_space_and_keeps_closing_quotes():
    assert split("今天天气很好。“你好！”他说。再见") == ["今天天气很好。", "“你好！”", "他说。", "再见"]


def test_thai_spaces_divide():
    assert split("สวัสดีครับ ผมชื่อสมชาย") == ["สวัสดีครับ", "ผมชื่อสมชาย"]


def test_structure_ends_a_sentence():
    text = (
        "# Heading\nFirst line\ngoes on\n\nnew paragraph\n- item one\n- item two\n1. Step. Done\n| a | b |\n| c | d |"
    )
    expected = ["# Heading", "First line\ngoes on", "new paragraph", "- item one", "- item two", "1. Step.", "Done"]
    assert split(text) == [*expected, "| a | b |", "| c | d |"]


def test_one_line_break_of_two_characters_is_no_blank_line():
    assert split("A line\r\ngoes on.\r\n\r\nNext one\rtoo.") == ["A line\r\ngoes on.", "Next one\rtoo."]


def test_sentences_of_a_part_have_offsets_of_the_whole():
    text = "One. Two. Three."
    assert [text[a:b] for a, b in sentences(text, 5)] == ["Two.", "Three."]
    assert [text[a:b] for a, b in sentences(text, 0, 7)] == ["One.", "Tw"]


@given(HOSTILE)
@example("")
@example(" \n\t ")
def test_sentences_cover_all_that_is_not_white_space(text):
    spans = sentences(text)
    inside = np.zeros(len(text), dtype=int)
    for start, end in spans:
        assert start < end
        assert not text[start].isspace() and not text[end - 1].isspace()
        inside[start:end] += 1
    assert inside.max(initial=0) <= 1
    assert spans == sorted(spans)
    assert all(inside[i] for i, character in enumerate(text) if not character.isspace())


@pytest.mark.parametrize("unit", [".", "\n", " \n", '."', "# ", "1. ", "\n   ", "中", "ก "])
def test_a_long_run_costs_no_more_for_each_character(unit):
    # Quadratic cost would take hours here.
    assert len(sentences(unit * (300_000 // len(unit)))) >= 0


@given(HOSTILE, st.data())
def test_grapheme_floor_agrees_with_full_segmentation(text, data):
    boundaries = [0, *(match.end() for match in regex.finditer(r"\X", text))]
    start = data.draw(st.sampled_from(boundaries))
    offset = data.draw(st.integers(start, len(text)))
    assert grapheme_floor(text, start, offset) == max(edge for edge in boundaries if edge <= offset)


@given(HOSTILE)
def test_trim_is_strip(text):
    start, end = trim(text, 0, len(text))
    assert text[start:end] == text.strip()


@given(HOSTILE)
def test_lines_agree_with_a_plain_split(text):
    lines = re.split(r"\r\n|\r|\n", text)
    starts = line_starts(text)
    assert starts.dtype == np.int64
    assert len(starts) == len(lines)
    for number, (start, line) in enumerate(zip(starts, lines, strict=True), start=1):
        assert text[start : start + len(line)] == line
        assert line_of(starts, int(start)) == number
        assert line_of(starts, int(start) + len(line)) == number


@given(HOSTILE)
def test_printable_surrogates_keep_the_length_and_everything_else(text):
    clean = printable_surrogates(text)
    assert len(clean) == len(text)
    clean.encode()
    changed = [old for old, new in zip(text, clean, strict=True) if old != new]
    assert all("\ud800" <= character <= "\udfff" for character in changed)


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("one two one", "one", ["one", "one"]),
        ("He said “it’s a  well–known\nfact”.", "it's a Well-known fact\"", ["it’s a  well–known\nfact”"]),
        ("A (B) costs $5.00* [1]", "(b) costs $5.00*", ["(B) costs $5.00*"]),
        ("cost 5x00", "5.00", []),
        ("anything", " \n", []),
        ("我们在北京。", "北京", ["北京"]),
        ("a\x00b \ud800 c", "\ud800 C", ["\ud800 c"]),
    ],
)
def test_a_quote_is_found_as_people_copy_it(text, quote, expected):
    assert [text[start:end] for start, end in quoted_places(text, quote)] == expected


@given(HOSTILE, st.data())
def test_every_part_of_a_text_is_found_in_it(text, data):
    start = data.draw(st.integers(0, len(text)))
    quote = text[start : data.draw(st.integers(start, len(text)))]
    places = quoted_places(text, quote)
    assert all(a < b for a, b in places)
    assert bool(places) == bool(quote.strip())
