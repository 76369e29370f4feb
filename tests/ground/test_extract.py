"""Quotes in the text of an answer: prose flows, what has a shape keeps it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.generate.evidence import Sentence
from pincite.ground.extract import flowing
from tests.ground.fakes import passage


def shown(quote, text=""):
    text = text or quote
    start = text.index(quote)
    return flowing(Sentence(passage(text), start, start + len(quote), quote, frozenset(), 0, 0, 0))


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("What failed is read\nagain when it changes.", "What failed is read again when it changes."),
        ("It cost\r\n$5 million \n a year.", "It cost $5 million a year."),
        ("a kind of this\nclass of models", "a kind of this class of models"),
        ("- An item goes\n  on here.", "- An item goes on here."),
        ("the state-of-\nthe-art", "the state-of-the-art"),
        ("图书馆星期一\n关闭。", "图书馆星期一关闭。"),
        (
            "Die Bibliothek ist am Montag geschlossen, aber an den\nTagen danach offen.",
            "Die Bibliothek ist am Montag geschlossen, aber an den Tagen danach offen.",
        ),
    ],
)
def test_prose_flows(quote, text):
    assert shown(quote) == text


@pytest.mark.parametrize(
    "quote",
    [
        "import os\nimport sys",
        "def f(x):\n    return x",
        "a = 1\nb = a",
        "ls -l\ncat x | sort",
        "| a | b |\n| 1 | 2 |",
        "a\tb\nc\td",
        "x,y,z\n1,2,3",
        "name: x\nkind: y",
        "> quoted\n> text",
        "one  \nline each",
        "Roses are red,\nViolets are blue.",
        "12 High Street\nExeter\nDevon",
    ],
)
def test_what_has_a_shape_keeps_its_lines(quote):
    assert shown(quote) == quote


def test_what_stands_between_fences_keeps_its_lines():
    quote = "make the thing\nand run it"
    assert shown(quote, f"Do this:\n\n```\n{quote}\n```\n") == quote
    assert shown(quote, f"```\nmake\n```\n\n{quote}\n") == "make the thing and run it"


def test_an_indented_line_is_code():
    assert shown("make it\n    and run it", "Do:\n\n    make it\n    and run it") == "make it\n    and run it"


@given(st.text(alphabet=st.sampled_from("aA1é图-,.|:# \t\n\r\u2028`"), min_size=1).filter(lambda t: t.strip()))
def test_nothing_but_space_is_changed(text):
    quote = text.strip()
    assert "".join(shown(quote, text).split()) == "".join(quote.split())
