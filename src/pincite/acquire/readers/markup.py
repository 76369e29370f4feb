"""AsciiDoc, Org and LaTeX as they stand: sections, code, tables and lists; commands stay in the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from pincite.acquire.readers.base import LIST_ITEM, Lines, Scan, of_text, one_line, stem
from pincite.types import BlockKind, Reading, Scalar

_LINE = 2000  # characters: a longer line begins nothing
_TOP = 300  # lines in which the document may declare something about itself
_HEADING = 20  # lines over which a LaTeX heading may go on
Fence = tuple[BlockKind, str, "str | None"]  # kind, label, pattern of the line that ends it (None: where it stops)


class _Language(NamedTuple):
    """How a language marks structure."""

    heading: Callable[[Lines, int], tuple[int, int, str]]  # to level (0: none), line behind, label
    fence: Callable[[str], Fence | None]  # what a line opens
    item: re.Pattern[str]
    field: re.Pattern[str]  # a line of metadata, at the top: name and value


@dataclass(slots=True)
class _Scan(Scan):
    language: _Language = field(kw_only=True)


def parse(text: str, name: str, media_type: str) -> Reading:
    """Find headings, code, tables, lists and paragraphs.

    The title is what the document declares, else its first heading, else the file's name. Metadata: what it declares.
    """
    scan = _Scan(Lines(text), language=_LANGUAGES[media_type])
    scan.run((_section, _fenced, _paragraph))
    metadata = _metadata(scan)
    title = str(metadata.pop("title", "")) or next((b.label for b in scan.blocks if b.kind == "heading"), "")
    return Reading(text, one_line(title) or stem(name), tuple(scan.blocks), metadata=metadata)


def _section(scan: _Scan, number: int) -> int:
    level, behind, label = _heading(scan, number)
    return scan.add("heading", number, behind, level, label) if level else number


def _fenced(scan: _Scan, number: int) -> int:
    fence = _fence(scan, number)
    if not fence:
        return number
    kind, label, end = fence
    return scan.add(kind, number, _end_of(scan.lines, number + 1, end), label=label)


def _heading(scan: _Scan, number: int) -> tuple[int, int, str]:
    return scan.language.heading(scan.lines, number) if len(scan.lines[number]) <= _LINE else (0, number, "")


def _fence(scan: _Scan, number: int) -> Fence | None:
    return scan.language.fence(scan.lines[number]) if len(scan.lines[number]) <= _LINE else None


def _end_of(lines: Lines, number: int, end: str | None) -> int:
    """Give the line behind a block: behind the line that ends it, or the first line that does not go on with it."""
    pattern = re.compile(end) if end is not None else None
    for row in range(number, len(lines)):
        line = lines[row][:_LINE]
        if pattern is None:
            if not line.lstrip().startswith("|"):
                return row
        elif pattern.match(line):
            return row + 1
    return len(lines)


def _paragraph(scan: _Scan, number: int) -> int:
    lines, item = scan.lines, scan.language.item
    kind: BlockKind = "list" if item.match(lines[number][:_LINE]) else "paragraph"
    behind = number + 1
    while not lines.blank(behind) and not _heading(scan, behind)[0] and not _fence(scan, behind):
        behind += 1
    return scan.add(kind, number, behind)


def _metadata(scan: _Scan) -> dict[str, Scalar]:
    """Read the lines of metadata among the first."""
    found: dict[str, Scalar] = {}
    for row in range(min(_TOP, len(scan.lines))):
        match = scan.language.field.match(scan.lines[row][:_LINE])
        if match and match[2].strip():
            found.setdefault(match[1].lower(), one_line(match[2], 1000))
    return found


# --- AsciiDoc

_ADOC_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?[ \t]*$")
_ADOC_UNDERLINE = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}
_ADOC_FENCE = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|```+)(\w*)[ \t]*$")
_ADOC_TABLE = re.compile(r"([|,:!]={3,})[ \t]*$")


def _adoc_heading(lines: Lines, number: int) -> tuple[int, int, str]:
    match = _ADOC_HEADING.match(lines[number])
    if match:
        return len(match[1]), number + 1, one_line(match[2], 1000)
    title, under = lines[number].rstrip(), lines.get(number + 1).rstrip()
    level = _ADOC_UNDERLINE.get(under[:1], 0)
    fits = level and len(under) > 3 and under == under[0] * len(under) and abs(len(under) - len(title)) <= 2
    if fits and any(char.isalnum() for char in title):
        return level, number + 2, one_line(title, 1000)
    return 0, number, ""


def _adoc_fence(line: str) -> Fence | None:
    match = _ADOC_FENCE.match(line)
    if match:
        return "code", match[2], re.escape(match[1]) + r"[ \t]*$"
    match = _ADOC_TABLE.match(line)
    return ("table", "", re.escape(match[1]) + r"[ \t]*$") if match else None


# --- Org

_ORG_HEADING = re.compile(r"(\*+)[ \t]+(\S.*)$")
_ORG_STATE = re.compile(r"(?:TODO|DONE)[ \t]+|\[#\w\][ \t]+|[ \t]+:[\w@#%:]+:[ \t]*$")
_ORG_LINK = re.compile(r"\[\[(?:[^][]*\]\[)?([^][]*)\]\]")
_ORG_BEGIN = re.compile(r"[ \t]*#\+begin_(src|example|export)\b[ \t]*(\S*)", re.IGNORECASE)


def _org_heading(lines: Lines, number: int) -> tuple[int, int, str]:
    match = _ORG_HEADING.match(lines[number])
    label = _ORG_LINK.sub(r"\1", _ORG_STATE.sub("", match[2])) if match else ""
    return (min(9, len(match[1])), number + 1, one_line(label, 1000)) if match else (0, number, "")


def _org_fence(line: str) -> Fence | None:
    match = _ORG_BEGIN.match(line)
    if match:
        return "code", match[2][:40], rf"[ \t]*#\+(?i:end_{match[1]})\b"
    return ("table", "", None) if re.match(r"[ \t]*\|", line) else None


# --- LaTeX

_TEX_LEVELS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}
_TEX_HEADING = re.compile(rf"[ \t]*\\({'|'.join(_TEX_LEVELS)})\*?(?:\[[^\]]*\])?\{{")
_TEX_BEGIN = re.compile(
    r"[ \t]*\\begin\{([vV]erbatim|lstlisting|minted|alltt|tabular|longtable|tabularx|table)(\*?)\}(.*)"
)
_TEX_TABLES = frozenset({"tabular", "longtable", "tabularx", "table"})
_TEX_COMMAND = re.compile(r"\\(?:label|index|footnote)\{[^{}]*\}|\\[a-zA-Z]+\*?[ \t]*|[{}]|(?<!\\)~")


def _tex_heading(lines: Lines, number: int) -> tuple[int, int, str]:
    match = _TEX_HEADING.match(lines[number])
    if not match:
        return 0, number, ""
    depth, inside, row, position = 1, [], number, match.end()
    while depth and row < min(len(lines), number + _HEADING):
        line = lines[row]
        for char in line[position : position + _LINE]:
            depth += {"{": 1, "}": -1}.get(char, 0)
            if not depth:
                break
            inside.append(char)
        inside.append(" ")
        row, position = row + 1, 0
    label = one_line(_TEX_COMMAND.sub(" ", "".join(inside)), 1000)
    return (_TEX_LEVELS[match[1]], row, label) if label else (0, number, "")


def _tex_fence(line: str) -> Fence | None:
    match = _TEX_BEGIN.match(line)
    if not match:
        return None
    kind: BlockKind = "table" if match[1] in _TEX_TABLES else "code"
    return kind, "", rf".*\\end\{{{match[1]}{re.escape(match[2])}\}}"


_LANGUAGES = {
    "text/x-asciidoc": _Language(
        _adoc_heading,
        _adoc_fence,
        re.compile(r"[ \t]*(?:[*-]{1,5}|\.{1,5}|\d{1,9}\.)[ \t]+\S"),
        re.compile(r":(author|revdate|description|keywords|lang|title):[ \t]+(.*)"),
    ),
    "text/x-org": _Language(
        _org_heading,
        _org_fence,
        LIST_ITEM,
        re.compile(r"[ \t]*#\+(title|author|date|language|description|keywords|filetags):[ \t]*(.*)", re.IGNORECASE),
    ),
    "text/x-tex": _Language(
        _tex_heading,
        _tex_fence,
        re.compile(r"[ \t]*\\item\b"),
        re.compile(r"[ \t]*\\(title|date)\{([^{}\\]*)\}"),
    ),
}
read = of_text(parse)
