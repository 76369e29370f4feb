"""Rich text."""

from __future__ import annotations

import pytest

from pincite.acquire.readers.rtf import read
from pincite.errors import SourceUndecodable

HEAD = (
    r"{\rtf1\ansi\ansicpg1250\deff0{\fonttbl{\f0\fcharset0 Times;}{\f1\fcharset128 Mincho;}{\f2\fcharset204 Cyr;}}"
    r"{\stylesheet{\s0 Normal;}{\s1 heading 1;}{\s7\outlinelevel1 Mine;}}{\info{\title The title}{\author Ann}}"
)


def of(body: str):
    return read((HEAD + body + "}").encode("latin-1"), "my file.rtf", "")


def spans(reading) -> list[tuple[str, str]]:
    return [(block.kind, reading.text[block.start : block.end]) for block in reading.blocks]


def test_headings_paragraphs_and_metadata():
    reading = of(r"\pard\s1 One\par\pard\s7 Two\par\pard\outlinelevel2 Three\par\pard Text\line more\par \par Last")
    assert spans(reading) == [
        ("heading", "# One"),
        ("heading", "## Two"),
        ("heading", "### Three"),
        ("paragraph", "Text\nmore"),
        ("paragraph", "Last"),
    ]
    assert (reading.title, reading.metadata) == ("The title", {"author": "Ann"})


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"\'e8\'e1p", "čáp"),  # the code page of the document
        (r"\f1 \'93\'fa\'96\'7b\plain !", "日本!"),  # of a font: two bytes a character
        (r"{\f2 \'cc\'e8\'f0}", "Мир"),
        (r"\u8220 ?hi\u8221 ?", "“hi”"),
        (r"\uc2\u26085\'93\'fa\uc1 x", "日x"),
        (r"\u-10179 ?\u-8704 ?", "😀"),  # two halves
        (r"{\uc0\u228 }b", "äb"),  # what is left out is a group's own
        (r"a\emdash b\~c\_d\-e\{\}\\", "a—b\u00a0c-de{}\\"),
        (r"{\*\unknown gone}{\field{\*\fldinst HYPERLINK}{\fldrslt link}}", "link"),
        (r"a{\v secret}b\v0 c{\deleted old}{\pict\bin4 {{}}x}d", "abcd"),
        (r"{\headery708\footery720 not furniture}", "not furniture"),
        ("soft\r\n line", "soft line"),
    ],
)
def test_characters(body, text):
    assert of(body).text == text


def test_tables_lists_notes_and_furniture():
    reading = of(
        r"{\header Letterhead\par}\trowd\pard\intbl Item\cell Price\cell\row"
        r"\trowd\pard\intbl a\par b\cell -1.5\cell\row"
        r"\pard{\listtext 1.\tab}one\par{\listtext\'b7\tab}two\par\pard See{\footnote The note.}\par"
    )
    assert spans(reading) == [
        ("table", "| Item | Price |\n| a b | -1.5 |"),
        ("list", "1. one\n- two"),
        ("paragraph", "See[^1]"),
        ("paragraph", "[^1]: The note."),
        ("furniture", "Letterhead"),
    ]


def test_depth_is_no_problem_and_bad_starts_are():
    assert read(b"{\\rtf1" + b"{" * 100_000 + b"deep" + b"}" * 100_000, "x.rtf", "").text == "deep"
    with pytest.raises(SourceUndecodable) as caught:
        read(b"no rtf", "x.rtf", "")
    assert caught.value.fix


COLOURS = r"{\colortbl;\red0\green0\blue0;\red255\green255\blue255;\red254\green253\blue250;}"


@pytest.mark.parametrize("hidden", [r"\cf2 ", r"\cf3 ", r"\fs2 ", r"\fs1\b ", r"\v "])
def test_what_cannot_be_seen_is_counted(hidden):
    reading = of(COLOURS + rf"seen {{{hidden}ghost}} and {hidden}more\plain\fs24 seen\cf1 too\par")
    assert reading.text == "seen and seentoo"
    assert reading.metadata["hidden_text"] == 9


@pytest.mark.parametrize("shown", [r"\highlight1\cf2 ", r"\cf1 ", r"\fs3 ", r"\cf9 ", r"\cf2\cf0 ", r"\v\v0 "])
def test_what_can_be_seen_stays(shown):
    reading = of(COLOURS + rf"{{{shown}word}}\par")
    assert reading.text == "word" and "hidden_text" not in reading.metadata
    assert of(COLOURS + r"\trowd\clcbpat1\pard\intbl{\cf2 White on black}\cell b\cell\row").text.startswith("| White")


def test_formulas_are_text_without_what_only_describes_them():
    fraction = rb"{\mf{\mfPr{\mctrlPr\f1 }}{\mnum{\mr a}}{\mden{\mr b}}}"
    power = rb"{\msSup{\msSupPr}{\me{\mr x}}{\msup{\mr 2}}}"
    nary = rb"{\mnary{\mnaryPr{\mchr Z}{\msubHide on}}{\msub{\mr i}}{\msup{\mr n}}{\me{\mr k}}}"
    formula = (
        rb"{\mmath{\*\moMathPara{\*\moMath{\mr y=}" + fraction + rb"{\mr +}" + power + nary + rb"}}{\mmathPict 7}}"
    )
    assert read(rb"{\rtf1 Let " + formula + rb"\par}", "a.rtf", "").text == "Let y= a/b+ x^2_i^n k"
