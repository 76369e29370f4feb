"""XLSX, XLSB, XLS and ODS: sheets as pages, with the values that they hold, a row a line.

A page for each sheet, labelled with its name: the name as a heading, then a table for each run of rows without an
empty one between ("| a | b |"), whose label is its range ("B2:D9"); then comments. A hidden sheet is furniture, and
so are hidden rows, columns and cells of an XLSX sheet ("B2: value"). Numbers, dates and truth values are written in
full ("1599.99", "2021-01-01", "TRUE"), in XLSX and ODS with the unit of their format ("$1599.99", "12.5%", "3 kg");
formulas by their last value. Metadata: what the document states of itself, the names of hidden sheets and the number
of hidden cells.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from html import unescape
from operator import itemgetter
from typing import Any, NamedTuple

from pincite.acquire.package import Budget
from pincite.acquire.readers.base import one_line, stem
from pincite.acquire.readers.dom import Piece, paged
from pincite.acquire.readers.ods import read_sheets
from pincite.acquire.readers.ooxml import OLE, Parts, chart_texts, lines_of, protected, relation_id
from pincite.acquire.readers.sheet_text import (
    CELLS,
    FIX,
    HIDDEN,
    PERCENT,
    RESAVE,
    Line,
    Unit,
    column_of,
    measured,
    tables,
    unit_of,
    written,
)
from pincite.acquire.readers.xml import attribute, child, children, descendants, number, parse_xml, text_of, value_of
from pincite.errors import SourceTooLarge, SourceUndecodable
from pincite.types import Reading, Scalar

_SPARSE_BYTES = 32 << 20  # of the XML of a sheet with a larger rectangle, which is read cell by cell
_CELL = re.compile(rb'<(?:\w+:)?c\s(?:[^<>]*?\s)?r="([A-Z]{1,3})(\d{1,9})"')
_ERROR = re.compile(
    rb'<(?:\w+:)?c\s[^<>]*?\br="([A-Z]{1,3})(\d{1,7})"[^<>]*\bt="e"[^<>]*>'
    rb"(?:<(?:\w+:)?f\b[^<>]*(?:/>|>[^<]{0,999}</(?:\w+:)?f>))?<(?:\w+:)?v>(#[A-Z/0!?_]{2,15})<"
)
_TAIL = 1 << 10  # bytes: an element that begins at the end of one part of a stream ends in the next
_Sheet = tuple[str, bool, list[Piece]]
"""Its name, whether it is hidden, and what is in it."""
_ROW_TAG = re.compile(rb'<(?:\w+:)?row\s([^<>]*?\bhidden="(?:1|true)"[^<>]*)>')
_COLUMN_TAG = re.compile(rb'<(?:\w+:)?col\s([^<>]*?\bhidden="(?:1|true)"[^<>]*)>')
_RUNNING = re.compile(rb"<(?:\w+:)?(?:odd|even|first)(?:Header|Footer)>([^<]*)<")
_CODES = re.compile(r'&(?:"[^"]*"|\d+|K[0-9A-Fa-f]{6}|K\d\d[+-]\d{3}|[A-Z])')  # what they say but text
_FILEPASS = re.compile(rb"\x09\x08[\x08\x10]\x00\x00[\x05\x06]\x05\x00.{4,16}\x2f\x00[\x04\x06\x36\xc8]\x00", re.DOTALL)
_first = itemgetter(0)
_STYLED = re.compile(rb'<(?:\w+:)?c\s[^<>]*?\br="([A-Z]{1,3})(\d{1,7})"[^<>]*?\bs="(\d{1,6})"')


def read(data: bytes, name: str, media_type: str) -> Reading:
    """Read a spreadsheet, as ``base.Reader`` has it."""
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
        return "", {}, _sheets(data, None, {}, {})
    if data.lstrip()[:1] == b"<":
        return read_sheets(data)
    parts = Parts(data)
    if any(name in parts.package for name in ("META-INF/manifest.xml", "content.xml")):
        return read_sheets(data)
    paths = _sheet_parts(parts)
    surveys = _surveyed(parts, set(paths.values()))
    wide = any(survey.size > CELLS for survey in surveys.values())
    found = _cell_by_cell(parts, paths) if wide else _sheets(data, parts, paths, surveys)
    return *parts.properties(), found


class _Survey(NamedTuple):
    """What the XML of a sheet says besides its values."""

    size: int  # of the rectangle around all cells
    rows: set[int]  # that are hidden, and columns
    columns: set[int]
    cells: set[tuple[int, int]]  # row, column; white on white, or of a format that shows nothing
    errors: dict[int, dict[int, str]]  # row, column: "#N/A", which the library leaves out
    running: list[str]  # headers and footers of its pages, without the codes of their looks
    units: dict[int, list[tuple[int, int, Unit]]]  # column: from row, to row, what stands around their numbers

    def hides(self, row: int, column: int) -> bool:
        """Tell whether a cell cannot be seen."""
        return row in self.rows or column in self.columns or (row, column) in self.cells

    def measures(self, row: int, column: int, unit: Unit) -> None:
        """Take the unit of a cell; the cells of a sheet come row by row, some twice."""
        runs = self.units.setdefault(column, [])
        if not runs or row > runs[-1][1]:
            first = runs.pop()[0] if runs and runs[-1][1:] == (row - 1, unit) else row
            runs.append((first, row, unit))

    def units_in(self, row: int) -> Iterator[tuple[int, Unit]]:
        """Give the columns of a row whose numbers have a unit."""
        for column, runs in self.units.items():
            at = bisect_right(runs, row, key=_first) - 1
            if at >= 0 and row <= runs[at][1]:
                yield column, runs[at][2]


def _surveyed(parts: Parts, sheets: Iterable[str]) -> dict[str, _Survey]:
    """Look through the sheets; refuse a package that inflates to too much before anybody else opens it."""
    styles = _styles(parts)
    found = {}
    for member in parts.package.members:
        chunks = parts.package.chunks(member)
        if member.filename in sheets:
            found[member.filename] = _survey(chunks, styles)
        else:
            deque(chunks, maxlen=0)
    parts.package.budget = Budget()  # what follows reads again what has been counted
    return found


def _survey(chunks: Iterable[bytes], styles: dict[bytes, Unit | None]) -> _Survey:
    """Look through a sheet; rows that a filter hides are only out of sight."""
    found = _Survey(0, set(), set(), set(), {}, [], {})
    corners, marks, tail = (set[bytes](), set[bytes]()), set[bytes](), b""
    for part in chunks:
        seen, tail = tail + part, part[-_TAIL:]
        cells = _CELL.findall(seen)
        for at, names in enumerate(corners):
            names |= {cell[at] for cell in cells}
        marks.update(mark for mark in (b"<autoFilter", b"<tableParts", b"<conditionalFormatting") if mark in seen)
        found.rows.update(int(n) for tag in _ROW_TAG.findall(seen) for n in re.findall(rb'\br="(\d{1,7})"', tag))
        for tag in _COLUMN_TAG.findall(seen):
            ends = [int(n) for name in (b"min", b"max") for n in re.findall(name + rb'="(\d{1,5})"', tag)]
            found.columns.update(range(ends[0], min(ends[-1], 16_384) + 1) if ends else ())
        for letters, row, style in _STYLED.findall(seen) if styles else ():
            if style in styles:
                place, unit = (int(row), column_of(letters.decode())), styles[style]
                found.measures(*place, unit) if unit else found.cells.add(place)
        for letters, row, error in _ERROR.findall(seen) if b't="e"' in seen else ():
            found.errors.setdefault(int(row), {})[column_of(letters.decode())] = error.decode()
        running = _RUNNING.findall(seen) if b"er>" in seen else ()
        texts = (_CODES.sub(" ", unescape(text.decode("utf-8", "replace"))) for text in running)
        found.running.extend(" ".join(text.split()) for text in texts)
    if b"<autoFilter" in marks:
        found.rows.clear()
    if marks - {b"<autoFilter"}:  # these may colour the ground
        found.cells.clear()
    widths, heights = [column_of(name.decode()) for name in corners[0]], [int(name) for name in corners[1]]
    size = (max(heights) - min(heights) + 1) * (max(widths) - min(widths) + 1) if heights else 0
    return found._replace(size=size)


# --- sheets


def _sheets(data: bytes, parts: Parts | None, paths: dict[str, str], surveys: dict[str, _Survey]) -> Iterable[_Sheet]:
    """Give the sheets; ``paths`` are their parts in XLSX, where a damaged workbook may still be read cell by cell."""
    from python_calamine import CalamineError, SheetTypeEnum, SheetVisibleEnum, load_workbook

    found = []
    try:
        opened = load_workbook(io.BytesIO(data))
        for about in opened.sheets_metadata:
            path, content = paths.get(about.name, ""), []
            if about.typ == SheetTypeEnum.WorkSheet:
                cells = opened.get_sheet_by_name(about.name)
                left = cells.start[1] + 1 if cells.start else 1
                content = [*tables(_lines(cells, left, surveys.get(path)), left)]
            content += _beside(parts, path, surveys) if parts and path else []
            if content or about.typ == SheetTypeEnum.WorkSheet:
                found.append((about.name, about.visible != SheetVisibleEnum.Visible, content))
    except (CalamineError, ValueError, OSError, OverflowError) as error:
        if parts and paths:
            return _cell_by_cell(parts, paths)
        reason = " ".join(str(error).split())[:120].rstrip(".")
        if "assword" in reason:
            raise protected() from error
        if parts and "detect" in reason:
            raise SourceUndecodable("It is no whole spreadsheet.", fix=RESAVE) from error
        raise SourceUndecodable(f"It is damaged: {reason}.", fix=RESAVE) from error
    return found


def _lines(sheet: Any, left: int, survey: _Survey | None) -> Iterator[Line]:
    """Write the rows of a sheet; its iterator begins at row 1 and column ``left``."""
    for row, values in enumerate(sheet.iter_rows(), 1):
        is_seen = not (survey and row in survey.rows)
        errors = survey.errors.get(row, {}) if survey else {}
        if values.count("") < len(values) or errors or not is_seen:
            cells = ["" if value == "" else written(value) for value in values]
            for column, unit in survey.units_in(row) if survey and survey.units else ():
                value = values[column - left] if 0 <= column - left < len(values) else ""
                if isinstance(value, int | float) and not isinstance(value, bool):
                    cells[column - left] = measured(value, unit)
            for column, text in errors.items():
                cells[column - left : column - left + 1] = [text] if 0 <= column - left < len(cells) else []
            places = range(len(cells)) if survey and (survey.columns or survey.cells) else ()
            yield (row, is_seen, cells, {at for at in places if survey and survey.hides(row, left + at)})


# --- what the library does not give: what cannot be seen, comments, and sheets with a cell in each corner


def _styles(parts: Parts) -> dict[bytes, Unit | None]:
    """Give the numbers of styles of cells that say more than the value: its unit, or None where nothing is seen.

    Nothing is seen of white without a fill, and in the format ";;;".
    """
    root = parts.optional("xl/styles.xml")
    formats, fonts, fills, styles = (child(root, name) for name in ("numFmts", "fonts", "fills", "cellXfs"))
    codes = {attribute(one, "numFmtId"): attribute(one, "formatCode") for one in children(formats)}
    units = {"9": PERCENT, "10": PERCENT} | {number: unit_of(code) for number, code in codes.items()}
    white = {str(n) for n, font in enumerate(children(fonts)) if _is_white(child(font, "color"))}
    bare = {
        str(n) for n, fill in enumerate(children(fills))
        if value_of(fill, "patternFill", name="patternType") in ("", "none") and child(fill, "gradientFill") is None
    }  # fmt: skip
    found: dict[bytes, Unit | None] = {}
    for n, style in enumerate(children(styles)):
        shown = attribute(style, "numFmtId")
        is_white = attribute(style, "fontId") in white and (attribute(style, "fillId") or "0") in bare
        if is_white or codes.get(shown, "").strip() == ";;;":
            found[b"%d" % n] = None
        elif any(units.get(shown, "")):
            found[b"%d" % n] = units[shown]
    return found


def _is_white(colour: Any) -> bool:
    if colour is None or attribute(colour, "tint"):
        return False
    return attribute(colour, "rgb")[-6:].upper() == "FFFFFF" or attribute(colour, "theme") == "0"


def _sheet_parts(parts: Parts) -> dict[str, str]:
    """Name the part of each sheet of an XLSX document."""
    main = parts.main("xl/workbook.xml")
    root, relations = parts.optional(main) if main.endswith(".xml") else None, parts.relations(main)
    named = ((sheet, relations.get(relation_id(sheet))) for sheet in descendants(root, "sheet"))
    return {attribute(sheet, "name"): to.target for sheet, to in named if to and to.target in parts.package}


def _beside(parts: Parts, path: str, surveys: dict[str, _Survey]) -> Iterator[Piece]:
    """Write what is beside the cells of a sheet.

    Comments: of a thread each one, of the copy that old programs see none. What is drawn on it: of a chart its texts,
    as its values are those of cells. Headers and footers of its pages are furniture.
    """
    threads = parts.related(path, "threadedComment")
    for part in threads or parts.related(path, "comments"):
        for node in descendants(parts.optional(part), "threadedComment", "comment"):
            text = "".join(text_of(inner) for inner in descendants(node, "t", "text")).strip()
            if text:
                yield Piece("paragraph", f"Comment ({attribute(node, 'ref')}): {text}")
    for drawing in parts.related(path, "drawing"):
        for body in descendants(parts.optional(drawing), "txBody"):
            yield Piece("paragraph", "\n".join(lines_of(body)))
        for chart in parts.related(drawing, "chart"):
            title, others = chart_texts(parts.xml(chart))
            yield Piece("paragraph", "\n".join([title, *others]).strip())
    for line in dict.fromkeys(surveys[path].running if path in surveys else ()):
        yield Piece("furniture", line)


def _cell_by_cell(parts: Parts, paths: dict[str, str]) -> Iterator[_Sheet]:
    """Read a workbook that the library cannot: values as they are stored, in lines "A1: value"."""
    package = parts.package
    strings = []
    if "xl/sharedStrings.xml" in package:
        items = parse_xml(_small(package.read("xl/sharedStrings.xml"), "shared text"))
        strings = [" ".join("".join(text_of(t) for t in descendants(item, "t")).split()) for item in items]
    for label, path in paths.items():
        data = _small(package.read(path), f"sheet {one_line(label)!r}")
        stored = ((attribute(cell, "r"), _stored(cell, strings)) for cell in descendants(parse_xml(data), "c"))
        lines = [f"{place}: {value}" for place, value in stored if value]
        yield label, False, [Piece("list", "\n".join(lines)), *_beside(parts, path, {})]


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
