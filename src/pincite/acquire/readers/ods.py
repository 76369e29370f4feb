"""ODS: the sheets of OpenDocument, a row at a time, packed or as one flat XML file."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pincite.acquire.readers.base import one_line
from pincite.acquire.readers.dom import Piece
from pincite.acquire.readers.odf import Walk, is_own, looks, optional, stated, unlocked
from pincite.acquire.readers.sheet_text import CELLS, FIX, PERCENT, RESAVE, Line, letters_of, measured, tables
from pincite.acquire.readers.xml import attribute, descendants, local, number
from pincite.errors import SourceTooLarge, SourceUndecodable
from pincite.types import Scalar

# Names in full: there may be millions of cells.
_TABLE, _OFFICE, _TEXT = (f"{{urn:oasis:names:tc:opendocument:xmlns:{n}:1.0}}" for n in ("table", "office", "text"))
_KIND, _CURRENCY = f"{_OFFICE}value-type", f"{_OFFICE}currency"
_COVERED, _ROW = f"{_TABLE}covered-table-cell", f"{_TABLE}table-row"
_CELLS = frozenset({f"{_TABLE}table-cell", _COVERED})
_TAGS = (_ROW, f"{_OFFICE}body", *(f"{_TABLE}{name}" for name in ("table", "table-column", "shapes")))
_TIME = re.compile(r"PT(\d+)H(\d+)M([\d.,]+)S")
_NUMBERS = frozenset({"float", "percentage", "currency"})
_FED = 1 << 16  # bytes at a time: the parser refuses to hold more than ten million
_MOST = 1 << 14  # columns that a row may have, and hidden empty rows that one may stand for
_Sheets = Iterator[tuple[str, bool, list[Piece]]]
"""Of each its name, whether it is hidden, and its tables, then its comments and what is drawn on it."""


@dataclass(slots=True)
class _Sheet:
    """A sheet that is being read."""

    walk: Walk
    columns: list[tuple[int, str, bool]] = field(default_factory=list)  # last, style of its cells, is it hidden
    behind: list[Piece] = field(default_factory=list)  # comments and what is drawn
    row: int = 0
    count: int = 0  # cells that were written out

    def column(self, node: Any) -> None:
        """Take a column, or several."""
        last = (self.columns[-1][0] if self.columns else 0) + number(node.get(f"{_TABLE}number-columns-repeated", "1"))
        style = node.get(f"{_TABLE}default-cell-style-name", "")
        self.columns.append((last, style, node.get(f"{_TABLE}visibility") == "collapse"))

    def line(self, node: Any) -> Iterator[Line]:
        """Give a row, or several that are alike; of those that are empty, only what is hidden."""
        cells: list[str] = []
        unseen: set[int] = set()
        at = 0
        for cell in (cell for cell in node if cell.tag in _CELLS):
            repeat = min(_MOST, max(1, number(cell.get(f"{_TABLE}number-columns-repeated", "1"), 1)))
            if len(cell) or cell.get(_KIND):
                text = self._text(cell, f"{letters_of(at + 1)}{self.row + 1}")
                cells += [""] * (at - len(cells)) + [text] * repeat if text else ()
                unseen |= {place for place in range(at, len(cells)) if self._is_unseen(node, cell, place + 1)}
            at += repeat
        repeat = max(1, number(node.get(f"{_TABLE}number-rows-repeated", "1"), 1))
        is_seen = node.get(f"{_TABLE}visibility") != "collapse"
        self.count += repeat * len(cells)
        if self.count > CELLS:
            raise SourceTooLarge(f"It has more cells than can be read: over {CELLS:,}.", fix=FIX)
        for row in range(self.row + 1, self.row + 1 + (repeat if cells else 0 if is_seen else min(repeat, _MOST))):
            yield row, is_seen, [*cells], unseen
        self.row += repeat

    def _is_unseen(self, row: Any, cell: Any, place: int) -> bool:
        """Tell whether a cell is in a hidden column, under another cell, or white on white."""
        at = bisect_left(self.columns, (place,))
        column = self.columns[at] if at < len(self.columns) else (0, "", False)
        own = cell.get(f"{_TABLE}style-name") or row.get(f"{_TABLE}default-cell-style-name") or column[1]
        return column[2] or cell.tag == _COVERED or self.walk.looks.get(own) in ("white", "hidden")

    def _text(self, cell: Any, place: str) -> str:
        """Give what a cell shows: its value in full, or its text; what hangs on it comes behind the sheet."""
        lines = []
        for inner in cell:
            if inner.tag == f"{_TEXT}p":
                lines.append(self.walk.inline(inner) if len(inner) else inner.text or "")
            elif local(inner) == "annotation":
                text = "\n".join(self.walk.inline(line) for line in descendants(inner, "p")).strip()
                self.behind += [Piece("paragraph", f"Comment ({place}): {text}")] if text else []
            else:
                self.drawn([inner])
        return _value(cell, " ".join(" ".join(lines).split()))

    def drawn(self, nodes: Iterable[Any]) -> None:
        """Take texts that lie over the cells; the table of a chart is that of its cells."""
        self.walk.blocks(nodes)
        self.behind += [piece for piece in self.walk.take() if piece.kind != "table"]


def _value(cell: Any, text: str) -> str:
    """Give a cell's value as it is stored, its text where it is text or an error."""
    kind = cell.get(_KIND, "")
    stored = cell.get(f"{_OFFICE}value" if kind in _NUMBERS else f"{_OFFICE}{kind}-value", "")
    if kind == "string" or not stored or text.startswith(("#", "Err:")):
        return text or " ".join(stored.split())
    unit = PERCENT if kind == "percentage" else ("", f" {cell.get(_CURRENCY)}") if cell.get(_CURRENCY) else ("", "")
    try:
        stored = measured(float(stored), unit) if kind in _NUMBERS else stored
    except ValueError:
        return text
    time = _TIME.fullmatch(stored)
    return ":".join(time.groups()) if time else stored.replace("T", " ") if kind == "date" else stored.upper()


def read_sheets(data: bytes) -> tuple[str, dict[str, Scalar], _Sheets]:
    """Give a document's title ("" if none), what it states of itself, and its sheets; both may raise SourceError."""
    if not data.startswith(b"PK"):
        return "", {}, _sheets([data], lambda name: None)
    part = partial(optional, package := unlocked(data))
    metadata, title = stated(part("meta.xml"))
    return title, metadata, _sheets(package.chunks("content.xml"), part)


def _sheets(chunks: Iterable[bytes], part: Callable[[str], Any]) -> _Sheets:
    from lxml.etree import XMLSyntaxError

    walk, hidden, styles = Walk({}, part), set[str](), part("styles.xml")
    try:
        events = _events(chunks)
        for event, node in events:
            above = node.getparent()
            if event == "start" and local(node) == "body":
                walk.looks = looks([styles, above])
                unseen = (one for one in descendants(above, "table-properties") if attribute(one, "display") == "false")
                hidden = {attribute(one.getparent(), "name") for one in unseen}
            elif event == "start" and local(node) == "table" and local(above) == "spreadsheet":
                name, is_hidden, sheet = attribute(node, "name"), attribute(node, "style-name") in hidden, _Sheet(walk)
                yield name, is_hidden, [*tables(_lines(events, sheet, node)), *sheet.behind]
    except XMLSyntaxError as error:
        raise SourceUndecodable(f"Its part content.xml is damaged: {one_line(str(error), 120)}", fix=RESAVE) from error


def _lines(events: Iterator[tuple[str, Any]], sheet: _Sheet, table: Any) -> Iterator[Line]:
    """Yield the rows of a sheet as they are complete, and free them."""
    for node in (node for event, node in events if event == "end"):
        if node.tag == _ROW and is_own(node, table):
            yield from sheet.line(node)
            node.clear()
        elif node is table:
            return
        elif node.tag == f"{_TABLE}table-column":
            sheet.column(node)
        elif local(node) == "shapes":
            sheet.drawn(node)


def _events(chunks: Iterable[bytes]) -> Iterator[tuple[str, Any]]:
    """Parse bytes as they come."""
    from lxml.etree import XMLPullParser

    options = {"resolve_entities": False, "load_dtd": False, "remove_comments": True, "remove_pis": True}
    parser = XMLPullParser(("start", "end"), tag=_TAGS, no_network=True, **options)
    for chunk in chunks:
        for at in range(0, len(chunk), _FED):
            parser.feed(chunk[at : at + _FED])
            yield from parser.read_events()
    parser.close()
    yield from parser.read_events()
