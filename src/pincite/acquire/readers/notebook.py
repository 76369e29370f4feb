"""Jupyter notebooks: cells as pages; Markdown as it stands, code, and what it printed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pincite.acquire.decode import decode
from pincite.acquire.readers.base import one_line, stem
from pincite.acquire.readers.dom import Piece, paged
from pincite.acquire.readers.html import visible_pieces
from pincite.acquire.readers.markdown import parse
from pincite.errors import SourceUndecodable
from pincite.types import Reading, Scalar

_FIX = "Open it in Jupyter, save it again, and add that."


def read(data: bytes, name: str, media_type: str) -> Reading:
    """Read a notebook.

    Args:
        data: the document, of format 3 or later.
        name: the file's name, the title when there is no better.
        media_type: not used; every reader has it.

    Returns:
        A page for each cell: Markdown with its blocks, code labelled with the language, then its outputs as text
        (labelled "output"); images are left out. Title: the first heading. Metadata: language and kernel.

    Raises:
        SourceUndecodable: it is no notebook.
    """
    text, _, warnings = decode(data)
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceUndecodable(f"It is damaged: {str(error)[:100]}.", fix=_FIX) from error
    cells = _cells(notebook)
    language = _text(_inside(notebook, "metadata", "language_info", "name")) or _text(
        _inside(notebook, "metadata", "kernelspec", "language")
    )
    parts = [("", list(_pieces(cell, one_line(language, 40)))) for cell in cells]
    full, blocks, pages = paged(parts)
    title = _text(_inside(notebook, "metadata", "title")) or next((b.label for b in blocks if b.kind == "heading"), "")
    kernel = _text(_inside(notebook, "metadata", "kernelspec", "display_name"))
    metadata: dict[str, Scalar] = {}
    metadata |= {"programming_language": one_line(language)} if language else {}
    metadata |= {"kernel": one_line(kernel)} if kernel else {}
    return Reading(full, one_line(title) or stem(name), blocks, pages, metadata, warnings=warnings)


def _cells(notebook: Any) -> list[dict[str, Any]]:
    """Give the cells; format 3 keeps them in worksheets."""
    cells = _inside(notebook, "cells")
    if cells is None:
        sheets = _inside(notebook, "worksheets")
        cells = [
            cell for sheet in (sheets if isinstance(sheets, list) else []) for cell in _inside(sheet, "cells") or []
        ]
        if not isinstance(sheets, list):
            raise SourceUndecodable("It is JSON, but not a notebook: it has no cells.", fix=_FIX)
    if not isinstance(cells, list):
        raise SourceUndecodable("Its cells are not a list.", fix=_FIX)
    return [cell for cell in cells if isinstance(cell, dict)]


def _pieces(cell: dict[str, Any], language: str) -> Iterator[Piece]:
    """Write a cell and its outputs."""
    source = _text(cell.get("source", cell.get("input")))
    kind = cell.get("cell_type")
    if kind == "markdown":
        for block in parse(source, "").blocks:
            yield Piece(block.kind, source[block.start : block.end], block.level, block.label)
    elif kind == "heading":
        level = cell.get("level")
        depth = level if isinstance(level, int) and 0 < level < 7 else 1
        label = one_line(source)
        yield Piece("heading", f"{'#' * depth} {label}" if label else "", depth, label)
    elif kind == "code":
        yield Piece("code", source.strip("\r\n"), label=language)
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            yield from _output(output)
    else:
        yield Piece("paragraph", source.strip())


def _output(output: Any) -> Iterator[Piece]:
    """Write what a cell printed: its text, the error it ended with, or a table that it only has as HTML."""
    data = _inside(output, "data") or output
    text = _text(_inside(output, "text")) or _text(_inside(data, "text/plain"))
    if _inside(output, "output_type") in ("error", "pyerr"):
        text = f"{_text(_inside(output, 'ename'))}: {_text(_inside(output, 'evalue'))}"
    html = _text(_inside(data, "text/html"))
    if html and "<table" in html.lower():
        yield from visible_pieces(html, Counter())
    else:
        yield Piece("code", text.strip("\r\n"), label="output")


def _inside(value: Any, *path: str) -> Any:
    """Follow keys down; None where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str:
    """Give a text that the format keeps as one string or as a list of lines."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""
