"""Blocks of Markdown, as spans of the source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.acquire.readers.markdown import parse, plain


def outline(text: str) -> list[tuple[str, str]]:
    reading = parse(text, "file.md")
    return [(block.kind, reading.text[block.start : block.end]) for block in reading.blocks]


def headings(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.label) for block in parse(text, "file.md").blocks if block.kind == "heading"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# One", (1, "One")),
        ("###### Six ##", (6, "Six")),
        ("   ## Indented", (2, "Indented")),
        ("#", (1, "")),
        ("# C#", (1, "C#")),
        ("# The `code` and **bold** and *it* and __x__", (1, "The code and bold and it and x")),
        ("# snake_case_name and 2*3*4", (1, "snake_case_name and 2*3*4")),
        ("# [Link](http://x.org) and ![img](a.png)", (1, "Link and img")),
        ("# [Ref][1] text", (1, "Ref text")),
        ("# Title {#anchor .class}", (1, "Title")),
        ("# A <b>tag</b> and 1 < 2", (1, "A tag and 1 < 2")),
        (r"# Not \*bold\* and \# hash", (1, "Not *bold* and # hash")),
        ("Setext\n===", (1, "Setext")),
        ("Setext two\n---", (2, "Setext two")),
        ("Two lines\nof *heading*\n======", (1, "Two lines of heading")),
        ("# Ünïcode 日本", (1, "Ünïcode 日本")),
    ],
)
def test_headings(text, wanted):
    assert headings(text) == [wanted]
    assert headings(f"before\n\n{text}\n\nafter") == [wanted]
    assert headings(text.replace("\n", "\r\n") + "\r\n") == [wanted]


@pytest.mark.parametrize(
    "text", ["#hashtag", "####### seven", "    # code", "\\# escaped", "a\n\n---\n\nb", "- item\n---"]
)
def test_no_headings(text):
    assert headings(text) == []


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("```python\n# not a heading\n\n| a |\n```", "python"),
        ("~~~\n```\n~~~", ""),
        ("````md\n```\ninner\n```\n````", "md"),
        ("``` {.c}\nx\n```", ""),
        ("```\nnever closed\n\n# still code", ""),
        ("  ```js\n  x\n  ```", "js"),
    ],
)
def test_fences_are_whole(text, label):
    reading = parse(text, "f.md")
    (block,) = reading.blocks
    assert (block.kind, block.label) == ("code", label)
    assert reading.text[block.start : block.end] == text


def test_a_fence_ends_the_paragraph_above():
    assert outline("words\n```\ncode\n```\nmore") == [
        ("paragraph", "words"),
        ("code", "```\ncode\n```"),
        ("paragraph", "more"),
    ]


def test_a_fence_below_a_list_item_is_code():
    text = "1. first\n\n    ```sh\n    make\n\n    test\n    ```\n\n2. second"
    assert outline(text) == [
        ("list", "1. first"),
        ("code", "    ```sh\n    make\n\n    test\n    ```"),
        ("list", "2. second"),
    ]


@pytest.mark.parametrize(
    "table",
    ["| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 | 4 |", "a | b\n--|--\n1 | 2", "|a|\n|-|\n|x|", "| a | b |\n| - | - |"],
)
def test_tables(table):
    assert outline(f"before\n\n{table}\n\nafter") == [("paragraph", "before"), ("table", table), ("paragraph", "after")]
    assert outline(f"before\n{table}") == [("paragraph", "before"), ("table", table)]


def test_a_pipe_alone_is_no_table():
    assert outline("a | b\nc | d") == [("paragraph", "a | b\nc | d")]


def test_lists():
    text = "Intro:\n- one\n  more\n- two\n  - nested\n\n* other\n\n  its paragraph\n\n10. ten\n\nend"
    kinds = [kind for kind, _ in outline(text)]
    assert kinds == ["paragraph", "list", "list", "paragraph", "list", "paragraph"]
    assert outline(text)[1][1] == "- one\n  more\n- two\n  - nested"


@pytest.mark.parametrize(
    "text", ["*emphasis* begins", "-5 degrees", "1984 was a year", "+1 for that", "3.14 is pi", "A. Smith"]
)
def test_no_lists(text):
    assert outline(text) == [("paragraph", text)]


def test_indented_code_and_continued_items():
    assert outline("words\n\n    code\n\n    more\n\nwords") == [
        ("paragraph", "words"),
        ("code", "    code\n\n    more"),
        ("paragraph", "words"),
    ]
    assert [kind for kind, _ in outline("- item\n\n    continued")] == ["list", "list"]


def test_rules_are_furniture():
    assert outline("a\n\n* * *\n\nb\n***\nc") == [
        ("paragraph", "a"),
        ("furniture", "* * *"),
        ("paragraph", "b"),
        ("furniture", "***"),
        ("paragraph", "c"),
    ]


def test_front_matter_is_a_block_and_metadata_and_names_the_document():
    text = "---\ntitle: From above\ntags: [a, b]\nyear: 2024\n---\n\n# Heading\n\nText."
    reading = parse(text, "file.md")
    assert reading.title == "From above"
    assert reading.metadata == {"title": "From above", "tags": "a, b", "year": 2024}
    assert [block.kind for block in reading.blocks] == ["front_matter", "heading", "paragraph"]
    first = reading.blocks[0]
    assert reading.text[first.start : first.end] == text.partition("\n\n")[0]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("## Two\n\n# One\n\n# Other", "One"),
        ("## Two only", "my file"),
        ("text", "my file"),
        ("", "my file"),
        ("---\nauthor: x\n---\n# H", "H"),
        ("---\ntitle: ''\n---\n# H", "H"),
        ("#\n\n# Second", "Second"),
    ],
)
def test_titles(text, title):
    assert parse(text, "my file.md").title == title


def test_long_headings_are_shortened_in_the_label_only():
    text = "# " + "word " * 500
    (block,) = parse(text, "f.md").blocks
    assert len(block.label) <= 200
    assert block.label.endswith("…")
    assert block.end == len(text.rstrip())


@given(st.text(max_size=300))
def test_labels_are_one_printable_line(markup):
    assert plain(markup).isprintable()
    assert len(plain(markup)) <= 200
