"""ODT and ODP: text, slides, charts and formulas of OpenDocument, packed or as one flat XML file.

Headings ("## Label"), lists, tables ("| ... |") and paragraphs in order, then notes ("[^1]: ...") and comments;
deleted text of tracked changes is out, tables of contents are furniture. A presentation has a page for each slide,
labelled with its name, with the speaker's notes; a hidden slide is furniture. Metadata: what the document states of
itself, the characters of hidden text, which is left out, and the hidden slides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pincite.acquire.package import Package
from pincite.acquire.readers.base import one_line, stem
from pincite.acquire.readers.dom import Piece, assembled, join, list_line, paged, rows_text
from pincite.acquire.readers.html_hidden import LEAST, points
from pincite.acquire.readers.ooxml import protected
from pincite.acquire.readers.xml import attribute, child, children, descendants, local, number, parse_xml
from pincite.errors import SourceUndecodable
from pincite.types import Reading, Scalar

_SKIPPED = frozenset({"tracked-changes", "sequence-decls", "forms", "variable-decls", "settings", "notes", "desc"})
_CONTENTS = frozenset({"table-of-content", "alphabetical-index", "illustration-index", "table-index"})
_RUNNING = re.compile("(header|footer)(-|$)")  # and "header-left", "header-first"
_WIDE = 1000  # most columns and rows that a repeated cell is written out for
_LONG_CELL = 400  # characters of a cell on average: a table of longer ones only arranges the page
_META = {  # of meta.xml: our name
    "creator": "author", "initial-creator": "author", "creation-date": "created", "date": "date", "subject": "subject",
    "description": "description", "language": "language", "keyword": "keywords",
}  # fmt: skip


@dataclass(slots=True)
class Walk:
    """What is known of the styles, and what has been written so far."""

    numbered: dict[str, set[int]]  # list style: its levels that show numbers
    embedded: Callable[[str], Any]  # from the name of a part or an object to its root, None where there is none
    looks: dict[str, str] = field(default_factory=dict)  # style whose text cannot be seen, or slide: "hidden", "white"
    inside: int = 0  # frames, which may have a ground of their own
    hidden: int = 0  # characters that were left out
    pieces: list[Piece] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)  # of the paragraph that is being written
    notes: list[Any] = field(default_factory=list)  # their bodies, None once written
    comments: list[Any] = field(default_factory=list)
    title: str = ""

    def inline(self, node: Any) -> str:
        """Give the text inside an element; notes, comments and text boxes wait for their turn."""
        parts = [node.text or ""]
        for inner in node:
            parts += [self._part(inner, local(inner)), inner.tail or ""]
        return "".join(parts)

    def _part(self, node: Any, name: str) -> str:
        if self._cannot_be_seen(node):
            return ""
        if name == "s":
            return " " * min(100, number(attribute(node, "c"), 1))
        if name in ("tab", "line-break"):
            return " " if name == "tab" else "\n"
        if name == "note":
            self.notes.append(child(node, "note-body"))
            return f"[^{len(self.notes)}]"
        if name == "annotation":
            self.comments.append(node)
        elif name == "frame":
            self.boxes.append(node)
        elif name not in ("annotation-end", "tracked-changes", "ruby-text", ""):
            return self.inline(node)
        return ""

    def _cannot_be_seen(self, node: Any) -> bool:
        """Tell whether text is hidden, tiny, or white with no ground that is known; count it."""
        look = self.looks.get(attribute(node, "style-name"), "")
        unseen = look == "hidden" or (look == "white" and self._is_bare(node)) or attribute(node, "display") == "none"
        self.hidden += len("".join("".join(node.itertext()).split())) if unseen else 0
        return unseen

    def _is_bare(self, node: Any) -> bool:
        """Tell whether nothing that is known is behind an element but the page."""
        around = (self.looks.get(attribute(above, "style-name")) for above in node.iterancestors())
        return not self.inside and "ground" not in around

    def blocks(self, container: Any) -> None:
        """Write the paragraphs, lists and tables inside an element."""
        for node in container:
            if not self._cannot_be_seen(node):
                self.block(node, local(node))

    def block(self, node: Any, name: str) -> None:
        """Write one element, by its local name."""
        if name in ("p", "h"):
            self._paragraph(node, min(9, number(attribute(node, "outline-level"), 1)) if name == "h" else 0)
        elif name == "list":
            self._list(node)
        elif name == "table":
            self._table(node)
        elif name == "math":
            said = next(descendants(node, "annotation"), node)
            self.pieces.append(Piece("paragraph", " ".join("".join(said.itertext()).split())))
        elif name == "object" and (root := self.embedded(attribute(node, "href"))) is not None:
            follow, self.embedded = self.embedded, lambda _: None  # an object in an object may be itself
            self.blocks([root])
            self.embedded = follow
        elif name in _CONTENTS:
            self.pieces += [Piece("furniture", piece.text) for piece in self.apart(node)]
        elif name not in _SKIPPED:
            self.blocks(node)

    def _paragraph(self, node: Any, level: int) -> None:
        """Write a paragraph or heading, then what is anchored to it."""
        outer, self.boxes = self.boxes, []
        text = _spaced(self.inline(node))
        if level and text:
            label = one_line(text, 1000)
            self.pieces.append(Piece("heading", f"{'#' * min(6, level)} {label}", level, label))
        elif text:
            self.title = self.title or (one_line(text) if attribute(node, "style-name") == "Title" else "")
            self.pieces.append(Piece("paragraph", text))
        self._boxes(outer)

    def _boxes(self, outer: list[Any]) -> None:
        """Write what was anchored since ``outer`` was put aside."""
        boxes, self.boxes = self.boxes, outer
        self.inside += 1
        for box in boxes:
            self.blocks(box)
        self.inside -= 1

    def _list(self, node: Any) -> None:
        """Write a list, and those within, as one piece, unless a heading or a table parts it."""
        boxes, self.boxes, pieces, self.pieces = self.boxes, [], self.pieces, []
        for item in self._items(node, attribute(node, "style-name"), 0):
            if isinstance(item, str):
                join(self.pieces, "list", item)
            else:
                self.block(item, local(item))
        self.pieces = pieces + self.pieces
        self._boxes(boxes)

    def _items(self, node: Any, style: str, level: int) -> Iterator[Any]:
        """Yield the lines of a list, and the elements in it that are blocks of their own."""
        count = 0
        for inner in (inner for item in node if local(item) in ("list-item", "list-header") for inner in item):
            if local(inner) == "list":
                yield from self._items(inner, attribute(inner, "style-name") or style, min(level + 1, 9))
            elif local(inner) != "p":
                yield inner
            elif not self._cannot_be_seen(inner) and (text := _spaced(self.inline(inner))):
                count += 1
                is_numbered = level + 1 in self.numbered.get(style, ())
                yield list_line(text, f"{count}." if is_numbered else "-", level)

    def _table(self, node: Any) -> None:
        """Write a table, a row a line; one that only arranges the page as what is in its cells."""
        rows = [row for row in descendants(node, "table-row") if is_own(row, node)]
        cells = [[cell for cell in row if local(cell) in ("table-cell", "covered-table-cell")] for row in rows]
        size = sum(len("".join(cell.itertext())) for row in cells for cell in row)
        nested = next(descendants(node, "table"), None) is not None
        if nested or all(len(row) < 2 for row in cells) or size > _LONG_CELL * sum(map(len, cells)):
            for row in cells:
                for cell in row:
                    self.blocks(cell)
        else:
            lines = [text for row in cells for text in [rows_text([self._row(row)])] if text]
            self.pieces.append(Piece("table", "\n".join(lines)))

    def _row(self, cells: list[Any]) -> list[str]:
        texts: list[str] = []
        for cell in cells:
            text = " ".join(" ".join(piece.label or piece.text for piece in self.apart(cell)).split())
            texts += [text] * min(number(attribute(cell, "number-columns-repeated"), 1), max(1, _WIDE - len(texts)))
        return texts

    def apart(self, node: Any) -> list[Piece]:
        """Give the pieces inside an element without adding them."""
        outer, self.pieces = self.pieces, []
        self.blocks(node)
        inner, self.pieces = self.pieces, outer
        return inner

    def take(self) -> list[Piece]:
        """Give all that was written, with its notes and comments behind, and begin anew; notes count on."""
        for index, body in enumerate(self.notes):
            if body is not None:
                text = "\n".join(piece.text for piece in self.apart(body))
                self.pieces.append(Piece("paragraph", f"[^{index + 1}]: {text}"))
                self.notes[index] = None
        for comment in self.comments:
            author = one_line("".join(text for name in descendants(comment, "creator") for text in name.itertext()))
            text = "\n".join(_spaced(self.inline(line)) for line in descendants(comment, "p"))
            self.pieces.append(Piece("paragraph", f"Comment ({author}): {text}"))
        pieces, self.pieces, self.comments = self.pieces, [], []
        return pieces


def is_own(row: Any, table: Any) -> bool:
    """Tell whether a row is of the table itself, not of one within."""
    return next((above for above in row.iterancestors() if local(above) == "table"), None) is table


def _spaced(text: str) -> str:
    """White space is one space, as the format has it; a line break that is meant stays."""
    return "\n".join(" ".join(line.split()) for line in text.split("\n")).strip()


def read(data: bytes, name: str, media_type: str) -> Reading:
    """Read a text document or a presentation, as ``base.Reader`` has it."""
    content, part = opened(data)
    styles = part("styles.xml")
    walk = Walk(_numbered([content, styles]), part, looks([styles, content]))
    body = child(content, "body")
    metadata, title = stated(part("meta.xml"))
    slides = child(body, "presentation") if body is not None else None
    if slides is None:
        walk.blocks(children(body))
        text, blocks = assembled([*walk.take(), *_furniture(walk, [styles, content])])
        pages: tuple[Any, ...] = ()
    else:
        walk.inside = 1
        parts = [(one_line(attribute(page, "name")), _slide(walk, page)) for page in slides if local(page) == "page"]
        text, blocks, pages = paged(parts)
        hidden = sum(walk.looks.get(attribute(page, "style-name")) == "slide" for page in slides)
        metadata |= {"hidden_slides": hidden} if hidden else {}
    metadata |= {"hidden_text": walk.hidden} if walk.hidden else {}
    heading = next((block.label for block in blocks if block.kind == "heading"), "")
    return Reading(text, walk.title or title or heading or stem(name), blocks, pages, metadata)


def opened(data: bytes) -> tuple[Any, Callable[[str], Any]]:
    """Give the root of the content, and what gives that of another part; of a flat file all parts are one."""
    if not data.startswith(b"PK"):
        root = parse_xml(data)
        return root, lambda name: root if name.endswith(".xml") else None
    package = unlocked(data)
    return parse_xml(package.read("content.xml"), "content.xml"), partial(optional, package)


def unlocked(data: bytes) -> Package:
    """Open a package, which must not be encrypted."""
    package = Package(data)
    if "META-INF/manifest.xml" in package and b"encryption-data" in package.read("META-INF/manifest.xml"):
        raise protected()
    return package


def optional(package: Package, name: str) -> Any:
    """Parse a part, or an object's content; None when it is missing or damaged: the text is still readable."""
    name = name.removeprefix("./")
    name = name if name.endswith(".xml") else f"{name}/content.xml"
    try:
        return parse_xml(package.read(name), name) if name in package else None
    except SourceUndecodable:
        return None


def _furniture(walk: Walk, roots: list[Any]) -> list[Piece]:
    """Write the headers and footers of the pages that the document uses, each text once."""
    pages = [page for root in roots for page in descendants(root, "master-page")]
    nodes = [*pages, *(node for root in roots for node in descendants(root, "style", "p"))]
    used = {attribute(node, key) for node in nodes for key in ("master-page-name", "next-style-name")}
    used |= {"Standard", *(attribute(page, "name") for page in pages[:1])}
    parts = (part for page in pages if attribute(page, "name") in used for part in page)
    texts = ("\n".join(piece.text for piece in walk.apart(part)) for part in parts if _RUNNING.match(local(part)))
    return [Piece("furniture", text) for text in dict.fromkeys(texts)]


def _numbered(roots: list[Any]) -> dict[str, set[int]]:
    """Find which levels of which list styles show numbers."""
    return {
        attribute(style, "name"): {
            number(attribute(level, "level"), 1) for level in style if local(level) == "list-level-style-number"
        }
        for root in roots
        for style in descendants(root, "list-style")
    }


def looks(roots: list[Any]) -> dict[str, str]:
    """Tell which styles hide text ("hidden"; "white" unless one around it is a "ground") or a slide ("slide")."""
    found: dict[str, str] = {}
    layouts = (layout for root in roots for layout in descendants(root, "page-layout-properties"))
    is_white = all(attribute(layout, "background-color") in ("", "transparent", "#ffffff") for layout in layouts)
    for style in (style for root in roots for style in descendants(root, "style")):
        text, page = child(style, "text-properties"), child(style, "drawing-page-properties")
        name, look = attribute(style, "name"), found.get(attribute(style, "parent-style-name"), "")
        if page is not None and attribute(page, "visibility") == "hidden":
            look = "slide"
        grounds = {attribute(part, "background-color") for part in style} - {"", "transparent", "#ffffff"}
        colour = attribute(text, "color").lower() if text is not None else ""
        if grounds or next(descendants(style, "background-image", "map"), None) is not None:
            look = "ground"
        elif colour and look in ("", "white"):
            look = "white" if colour == "#ffffff" and is_white else ""
        if text is not None and (attribute(text, "display") == "none" or points(attribute(text, "font-size")) <= LEAST):
            look = "hidden"
        if look:
            found[name] = look
    return found


def stated(root: Any) -> tuple[dict[str, Scalar], str]:
    """Give what the document states of itself, and its title."""
    nodes = reversed(children(child(root, "meta")))
    values = {local(node): one_line("".join(node.itertext()), 1000) for node in nodes}
    found: dict[str, Scalar] = {}
    for key, ours in _META.items():
        if values.get(key):
            found.setdefault(ours, values[key])
    return found, one_line(values.get("title", ""))


def _slide(walk: Walk, page: Any) -> list[Piece]:
    """Write a slide, the object with its title first, and the speaker's notes."""
    shapes = [shape for shape in page if local(shape) not in ("notes", "forms", "animations")]
    for shape in sorted(shapes, key=lambda one: attribute(one, "class") != "title"):
        if attribute(shape, "class") == "title":
            label = " ".join(" ".join(piece.text for piece in walk.apart(shape)).split())
            walk.pieces.append(Piece("heading", f"# {label}" if label else "", 1, label))
        else:
            walk.block(shape, local(shape))
    notes = child(page, "notes")
    text = "\n".join(piece.text for piece in walk.apart(notes)) if notes is not None else ""
    walk.pieces.append(Piece("paragraph", f"Notes: {text}" if text else ""))
    pieces = walk.take()
    if walk.looks.get(attribute(page, "style-name")) == "slide":
        return [replace(piece, kind="furniture", level=0) for piece in pieces]
    return pieces
