"""Data files as text: records and tables are blocks, and the source is the text."""

from __future__ import annotations

from pincite.acquire.readers.base import Lines, of_text, one_line
from pincite.types import Reading

_TABLES = ("text/csv", "text/tab-separated-values")
_BY_LINE = ("application/jsonl",)


def parse(text: str, name: str, media_type: str) -> Reading:
    """Make a table of CSV, a block of each JSON line, and of the rest a block of each run of lines; title: the name."""
    lines = Lines(text)
    runs = list(lines.paragraphs())
    label = media_type.partition("/")[2].removeprefix("x-")
    if media_type in _TABLES:
        blocks = [lines.block("table", runs[0][0], runs[-1][1])] if runs else []  # a quoted cell may hold blank lines
    elif media_type in _BY_LINE:
        rows = [row for first, behind in runs for row in range(first, behind)]
        blocks = [lines.block("code", row, row + 1, label=label) for row in rows]
    else:
        blocks = [lines.block("code", *run, label=label) for run in runs]
    return Reading(text, one_line(name), tuple(blocks))


read = of_text(parse)
