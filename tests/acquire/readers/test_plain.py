"""Plain text, source code and data files: blocks of the source."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.acquire.readers import code, data, text


def spans(reading) -> list[tuple[str, str]]:
    return [(block.kind, reading.text[block.start : block.end]) for block in reading.blocks]


def test_paragraphs_and_lists_of_plain_text():
    reading = text.parse("My notes\n\nFirst paragraph\ngoes on.\r\n\r\n- one\n- two\n\n\n   indented\n", "a.txt")
    assert reading.title == "My notes"
    assert spans(reading) == [
        ("paragraph", "My notes"),
        ("paragraph", "First paragraph\ngoes on."),
        ("list", "- one\n- two"),
        ("paragraph", "   indented"),
    ]


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("\n\n  The title \nmore", "The title"),
        ("-----\ntext", "my file"),
        ("word " * 50, "my file"),
        ("", "my file"),
        ("Title\x00with\ttabs\n", "Title with tabs"),
        ("日本語の題\r本文", "日本語の題"),
    ],
)
def test_titles_of_plain_text(source, title):
    assert text.parse(source, "my file.txt").title == title


def test_code_is_cut_where_a_line_starts_at_the_margin():
    source = "import os\n\n\ndef f():\n    a = 1\n\n    return a\n\n\nclass C:\n\n    x = 1\n\n# end\n"
    reading = code.parse(source, "m.py", "text/x-python")
    assert reading.title == "m.py"
    assert spans(reading) == [
        ("code", "import os"),
        ("code", "def f():\n    a = 1\n\n    return a"),
        ("code", "class C:\n\n    x = 1"),
        ("code", "# end"),
    ]
    assert {block.label for block in reading.blocks} == {"python"}


def test_closing_brackets_belong_to_what_they_close():
    source = "void f() {\n  g();\n\n  h();\n\n}\n\nint x;\n"
    reading = code.parse(source, "m.c", "text/x-c")
    assert [found for _, found in spans(reading)] == ["void f() {\n  g();\n\n  h();\n\n}", "int x;"]


def test_each_json_line_is_a_record():
    reading = data.parse('{"a": 1}\n{"b": 2}\n\n{"c": 3}', "x.jsonl", "application/jsonl")
    assert [found for _, found in spans(reading)] == ['{"a": 1}', '{"b": 2}', '{"c": 3}']
    assert {block.label for block in reading.blocks} == {"jsonl"}


def test_a_csv_file_is_one_table_even_with_blank_lines_in_cells():
    source = 'a,b\n1,"two\n\nlines"\n3,4\n'
    assert spans(data.parse(source, "x.csv", "text/csv")) == [("table", source.strip())]
    assert spans(data.parse("\n", "x.csv", "text/csv")) == []


def test_other_data_are_blocks_of_lines():
    reading = data.parse("a: 1\nb:\n  - 2\n\nc: 3\n", "x.yaml", "application/yaml")
    assert [found for _, found in spans(reading)] == ["a: 1\nb:\n  - 2", "c: 3"]
    assert reading.title == "x.yaml"


@pytest.mark.parametrize(
    ("source", "media_type", "wanted"),
    [
        (r'{"a": "\u4f60\u597d, caf\u00e9 \ud83d\ude00"}', "application/json", '{"a": "你好, café 😀"}'),
        (r'{"a": "C:\\u4f60 \u0022 \u0041 \u2028 \ud83d \n"}', "application/json", None),
        (r"name=M\u00fcller", "text/x-ini", "name=Müller"),
        (r"path=C:\users\u12", "text/x-ini", None),
        ("<p>caf&#233; &#x4F60;&#38;&#x3c;</p>", "application/xml", "<p>café 你&#38;&#x3c;</p>"),
        ("<p>&#10;&#1234567;</p>", "application/xml", None),
        (r"a: \u00e9", "application/yaml", None),
    ],
)
def test_letters_given_by_their_numbers_can_be_found(source, media_type, wanted):
    assert data.parse(source, "x", media_type).text == (wanted or source)


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_stays_the_same_data(value):
    assert json.loads(data.parse(json.dumps(value), "x", "application/json").text) == value
