"""From a span of a PDF's text back to the page: the boxes around its words, and an image of the page with them.

PDFium opens the file again for it, in the child, as for reading. Boxes are in points (1/72 inch) from the upper left
corner of the page as displayed: rotation and CropBox are applied.
"""

from __future__ import annotations

import base64
import ctypes
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from pincite.acquire.load import load
from pincite.acquire.readers.pdf import opened
from pincite.acquire.readers.pdf_page import Frame, Glyphs, characters, frame_of, upright_textpage
from pincite.acquire.sandbox import call_in_child
from pincite.errors import SourceUnreadable, SourceUnsupported
from pincite.types import Document, Page

Box = tuple[int, float, float, float, float]
"""Page (from 1), left, upper, right, lower."""

_MOST_PIXELS = 6_000  # of an image's longer side
_INK = (0xD0, 0x20, 0x20, 0xFF)
_PEN = 1.0  # points: the width of the lines around a box, and its distance from the words


def page_image(document: Document, start: int, end: int, *, scale: float = 2.0, password: str = "") -> bytes:
    """Paint the page on which a span starts, with the span boxed.

    Args:
        document: a version of a PDF that is still on disk.
        start: where the span starts in its text.
        end: where it ends.
        scale: pixels for each point.
        password: opens the file if it is encrypted.

    Returns:
        The image, PNG.

    Raises:
        SourceUnsupported: the document has no pages that can be painted.
        SourceUnreadable: the file is not what it was when this version was read.
        SourceError: the file cannot be read, or not in time.
    """
    source = document.source
    if source.media_type != "application/pdf" or not source.uri.startswith("file://"):
        raise SourceUnsupported(f"{document.title} has no pages that can be painted.", fix="Ask for a PDF's passage.")
    now, data = load(source.uri)
    if now.content_hash != source.content_hash:
        message = f"{document.title} has changed since version {document.version} was read."
        raise SourceUnreadable(message, fix="Search again, which reads the new version.")
    found = boxes(data, document.pages, start, end, password=password)
    number = found[0][0] if found else max(page.number for page in document.pages if page.start <= start)
    return painted(data, number, [box for box in found if box[0] == number], scale, password=password)


def boxes(data: bytes, pages: Sequence[Page], start: int, end: int, *, password: str = "") -> list[Box]:
    """Give the boxes around the words of a span, one for each line of it, in order.

    Args:
        data: the PDF.
        pages: the pages of its reading.
        start: where the span starts in the text.
        end: where it ends.
        password: opens the file if it is encrypted.

    Returns:
        The boxes.

    Raises:
        SourceError: the file cannot be read, or not in time.
    """
    spans = list(_spans(pages, start, end))
    found = call_in_child("pdf_boxes", "find_boxes", data, spans=spans, password=password) if spans else []
    return sorted([tuple(box) for box in found] + list(_recognised(pages, start, end)), key=lambda box: box[0])


def fractions(
    data: bytes, pages: Sequence[Page], start: int, end: int, *, password: str = ""
) -> list[tuple[float, float, float, float]]:
    """Give what ``boxes`` gives for one page, as fractions of it: (left, upper, right, lower), each from 0 to 1."""
    found = boxes(data, pages, start, end, password=password)
    if not found:
        return []
    width, height = call_in_child("pdf_boxes", "page_size", data, page=found[0][0], password=password)

    def share(side: float, whole: float) -> float:
        return min(max(side / whole, 0.0), 1.0)

    return [(share(x0, width), share(y0, height), share(x1, width), share(y1, height)) for _, x0, y0, x1, y1 in found]


def painted(data: bytes, page: int, found: Sequence[Box], scale: float, *, password: str = "") -> bytes:
    """Paint a page (from 1) with boxes; see ``page_image``."""
    image = call_in_child("pdf_boxes", "paint", data, page=page, found=list(found), scale=scale, password=password)
    return base64.b64decode(image)


def _recognised(pages: Sequence[Page], start: int, end: int) -> Iterator[Box]:
    """Yield the boxes of recognised words in a span, those of one line joined."""
    line: Box | None = None
    for page in pages:
        if page.end <= start or page.start >= end:
            continue
        for word in page.places.split():
            span, is_word, sides = word.partition("#")
            if not is_word:
                continue
            offset, length = map(int, span.split("+"))
            if not (page.start + offset < end and start < page.start + offset + length):
                continue
            x0, y0, x1, y1 = map(float, sides.split(","))
            if line and line[0] == page.number and line[1] < x0 and min(line[4], y1) - max(line[2], y0) > 0:
                line = (page.number, line[1], min(line[2], y0), x1, max(line[4], y1))
                continue
            if line:
                yield line
            line = (page.number, x0, y0, x1, y1)
    if line:
        yield line


def _spans(pages: Sequence[Page], start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield the (page, first character, count) that a span of the text comes from; notes as (page, -1 - number, 1)."""
    for page in pages:
        if page.end <= start or page.start >= end:
            continue
        for run in page.places.split():
            span, is_character, raw = run.partition("@")
            if not is_character:  # a recognised word
                continue
            offset, length = map(int, span.split("+"))
            first, behind = page.start + offset, page.start + offset + length
            if int(raw) < 0 and first < end and start < behind:
                yield page.number, int(raw), 1
            elif max(first, start) < min(behind, end):
                yield page.number, int(raw) + max(first, start) - first, min(behind, end) - max(first, start)


# --- in the child


def find_boxes(data: bytes, spans: list[tuple[int, int, int]], password: str = "") -> list[Box]:
    """Find the boxes of (page, first character, count)."""
    found: list[Box] = []
    with closing(opened(data, password)) as document:
        for number in sorted({page for page, _, _ in spans}):
            with closing(document[number - 1]) as page, closing(upright_textpage(page)) as textpage:
                frame, glyphs = frame_of(page), Glyphs(textpage)
                raw = characters(glyphs, textpage.count_chars())
                own = [(first, count) for of, first, count in spans if of == number]
                found += [(number, *box) for box in _boxes_of_page(page, own, raw, glyphs, frame)]
    return found


def page_size(data: bytes, page: int, password: str = "") -> tuple[float, float]:
    """Measure a page (from 1) as displayed: width and height in points, at least 1."""
    with closing(opened(data, password)) as document, closing(document[page - 1]) as shown:
        width, height = shown.get_size()
        return max(width, 1.0), max(height, 1.0)


def _boxes_of_page(
    page: Any, spans: list[tuple[int, int]], raw: str, glyphs: Glyphs, frame: Frame
) -> Iterator[tuple[float, float, float, float]]:
    """Yield a page's boxes: those of neighbours on one line are joined."""
    line: list[float] = []
    for first, count in spans:
        if first < 0:
            yield frame.box(*_note_box(page, -1 - first))
            continue
        for index in range(first, min(first + count, len(raw))):
            if raw[index].isspace():
                continue
            box = frame.box(*_reserved(glyphs, index))
            if line and _on_line(line, box, glyphs.style(index).angle - frame.rotation):
                line = [min(line[0], box[0]), min(line[1], box[1]), max(line[2], box[2]), max(line[3], box[3])]
                continue
            if line:
                yield line[0], line[1], line[2], line[3]
            line = list(box)
    if line:
        yield line[0], line[1], line[2], line[3]


def _reserved(glyphs: Glyphs, index: int) -> tuple[float, float, float, float]:
    """Give the box around a character: what the font reserves and what is painted, whichever is larger."""
    loose, tight = glyphs.loose(index), glyphs.tight(index)
    return min(loose[0], tight[0]), min(loose[1], tight[1]), max(loose[2], tight[2]), max(loose[3], tight[3])


def _on_line(line: Sequence[float], box: Sequence[float], angle: int) -> bool:
    """Tell whether a character goes on a line of text that runs in a direction, as displayed."""
    along, across = (1, 0) if angle % 180 == 90 else (0, 1)
    height, taller = sorted((line[across + 2] - line[across], box[across + 2] - box[across]))
    overlap = min(line[across + 2], box[across + 2]) - max(line[across], box[across])
    gap = max(line[along], box[along]) - min(line[along + 2], box[along + 2])
    # A brace or an initial that is as high as several lines has a box of its own.
    return overlap >= height / 2 and gap <= 3 * height and taller <= 2 * height


def _note_box(page: Any, number: int) -> tuple[float, float, float, float]:
    """Give the rectangle of an annotation."""
    import pypdfium2.raw as pdfium

    annotation, rectangle = pdfium.FPDFPage_GetAnnot(page, number), pdfium.FS_RECTF()
    pdfium.FPDFAnnot_GetRect(annotation, ctypes.byref(rectangle))
    pdfium.FPDFPage_CloseAnnot(annotation)
    return rectangle.left, rectangle.bottom, rectangle.right, rectangle.top


def paint(data: bytes, page: int, found: list[Box], scale: float, password: str = "") -> str:
    """Paint a page with frames around boxes; give a PNG image as base64."""
    with closing(opened(data, password)) as document:
        document.init_forms()
        with closing(document[page - 1]) as shown:
            scale = min(scale, _MOST_PIXELS / max(1.0, *shown.get_size()))
            bitmap = shown.render(scale=scale, rev_byteorder=True, prefer_bgrx=True)
            for _, x0, y0, x1, y1 in found:
                _frame(bitmap, [scale * side for side in (x0 - _PEN, y0 - _PEN, x1 + _PEN, y1 + _PEN)], scale)
            image = _png(bitmap)
            bitmap.close()
            return base64.b64encode(image).decode("ascii")


def _frame(bitmap: Any, box: list[float], scale: float) -> None:
    """Draw the four lines around a box, in pixels."""
    left, upper, right, lower = map(round, box)
    pen = max(1, round(scale * _PEN))
    for x, y, width, height in (
        (left - pen, upper - pen, right - left + 2 * pen, pen),
        (left - pen, lower, right - left + 2 * pen, pen),
        (left - pen, upper, pen, lower - upper),
        (right, upper, pen, lower - upper),
    ):
        bitmap.fill_rect(_INK, x, y, width, height)


def _png(bitmap: Any) -> bytes:
    """Encode a bitmap of four bytes a pixel as PNG (RFC 2083), without its fourth channel."""
    width, height = bitmap.width, bitmap.height
    pixels, rows = bytes(bitmap.buffer), []
    for row in range(height):
        line = pixels[row * bitmap.stride : row * bitmap.stride + 4 * width]
        colours = bytearray(3 * width)
        for channel in range(3):
            colours[channel::3] = line[channel::4]
        rows.append(b"\0" + bytes(colours))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows), 6)), (b"IEND", b""))
    chunks = (
        struct.pack(">I", len(part)) + kind + part + struct.pack(">I", zlib.crc32(kind + part)) for kind, part in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
