"""XLSX, XLSB, XLS and ODS: sheets as pages, with the values that they hold, a row a line."""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from html import unescape
from typing import Any, NamedTuple

from pincite.acquire.package import Budget
from pincite.acquire.readers.base import one_line, stem
from pincite.acquire.readers.dom import Piece, paged
from pincite.acquire.readers.ods import read_sheets
from pincite.acquire.readers.ooxml import OLE, Parts, chart_texts, lines_of, protected
from pincite.acquire.readers.sheet_text import CELLS, FIX, HIDDEN, RESAVE, Line, column_of, tables, written
from pincite.acquire.readers.xml import attribute, child, descendants, number, parse_xml, text_of, value_of
from pincite.errors import SourceTooLarge, SourceUndecodable
from pincite.types import Reading, Scalar

_SPARSE_BYTES = 32 << 20  # of the XML of a sheet with a larger rectangle, which is read cell by cell
_CELL = re.compile(rb'<(?:\w+:)?c\s(?:[^<>]*?\s)?r="([A-Z]{1,3})(\d{1,9})"')
_TAIL = 1 << 10  # bytes: an element that begins at the end of one part of a stream ends in the next
_Sheet = tuple[str, bool, list[Piece]]
"""Its name, whether it is hidden, and what is in it."""
_ROW_TAG = re.compile(rb'<(?:\w+:)?row\s([^<>]*?\bhidden="(?:1|true)"[^<>]*)>')
_COLUMN_TAG = re.compile(rb'<(?:\w+:)?col\s([^<>]*?\bhidden="(?:1|true)"[^<>]*)>')
_RUNNING = re.compile(rb"<(?:\w+:)?(?:odd|even|first)(?:Header|Footer)>([^<]*)<")
_CODES = re.compile(r'&(?:"[^"]*"|\d+|K[0-9A-Fa-f]{6}|K\d\d[+-]\d{3}|[A-Z])')  # what they say but text
_FILEPASS = re.compile(rb"\x09\x08[\x08\x10]\x00\x00[\x05\x06]\x05\x00.{4,12}\x2f\x00[\x04\x06\x36]\x00", re.DOTALL)
_STYLED = re.compile(rb'<(?:\w+:)?c\s[^<>]*?\br="([A-Z]{1,3})(\d{1,7})"[^<>]*?\bs="(\d{1,6})"')


def read(data: bytes, name: str, media_type: str) -> Reading:
    """Read a spreadsheet.

    Args:
        data: the document.
        name: the file's name, its title.
        media_type: not used; the bytes say which format it is.

    Returns:
        A page for each sheet, labelled with its name: the name as a heading, then a table for each run of rows
        without an empty one between ("| a | b |"), whose label is its range ("B2:D9"); then comments. A hidden
        sheet is furniture, and so are hidden rows, columns and cells of an XLSX sheet ("B2: value"). Numbers, dates
        and truth values are written in full ("1599.99", "2021-01-01", "TRUE"); formulas by their last value.
        Metadata: what the document states of itself, the names of hidden sheets and the number of hidden cells.

    Raises:
        SourceError: damaged, protected, or larger than is reasonable; the rectangle of a sheet counts.
    """
    title, metadata, opened = _opened(data)
    found = list(opened)
    cells = sum(piece.text.count("\n") + 1 for *_, content in found for piece in content if piece.label == HIDDEN)
    metadata |= {"hidden_cells": cells} if cells else {}
    hidden = [label for label, is_hidden, _ in found if is_hidden]
    if hidden:
        metadata["hidden_sheets"] = ", ".join(hidden)
    text, blocks, pages = paged((label, _pieces(*sheet)) for sheet in found for label in [sheet[0]])
    return Reading(text, one_line(title) or stem(name), blocks, pages, metadata)


def _pieces(label: str, is_hidden: bool, content: list[Piece]) -> Iterator[Piece]:
    shown = one_line(label)
    for piece in (Piece("heading", f"# {shown}", 1, shown), *content):
        yield replace(piece, kind="furniture", level=0, label="") if is_hidden else piece


# --- what may be opened


def _opened(data: bytes) -> tuple[str, dict[str, Scalar], Iterable[_Sheet]]:
    """Give the title ("" if it has none), what the document states of itself, and its sheets."""
    if data.startswith(OLE):
        if "EncryptedPackage".encode("utf-16-le") in data or _FILEPASS.search(data):
            raise protected()
        return "", {}, _sheets(data, None)
    if data.lstrip()[:1] == b"<":
        return read_sheets(data)
    parts = Parts(data)
    if any(name in parts.package for name in ("META-INF/manifest.xml", "content.xml")):
        return read_sheets(data)
    book = _checked(parts)
    return *parts.properties(), _cell_by_cell(book) if book.wide else _sheets(data, book)


class _Book(NamedTuple):
    """A package that may be opened."""

    parts: Parts
    paths: dict[str, str]  # sheet: its part; of XLSX only
    wide: set[str]  # parts of sheets whose rectangle is too large


def _checked(parts: Parts) -> _Book:
    """Refuse a package that inflates to too much before anybody else opens it."""
    paths = _sheet_parts(parts)
    sheets = set(paths.values())
    wide = {
        member.filename
        for member in parts.package.members
        if _rectangle(parts.package.chunks(member), member.filename in sheets) > CELLS
    }
    parts.package.budget = Budget()  # what follows reads again what has been counted
    return _Book(parts, paths, wide)


def _rectangle(chunks: Iterable[bytes], is_sheet: bool) -> int:
    """Inflate a part, and count the cells of the rectangle around all cells if it is the XML of a sheet."""
    rows: set[bytes] = set()
    columns: set[bytes] = set()
    tail = b""
    for part in chunks:
        if is_sheet:
            found = _CELL.findall(tail + part)
            columns |= {column for column, _ in found}
            rows |= {row for _, row in found}
            tail = part[-_TAIL:]
    heights, widths = [int(row) for row in rows], [column_of(column.decode()) for column in columns]
    return (max(heights) - min(heights) + 1) * (max(widths) - min(widths) + 1) if rows else 0


# --- sheets


def _sheets(data: bytes, book: _Book | None) -> Iterable[_Sheet]:
    """Give each sheet's name, whether it is hidden, and what is in it."""
    from python_calamine import CalamineError, SheetTypeEnum, SheetVisibleEnum, load_workbook

    found = []
    try:
        opened = load_workbook(io.BytesIO(data))
        for about in opened.sheets_metadata:
            path = book.paths.get(about.name, "") if book else ""
            content = []
            if about.typ == SheetTypeEnum.WorkSheet:
                cells = opened.get_sheet_by_name(about.name)
                left = cells.start[1] + 1 if cells.start else 1
                content = [*tables(_lines(cells, left, _unseen(book.parts, path) if book and path else None), left)]
            content += _beside(book.parts, path) if book and path else []
            if content or about.typ == SheetTypeEnum.WorkSheet:
                found.append((about.name, about.visible != SheetVisibleEnum.Visible, content))
    except (CalamineError, ValueError, OSError, OverflowError) as error:
        if book is None or not book.paths:
            raise _refused(error, is_package=book is not None) from error
        return _cell_by_cell(book)
    return found


def _refused(error: Exception, is_package: bool) -> SourceUndecodable | SourceTooLarge:
    reason = " ".join(str(error).split())[:120].rstrip(".")
    if "assword" in reason:
        return SourceUndecodable("It is protected by a password.", fix="Save it without a password, and add that.")
    if is_package and "detect" in reason:  # so it also calls an ODS that says it has a billion cells
        return SourceTooLarge("It is no whole spreadsheet, or has more cells than can be read.", fix=FIX)
    return SourceUndecodable(f"It is damaged: {reason}.", fix=RESAVE)


def _lines(sheet: Any, left: int, unseen: _Unseen | None) -> Iterator[Line]:
    """Write the rows of a sheet; its iterator begins at row 1 and column ``left``."""
    for row, values in enumerate(sheet.iter_rows(), 1):
        is_seen = not (unseen and row in unseen.rows)
        if values.count("") < len(values) or not is_seen:
            cells = ["" if value == "" else written(value) for value in values]
            places = range(len(cells)) if unseen else ()
            yield Line(row, is_seen, cells, {at for at in places if unseen and unseen.holds(row, left + at)})


# --- what the library does not give: what cannot be seen, comments, and sheets with a cell in each corner


class _Unseen(NamedTuple):
    """What of a sheet nobody sees."""

    rows: set[int]
    columns: set[int]
    cells: set[tuple[int, int]]  # row, column; white on white, or of a format that shows nothing

    def holds(self, row: int, column: int) -> bool:
        """Tell whether a cell cannot be seen."""
        return row in self.rows or column in self.columns or (row, column) in self.cells


def _unseen(parts: Parts, path: str) -> _Unseen | None:
    """Find hidden rows, columns and cells of an XLSX sheet; rows that a filter hides are only out of sight."""
    found, styles = _Unseen(set(), set(), set()), _blank_styles(parts)
    marks: set[bytes] = set()
    tail = b""
    for part in parts.package.chunks(path):
        seen, tail = tail + part, part[-_TAIL:]
        marks.update(mark for mark in (b"<autoFilter", b"<tableParts", b"<conditionalFormatting") if mark in seen)
        found.rows.update(int(n) for tag in _ROW_TAG.findall(seen) for n in re.findall(rb'\br="(\d{1,7})"', tag))
        for tag in _COLUMN_TAG.findall(seen):
            ends = [int(n) for name in (b"min", b"max") for n in re.findall(name + rb'="(\d{1,5})"', tag)]
            found.columns.update(range(ends[0], min(ends[-1], 16_384) + 1) if ends else ())
        for letters, row, style in _STYLED.findall(seen) if styles else ():
            if style in styles:
                found.cells.add((int(row), column_of(letters.decode())))
    if b"<autoFilter" in marks:
        found.rows.clear()
    if marks - {b"<autoFilter"}:  # these may colour the ground
        found.cells.clear()
    return found if any(found) else None


def _blank_styles(parts: Parts) -> set[bytes]:
    """Give the numbers of the styles of cells that show nothing: white without a fill, or the format ";;;"."""
    root = parts.optional("xl/styles.xml")
    formats, fonts, fills, styles = (child(root, name) for name in ("numFmts", "fonts", "fills", "cellXfs"))
    empty = {attribute(one, "numFmtId") for one in _inner(formats) if attribute(one, "formatCode").strip() == ";;;"}
    white = {str(n) for n, font in enumerate(_inner(fonts)) if _is_white(child(font, "color"))}
    bare = {
        str(n) for n, fill in enumerate(_inner(fills))
        if value_of(fill, "patternFill", name="patternType") in ("", "none") and child(fill, "gradientFill") is None
    }  # fmt: skip
    return {
        b"%d" % n for n, style in enumerate(_inner(styles))
        if attribute(style, "numFmtId") in empty
        or (attribute(style, "fontId") in white and (attribute(style, "fillId") or "0") in bare)
    }  # fmt: skip


def _is_white(colour: Any) -> bool:
    if colour is None or attribute(colour, "tint"):
        return False
    return attribute(colour, "rgb")[-6:].upper() == "FFFFFF" or attribute(colour, "theme") == "0"


def _inner_of(node: Any, name: str) -> Iterable[Any]:
    return descendants(node, name) if node is not None else ()


def _inner(node: Any) -> list[Any]:
    """Give the elements inside one that may not be there."""
    return list(node) if node is not None else []


def _sheet_parts(parts: Parts) -> dict[str, str]:
    """Name the part of each sheet of an XLSX document."""
    main = parts.main("xl/workbook.xml")
    root = parts.optional(main) if main.endswith(".xml") else None
    relations = parts.relations(main)
    found = {}
    for sheet in descendants(root, "sheet") if root is not None else ():
        key = next((value for name, value in sheet.attrib.items() if name.endswith("}id")), "")
        if key in relations and relations[key].target in parts.package:
            found[attribute(sheet, "name")] = relations[key].target
    return found


def _beside(parts: Parts, path: str) -> Iterator[Piece]:
    """Write what is beside the cells of a sheet.

    Comments: of a thread each one, of the copy that old programs see none. What is drawn on it: of a chart its texts,
    as its values are those of cells. Headers and footers of its pages are furniture.
    """
    threads = parts.related(path, "threadedComment")
    for part in threads or parts.related(path, "comments"):
        root = parts.optional(part)
        for node in descendants(root, "threadedComment", "comment") if root is not None else ():
            text = "".join(text_of(inner) for inner in descendants(node, "t", "text")).strip()
            if text:
                yield Piece("paragraph", f"Comment ({attribute(node, 'ref')}): {text}")
    for drawing in parts.related(path, "drawing"):
        for body in _inner_of(parts.optional(drawing), "txBody"):
            yield Piece("paragraph", "\n".join(lines_of(body)))
        for chart in parts.related(drawing, "chart"):
            title, others = chart_texts(parts.xml(chart))
            yield Piece("paragraph", "\n".join([title, *others]).strip())
    yield from _furniture(parts, path)


def _furniture(parts: Parts, path: str) -> Iterator[Piece]:
    """Write the headers and footers of a sheet's pages, each text once, without the codes of their looks."""
    end = b"".join(deque(parts.package.chunks(path), maxlen=2))
    texts = (_CODES.sub(" ", unescape(text.decode("utf-8", "replace"))) for text in _RUNNING.findall(end))
    yield from (Piece("furniture", line) for line in dict.fromkeys(" ".join(text.split()) for text in texts))


def _cell_by_cell(book: _Book) -> Iterator[_Sheet]:
    """Read a workbook with a sheet too large for a rectangle: values as they are stored, in lines "A1: value"."""
    package = book.parts.package
    strings = []
    if "xl/sharedStrings.xml" in package:
        items = parse_xml(_small(package.read("xl/sharedStrings.xml"), "shared text"))
        strings = [" ".join("".join(text_of(t) for t in descendants(item, "t")).split()) for item in items]
    for label, path in book.paths.items():
        data = _small(package.read(path), f"sheet {one_line(label)!r}")
        stored = ((attribute(cell, "r"), _stored(cell, strings)) for cell in descendants(parse_xml(data), "c"))
        lines = [f"{place}: {value}" for place, value in stored if value]
        yield label, False, [Piece("list", "\n".join(lines)), *_beside(book.parts, path)]


def _small(data: bytes, name: str) -> bytes:
    """Refuse what is too large to be held as a tree."""
    if len(data) > _SPARSE_BYTES:
        raise SourceTooLarge(f"Its {name} spans more than {CELLS:,} cells, or is too large.", fix=FIX)
    return data


def _stored(cell: Any, strings: list[str]) -> str:
    """Give the value of a cell as the file stores it."""
    if attribute(cell, "t") == "inlineStr":
        return " ".join("".join(text_of(t) for t in descendants(cell, "t")).split())
    value = child(cell, "v")
    text = text_of(value).strip() if value is not None else ""
    if attribute(cell, "t") != "s":
        return text
    place = number(text, -1)
    return strings[place] if 0 <= place < len(strings) else ""
