"""Tables of a PDF: consecutive lines whose words stand in columns. Rows are written whole, cells in their columns."""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import chain, groupby, pairwise, takewhile
from statistics import mean
from typing import NamedTuple

from pincite.acquire.readers.base import LIST_ITEM
from pincite.acquire.readers.pdf_page import Line, PageText

_LEAST_ROWS = 3  # with two cells or more
_MOST_LEAD = 3.2  # times the size: the distance between two rows
_ALIGNED = 0.6  # times the size: how far edges or middles of cells below each other may be apart
_SAME_BASE = 0.35  # times the size: how far base lines of one row may be apart
_MOST_ALONE = 3  # lines of one cell in a row, as where a cell is broken over several lines
_MOST_MEAN = 40  # characters of a cell, on average over a table: more is prose in columns
_SPARSE = 0.15  # share of the rows that may cross the space between two columns, as headings over several do
_ON_BASE = 0.8  # share of a column's lines that stand on a base line of the columns before, where columns are drawn
_NUMBERS = 0.6  # share of a column's lines that are numbers
_LEADER = re.compile(r"\.{4}|\. \. \. ")


class Cell(NamedTuple):
    """A run of words without a wide gap: characters [start, end) of its page, and where it stands along the line."""

    left: float
    right: float
    start: int
    end: int


_Row = list[tuple[Line, list[Cell]]]
"""The lines on one base line, each with its cells."""
_Stack = list[Line]
"""Lines of which each stands on the base line of the one before, or lower."""


def mark_tables(pages: Sequence[PageText]) -> None:
    """Mark the lines of tables: ``kind``, ``row`` (table, row, columns) and ``cells`` (column, start, end)."""
    for page in pages:
        _put_in_rows(page)
        number = 0
        body = [line for line in page.lines if line.kind == "paragraph"]
        for run in _runs(_rows(page, body)):
            columns = _columns(run)
            if len(columns) < 2 or not _is_table(page, run, columns):
                continue
            for index, row in enumerate(run):
                for line, cells in row:
                    line.kind, line.row = "table", (number, index, len(columns))
                    line.cells = [(_column(cell, columns), cell.start, cell.end) for cell in cells]
            number += 1


def _put_in_rows(page: PageText) -> None:
    """Put the lines of tables that are drawn column by column in the order of rows, as a reader sees them.

    PDFium gives lines as they are drawn: a column of a table is a paragraph, like one of a page in two columns, which
    is to be read so. What tells them apart: a table's lines stand on the base lines of their neighbours, are short, and
    in one column beside the first there are mostly numbers.
    """
    places = [at for at, line in enumerate(page.lines) if line.kind == "paragraph"]
    found: list[Line] = []
    columns: list[_Stack] = []
    for stack in _stacks(_behind_labels([page.lines[at] for at in places])):
        before, inside, behind = _beside(columns, stack)
        found += before
        columns = [columns[0][len(before) :], *columns[1:], inside] if inside else columns
        if behind:
            found += _in_rows(page, columns)
            columns = [behind]
    found += _in_rows(page, columns)
    for at, line in zip(places, found, strict=True):
        page.lines[at] = line


def _behind_labels(lines: list[Line]) -> list[Line]:
    """Put the cells of a row that come after a label of several lines behind the line of it that is on their base.

    Lines of text in columns have no gaps, and the line after such cells is below the whole label.
    """
    for at, line in enumerate(lines):
        if not line.gaps or (at + 1 < len(lines) and lines[at + 1].base >= lines[at - 1].base):
            continue
        for label in range(at - 2, max(at - 2 - _MOST_ALONE, -1), -1):
            above, below = lines[label : label + 2]
            if below.base > above.base - 0.7 * above.style.size or below.right >= line.left:
                break
            if above.right < line.left and abs(above.base - line.base) < _SAME_BASE * line.style.size:
                lines.insert(label + 1, lines.pop(at))
                break
    return lines


def _stacks(lines: Sequence[Line]) -> Iterator[_Stack]:
    stack: _Stack = []
    for line in lines:
        up = stack and line.base > stack[-1].base + _SAME_BASE * line.style.size
        if up or (stack and line.style.angle != stack[-1].style.angle):
            yield stack
            stack = []
        stack.append(line)
    if stack:
        yield stack


def _beside(columns: Sequence[_Stack], stack: _Stack) -> tuple[_Stack, _Stack, _Stack]:
    """Give what stands above a stack of a column so far alone, and of the stack what is beside the columns, and not."""
    first, *others = columns or [[]]
    reach, top = _SAME_BASE * stack[0].style.size, stack[0].base
    before = [] if others else list(takewhile(lambda line: line.base > top + reach, first))
    beside = [first[len(before) :], *others]
    bases = sorted(line.base for line in chain(*beside))
    inside = list(takewhile(lambda line: bases and line.base > bases[0] - reach, stack))
    aligned = sum(bisect(bases, line.base - reach) < bisect(bases, line.base + reach) for line in inside)
    if len(inside) < 2 or aligned < _ON_BASE * len(inside) or stack[0].style.angle != first[0].style.angle:
        return [], [], stack
    short = all(mean(line.end - line.start for line in lines) <= _MOST_MEAN for lines in (inside, beside[0]))
    apart = _is_column(inside) or all(map(_is_column, beside))  # else two tables side by side
    return (before, inside, stack[len(inside) :]) if short and apart else ([], [], stack)


def _is_column(lines: Sequence[Line]) -> bool:
    """Tell whether there is one line, without a wide gap, on each base line."""
    below = all(last.base - line.base > _SAME_BASE * line.style.size for last, line in pairwise(lines))
    return below and not any(line.gaps for line in lines)


def _in_rows(page: PageText, columns: Sequence[_Stack]) -> list[Line]:
    """Give the lines row by row if they are a table's, else as they come."""
    lines = list(chain(*columns))
    if len(columns) < 2 or not any(_is_numeric(page, column) for column in columns[1:]):
        return lines
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: -line.base):
        if rows and rows[-1][0].base - line.base < _SAME_BASE * line.style.size:
            rows[-1].append(line)
        else:
            rows.append([line])
    rows = [sorted(row, key=lambda line: line.left) for row in rows]
    apart = all(last.right < line.left for row in rows for last, line in pairwise(row))
    full = sum(len(row) > 1 for row in rows)
    return list(chain(*rows)) if apart and full >= max(_LEAST_ROWS, len(rows) / 2) else lines


def _is_numeric(page: PageText, column: _Stack) -> bool:
    """Tell whether most lines below the first are numbers: no more letters than digits."""
    said = [page.raw[line.start : line.end] for line in column[1:]]
    numbers = sum(0 < sum(map(str.isdigit, cell)) >= sum(map(str.isalpha, cell)) for cell in said)
    return numbers >= _NUMBERS * len(said)


def _rows(page: PageText, lines: Sequence[Line]) -> Iterator[_Row]:
    """Put lines on one base line together, from left to right."""
    row: _Row = []
    for line in lines:
        cells = list(_cells(page, line))
        if row:
            last = row[-1][0]
            near = abs(line.base - last.last_base) < _SAME_BASE * max(line.style.size, last.style.size)
            if near and line.left > last.right and line.style.angle == last.style.angle:
                row.append((line, cells))
                continue
            yield row
        row = [(line, cells)]
    if row:
        yield row


def _cells(page: PageText, line: Line) -> Iterator[Cell]:
    """Cut a line at its wide gaps, but not at those between dots that lead to a page number."""
    left, start = line.left, line.start
    for end, following, right, next_left in line.gaps:
        if page.raw[end - 1] == "." == page.raw[following]:
            continue
        yield Cell(left, right, start, end)
        left, start = next_left, following
    yield Cell(left, line.right, start, line.end)


def _of(row: _Row) -> list[Cell]:
    return [cell for _, cells in row for cell in cells]


def _runs(rows: Iterator[_Row]) -> Iterator[list[_Row]]:
    """Find runs of rows that may be one table: each below the last and aligned with the last of several cells."""
    run: list[_Row] = []
    full = -1  # index of the last row with several cells
    for row in rows:
        several = len(_of(row)) > 1
        if run and _goes_on(run, run[full], row, several, len(run) - full):
            run.append(row)
            full = len(run) - 1 if several else full
            continue
        yield from _enough(run[: full + 1])
        run, full = ([row], 0) if several else ([], -1)
    yield from _enough(run[: full + 1])


def _goes_on(run: list[_Row], full: _Row, row: _Row, several: bool, alone: int) -> bool:
    last, line = run[-1][0][0], row[0][0]
    size = max(line.style.size, last.style.size, 1.0)
    near = (
        abs(last.base - line.base) < _MOST_LEAD * size and line.base < full[0][0].base
    )  # cells may stand in the middle
    if line.style.angle != last.style.angle or not near or (not several and alone > _MOST_ALONE):
        return False
    cells = _of(full)
    aligned = sum(any(_are_aligned(cell, other, size) for other in cells) for cell in _of(row))
    [first, *_] = _of(row)
    within = any(cell.left <= first.left and first.right < behind.left for cell, behind in pairwise(cells))
    return aligned >= 2 if several else aligned > 0 or within  # the second line of a label may be indented


def _are_aligned(cell: Cell, other: Cell, size: float) -> bool:
    reach = _ALIGNED * size
    edges = abs(cell.left - other.left) < reach or abs(cell.right - other.right) < reach
    return edges or abs(cell.left + cell.right - other.left - other.right) < 2 * reach


def _enough(run: list[_Row]) -> Iterator[list[_Row]]:
    if sum(len(_of(row)) > 1 for row in run) >= _LEAST_ROWS:
        yield run


def _columns(run: list[_Row]) -> list[tuple[float, float]]:
    """Find where columns stand: between spaces that hardly any row crosses."""
    rows = [_of(row) for row in run if len(_of(row)) > 1]
    edges = sorted(
        [(cell.left, 1) for row in rows for cell in row] + [(cell.right, -1) for row in rows for cell in row]
    )
    cover, found, begun = 0, list[tuple[float, float]](), None
    for place, step in edges:
        cover += step
        if cover > _SPARSE * len(rows):
            begun = place if begun is None else begun
        elif begun is not None:
            found.append((begun, place))
            begun = None
    return found


def _column(cell: Cell, columns: Sequence[tuple[float, float]]) -> int:
    """Find the column that a cell stands in: the first that it mostly lies in, or else the nearest."""
    nearest, most = 0, -math.inf
    for at, (left, right) in enumerate(columns):
        share = min(cell.right, right) - max(cell.left, left)
        if share > 0.5 * (right - left):
            return at
        if share > most:
            nearest, most = at, share
    return nearest


def _is_table(page: PageText, run: list[_Row], columns: Sequence[tuple[float, float]]) -> bool:
    """Tell a table from lists, contents with dots, and prose in columns."""
    said = [[page.raw[cell.start : cell.end] for cell in _of(row)] for row in run]
    several = [row for row in said if len(row) > 1]
    if mean(len(cell) for row in several for cell in row) > _MOST_MEAN or any(len(row[-1]) > 120 for row in several):
        return False
    listed = sum(
        LIST_ITEM.match(row[0] + " ") is not None or _LEADER.search(" ".join(row)) is not None for row in several
    )
    if listed > len(several) / 2:
        return False
    filled = sum(len(_of(row)) > 1 and len({_column(cell, columns) for cell in _of(row)}) > 1 for row in run)
    return filled >= max(_LEAST_ROWS, len(run) / 2)


def rows_of(lines: Sequence[Line]) -> Iterator[list[list[tuple[int, int]]]]:
    """Yield the rows of one marked table: for each column the spans that stand in it."""
    for (_, _, columns), row in groupby(lines, key=lambda line: line.row):
        cells: list[list[tuple[int, int]]] = [[] for _ in range(columns)]
        for line in row:
            for column, start, end in line.cells:
                cells[column].append((start, end))
        yield cells
