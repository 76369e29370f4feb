"""An element tree becomes pieces of text, in one pass without recursion, so that no nesting is too deep."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pincite.acquire.readers.base import one_line, words
from pincite.types import Block, BlockKind, Page

SKIPPED = words(
    "script style noscript template head title meta link iframe object embed canvas svg audio video select button "
    "textarea nav footer aside rt rp annotation annotation-xml"
)
BLOCKS = words(
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form "
    "header hr html legend main nav noframes p search section summary table caption thead tbody tfoot tr td th ul ol "
    "menu li h1 h2 h3 h4 h5 h6 pre xmp listing"
)
_HEADING = re.compile(r"h([1-6])$")
_NOT_XML = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LISTS = frozenset({"ul", "ol", "menu"})
_UNORDERED = -1
_CELLS = frozenset({"td", "th"})
_IN_LAYOUT = ("table", "ul", "ol", "pre", "h1", "h2", "h3", "h4", "h5", "h6")
_LANGUAGE = re.compile(r"(?:^|[\s-])(?:lang|language|highlight|sourceCode|brush:?)[-\s]([\w+#.-]+)")


@dataclass(frozen=True, slots=True)
class Piece:
    """A block before it has its place in the text."""

    kind: BlockKind
    text: str
    level: int = 0
    label: str = ""


@dataclass(slots=True)
class _Writer:
    """What has been written so far."""

    pieces: list[Piece] = field(default_factory=list)
    inline: list[str] = field(default_factory=list)  # of the block that is being written
    lists: list[int] = field(default_factory=list)  # of the open lists, the number of the next item
    marker: str = ""  # of the item that has just been opened

    def write(self, text: str | None) -> None:
        """Add text to the block; its white space is one space, hyphens that may be are none."""
        if text:
            self.inline.append(re.sub(r"[ \t\r\n\f]+", " ", text.replace("\xad", "")))

    def flush(self) -> None:
        """End the block: lines that a line break made stay lines, empty ones end a paragraph."""
        text = re.sub(r" *\n *", "\n", re.sub(" {2,}", " ", "".join(self.inline))).strip()
        self.inline.clear()
        for part in re.split(r"\n{2,}", text) if text else ():
            if self.lists:
                self._item(part)
            else:
                self.pieces.append(Piece("paragraph", part))

    def _item(self, text: str) -> None:
        """Add a line to the list that is open, or begin its piece."""
        indent = "  " * (len(self.lists) - 1)
        line = indent + (self.marker or "  ") + text.replace("\n", "\n  " + indent)
        self.marker = ""
        if self.pieces and self.pieces[-1].kind == "list" and self.pieces[-1].level == 0:
            line = f"{self.pieces.pop().text}\n{line}"
        self.pieces.append(Piece("list", line))

    def add(self, piece: Piece) -> None:
        """End the block and add a piece, if it has text."""
        self.flush()
        if piece.text:
            self.pieces.append(piece)


def pieces_of(tree: Any) -> tuple[list[Piece], int]:
    """Write the visible text of an lxml tree.

    Args:
        tree: the root element. Navigation, footers, asides, scripts, forms' controls, embedded objects and what is
            said a second time for other eyes (the reading of ruby text, the source of a formula) are left out.

    Returns:
        The pieces in document order, and the depth of the tree in elements.
    """
    from lxml.etree import iterwalk

    writer, depth, deepest = _Writer(), 0, 0
    walk = iterwalk(tree, events=("start", "end"))
    for event, node in walk:
        if event == "start":
            depth += 1
            deepest = max(deepest, depth)
            if _start(writer, node, is_root=depth == 1):
                walk.skip_subtree()
        else:
            depth -= 1
            _end(writer, node)
            if depth:
                writer.write(node.tail)
    writer.flush()
    return writer.pieces, deepest


def assembled(pieces: Iterable[Piece]) -> tuple[str, tuple[Block, ...]]:
    """Join pieces with blank lines, and mark where each one is; those without text are left out."""
    text, blocks, _ = paged([("", pieces)])
    return text, blocks


def paged(parts: Iterable[tuple[str, Iterable[Piece]]]) -> tuple[str, tuple[Block, ...], tuple[Page, ...]]:
    """Join the pieces of pages (slides, sheets, cells) with blank lines.

    Args:
        parts: the label and the pieces of each page, in order.

    Returns:
        The text, where each piece is in it, and where each page is; a page without text is empty.
    """
    texts: list[str] = []
    blocks: list[Block] = []
    pages: list[Page] = []
    position = 0
    for label, pieces in parts:
        start = end = position
        for piece in pieces:
            if not piece.text.strip():
                continue
            end = position + len(piece.text)
            blocks.append(Block(piece.kind, position, end, max(0, piece.level), piece.label))
            texts.append(piece.text)
            position = end + 2
        pages.append(Page(len(pages) + 1, label, start, end))
    text = "\n\n".join(texts)
    clipped = (Page(page.number, page.label, min(page.start, len(text)), min(page.end, len(text))) for page in pages)
    return text, tuple(blocks), tuple(clipped)


def rows_text(rows: Iterable[list[str]]) -> str:
    """Write a table, a row a line; empty cells at the end of a row, and rows without text, are left out."""
    lines = []
    for row in rows:
        cells = list(row)
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def join(pieces: list[Piece], kind: BlockKind, line: str) -> None:
    """Add a line to the last piece if it is of the kind, or begin one."""
    last = pieces.pop() if pieces and pieces[-1].kind == kind else None
    pieces.append(Piece(kind, f"{last.text}\n{line}" if last else line))


def list_line(text: str, marker: str, level: int) -> str:
    """Write an item of a list, its further lines below the first one's text.

    Args:
        text: the item.
        marker: what stands before it: "-", "1.".
        level: how deep it is nested, from 0.

    Returns:
        Its lines.
    """
    indent = "  " * level
    return f"{indent}{marker} " + text.replace("\n", "\n  " + indent)


def _settable(text: str) -> str:
    """Give a text that lxml lets a tree hold: what XML does not know is U+FFFD."""
    return _NOT_XML.sub("\ufffd", text)


def drop(node: Any) -> None:
    """Take an element out and leave what follows it; lxml's own way stumbles over control characters."""
    before, parent, tail = node.getprevious(), node.getparent(), node.tail or ""
    parent.remove(node)
    if before is not None:
        before.tail = _settable((before.tail or "") + tail)
    else:
        parent.text = _settable((parent.text or "") + tail)


def squashed(text: str) -> str:
    """Keep letters and digits only, for comparing texts whatever their layout."""
    return re.sub(r"[\W_]+", "", text)


def _start(writer: _Writer, node: Any, is_root: bool) -> bool:
    """Begin an element; tell whether it is done with, children and all."""
    tag = str(node.tag)
    level = _level(node)
    if level and not is_root:
        label = one_line(_flat(node))
        writer.add(Piece("heading", f"{'#' * level} {label}" if label else "", level, label))
    elif tag in SKIPPED:
        pass
    elif tag in ("pre", "xmp", "listing"):
        writer.add(Piece("code", _raw(node), label=_language(node)))
    elif tag == "table" and not _is_layout(node):
        writer.add(Piece("table", _table(node)))
    else:
        _open(writer, node, tag)
        return False
    return True


def _open(writer: _Writer, node: Any, tag: str) -> None:
    """Begin an element whose children come next."""
    if tag == "br":
        writer.inline.append("\n")
    if tag in BLOCKS:
        writer.flush()
    if tag in _LISTS:
        writer.lists.append(_number(node, "start", 1) if tag == "ol" else _UNORDERED)
    if tag == "li" and writer.lists:
        number = writer.lists[-1]
        if number != _UNORDERED:
            number = _number(node, "value", number)
            writer.lists[-1] = number + 1
        writer.marker = "- " if number == _UNORDERED else f"{number}. "
    writer.write(node.text)


def _number(node: Any, name: str, default: int) -> int:
    """Read a whole number that an attribute gives, the default where there is none."""
    given = str(node.get(name, ""))
    return int(given[:9]) if given.isdecimal() else default


def _end(writer: _Writer, node: Any) -> None:
    """End an element."""
    tag = str(node.tag)
    if tag in BLOCKS:
        writer.flush()
    if tag in _LISTS and writer.lists:
        writer.lists.pop()
        if not writer.lists and writer.pieces and writer.pieces[-1].kind == "list":
            writer.pieces[-1] = Piece("list", writer.pieces[-1].text, level=-1)  # closed: the next list is another


def _level(node: Any) -> int:
    """Give a heading's level, 0 for other elements."""
    match = _HEADING.match(str(node.tag))
    return int(match[1]) if match else 0


def _flat(node: Any) -> str:
    """Give the text of an element on one line; blocks and line breaks inside it are spaces."""
    from lxml.etree import iterwalk

    parts = []
    walk = iterwalk(node, events=("start", "end"))
    for event, inner in walk:
        if inner.tag in BLOCKS or inner.tag == "br":
            parts.append(" ")
        if event == "end":
            parts.append(inner.tail or "" if inner is not node else "")
        elif inner.tag in SKIPPED and inner is not node:
            walk.skip_subtree()
        else:
            parts.append(inner.text or "")
    return " ".join("".join(parts).replace("\xad", "").split())


def _raw(node: Any) -> str:
    """Give preformatted text as it is, without empty lines around it."""
    for line_break in node.iter(
        "br",
    ):
        line_break.tail = "\n" + _settable(line_break.tail or "")
    lines = "".join(node.itertext()).replace("\r\n", "\n").rstrip().split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    return "\n".join(lines[first:])


def _language(node: Any) -> str:
    """Find the language of a block of code in its classes, or its element's around it."""
    near = [node, *node.iter("code"), *list(node.iterancestors())[:2]]
    classes = (str(element.get("class") or "") for element in near)
    return next((match[1] for name in classes if (match := _LANGUAGE.search(name))), "")


def _is_layout(table: Any) -> bool:
    """Tell whether a table only arranges a page: it holds blocks and names no column, or never has two in a row."""
    held = ("table",) if next(table.iter("th"), None) is not None else _IN_LAYOUT
    if next(table.iterdescendants(*held), None) is not None:
        return True
    return all(len(row) < 2 for row in table.iter("tr"))


def _table(table: Any) -> str:
    """Write a table, a row a line; rows without text are left out."""
    captions = [text for caption in table.iter("caption") if (text := _flat(caption))]
    rows = rows_text([_flat(cell) for cell in row if cell.tag in _CELLS] for row in table.iter("tr"))
    return "\n".join([*captions, rows] if rows else captions)
