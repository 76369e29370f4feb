"""Data files as text: records and tables are blocks, and the source is the text, with letters for their numbers."""

from __future__ import annotations

import re

from pincite.acquire.readers.base import Lines, of_text, one_line
from pincite.types import Reading

_TABLES = ("text/csv", "text/tab-separated-values")
_BY_LINE = ("application/jsonl",)
_ESCAPES = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[^u])")
_REFERENCES = re.compile(r"&#(?:(\d{3,7})|[xX]([0-9a-fA-F]{2,6}));")
_ESCAPED = ("application/json", "application/jsonl", "text/x-ini")  # Java's properties among the last


def parse(text: str, name: str, media_type: str) -> Reading:
    """Make a table of CSV, a block of each JSON line, and of the rest a block of each run of lines; title: the name.

    Letters beyond ASCII that JSON or XML gives by their numbers are written out, or nobody would find them.
    What has a meaning there, and line breaks, stay, so that the text is the same data on the same lines.
    """
    if media_type in _ESCAPED:
        text = _ESCAPES.sub(_unescaped, text)
    elif media_type == "application/xml":
        text = _REFERENCES.sub(lambda match: _letter(match, int(match[1]) if match[1] else int(match[2], 16)), text)
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


def _unescaped(match: re.Match[str]) -> str:
    """Write the letter of an escape, which may be two halves; a backslash that escapes anything else stays."""
    units = [int(unit, 16) for unit in match[0].split("\\u")[1:]]
    if len(units) == 2:
        return _letter(match, 0x10000 + ((units[0] - 0xD800) << 10) + units[1] - 0xDC00)
    return _letter(match, units[0]) if units else match[0]


def _letter(match: re.Match[str], code: int) -> str:
    is_letter = 0xA0 <= code < 0xD800 or 0xE000 <= code < 0x110000
    return chr(code) if is_letter and chr(code).isprintable() else match[0]


read = of_text(parse)
