"""Docling by name: a document as Docling's models see it becomes canonical text with blocks, pages and boxes."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from pincite.acquire.readers.base import one_line, stem
from pincite.acquire.readers.dom import Piece, list_line, paged, rows_text
from pincite.errors import SourceUndecodable
from pincite.types import Block, Page, Reading

_FURNITURE = frozenset({"page_header", "page_footer"})
_DEEPEST = 100  # groups within one another
_MODELS = (
    "Run `docling-tools models download`, or name their folder in DOCLING_ARTIFACTS_PATH; then `pincite add --retry`."
)


class _Item(NamedTuple):
    """A piece, and where it stands on which page: (left, upper, right, lower) in points, () where that is not said."""

    page: int  # 0: not known
    box: tuple[float, ...]
    piece: Piece


def read(data: bytes, name: str, media_type: str) -> Reading:
    """Convert with Docling's defaults; runs in the child, without network.

    Args:
        data: the document.
        name: the file's name; Docling goes by its extension.
        media_type: not used; every reader has it.

    Returns:
        What ``reading_of`` makes of it, with a warning for what Docling could not convert.

    Raises:
        SourceUndecodable: Docling cannot convert it, or its models are not on this machine.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    from docling.datamodel.base_models import DocumentStream
    from docling.exceptions import BaseError

    try:
        found = _converter().convert(DocumentStream(name=name, stream=io.BytesIO(data)))
    except BaseError as error:
        raise SourceUndecodable(
            f"Docling cannot convert it: {one_line(str(error))}", fix="Use another reader."
        ) from error
    except OSError as error:
        raise SourceUndecodable(f"Docling lacks its models: {one_line(str(error))}", fix=_MODELS) from error
    failed = tuple(one_line(f"Docling: {error.error_message}") for error in found.errors)
    return reading_of(found.document.export_to_dict(), name, failed)


@lru_cache(maxsize=1)
def _converter() -> Any:
    from docling.document_converter import DocumentConverter

    return DocumentConverter()


def reading_of(document: Mapping[str, Any], name: str, warnings: tuple[str, ...] = ()) -> Reading:
    """Make a reading of a DoclingDocument.

    Args:
        document: its JSON.
        name: the file's name, the title when there is no better.
        warnings: what was not converted.

    Returns:
        Headings ("## Label"), paragraphs, lists, tables ("| ... |") and code in Docling's reading order, a page for
        each of its pages, with a box for each block. Headers and footers of pages are furniture.
    """
    items, last = [], 0
    for item in _merged(_Walk(document).items(document.get("body") or {}, 0, 0)):
        if item.piece.text.strip():
            last = max(last, item.page)
            items.append(item._replace(page=last or 1))
    known = {int(number): page.get("size") or {} for number, page in (document.get("pages") or {}).items()}
    count = max([*known, last]) if known or last else 0
    pages = [(n, [item for item in items if item.page == n or (n == 1 and item.page < 1)]) for n in range(1, count + 1)]
    if not count:
        pages = [(1, items)]
    text, blocks, spans = paged(("", [item.piece for item in inside]) for _, inside in pages)
    spans = tuple(_placed(spans, items, blocks)) if count else ()
    titles = [item.piece.label for item in items if item.piece.kind == "heading"]
    return Reading(text, next(iter(titles), "") or stem(name), blocks, spans, warnings=warnings)


def _placed(pages: tuple[Page, ...], items: list[_Item], blocks: tuple[Block, ...]) -> Iterator[Page]:
    """Note on each page where its blocks stand, in the way of recognised words: see ``pdf_boxes``."""
    for page in pages:
        places = [
            f"{block.start - page.start}+{block.end - block.start}#{','.join(f'{side:.1f}' for side in item.box)}"
            for item, block in zip(items, blocks, strict=True)
            if item.page == page.number and item.box
        ]
        yield Page(page.number, page.label, page.start, page.end, " ".join(places))


def _merged(items: Iterator[_Item]) -> Iterator[_Item]:
    """Join the items of a list on one page."""
    for (kind, page), run in groupby(items, key=lambda item: (item.piece.kind, item.page)):
        members = list(run)
        if kind != "list":
            yield from members
            continue
        boxes = [item.box for item in members if item.box]
        sides = list(zip(*boxes, strict=True))
        box = (min(sides[0]), min(sides[1]), max(sides[2]), max(sides[3])) if boxes else ()
        yield _Item(page, box, Piece("list", "\n".join(item.piece.text for item in members)))


class _Walk:
    """Walks the tree of a document; each item is met once, whatever its references say."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._seen: set[str] = set()
        self._titles = any(text.get("label") == "title" for text in document.get("texts") or ())

    def items(self, node: Mapping[str, Any], depth: int, level: int) -> Iterator[_Item]:
        """Yield what is below a node, in order; ``level`` is how deep the list is that it is in."""
        for reference in node.get("children") or () if depth < _DEEPEST else ():
            child = self._at(reference)
            if child is None:
                continue
            label = str(child.get("label"))
            if label == "inline":
                yield self._item(
                    child, Piece("paragraph", " ".join(i.piece.text for i in self.items(child, depth + 1, 0)))
                )
                continue
            piece = self._piece(child, label, level)
            if piece is not None:
                yield self._item(child, piece)
            yield from self.items(child, depth + 1, level + (label in ("list", "ordered_list")))

    def _at(self, reference: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Follow a reference such as "#/texts/3", once."""
        path = str(reference.get("$ref"))
        kind, _, number = path.removeprefix("#/").partition("/")
        found = self._document.get(kind)
        if path in self._seen or not isinstance(found, list) or not number.isdecimal() or int(number) >= len(found):
            return None
        self._seen.add(path)
        node: Mapping[str, Any] = found[int(number)]
        return node

    def _piece(self, node: Mapping[str, Any], label: str, level: int) -> Piece | None:
        """Write one item, None for one that only holds others."""
        if "data" in node:
            return Piece("table", _table(node["data"]))
        text = str(node.get("text") or "").strip()
        if not text:
            return None
        if label in _FURNITURE or node.get("content_layer") == "furniture":
            return Piece("furniture", text)
        if label in ("title", "section_header"):
            depth = 1 if label == "title" else max(1, int(node.get("level") or 1)) + self._titles
            shown = one_line(text, 1000)
            return Piece("heading", f"{'#' * min(6, depth)} {shown}", depth, shown)
        if label == "list_item":
            marker = str(node.get("marker") or "") if node.get("enumerated") else "-"
            return Piece("list", list_line(text, marker or "-", max(0, level - 1)))
        if label == "code":
            language = str(node.get("code_language") or "").lower()
            return Piece("code", text, label="" if language == "unknown" else language)
        return Piece("paragraph", text)

    def _item(self, node: Mapping[str, Any], piece: Piece) -> _Item:
        """Say where an item stands, by its first place."""
        place = next(iter(node.get("prov") or ()), None)
        if place is None:
            return _Item(0, (), piece)
        number, box = int(place["page_no"]), place.get("bbox") or {}
        size = ((self._document.get("pages") or {}).get(str(number)) or {}).get("size") or {}
        if not box or not size:
            return _Item(number, (), piece)
        upper, lower = float(box["t"]), float(box["b"])
        if box.get("coord_origin") != "TOPLEFT":
            upper, lower = float(size["height"]) - upper, float(size["height"]) - lower
        return _Item(number, (float(box["l"]), upper, float(box["r"]), lower), piece)


def _table(data: Mapping[str, Any]) -> str:
    """Write a table, a row a line; a cell over several columns or rows stands in its first."""
    rows = [[""] * int(data.get("num_cols") or 0) for _ in range(int(data.get("num_rows") or 0))]
    for cell in data.get("table_cells") or ():
        row, column = int(cell["start_row_offset_idx"]), int(cell["start_col_offset_idx"])
        if row < len(rows) and column < len(rows[row]):
            rows[row][column] = " ".join(str(cell.get("text") or "").split())
    return rows_text(rows)
