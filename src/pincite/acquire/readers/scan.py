"""What text recognition saw on a page becomes lines, as if a PDF had said them, and so paragraphs with boxes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from pincite.acquire.readers.pdf_compose import Composer
from pincite.acquire.readers.pdf_layout import mark_furniture, mark_headings
from pincite.acquire.readers.pdf_page import GONE, HYPHEN, Line, PageText, Style
from pincite.types import Reading, Scalar

ScannedLine = list[tuple[str, float, float, float, float]]
"""Words, each with left, upper, right and lower edge, points from the page's upper left corner."""

Scanned = tuple[list[ScannedLine], float, float, float]
"""Lines, width and height of the page in points, mean confidence in per cent."""

UNSURE = 60.0  # per cent of confidence: below, a page's text is to be doubted
_ALIKE = (0.7, 1.4)  # times the usual height: letters of a line of text, whatever ascends and descends in it
_MARKS = str.maketrans("", "", GONE + HYPHEN)


def page_of(scan: Scanned, number: int, label: str = "") -> PageText:
    """Make a page of what was recognised.

    Args:
        scan: its lines.
        number: the page's, from 0.
        label: as printed, or "".

    Returns:
        The page; character k of its text belongs to the word whose span in ``words`` holds k.
    """
    lines, width, height, _ = scan
    page = PageText(label=label)
    if not lines:
        return page
    usual = median(max(word[4] for word in line) - min(word[2] for word in line) for line in lines)
    said: list[str] = []
    length = 0
    for line in lines:
        start = length
        for text, x0, y0, x1, y1 in line:
            clean = text.translate(_MARKS)
            page.words.append((length, length + len(clean), x0, y0, x1, y1))
            said.append(clean + " ")
            length += len(clean) + 1
        page.lines.append(_line(line, number, (start, length - 1), usual, (width, height)))
    page.raw = "".join(said)
    return page


def _line(words: ScannedLine, number: int, span: tuple[int, int], usual: float, size: tuple[float, float]) -> Line:
    """Make a line; its letters are as high as usual unless they clearly are not."""
    left, upper = min(word[1] for word in words), min(word[2] for word in words)
    right, lower = max(word[3] for word in words), max(word[4] for word in words)
    height = lower - upper
    height = usual if _ALIKE[0] * usual < height < _ALIKE[1] * usual else height
    style = Style(round(height * 4) / 4, 0, False, "")
    x, y = left / (size[0] or 1), lower / (size[1] or 1)
    return Line(number, *span, style, left, right, -lower, -lower, x, y)


def compose(scans: Sequence[Scanned], title: str) -> Reading:
    """Make a reading of an image's pages."""
    pages = [page_of(scan, number) for number, scan in enumerate(scans)]
    mark_furniture(pages)
    mark_headings(pages, ())
    composer = Composer(pages)
    text = composer.compose()
    metadata: dict[str, Scalar] = {"recognised_pages": len(pages)}
    warnings = tuple(doubts(dict(enumerate(scans))))
    return Reading(text, title, tuple(composer.blocks), tuple(composer.pages), metadata, warnings=warnings)


def doubts(scans: dict[int, Scanned]) -> list[str]:
    """Say on which pages, from 0, recognition was unsure."""
    unsure = [str(number + 1) for number, (lines, _, _, sure) in sorted(scans.items()) if lines and sure < UNSURE]
    return [f"Text recognition was unsure on page {', '.join(unsure)}."] if unsure else []
