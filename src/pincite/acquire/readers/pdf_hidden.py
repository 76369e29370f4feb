"""Text that a reader of the page does not see: it is marked, so that it is not found and cited as if it stood there.

White text may stand on a dark ground and unpainted text over a scanned image, so where in doubt the page is painted,
and what lies at the place of the text decides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pincite.acquire.readers.pdf_page import Frame, Glyphs, Line

_MOST_PIXELS = 1600  # of the longer side
_CONTRAST = 24  # of 255 between the lightest and the darkest pixel: less is not legible
_READABLE = 4  # points; on a page set smaller than that, tiny text is only the scale of the drawing


def without_hidden(page: Any, lines: list[Line], raw: str, glyphs: Glyphs, frame: Frame) -> list[Line]:
    """Cut hidden text out of lines.

    Args:
        page: pypdfium2's page.
        lines: its lines, in order.
        raw: its characters.
        glyphs: what PDFium knows about them.
        frame: its frame.

    Returns:
        The lines in order; what is hidden is a line of its own of the kind furniture, its label "hidden text".
    """
    if not any(line.doubts for line in lines):
        return lines
    sight = _Sight(page, frame, glyphs)
    sight.all_unpainted = all(_covers(line, "unpainted") for line in lines)
    sight.all_tiny = max(line.style.size for line in lines) < _READABLE
    found: list[Line] = []
    for line in lines:
        spans = [(start, end) for start, end, doubt in line.doubts if sight.hidden(start, end, doubt)]
        found += _cut(line, raw, spans) if spans else [line]
    return found


def _covers(line: Line, doubt: str) -> bool:
    return bool(line.doubts) and line.doubts[0][2] == doubt and line.doubts[0][:2] == (line.start, line.end)


def _cut(line: Line, raw: str, spans: list[tuple[int, int]]) -> list[Line]:
    """Cut spans out of a line; the parts keep its geometry, which is good enough for what is left."""
    parts, position = [], line.start
    for start, end in (*spans, (line.end, line.end)):
        seen = raw[position:start]
        if seen.strip():
            lead = len(seen) - len(seen.lstrip())
            parts.append(replace(line, start=position + lead, end=position + len(seen.rstrip()), doubts=[]))
        if start < end:
            parts.append(replace(line, start=start, end=end, kind="furniture", label="hidden text", doubts=[]))
        position = end
    return parts


class _Sight:
    """Sees a page as a person does; it is painted only if somebody looks."""

    def __init__(self, page: Any, frame: Frame, glyphs: Glyphs) -> None:
        self._page, self._frame, self._glyphs = page, frame, glyphs
        self._pixels: bytes | None = None
        self._stride = 0
        self._scale = min(2.0, _MOST_PIXELS / max(1.0, *frame.size))
        self.all_unpainted = False  # the text is the recognised text of a scanned page
        self.all_tiny = False

    def hidden(self, start: int, end: int, doubt: str) -> bool:
        """Tell whether characters [start, end) cannot be seen, given the reason for the doubt."""
        if doubt == "outside":
            return True
        if doubt == "tiny":
            return not self.all_tiny
        if doubt == "unpainted" and self.all_unpainted:
            return False
        boxes = [self._frame.box(*self._glyphs.loose(index)) for index in range(start, end)]
        x0, y0 = min(box[0] for box in boxes), min(box[1] for box in boxes)
        x1, y1 = max(box[2] for box in boxes), max(box[3] for box in boxes)
        return self._contrast(x0, y0, x1, y1) < _CONTRAST

    def _contrast(self, x0: float, y0: float, x1: float, y1: float) -> int:
        """Give the difference between the lightest and the darkest pixel of a box of the displayed page."""
        if self._pixels is None:
            bitmap = self._page.render(scale=self._scale, grayscale=True, may_draw_forms=False)
            self._pixels, self._stride = bytes(bitmap.buffer), bitmap.stride
            bitmap.close()
        left, right = max(0, int(x0 * self._scale)), min(self._stride, int(x1 * self._scale) + 1)
        rows = range(max(0, int(y0 * self._scale)), int(y1 * self._scale) + 1)
        seen = b"".join(self._pixels[row * self._stride + left : row * self._stride + right] for row in rows)
        return max(seen) - min(seen) if seen else 0
