"""What the lines of a PDF are, told from all its pages together: running heads and page numbers, headings, body."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from pincite.acquire.readers.pdf_page import GONE, HYPHEN, Line, PageText

_EDGE = 0.1  # of the page's height: where running heads and page numbers stand
_MARGIN = 0.08  # of the page's width: where stamps stand that run up or down
_SHARE = 0.3  # of the pages (of 20 at most) that must repeat a line, and 3 at least
_NUMBERS = re.compile(r"\d+|\b[ivxlc]+\b")
_PAGE_NUMBER = re.compile(
    r"(?i)\W*(?:(?:page|seite|p\.)\s*)?(?:(\d{1,5})|(?=[ivxlc])c{0,3}(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3}))"
    r"(?:\s*(?:/|of|von|sur|de)\s*\d{1,5})?\W*"
)
_STAMP = re.compile(r"(?i)\bdownload(?:ed from|ed by|ed on| date)\b")  # what libraries print on each page they hand out
_LARGER = 1.12  # times the body's size
_MOST_LARGE = 0.2  # of all characters: sizes that are more frequent are no headings'
_LEVELS = 4
_LONGEST = 150  # characters of a heading's line
_OUTLINE_LINES = 3  # that one entry of the outline may stand for
_SENTENCE_END = (".", ";", "。")
_UNEVEN = 0.3  # share of the commonest size below which sizes say little: recognised text, whose every line has its own
_NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*\.?|[A-Z]\.|[IVX]{1,4}\.|§ ?\d+)\s+\w")


def text_of(page: PageText, line: Line) -> str:
    """Give what a line says, for comparisons: hyphens as they are, and without what is no character."""
    return page.raw[line.start : line.end].replace(GONE, "").replace(HYPHEN, "-")


def mark_furniture(pages: Sequence[PageText]) -> None:
    """Mark what repeats at the upper and lower edges of pages, page numbers there, and stamps along the margins."""
    seen: Counter[str] = Counter()
    for page in pages:
        seen.update({_form(page, line) for line in _edges(page)})
    least = max(3, _SHARE * min(len(pages), 20)) if len(pages) != 2 else 2
    numbered = _page_numbers(pages)
    for page in pages:
        upright = Counter(line.style.angle for line in page.lines).most_common(1)
        for line in _edges(page):
            form = _form(page, line)
            repeated = seen[form] >= least and any(map(str.isalpha, form))
            if repeated or line in numbered or _STAMP.search(text_of(page, line)):
                line.kind, line.label = "furniture", line.label or "running"
        for line in page.lines:
            if line.style.angle != upright[0][0] and not _MARGIN < line.x < 1 - _MARGIN:
                line.kind, line.label = "furniture", line.label or "margin"


def _page_numbers(pages: Sequence[PageText]) -> set[Line]:
    """Find page numbers: the label, or a number that grows with the pages; on a single page only the outermost line.

    A number alone at the edge of a page may as well be the last cell of a table.
    """
    found: set[Line] = set()
    by_offset: dict[int, list[Line]] = defaultdict(list)
    for index, page in enumerate(pages):
        for line in _edges(page):
            match = _PAGE_NUMBER.fullmatch(text_of(page, line).strip())
            if match is None:
                continue
            outermost = all(line.y >= other.y for other in page.lines) or all(line.y <= o.y for o in page.lines)
            if (match[0].strip(" -–—.[]()|") == page.label and page.label) or (outermost and not match[1]):
                found.add(line)
            elif match[1] and (len(pages) > 1 or outermost):
                by_offset[int(match[1]) - index].append(line)
    for lines in by_offset.values():
        if len({line.page for line in lines}) > 1 or len(pages) == 1:
            found.update(lines)
    return found


def _edges(page: PageText) -> Iterator[Line]:
    return (line for line in page.lines if not _EDGE < line.y < 1 - _EDGE)


def _form(page: PageText, line: Line) -> str:
    """Give a line's form without its numbers, which change from page to page."""
    return _NUMBERS.sub("#", text_of(page, line).strip().lower())[:80]


def mark_headings(pages: Sequence[PageText], outline: Iterable[tuple[int, int, str]]) -> None:
    """Mark headings: what the outline names, and lines that are set larger than the body, or alone in bold."""
    body = [(page, line) for page in pages for line in page.lines if line.kind == "paragraph"]
    sizes: Counter[float] = Counter()
    for _, line in body:
        sizes[line.style.size] += line.end - line.start
    if not sizes:
        return
    usual = sizes.most_common(1)[0][0]
    rare = _MOST_LARGE * sum(sizes.values())
    larger = _LARGER if sizes[usual] > _UNEVEN * sum(sizes.values()) else 1.6
    large = sorted((size for size in sizes if size >= usual * larger and sizes[size] < rare), reverse=True)[:_LEVELS]
    for page, line in body:
        text = text_of(page, line).strip()
        if not _may_head(text):
            continue
        if line.style.size in large:
            line.kind, line.level = "heading", large.index(line.style.size) + 1
        elif line.style.bold and line.style.size >= usual and _NUMBERED.match(text):
            depth = text.split()[0].rstrip(".").count(".")
            line.kind, line.level = "heading", min(len(large), _LEVELS) + 1 + depth
    _mark_outline(pages, outline)


def _may_head(text: str) -> bool:
    letters = sum(map(str.isalpha, text))
    return (
        2 < len(text) < _LONGEST and not text.endswith(_SENTENCE_END) and letters >= 2 and letters * 2 >= len(text) / 2
    )


def _mark_outline(pages: Sequence[PageText], outline: Iterable[tuple[int, int, str]]) -> None:
    """Make headings of the lines that the outline names, on the page where it says that they are."""
    entries = defaultdict(list)
    for number, level, title in outline:
        entries[number].append((level, _bare(title)))
    for number, named in entries.items():
        if not 0 <= number < len(pages):
            continue
        page = pages[number]
        lines = [line for line in page.lines if line.kind != "furniture"]
        bare = [_bare(text_of(page, line)) for line in lines]
        for level, title in named:
            for line in _lines_that_say(title, lines, bare):
                line.kind, line.level = "heading", level


def _lines_that_say(title: str, lines: list[Line], bare: list[str]) -> list[Line]:
    """Find the few consecutive lines that say a title, with or without a number before it."""
    for first in range(len(lines)):
        said = ""
        for behind in range(first + 1, min(first + _OUTLINE_LINES, len(lines)) + 1):
            said += bare[behind - 1]
            if said and (
                said == title or said.lstrip("0123456789") == title or title.lstrip("0123456789") == said != ""
            ):
                return lines[first:behind]
            if len(said) > len(title) + 8:
                break
    return []


def _bare(text: str) -> str:
    """Keep letters and digits only."""
    return "".join(char for char in text.lower() if char.isalnum())
