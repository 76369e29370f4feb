"""Notebooks."""

from __future__ import annotations

import json

import pytest

from pincite.acquire.readers.notebook import read
from pincite.errors import SourceUndecodable

NOTEBOOK = {
    "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python"}},
    "cells": [
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "- a\n", "- b"]},
        {
            "cell_type": "code",
            "source": "print(1)\n",
            "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo=", "text/plain": ["<Figure>"]}},
                {
                    "output_type": "execute_result",
                    "data": {"text/html": "<table><tr><td>a</td><td>b</td></tr></table>"},
                },
                {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["\u001b[31m"]},
            ],
        },
        {"cell_type": "raw", "source": "raw"},
        "no cell",
        {"cell_type": "code", "source": None, "outputs": 7},
    ],
}


def test_cells_are_pages_with_their_outputs():
    reading = read(json.dumps(NOTEBOOK).encode(), "x.ipynb", "")
    assert reading.title == "Title"
    assert reading.metadata == {"programming_language": "python", "kernel": "Python 3"}
    assert [(block.kind, block.label, reading.text[block.start : block.end]) for block in reading.blocks] == [
        ("heading", "Title", "# Title"),
        ("list", "", "- a\n- b"),
        ("code", "python", "print(1)"),
        ("code", "output", "1"),
        ("code", "output", "<Figure>"),
        ("table", "", "| a | b |"),
        ("code", "output", "ValueError: no"),
        ("paragraph", "", "raw"),
    ]
    assert [page.number for page in reading.pages] == [1, 2, 3, 4]
    assert reading.text[reading.pages[2].start : reading.pages[2].end] == "raw"


def test_format_3_keeps_cells_in_worksheets():
    old = {"worksheets": [{"cells": [{"cell_type": "heading", "level": 2, "source": "Old"},
                                     {"cell_type": "code", "input": "x = 1", "outputs": []}]}]}  # fmt: skip
    assert read(json.dumps(old).encode(), "x.ipynb", "").text == "## Old\n\nx = 1"


@pytest.mark.parametrize("data", [b"", b"{", b"{}", b"[]", b'{"cells": 1}', b"[" * 100_000, b'{"worksheets": 1}'])
def test_what_is_no_notebook_is_refused(data):
    with pytest.raises(SourceUndecodable) as caught:
        read(data, "x.ipynb", "")
    assert caught.value.fix
