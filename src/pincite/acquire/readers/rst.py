"""reStructuredText as it stands: sections, literal blocks, tables, lists; directives stay in the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from pincite.acquire.readers.base import LIST_ITEM, Lines, Scan, of_text, one_line, stem
from pincite.types import Block, Reading, Scalar

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+[ \t]*$")
_SIMPLE_TABLE = re.compile(r"=++(?:[ \t]++=++)+[ \t]*$")
_CODE = re.compile(r"[ \t]*\.\. (?:code-block|sourcecode|code|parsed-literal|highlight|math)::[ \t]*(\S*)")
_TABLE = re.compile(r"[ \t]*\.\. (?:csv-table|list-table)::")
_INLINE = re.compile(r":[\w:+.-]+:(?=`)|`{1,2}|(?<!\\)\*{1,2}|(?<=[\w`])__?(?!\w)|[ ]<[^<>]*>(?=`_)|\\(?=\W)")
_FIELD = re.compile(r":([A-Za-z][\w -]{0,60}):[ \t]+(\S.*)")
_LINE = 1000  # characters: no adornment is longer


@dataclass(slots=True)
class _Scan(Scan):
    styles: list[tuple[str, bool]] = field(default_factory=list)  # (adornment, overlined), in order of appearance


def parse(text: str, name: str, media_type: str = "text/x-rst") -> Reading:
    """Find sections (levels by order of appearance), literal and code blocks, tables, lists and paragraphs.

    The title is the first section's, else the file's name; the field list at the top, or below the title, is metadata.
    """
    scan = _Scan(Lines(text))
    scan.run(_RULES)
    title = next((block.label for block in scan.blocks if block.kind == "heading"), "")
    return Reading(text, title or stem(name), tuple(scan.blocks), metadata=_fields(text, scan.blocks))


def _adornment(line: str) -> str:
    """Give the character of a line of adornment, "" when it is none."""
    match = _ADORNMENT.match(line) if len(line) <= _LINE else None
    return match[1] if match else ""


def _section(scan: _Scan, number: int) -> int:
    """Add a section title with its underline, and overline if it has one."""
    lines = scan.lines
    over = _adornment(lines[number])
    title = number + 1 if over else number
    mark = _adornment(lines.get(title + 1))
    words = lines.get(title).strip()
    fits = len(lines.get(title + 1).rstrip()) >= min(len(words), 4)
    if not mark or not words or not fits or (over and over != mark) or (not over and lines[title][0].isspace()):
        return number
    style = (mark, bool(over))
    if style not in scan.styles:
        scan.styles.append(style)
    return scan.add("heading", number, title + 2, scan.styles.index(style) + 1, plain(words))


def _grid_table(scan: _Scan, number: int) -> int:
    """Add a grid table: lines that begin with + or |."""
    lines = scan.lines
    if not lines[number].lstrip().startswith(("+-", "+=")):
        return number
    behind = number
    while lines.get(behind).lstrip()[:1] in ("+", "|"):
        behind += 1
    return scan.add("table", number, behind)


def _simple_table(scan: _Scan, number: int) -> int:
    """Add a simple table: from its first border to the last one before a blank line."""
    lines = scan.lines
    if not _is_border(lines[number]):
        return number
    behind = number + 1
    while behind < len(lines) and not (_is_border(lines[behind]) and lines.blank(behind + 1)):
        behind += 1
    behind = min(behind + 1, len(lines))
    return scan.add("table", number, behind)


def _is_border(line: str) -> bool:
    """Tell whether a line is a border of a simple table."""
    return len(line) <= _LINE and bool(_SIMPLE_TABLE.match(line.strip()))


def _directive(scan: _Scan, number: int) -> int:
    """Add a directive of code or of a table with its indented content."""
    line = scan.lines[number][:_LINE]
    code, table = _CODE.match(line), _TABLE.match(line)
    if not code and not table:
        return number
    behind = _indented(scan.lines, number + 1, _indent(line))
    label = code[1][:40] if code else ""
    return scan.add("code" if code else "table", number, behind, label=label)


def plain(title: str) -> str:
    """Take the inline markup off a title: roles, emphasis, literals, targets of links, escapes."""
    return one_line(_INLINE.sub("", title[:_LINE]))


def _indent(line: str) -> int:
    """Count the white space before a line."""
    return len(line) - len(line.lstrip())


def _indented(lines: Lines, number: int, margin: int) -> int:
    """Give the line behind those that are blank or indented deeper than the margin; no blank line at the end."""
    behind = number
    while number < len(lines) and (lines.blank(number) or _indent(lines[number]) > margin):
        number += 1
        behind = behind if lines.blank(number - 1) else number
    return behind


def _paragraph(scan: _Scan, number: int) -> int:
    """Add a paragraph or list; when it ends in "::", the literal block below it too."""
    lines = scan.lines
    behind = number + 1
    while not lines.blank(behind):
        behind += 1
    scan.blocks.append(lines.block("list" if LIST_ITEM.match(lines[number]) else "paragraph", number, behind))
    last = lines[behind - 1]
    literal = _indented(lines, behind, _indent(last)) if last.rstrip().endswith("::") else behind
    if literal == behind:
        return behind
    first = next(row for row in range(behind, literal) if not lines.blank(row))
    return scan.add("code", first, literal)


def _fields(text: str, blocks: list[Block]) -> dict[str, Scalar]:
    """Read the document's field list, if one of its first two blocks is one."""
    for block in blocks[:2]:
        pairs = [_FIELD.match(line[:_LINE]) for line in text[block.start : block.end].split("\n")]
        if block.kind == "paragraph" and pairs[0]:
            return {pair[1].lower(): pair[2].strip() for pair in pairs if pair}
    return {}


_RULES: tuple[Callable[[_Scan, int], int], ...] = (_section, _grid_table, _simple_table, _directive, _paragraph)
read = of_text(parse)
