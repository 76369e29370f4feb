"""AsciiDoc, Org and LaTeX."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.acquire.readers.markup import parse

ADOC, ORG, TEX = "text/x-asciidoc", "text/x-org", "text/x-tex"


def spans(reading) -> list[tuple[str, int, str, str]]:
    return [(b.kind, b.level, b.label, reading.text[b.start : b.end]) for b in reading.blocks]


def test_asciidoc():
    source = (
        "= The title\n:author: Ann\n\nText\n== Section ==\n\nOld style\n---------\n[source,c]\n----\nint x;\n\n== no\n"
        "----\n"
        "* one\n** two\n\n|===\n|a |b\n\n|1 |2\n|===\n"
    )
    reading = parse(source, "x.adoc", ADOC)
    assert (reading.title, reading.metadata, reading.text) == ("The title", {"author": "Ann"}, source)
    assert spans(reading) == [
        ("heading", 1, "The title", "= The title"),
        ("paragraph", 0, "", ":author: Ann"),
        ("paragraph", 0, "", "Text"),
        ("heading", 2, "Section", "== Section =="),
        ("heading", 2, "Old style", "Old style\n---------"),
        ("paragraph", 0, "", "[source,c]"),
        ("code", 0, "", "----\nint x;\n\n== no\n----"),
        ("list", 0, "", "* one\n** two"),
        ("table", 0, "", "|===\n|a |b\n\n|1 |2\n|==="),
    ]


def test_org():
    source = (
        "#+TITLE: My notes\n#+AUTHOR: Ann\n\n* TODO First :tag:\nText\n- a\n\n#+begin_src python\n* x\n#+end_src\n"
        "| a | b |\n|---+---|\n** Sub\n"
    )
    reading = parse(source, "x.org", ORG)
    assert (reading.title, reading.metadata) == ("My notes", {"author": "Ann"})
    assert spans(reading)[1:] == [
        ("heading", 1, "First", "* TODO First :tag:"),
        ("paragraph", 0, "", "Text\n- a"),
        ("code", 0, "python", "#+begin_src python\n* x\n#+end_src"),
        ("table", 0, "", "| a | b |\n|---+---|"),
        ("heading", 2, "Sub", "** Sub"),
    ]


def test_latex():
    source = (
        "\\title{On {it}}\n\\date{2024}\n\\section*{One \\emph{two}}\\label{x}\nText\n\\begin{verbatim}\n"
        "\\section{no}\n\\end{verbatim}\n\\subsection{Long\n title}\n\\begin{tabular}{ll}\na & b\n\\end{tabular}\n"
    )
    reading = parse(source, "x.tex", TEX)
    assert (reading.title, reading.metadata, reading.text) == ("One two", {"date": "2024"}, source)
    assert spans(reading)[1:] == [
        ("heading", 2, "One two", "\\section*{One \\emph{two}}\\label{x}"),
        ("paragraph", 0, "", "Text"),
        ("code", 0, "", "\\begin{verbatim}\n\\section{no}\n\\end{verbatim}"),
        ("heading", 3, "Long title", "\\subsection{Long\n title}"),
        ("table", 0, "", "\\begin{tabular}{ll}\na & b\n\\end{tabular}"),
    ]


@pytest.mark.parametrize("language", [ADOC, ORG, TEX])
@settings(max_examples=60, deadline=None)
@given(text=st.lists(st.sampled_from([*"=*#-|{}\\ \n\rab", "----", "|===", "\\section{", "#+begin_src"])).map("".join))
def test_blocks_fit_and_hold_all_that_is_not_blank(language, text):
    reading = parse(text, "x", language)
    last = 0
    for block in reading.blocks:
        assert last <= block.start < block.end <= len(text)
        assert not text[last : block.start].strip()
        last = block.end
    assert not text[last:].strip()


def test_links_in_headings_of_org_are_labelled_by_their_words():
    headings = [block.label for block in parse("* See [[http://a][the site]]\n** [[b]]\n", "f", "text/x-org").blocks]
    assert headings == ["See the site", "b"]
