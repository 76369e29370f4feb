"""Markdown as it stands: blocks are spans of the source, and nothing is rewritten."""

from __future__ import annotations

import re
from collections.abc import Callable

from pincite.acquire.readers.base import LIST_ITEM, Lines, Scan, of_text, one_line, stem
from pincite.acquire.readers.front_matter import front_matter
from pincite.types import Block, Reading, Scalar

_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})[ \t]*([^\s`{]*)")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_DELIMITER = re.compile(r"[ \t]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_INDENTED = re.compile(r"(?: {4}|\t| {1,3}\t)")
_LABEL = 400  # characters of a heading that become its label
_LINE = 2000  # characters: a longer line is no heading, delimiter or rule


def parse(text: str, name: str, media_type: str = "text/markdown") -> Reading:
    """Find headings (ATX and setext), fences, tables, lists, indented code and paragraphs.

    The title is the front matter's, else the first heading of level 1, else the file's name; front matter is metadata.
    """
    lines = Lines(text)
    taken, metadata = front_matter([lines[number] for number in range(min(len(lines), 1000))])
    blocks = [lines.block("front_matter", 0, taken)] if taken else []
    blocks += outline(lines, taken)
    return Reading(text, _title(metadata, blocks) or stem(name), tuple(blocks), metadata=metadata)


def outline(lines: Lines, first: int = 0) -> list[Block]:
    """Find the blocks of Markdown lines from line ``first`` on; every line that is not blank is in one."""
    return Scan(lines).run(_RULES, first)


def plain(markup: str) -> str:
    """Take the inline markup off a heading: links, emphasis, code, trailing hashes, attributes, tags, escapes."""
    label = re.sub(r"(?:^|[ \t])#+[ \t]*$", "", markup[:_LABEL].rstrip())
    label = re.sub(r"[ \t]*\{[#.:][^{}]*\}$", "", label)
    label = re.sub(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])", r"\1", label)
    label = re.sub(r"</?[A-Za-z][^<>]*>", "", label)
    label = re.sub(r"(?<![\\\w])(?:\*\*?|__?)(?=\S)|(?<=[^\s\\])(?:\*\*?|__?)(?!\w)|(?<!\\)`+", "", label)
    return one_line(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", label))


def _title(metadata: dict[str, Scalar], blocks: list[Block]) -> str:
    """Choose the title, "" when the document has none."""
    named = one_line(str(metadata.get("title", "")))
    return named or next((block.label for block in blocks if block.level == 1 and block.label), "")


def _fence(scan: Scan, number: int) -> int:
    """Add a fenced block; one that is never closed reaches to the end."""
    opened = _FENCE.match(scan.lines[number])
    if not opened:
        return number
    close = re.compile(rf"[ \t>]*{re.escape(opened[1][0])}{{{len(opened[1])},}}[ \t]*$")
    behind = number + 1
    while behind < len(scan.lines) and not close.match(scan.lines[behind]):
        behind += 1
    behind = min(behind + 1, len(scan.lines))
    return scan.add("code", number, behind, label=opened[2][:40])


def _heading(scan: Scan, number: int) -> int:
    """Add an ATX heading."""
    match = _ATX.match(scan.lines[number])
    if not match:
        return number
    return scan.add("heading", number, number + 1, len(match[1]), plain(match[2] or ""))


def _table(scan: Scan, number: int) -> int:
    """Add a pipe table: a header, a delimiter row, and rows until a blank line or one without a pipe."""
    if not _starts_table(scan.lines, number):
        return number
    behind = number + 2
    while behind < len(scan.lines) and "|" in scan.lines[behind] and not scan.lines.blank(behind):
        behind += 1
    return scan.add("table", number, behind)


def _starts_table(lines: Lines, number: int) -> bool:
    """Tell whether a line is a table's header."""
    below = lines.get(number + 1)
    return "|" in lines[number] and "-" in below and len(below) <= _LINE and bool(_DELIMITER.match(below))


def _rule(scan: Scan, number: int) -> int:
    """Add a thematic break, as a block of its own."""
    if not _is_rule(scan.lines[number]):
        return number
    return scan.add("furniture", number, number + 1)


def _is_rule(line: str) -> bool:
    """Tell whether a line is a thematic break."""
    return len(line) <= _LINE and bool(_RULE.match(line))


def _list(scan: Scan, number: int) -> int:
    """Add a list up to the next blank line."""
    if not LIST_ITEM.match(scan.lines[number]):
        return number
    behind = number + 1
    while not (scan.lines.blank(behind) or _interrupts(scan.lines, behind)):
        behind += 1
    return scan.add("list", number, behind)


def _indented(scan: Scan, number: int) -> int:
    """Add indented code, with blank lines inside; below a list such lines continue its last item."""
    if not _INDENTED.match(scan.lines[number]):
        return number
    in_list = bool(scan.blocks) and scan.blocks[-1].kind == "list"
    behind = last = number + 1
    while behind < len(scan.lines) and (scan.lines.blank(behind) or _INDENTED.match(scan.lines[behind])):
        if in_list and (scan.lines.blank(behind) or _FENCE.match(scan.lines[behind])):
            break
        behind += 1
        last = last if scan.lines.blank(behind - 1) else behind
    return scan.add("list" if in_list else "code", number, last)


def _paragraph(scan: Scan, number: int) -> int:
    """Add a paragraph, or the setext heading that its underline makes of it."""
    behind = number + 1
    while not scan.lines.blank(behind):
        underline = _SETEXT.match(scan.lines[behind][:_LINE])
        if underline:
            label = plain(" ".join(scan.lines[row].strip() for row in range(number, behind)))
            level = 1 if underline[1][0] == "=" else 2
            return scan.add("heading", number, behind + 1, level, label)
        if _interrupts(scan.lines, behind) or re.match(r" {0,3}(?:[-*+]|1[.)])[ \t]+\S", scan.lines[behind]):
            break
        behind += 1
    return scan.add("paragraph", number, behind)


def _interrupts(lines: Lines, number: int) -> bool:
    """Tell whether a line ends the paragraph or list above it without a blank line."""
    line = lines[number]
    return bool(_FENCE.match(line) or _ATX.match(line)) or _is_rule(line) or _starts_table(lines, number)


_RULES: tuple[Callable[[Scan, int], int], ...] = (_fence, _indented, _heading, _table, _rule, _list, _paragraph)
read = of_text(parse)
