"""Tables that a PDF draws column by column: their lines are put in the order of rows, as a reader sees them.

PDFium gives lines in the order in which they are drawn. A column of a table then comes as a paragraph of its own, like
one of a page in two columns, which is to be read so. What tells them apart: a table's lines stand on the base lines of
their neighbours, are short, and in one column beside the first there are mostly numbers.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise, takewhile
from statistics import mean

from pincite.acquire.readers.pdf_page import Line, PageText

_SAME_BASE = 0.35  # times the size: how far base lines of one row may be apart
_LEAST_ROWS = 3
_ALIGNED = 0.8  # share of a column's lines that stand on a base line of the columns before
_NUMBERS = 0.6  # share of a column's lines that are numbers
_MOST_MEAN = 40  # characters of a line, on average over a column: more is prose

_Stack = list[Line]
"""Lines of which each stands on the base line of the one before, or lower."""


def put_in_rows(page: PageText) -> None:
    """Put the lines of tables that are drawn column by column in the order of rows."""
    places = [at for at, line in enumerate(page.lines) if line.kind == "paragraph"]
    found: list[Line] = []
    columns: list[_Stack] = []
    for stack in _stacks([page.lines[at] for at in places]):
        before, inside, behind = _beside(columns, stack) if columns else ([], [], [])
        if not inside:
            found += _rows(page, columns)
            columns = [stack]
            continue
        found += before
        columns = [columns[0][len(before) :], *columns[1:], inside]
        if behind:
            found += _rows(page, columns)
            columns = [behind]
    found += _rows(page, columns)
    for at, line in zip(places, found, strict=True):
        page.lines[at] = line


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
    """Give what of a single column stands above a stack, and of the stack what is beside it and below; else nothing."""
    reach, top = _SAME_BASE * stack[0].style.size, stack[0].base
    before = list(takewhile(lambda line: len(columns) == 1 and line.base > top + reach, columns[0]))
    beside = [columns[0][len(before) :], *columns[1:]]
    bases = sorted(line.base for line in chain(*beside))
    inside = list(takewhile(lambda line: bases and line.base > bases[0] - reach, stack))
    aligned = sum(bisect(bases, line.base - reach) < bisect(bases, line.base + reach) for line in inside)
    good = len(inside) > 1 and aligned >= _ALIGNED * len(inside) and stack[0].style.angle == columns[0][0].style.angle
    good = good and _is_short(inside) and _is_short(beside[0])
    good = good and (_is_column(inside) or all(map(_is_column, beside)))  # two tables side by side stay apart
    return (before, inside, stack[len(inside) :]) if good else ([], [], [])


def _is_short(lines: Sequence[Line]) -> bool:
    return mean(line.end - line.start for line in lines) <= _MOST_MEAN


def _is_column(lines: Sequence[Line]) -> bool:
    """Tell whether there is one line, without a wide gap, on each base line."""
    below = all(last.base - line.base > _SAME_BASE * line.style.size for last, line in pairwise(lines))
    return below and not any(line.gaps for line in lines)


def _rows(page: PageText, columns: Sequence[_Stack]) -> list[Line]:
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
