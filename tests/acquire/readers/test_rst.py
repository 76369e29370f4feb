"""Blocks of reStructuredText, as spans of the source."""

from __future__ import annotations

import pytest

from pincite.acquire.readers.rst import parse

TEXT = """\
=====
Title
=====

:Author: Ada
:Version: 1.2

Part
====

A paragraph with *emphasis*
over two lines. Code follows::

    literal

    block

Sub part
--------

.. code-block:: python

    def f():
        pass

.. note:: A note
   that goes on.

- one
- two

+-----+-----+
| a   | b   |
+=====+=====+
| 1   | 2   |
+-----+-----+

=====  =====
A      B
=====  =====
1      2

3      4
=====  =====

Part two
========

End.
"""


def outline(text: str) -> list[tuple[str, str]]:
    reading = parse(text, "file.rst")
    return [(block.kind, reading.text[block.start : block.end]) for block in reading.blocks]


def test_a_document():
    reading = parse(TEXT, "file.rst")
    assert reading.title == "Title"
    assert reading.metadata == {"author": "Ada", "version": "1.2"}
    assert [(block.level, block.label) for block in reading.blocks if block.kind == "heading"] == [
        (1, "Title"),
        (2, "Part"),
        (3, "Sub part"),
        (2, "Part two"),
    ]
    found = outline(TEXT)
    assert ("code", "    literal\n\n    block") in found
    assert ("code", ".. code-block:: python\n\n    def f():\n        pass") in found
    assert ("paragraph", ".. note:: A note\n   that goes on.") in found
    assert ("list", "- one\n- two") in found
    assert [text.count("\n") + 1 for kind, text in found if kind == "table"] == [5, 7]
    assert [block.label for block in reading.blocks if block.kind == "code"] == ["", "python"]


def test_levels_are_in_order_of_appearance_and_overlines_are_other_styles():
    text = "A\n~~~\n\nB\n===\n\n===\nC\n===\n\nD\n~~~\n"
    levels = [(block.label, block.level) for block in parse(text, "f").blocks]
    assert levels == [("A", 1), ("B", 2), ("C", 3), ("D", 1)]


@pytest.mark.parametrize(
    "text", ["a\n\n----\n\nb", "words\n..", "Long title here\n--", "  Indented\n========", "x = 1\ny = 2", "=== ==="]
)
def test_no_headings(text):
    assert "heading" not in [kind for kind, _ in outline(text)]


def test_unclosed_things_reach_the_end():
    assert outline("=== ===\na   b\n\nc   d\n") == [("table", "=== ===\na   b\n\nc   d")]
    assert outline("Code::\n\n  x\n\n  y") == [("paragraph", "Code::"), ("code", "  x\n\n  y")]
    assert outline("Nothing follows::") == [("paragraph", "Nothing follows::")]


def test_the_name_is_the_title_without_sections():
    assert parse("text", "my notes.rst").title == "my notes"


@pytest.mark.parametrize(
    ("title", "label"),
    [
        (":mod:`io` --- *Core* **tools**", "io --- Core tools"),
        ("The ``--all`` option of `Ann <http://a.example>`_", "The --all option of Ann"),
        (r"A\* and snake_case_, 3 * 4", "A* and snake_case, 3 4"),
    ],
)
def test_titles_are_labelled_without_their_markup(title, label):
    assert parse(f"{title}\n{'=' * len(title)}\n", "f").title == label


def test_tables_that_are_directives():
    text = ".. csv-table:: Prices\n   :header: a,b\n\n   1,2\n\nText.\n\n.. list-table::\n\n   * - x\n     - y\n"
    assert [block.kind for block in parse(text, "f").blocks] == ["table", "paragraph", "table"]
