"""DOCX: body, text boxes, notes and comments in order; inserted text is in, deleted and hidden text is out.

Headings ("## 1.2 Label", with the numbers that the document shows), lists, tables ("| ... |"), code and paragraphs in
order; at the end notes ("[^1]: ...", where "[^1]" stands in the text), comments, and as furniture headers and
footers. Metadata: what the document states of itself, and the number of characters that are hidden or deleted and so
left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

from pincite.acquire.readers.base import one_line, stem
from pincite.acquire.readers.docx_styles import Numbering, Style, read_styles
from pincite.acquire.readers.dom import Piece, assembled, join, list_line, rows_text
from pincite.acquire.readers.ooxml import Parts, graphic_pieces, is_on
from pincite.acquire.readers.xml import attribute, child, children, descendants, local, number, text_of, value_of
from pincite.types import Reading

_DELETED = frozenset({"del", "moveFrom"})
_SKIPPED = frozenset({"rPr", "pPr", "instrText", "delText", "Fallback", "rt", "annotationRef", "sectPr", "tblPr"})
_CHARACTERS = {"tab": " ", "ptab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}
_ENCLOSED = {  # extension: reader
    "docx": "docx", "rtf": "rtf", "txt": "text", "mht": "mail", "mhtml": "mail",
    **dict.fromkeys(("htm", "html", "xhtml"), "html"),
}  # fmt: skip
_NO_SUBJECT = Piece("heading", "# (no subject)", 1, "(no subject)")  # of a page that is kept as mail
_BOXES, _GRAPHICS = frozenset({"txbxContent", "txBody"}), frozenset({"chart", "relIds"})
_LONG_CELL = 400  # characters of a cell on average: a table of longer ones only arranges the page


@dataclass(slots=True)
class _Walk:
    """What is known of the document, and what has been written so far."""

    styles: dict[str, Style]
    numbering: Numbering
    follow: Callable[[str], Any]  # from an id to the root of the part that the current one refers to by it
    enclosed: Callable[[str], list[Piece]]  # what a document that the current one encloses by an id says
    pieces: list[Piece] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)  # boxes and graphics of the paragraph that is being written
    notes: list[tuple[str, str]] = field(default_factory=list)  # kind and id, in order of reference
    left_out: dict[str, int] = field(default_factory=lambda: {"hidden_text": 0, "deleted_text": 0})
    title: str = ""

    # --- inline

    def inline(self, node: Any) -> str:
        """Give the text inside an element; what is deleted or hidden is counted, text boxes wait in ``boxes``."""
        return "".join(self._part(inner) for inner in node)

    def _part(self, node: Any) -> str:
        name = local(node)
        if name == "t":
            return text_of(node)
        if name in _SKIPPED:
            return ""
        if name in _DELETED:
            self.left_out["deleted_text"] += sum(len(text.text or "") for text in descendants(node, "delText", "t"))
            return ""
        if name in _CHARACTERS:
            return _CHARACTERS[name]
        if name in _NOTES:
            return self._note(_NOTES[name], attribute(node, "id"))
        if name in _BOXES or name in _GRAPHICS:
            self.boxes.append(node)
            return ""
        if name == "r" and _cannot_be_seen(node):
            self.left_out["hidden_text"] += sum(len(text.text or "") for text in descendants(node, "t"))
            return ""
        return self._formula(node, name) if name in _FORMULAS else self.inline(node)

    def _note(self, kind: str, name: str) -> str:
        if (kind, name) not in self.notes:
            self.notes.append((kind, name))
        return f"[^{self.notes.index((kind, name)) + 1}]"

    def _formula(self, node: Any, name: str) -> str:
        """Write the parts of a fraction, a power, an index or a root with the sign between them."""
        first, sign, second = _FORMULAS[name]
        parts = [child(node, part) for part in (first, second)]
        texts = [self.inline(part) if part is not None else "" for part in parts]
        texts = [f"({text})" if len(text) > 1 and sign != "_" else text for text in texts]
        return sign.join(texts)

    # --- blocks

    def blocks(self, container: Any) -> None:
        """Write the paragraphs and tables inside an element."""
        for node in container:
            name = local(node)
            if name == "p":
                self.paragraph(node)
            elif name == "tbl":
                self.table(node)
            elif name == "altChunk":
                self.pieces += self.enclosed(attribute(node, "id"))
            elif name not in _DELETED and name not in _SKIPPED:
                self.blocks(node)

    def paragraph(self, node: Any) -> None:
        """Write a paragraph, then the text boxes that hang on it."""
        outer, self.boxes = self.boxes, []
        text = self.inline(node).strip()
        style = self._style(node)
        if text:
            self._add(text, style)
        boxes, self.boxes = self.boxes, outer
        for box in boxes:
            if local(box) in _BOXES:
                self.blocks(box)
            else:
                self.pieces += graphic_pieces(box, self.follow)

    def _style(self, node: Any) -> Style:
        """Give the style of a paragraph, with what the paragraph says itself."""
        style = self.styles.get(value_of(node, "pPr", "pStyle"), Style())
        return style.with_own(child(node, "pPr"))

    def _add(self, text: str, style: Style) -> None:
        """Write the text of a paragraph as its style wants it."""
        marker = self.numbering.marker(style.list_id, style.list_level)
        if style.heading:
            label = one_line(f"{marker} {text}" if marker not in ("", "-") else text, 1000)
            self.title = self.title or (label if style.is_title else "")
            self.pieces.append(Piece("heading", f"{'#' * min(6, style.heading)} {label}", style.heading, label))
        elif style.is_contents:
            self.pieces.append(Piece("furniture", text))
        elif style.is_code:
            join(self.pieces, "code", text)
        elif marker:
            join(self.pieces, "list", list_line(text, marker, style.list_level))
        else:
            self.pieces.append(Piece("paragraph", text))

    def table(self, node: Any) -> None:
        """Write a table, a row a line; one that only arranges the page as what is in its cells."""
        rows = [row for row in descendants_outside_tables(node, "tr") if not is_on(row, "trPr", "del")]
        cells = [list(descendants_outside_tables(row, "tc")) for row in rows]
        size = sum(len(text.text or "") for text in descendants(node, "t"))
        count = sum(len(row) for row in cells)
        nested = next(descendants(node, "tbl"), None) is not None
        if nested or all(len(row) < 2 for row in cells) or size > _LONG_CELL * count:
            for row in cells:
                for cell in row:
                    self.blocks(cell)
        else:
            self.pieces.append(Piece("table", rows_text([self._row(row) for row in cells])))

    def _row(self, cells: Iterable[Any]) -> list[str]:
        """Give the texts of a row's cells; a cell that is merged into the one above is empty."""
        texts = []
        for cell in cells:
            merged = child(cell, "tcPr", "vMerge") is not None and value_of(cell, "tcPr", "vMerge") != "restart"
            inner = [] if merged else self._apart(cell)
            texts.append(" ".join(" ".join(piece.label or piece.text for piece in inner).split()))
            texts += [""] * min(63, number(value_of(cell, "tcPr", "gridSpan"), 1) - 1)
        return texts

    def _apart(self, node: Any) -> list[Piece]:
        """Give the pieces inside an element without adding them."""
        outer, self.pieces = self.pieces, []
        self.blocks(node)
        inner, self.pieces = self.pieces, outer
        return inner

    def flat(self, node: Any) -> str:
        """Give the text of a note, comment, header or footer: its paragraphs as lines."""
        return "\n".join(piece.text for piece in self._apart(node)).strip()


_FORMULAS = {  # element: its first part, the sign between, its second part
    "f": ("num", "/", "den"),
    "sSup": ("e", "^", "sup"),
    "sSub": ("e", "_", "sub"),
    "rad": ("deg", "√", "e"),
}


def descendants_outside_tables(node: Any, name: str) -> Iterable[Any]:
    """Yield the rows or cells of a table, also those inside content controls, but not those of tables within."""
    for inner in node:
        if local(inner) == name:
            yield inner
        elif local(inner) in ("sdt", "sdtContent", "ins", "customXml", "moveTo"):
            yield from descendants_outside_tables(inner, name)


def read(data: bytes, name: str, media_type: str) -> Reading:
    """Read a word processor document, as ``base.Reader`` has it."""
    parts = Parts(data)
    main = parts.main("word/document.xml")
    body = parts.xml(main)
    relations = parts.relations(main)
    named = {
        relation.kind: parts.optional(relation.target) for relation in relations.values() if relation.kind in _USED
    }
    walk = _Walk(
        read_styles(named.get("styles")),
        Numbering(named.get("numbering")),
        parts.follower(main),
        _enclosed(parts, main, name),
    )
    walk.blocks(body)
    _write_behind(walk, named)
    for kind in ("header", "footer"):
        texts = dict.fromkeys(_running(walk, parts, parts.related(main, kind)))
        walk.pieces += [Piece("furniture", text) for text in texts]
    title, metadata = parts.properties()
    metadata |= {key: count for key, count in walk.left_out.items() if count}
    heading = next((piece.label for piece in walk.pieces if piece.kind == "heading"), "")
    text, blocks = assembled(walk.pieces)
    return Reading(text, one_line(walk.title or title or heading) or stem(name), blocks, metadata=metadata)


def _enclosed(parts: Parts, main: str, name: str) -> Callable[[str], list[Piece]]:
    """Make what reads enclosed documents; one without a name is enclosed itself, and encloses no more."""
    relations = parts.relations(main) if name else {}

    def pieces(key: str) -> list[Piece]:
        part = relations[key].target if key in relations else ""
        module = _ENCLOSED.get(part.rpartition(".")[2].lower(), "")
        if not module or part not in parts.package:
            return []
        reading = import_module(f"pincite.acquire.readers.{module}").read(parts.package.read(part), "", "")
        found = [Piece(b.kind, reading.text[b.start : b.end], b.level, b.label) for b in reading.blocks]
        return found[found[:1] == [_NO_SUBJECT] :]

    return pieces


def _cannot_be_seen(run: Any) -> bool:
    """Tell whether a run is hidden, a point high, or white where nothing can be behind it."""
    properties = child(run, "rPr")
    if properties is None:
        return False
    if is_on(run, "rPr", "vanish"):
        return True
    size, colour = (
        attribute(found, "val") if found is not None else "" for found in map(partial(child, properties), _LOOKS)
    )
    if size.isdecimal() and int(size) <= _TINY:
        return True
    if colour.upper() != "FFFFFF" or any(child(properties, name) is not None for name in ("shd", "highlight")):
        return False
    around = {local(above) for above in run.iterancestors()}
    paragraph = next((above for above in run.iterancestors() if local(above) == "p"), None)
    style = child(paragraph, "pPr") if paragraph is not None else None
    shaded = style is not None and (child(style, "shd") is not None or child(style, "pStyle") is not None)
    return not (shaded or around & {"tbl", "txbxContent", "hyperlink"})


_LOOKS = ("sz", "color")
_TINY = 3  # half points
_USED = ("styles", "numbering", "footnotes", "endnotes", "comments")


def _write_behind(walk: _Walk, notes: dict[str, Any]) -> None:
    """Write the notes that were referred to (those within notes come behind them), and all comments."""
    for index, (kind, key) in enumerate(walk.notes):
        found = next((note for note in children(notes.get(kind)) if attribute(note, "id") == key), None)
        if found is not None:
            walk.pieces.append(Piece("paragraph", f"[^{index + 1}]: {walk.flat(found)}"))
    for comment in children(notes.get("comments")):
        author = one_line(attribute(comment, "author"))
        walk.pieces.append(Piece("paragraph", f"Comment ({author}): {walk.flat(comment)}"))


def _running(walk: _Walk, parts: Parts, names: Iterable[str]) -> Iterator[str]:
    """Give the text of each header or footer."""
    for name in names:
        walk.follow = parts.follower(name)
        yield walk.flat(children(parts.optional(name)))
