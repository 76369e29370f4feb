"""The lines of a PDF become one canonical text with blocks, pages, and the way back to each page's characters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import regex

from pincite.acquire.readers.base import LIST_ITEM, one_line
from pincite.acquire.readers.pdf_page import GONE, HYPHEN, Line, PageText
from pincite.acquire.readers.pdf_tables import rows_of
from pincite.types import Block, BlockKind, Page

_MARK = re.compile(f"[{GONE}{HYPHEN}]")
_WORD = regex.compile(r"\p{L}[\p{L}-]+")
_BROKEN = regex.compile(rf"\p{{L}}*{HYPHEN}\p{{L}}*")
_LETTERS_BEFORE, _LETTERS_AFTER = regex.compile(r"\p{L}+$"), regex.compile(r"\p{L}+")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\u3000-\u303f\uff00-\uffef]")
_ENDS = regex.compile(r"[.!?:。！？؟][\"'”’»)\]]*$")
_STARTS_LOW = regex.compile(r"[\p{Ll}\p{Lo}]")
_LOOSE = 1.3  # times the usual distance between lines: more opens a paragraph
_INDENT = (0.8, 5.0)  # times the size: the first line of a paragraph
_SHORT = 4  # times the size: a line that ends so far before the next one's end was broken on purpose
_LONGEST = 250  # characters of a heading
_USUAL = 1.25  # times the size: the distance between lines where the document does not tell

Run = tuple[int, int, int]  # start in the text, length, first character of the page; or -1 - annotation's number


def vocabulary(pages: Sequence[PageText]) -> Counter[str]:
    """Count the document's own words, compounds with their hyphens: they decide about hyphens at line ends."""
    words: Counter[str] = Counter()
    for page in pages:
        words.update(_WORD.findall(_BROKEN.sub(" ", page.raw.lower())))
    for compound in [word for word in words if word.count("-") > 1]:  # of "chain-of-thought" also "of-thought"
        for first, second in pairwise(compound.split("-")):
            words[f"{first}-{second}"] += words[compound]
    return words


class Composer:
    """Writes pages one after the other, body first. What is not body is never within a paragraph that crosses pages."""

    def __init__(self, pages: Sequence[PageText]) -> None:
        """Learn the document's words and distances."""
        self._source = pages
        self._body = [[line for line in page.lines if line.kind != "furniture"] for page in pages]
        self._words = vocabulary(pages)
        self._leading = _leading(self._body)
        self._parts: list[str] = []
        self._length = 0
        self._runs: list[Run] = []
        self._page_start: int | None = None
        self._opened: tuple[BlockKind, int, int, str] | None = (
            None  # kind, start, level, label of the block being written
        )
        self.blocks: list[Block] = []
        self.pages: list[Page] = []

    def compose(self) -> str:
        """Write all pages; give the text, and leave its ``blocks`` and ``pages``."""
        for number in range(len(self._source)):
            self._page(number)
        self._close()
        text = "".join(self._parts)
        self.blocks = [_finished(block, text) for block in self.blocks]
        return text

    def _page(self, number: int) -> None:
        """Write a page: its paragraphs, then its notes and furniture, or those before a paragraph that leads on."""
        page, paragraphs = self._source[number], self._paragraphs(number)
        self._runs, self._page_start = [], None
        goes_on = self._crosses(number - 1)
        leads_on = self._crosses(number)
        for index, paragraph in enumerate(paragraphs):
            joined = goes_on and index == 0
            if leads_on and index == len(paragraphs) - 1 and not joined:
                self._aside(page, number)
            self._paragraph(page, paragraph, self._source[number - 1] if joined else None)
        if not leads_on or (goes_on and len(paragraphs) == 1):
            self._aside(page, number)
        start = self._length if self._page_start is None else self._page_start
        places = " ".join(place for run in self._runs for place in _places(page, run, start))
        self.pages.append(Page(number + 1, page.label, start, self._length, places))

    # --- which lines belong together

    def _paragraphs(self, number: int) -> list[list[tuple[Line, str]]]:
        """Group a page's body into paragraphs of (line, what joins it to the one before)."""
        page, found = self._source[number], list[list[tuple[Line, str]]]()
        last: Line | None = None
        for line in self._body[number]:
            joint = None if last is None else self._joint(page, last, line)
            if joint is None:
                found.append([(line, "")])
            else:
                found[-1].append((line, joint))
            last = line
        return found

    def _joint(self, page: PageText, last: Line, line: Line) -> str | None:
        """Give what stands between two lines of one paragraph; None between paragraphs."""
        if (last.kind, last.level, last.style.angle) != (line.kind, line.level, line.style.angle):
            return None
        if line.kind == "table":
            return "" if last.row[0] == line.row[0] else None
        size = max(last.style.size, line.style.size)
        drop, gap = last.last_base - line.base, line.left - last.right
        near = 0.6 if abs(gap) < 0.35 * size else 0.35  # a raised number touches its word
        if min(abs(drop), abs(last.base - line.base)) < near * size and -0.35 * size <= gap:
            return "" if gap < 0.12 * size else " "  # PDFium breaks lines at superscripts
        if abs(last.style.size - line.style.size) > 0.6 or LIST_ITEM.match(_said(page, line)):
            return None
        if drop < -0.5 * size:  # the next column, or anything else
            return self._soft(page, last, page, line) if self._continues(page, last, page, line) else None
        indent = line.left - last.left
        if drop > _LOOSE * self._leading * size:
            return None
        if _INDENT[0] * size < indent < _INDENT[1] * size and _ENDS.search(_said(page, last)):
            return None
        return self._soft(page, last, page, line)

    def _soft(self, before: PageText, last: Line, page: PageText, line: Line) -> str:
        """Give what stands for a line break inside a paragraph: nothing after a full line without spaces."""
        left, right = _said(before, last)[-1:], _said(page, line)[:1]
        full = last.right + _SHORT * last.style.size > line.right or last.right < line.left
        return "" if full and _UNSPACED.match(left) and _UNSPACED.match(right) else "\n"

    def _continues(self, before: PageText, last: Line, page: PageText, line: Line) -> bool:
        """Tell whether a sentence goes on behind a break between columns or pages."""
        alike = last.kind == line.kind == "paragraph" and abs(last.style.size - line.style.size) <= 0.6
        said = _said(before, last)
        starts = _STARTS_LOW.match(_said(page, line)) is not None
        return alike and last.style.angle == line.style.angle and starts and not _ENDS.search(said)

    def _crosses(self, number: int) -> bool:
        """Tell whether the last paragraph of a page goes on on the next."""
        if not 0 <= number < len(self._body) - 1 or not self._body[number] or not self._body[number + 1]:
            return False
        pages, body = self._source, self._body
        return self._continues(pages[number], body[number][-1], pages[number + 1], body[number + 1][0])

    # --- writing

    def _paragraph(self, page: PageText, lines: list[tuple[Line, str]], before: PageText | None) -> None:
        """Write a paragraph, as part of the open block if it comes from the page before."""
        first = lines[0][0]
        if before is None or self._opened is None:
            listed = first.kind == "paragraph" and LIST_ITEM.match(_said(page, first))
            self._begin("list" if listed else first.kind, first.level)
        else:
            last = before.lines and [line for line in before.lines if line.kind != "furniture"][-1]
            self._put(self._soft(before, last, page, first)) if last else None
        if first.kind == "table":
            self._table(page, [line for line, _ in lines])
            return
        for line, joint in lines:
            self._put(joint)
            self._line(page, line)

    def _aside(self, page: PageText, number: int) -> None:
        """Write what forms and annotations say, and the furniture, as blocks of their own."""
        for said, annotation, hidden in page.notes:
            self._begin(*(("furniture", 0, "hidden text") if hidden else ("paragraph", 0)))
            self._page_start = self._length if self._page_start is None else self._page_start
            self._put(said, None if annotation is None else -1 - annotation)
        for line in page.lines:
            if line.kind == "furniture":
                self._begin("furniture", 0, line.label)
                self._line(page, line)
        if page.notes or len(page.lines) > len(self._body[number]):
            self._close()

    def _begin(self, kind: BlockKind, level: int, label: str = "") -> None:
        """Open a block."""
        before = self.blocks[-1].kind if self.blocks and self._opened is None else self._opened and self._opened[0]
        self._close()
        if self._length:
            self._put("\n" if before == kind and kind in ("list", "furniture") else "\n\n")
        self._opened = kind, self._length, level, label

    def _close(self) -> None:
        """Close the open block, if it says anything."""
        if self._opened is not None and self._opened[1] < self._length:
            kind, start, level, label = self._opened
            self.blocks.append(Block(kind, start, self._length, level, label))
        self._opened = None

    def _table(self, page: PageText, lines: list[Line]) -> None:
        """Write a table, a row a line."""
        self._page_start = self._length if self._page_start is None else self._page_start  # its first line is ours
        for number, row in enumerate(rows_of(lines)):
            self._put("|" if number == 0 else "\n|")
            for spans in row:
                for start, end in spans:
                    self._put(" ")
                    self._said(page, start, end)
                self._put(" |")

    def _line(self, page: PageText, line: Line) -> None:
        self._said(page, line.start, line.end)

    def _said(self, page: PageText, start: int, end: int) -> None:
        """Write characters of a line, and decide about each hyphen at which PDFium has joined two."""
        said, position = page.raw[start:end], 0
        for mark in _MARK.finditer(said):
            self._put(said[position : mark.start()], start + position)
            position = mark.end()
            if mark[0] == HYPHEN and self._keeps_hyphen(said[: mark.start()], said[mark.end() :]):
                self._put("-", start + mark.start())
        self._put(said[position:], start + position)

    def _keeps_hyphen(self, before: str, after: str) -> bool:
        """Tell whether a hyphen at a line's end belongs to the word: the rest of the document decides."""
        left, right = _LETTERS_BEFORE.search(before), _LETTERS_AFTER.match(after)
        if left is None or right is None:
            return True
        first, second = left[0].lower(), right[0].lower()
        joined, compound = self._words[first + second], self._words[f"{first}-{second}"]
        if joined or compound:
            return compound > joined
        known = min(len(first), len(second)) > 2 and self._words[first] > 0 and self._words[second] > 0
        return known or (len(first) > 4 and self._words[second] > 1)  # "mixed-mode", not "com-pile" nor "dis-joint"

    def _put(self, said: str, raw: int | None = None) -> None:
        """Write, and remember where on the page it comes from."""
        if not said:
            return
        if raw is not None:
            self._runs.append((self._length, len(said), raw))
            self._page_start = self._length if self._page_start is None else self._page_start
        self._parts.append(said)
        self._length += len(said)


def _places(page: PageText, run: Run, start: int) -> Iterator[str]:
    """Write where a run comes from: a character of the page, or the box around each recognised word, in points."""
    at, length, raw = run
    if not page.words or raw < 0:
        yield f"{at - start}+{length}@{raw}"
        return
    for first, behind, *box in page.words:
        if raw <= first and behind <= raw + length:
            yield f"{at - start + first - raw}+{behind - first}#{','.join(f'{side:g}' for side in box)}"


def _finished(block: Block, text: str) -> Block:
    """Give a heading its label; what is too long for one was a paragraph in large letters."""
    if block.kind != "heading":
        return block
    if block.end - block.start > _LONGEST:
        return Block("paragraph", block.start, block.end)
    return replace(block, label=one_line(text[block.start : block.end]))


def _said(page: PageText, line: Line) -> str:
    return page.raw[line.start : line.end]


def _leading(pages: Sequence[Sequence[Line]]) -> float:
    """Find the usual distance between lines, in times their size."""
    ratios: Counter[float] = Counter()
    for lines in pages:
        for last, line in pairwise(lines):
            if last.style == line.style and line.style.size:
                ratio = round((last.last_base - line.base) / line.style.size, 1)
                ratios[ratio] += 0.9 <= ratio <= 3
    return max(ratios, key=lambda ratio: (ratios[ratio], -ratio)) if ratios.total() else _USUAL
