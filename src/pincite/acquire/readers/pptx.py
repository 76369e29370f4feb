"""PPTX: slides as pages, in the order in which they are shown, with tables, charts, diagrams, notes and comments.

A page for each slide, labelled with its title: the title as a heading, then points, paragraphs, tables and charts in
the order of the slide's objects, at last "Notes: ..." and "Comment (author): ...". Dates, footers and slide numbers
are furniture, and so is all of a hidden slide. Metadata: what the document states of itself, the number of hidden
slides, and of characters that cannot be seen, which are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from pincite.acquire.readers.base import one_line, stem
from pincite.acquire.readers.dom import Piece, join, list_line, paged, rows_text
from pincite.acquire.readers.ooxml import Parts, graphic_pieces, line_of, lines_of, relation_id
from pincite.acquire.readers.xml import attribute, child, children, descendants, local, number, text_of, value_of
from pincite.types import Reading

_TITLES = frozenset({"title", "ctrTitle"})
_FURNITURE = frozenset({"sldNum", "dt", "ftr", "hdr"})
_WHITES = (("srgbClr", "ffffff"), ("schemeClr", "bg1"))
_GROUNDS = ("pic", "graphicFrame", "blipFill", "gradFill", "pattFill", "fillRef", "spPr", "grpSpPr")
_TINY = 100  # hundredths of a point
_TEXTS = frozenset({"body", "obj", "", "subTitle"})  # placeholders whose paragraphs are points of a list


def read(data: bytes, name: str, media_type: str) -> Reading:
    """Read a presentation, as ``base.Reader`` has it."""
    parts = Parts(data)
    title, metadata = parts.properties()
    out = [0]
    slides = [_slide(parts, part, out) for part in _order(parts)]
    metadata |= {"hidden_text": out[0]} if out[0] else {}
    hidden = sum(is_hidden for is_hidden, _ in slides)
    if hidden:
        metadata["hidden_slides"] = hidden
    labels = [next((piece.label for piece in pieces if piece.kind == "heading"), "") for _, pieces in slides]
    text, blocks, pages = paged((label, pieces) for label, (_, pieces) in zip(labels, slides, strict=True))
    if title.lower() in ("", "powerpoint presentation"):
        title = next(filter(None, labels), "")
    return Reading(text, one_line(title) or stem(name), blocks, pages, metadata)


def _order(parts: Parts) -> list[str]:
    """Name the slides in the order of the presentation."""
    main = parts.main("ppt/presentation.xml")
    relations = parts.relations(main)
    slides = child(parts.xml(main), "sldIdLst")
    keys = [relation_id(slide) for slide in children(slides)]
    return [relations[key].target for key in keys if key in relations and relations[key].target in parts.package]


def _slide(parts: Parts, part: str, out: list[int]) -> tuple[bool, list[Piece]]:
    """Tell whether a slide is hidden, and give its pieces, its title first; count what cannot be seen."""
    root, ground = parts.xml(part), _ground(parts, part)
    for kind in ("sp", "r"):  # what is in a hidden object is counted with it
        for node in [node for node in descendants(root, kind) if _cannot_be_seen(node, ground)]:
            out[0] += len("".join(text_of(inner).strip() for inner in descendants(node, "t")))
            node.getparent().remove(node)
    pieces = list(_shapes(child(root, "cSld", "spTree"), parts.follower(part)))
    pieces.sort(key=lambda piece: piece.kind != "heading")
    for kind, write in (("comments", _comments), ("notesSlide", _notes)):
        for target in parts.related(part, kind):
            pieces += write(parts.optional(target))
    if attribute(root, "show") in ("0", "false"):
        return True, [replace(piece, kind="furniture", level=0) for piece in pieces]
    return False, pieces


def _shapes(tree: Any, follow: Callable[[str], Any]) -> Iterator[Piece]:
    """Write the objects of a slide or a group; of alternatives, the first."""
    for node in children(tree):
        name = local(node)
        if name == "sp":
            yield from _shape(node)
        elif name == "graphicFrame":
            yield from _graphic(node, follow)
        elif name == "AlternateContent":
            yield from _shapes(next(iter(node), None), follow)
        elif name == "grpSp":
            yield from _shapes(node, follow)


def _shape(node: Any) -> Iterator[Piece]:
    """Write the text of one object."""
    holder = next(descendants(node, "nvPr"), None)
    is_placeholder = child(holder, "ph") is not None
    kind = value_of(holder, "ph", name="type") if is_placeholder else "none"
    body = child(node, "txBody")
    if body is None:
        return
    if kind in _TITLES:
        label = one_line("\n".join(lines_of(body)), 1000)
        yield Piece("heading", f"# {label}" if label else "", 1, label)
    elif kind in _FURNITURE:
        yield Piece("furniture", "\n".join(lines_of(body)))
    else:
        yield from _paragraphs(body, kind in _TEXTS)


def _ground(parts: Parts, part: str) -> set[tuple[str, ...]]:
    """Give the colours of text that cannot be seen: that of the background, unless something is known to lie on it."""
    names = [part]
    for kind in ("slideLayout", "slideMaster", "theme"):
        names += parts.related(names[-1], kind)[:1]
    roots = [parts.optional(name) for name in names]
    slides, theme = roots[:3], roots[-1]
    objects = (node for root in slides for node in descendants(root, *_GROUNDS))
    if any(local(node) not in ("spPr", "grpSpPr") or child(node, "solidFill") is not None for node in objects):
        return set()
    given = next((bg for root in slides if (bg := child(root, "cSld", "bg")) is not None), None)
    colour = _filled(child(given, "bgPr")) or ("schemeClr", value_of(given, "bgRef", "schemeClr") or "bg1")
    lights = [attribute(one, key) for kind in descendants(theme, "lt1") for one in kind for key in ("lastClr", "val")]
    is_white = value_of(slides[-1], "clrMap", name="bg1") in ("", "lt1") and (not lights or "FFFFFF" in lights)
    return {colour, *_WHITES} if is_white and colour in _WHITES else {colour}


def _cannot_be_seen(node: Any, ground: set[tuple[str, ...]]) -> bool:
    """Tell whether an object is hidden, or left of or above the slide; whether a run is tiny, or as its ground."""
    if local(node) == "r":
        size, colour = value_of(node, "rPr", name="sz"), _filled(child(node, "rPr"))
        holder = next((above for above in node.iterancestors() if local(above) == "sp"), None)
        behind = _filled(child(holder, "spPr"))
        return 0 < number(size, 0) <= _TINY or (colour is not None and (colour == behind or colour in ground))
    if value_of(node, "nvSpPr", "cNvPr", name="hidden") in ("1", "true"):
        return True
    sides = (("x", "cx"), ("y", "cy"))
    offset, extent = child(node, "spPr", "xfrm", "off"), child(node, "spPr", "xfrm", "ext")
    if offset is None or extent is None:
        return False
    return any(number(attribute(offset, at), 0) + number(attribute(extent, size), 0) < 0 for at, size in sides)


def _filled(properties: Any) -> tuple[str, ...] | None:
    """Give the one colour that something is filled with, as it is written, with what is done to it."""
    colour = next(iter(found), None) if (found := child(properties, "solidFill")) is not None else None
    nodes = [colour, *colour] if colour is not None else []
    return tuple(text for node in nodes for text in (local(node), attribute(node, "val").lower())) or None


def _paragraphs(body: Any, in_placeholder: bool) -> list[Piece]:
    """Write paragraphs; those with a bullet, and those of a placeholder with several, are points of a list."""
    found = [(paragraph, line_of(paragraph)) for paragraph in body if local(paragraph) == "p"]
    found = [(paragraph, line) for paragraph, line in found if line]
    pieces: list[Piece] = []
    for paragraph, line in found:
        bullet = any(child(paragraph, "pPr", kind) is not None for kind in ("buChar", "buAutoNum", "buBlip"))
        plain = child(paragraph, "pPr", "buNone") is not None
        if bullet or (in_placeholder and len(found) > 1 and not plain):
            join(pieces, "list", list_line(line, "-", min(8, number(value_of(paragraph, "pPr", name="lvl")))))
        else:
            pieces.append(Piece("paragraph", line))
    return pieces


def _graphic(node: Any, follow: Callable[[str], Any]) -> Iterator[Piece]:
    """Write a table, a chart or a diagram."""
    for table in descendants(node, "tbl"):
        rows = [[_cell(cell) for cell in row if local(cell) == "tc"] for row in table if local(row) == "tr"]
        yield Piece("table", rows_text(rows))
    for graphic in descendants(node, "chart", "relIds"):
        yield from graphic_pieces(graphic, follow)


def _cell(cell: Any) -> str:
    """Give a cell's text on one line, "" where it is merged into another."""
    if "1" in (attribute(cell, "hMerge"), attribute(cell, "vMerge")):
        return ""
    return " ".join(" ".join(lines_of(child(cell, "txBody"))).split())


def _notes(root: Any) -> Iterator[Piece]:
    """Write the speaker's notes, and what else stands on their page; its header, footer and number are furniture."""
    for node in descendants(root, "sp"):
        holder, text = next(descendants(node, "nvPr"), None), "\n".join(lines_of(child(node, "txBody")))
        is_furniture = value_of(holder, "ph", name="type") in _FURNITURE
        yield Piece("furniture", text) if is_furniture or not text else Piece("paragraph", f"Notes: {text}")


def _comments(root: Any) -> Iterator[Piece]:
    """Write comments, of the old kind (text) and the new one (txBody)."""
    for comment in descendants(root, "cm", "reply"):
        plain = child(comment, "text")
        text = text_of(plain).strip() if plain is not None else "\n".join(lines_of(child(comment, "txBody")))
        yield Piece("paragraph", f"Comment: {text}" if text else "")
