"""Rows of cells become tables with their ranges, whatever format of spreadsheet they come from."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from pincite.acquire.readers.dom import Piece

CELLS = 5_000_000  # of a sheet's rectangle, empty ones too: the library that reads it holds them all
HIDDEN = "hidden cells"  # the label of their piece
RESAVE = "Open it in the program that made it, save it again, and add that."
FIX = "Save the part that matters as a file of its own, or as CSV."
Line = tuple[int, bool, list[str], set[int]]
"""A row: its number, whether it is seen, its cells, and places in them of what cannot be seen though the row can."""
Unit = tuple[str, str]
"""What stands before a number and behind it: ("$", ""), ("", "%"), ("", " kg")."""
PERCENT: Unit = ("", "%")
_WORDS = r'((?:"[^"]*"|\\.|[_*].|\[[$A-Za-z][^\]]*\]|[^\w"\\\[#?.,;@])*)'
_FORMAT = re.compile(rf"{_WORDS}[#0?](?:[#0?.,]*[#0?.])?{_WORDS}(?:;.*)?", re.DOTALL)  # neither scaled nor a date
_WORD = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|[_*].|\[[^\]]*\]|([^-+()])', re.DOTALL)
_MOST_WORDS = 20  # characters of a unit: more is a sentence


def column_of(letters: str) -> int:
    """Give the number of a column, from 1; no sheet names one by more than three letters."""
    value = 0
    for letter in letters[:3]:
        value = 26 * value + ord(letter) - 64
    return value


def letters_of(column: int) -> str:
    """Name a column by its number, from 1."""
    text = ""
    while column > 0:
        column, rest = divmod(column - 1, 26)
        text = chr(65 + rest) + text
    return text


def unit_of(code: str) -> Unit:
    """Read what a number format like '#,##0.00 "kg"' puts around a positive number; ("", "") where it is nothing."""
    found = _FORMAT.fullmatch(code)
    before, behind = ("".join(map("".join, _WORD.findall(part))) for part in (found.groups() if found else ("", "")))
    is_one = before.strip() + behind.strip() and len(before + behind) <= _MOST_WORDS
    return (before.lstrip(), behind.rstrip()) if is_one else ("", "")


def measured(value: float, unit: Unit) -> str:
    """Write a number with its unit, the sign first: "-$5", "12.5%" for .125."""
    before, behind = unit
    size = written(abs(value) * 100 if "%" in before + behind else abs(value))
    return f"{'-' * (value < 0)}{before}{size}{behind}"


def written(value: Any) -> str:
    """Write a value: numbers with all their digits and no more, times as ISO 8601, text on one line."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    return value.isoformat(" ") if isinstance(value, datetime.datetime) else " ".join(str(value).split())


def _rows(lines: Iterable[Line], left: int, out: list[str]) -> Iterator[tuple[int, int, int, int, str]]:
    """Write rows that are not empty (order, number, first and last column); what cannot be seen goes to ``out``."""
    skipped = 0
    for number, is_seen, cells, unseen in lines:
        for at in sorted(unseen) if is_seen else range(len(cells)):
            out += [f"{letters_of(left + at)}{number}: {cells[at]}"] if cells[at] else ()
            cells[at] = ""
        skipped += not is_seen
        filled = [place for place, cell in enumerate(cells) if cell]
        if filled:
            line = f"| {' | '.join(cells[: filled[-1] + 1])} |"
            yield number - skipped, number, left + filled[0], left + filled[-1], line


def tables(lines: Iterable[Line], left: int = 1) -> Iterator[Piece]:
    """Make a table of each run of rows without an empty one between, labelled "B2:D9"; what is unseen comes last."""
    # Rows that are seen and empty may be left out of ``lines``, those that are not seen may not.
    out: list[str] = []
    for _, run in groupby(enumerate(_rows(lines, left, out)), key=lambda pair: pair[1][0] - pair[0]):
        _, numbers, firsts, lasts, texts = zip(*(row for _, row in run), strict=True)
        label = f"{letters_of(min(firsts))}{numbers[0]}:{letters_of(max(lasts))}{numbers[-1]}"
        margin = len("|  ") * (min(firsts) - left)  # of columns that are empty in the whole table
        yield Piece("table", "\n".join(text[margin:] for text in texts), label=label)
    if out:
        yield Piece("furniture", "\n".join(out), label=HIDDEN)
