"""One page of a PDF: its characters as PDFium numbers them, and the lines that they form.

Character k of ``PageText.raw`` is character k of PDFium's text page, so that a span leads back to the exact boxes. For
that reason the text is never taken as a string from PDFium, whose string leaves some characters out.
"""

from __future__ import annotations

import ctypes
import math
import re
import sys
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from pincite.acquire.readers.pdf_notes import Note
from pincite.types import BlockKind

MOST_CHARACTERS = 2_000_000  # of a page; more is an attack or an accident
GONE = "\0"  # holds the place of what is no character: an unmapped glyph, the second half of a pair
HYPHEN = "\x02"  # PDFium's mark for a hyphen at the end of a line, which it joins with the next
_LOOKS = 50  # characters that tell how a page is turned
_STEP = 12  # characters between two looks at the style, within one word
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_ODD = re.compile("[\x00-\x01\x03-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff]{2,}")
# What PDFium itself makes of one code point, in the order of reading; Hebrew and Arabic presentation forms.
_LIGATURES = frozenset(unicodedata.normalize("NFKC", chr(code)).strip() for code in range(0xFB1D, 0xFEFD))
_COMBINING = dict(
    zip("`´¨ˆ˜ˇ˚¯˘˙¸˝˛", "\u0300\u0301\u0308\u0302\u0303\u030c\u030a\u0304\u0306\u0307\u0327\u030b\u0328", strict=True)
)
_ACCENT = re.compile(f"[{''.join(_COMBINING)}]")
_DOTLESS = {"ı": "i", "ȷ": "j"}
_REACH = 200  # characters between an accent and its letter: some programs write all accents of a line at its end
_WORD_GAP = 0.12  # times the height: a gap below is none between words
_SPARSE = 0.53  # times the size for each character: a line that is longer than that has gaps in it
_WIDE = 0.8  # times the size: a gap that is no space between words
_NO_LETTER = re.compile("(?<![\U00010000-\U0010ffff])\0|[\ufffd\ue000-\uf8ff]")
_LINE = re.compile(r"[^\r\n]+")
_WORD = re.compile(r"\S+")


class Style(NamedTuple):
    """How characters are set."""

    size: float  # points, as it appears
    angle: int  # degrees, counterclockwise from the page's x axis
    bold: bool
    doubt: str  # why it might not be visible: "white", "unpainted" or "tiny"; "" for no reason


@dataclass(slots=True, eq=False)
class Line:
    """A line: characters ``[start, end)`` of its page, which PDFium has joined with the next where a hyphen ends it."""

    page: int  # from 0
    start: int
    end: int
    style: Style
    left: float  # along the direction of the text, points
    right: float  # the end of its last character
    base: float  # of its first character, across the direction, upwards
    last_base: float
    x: float  # where it is on the page as most of it is read: 0 is the left edge, 1 the right one
    y: float  # 0 is the upper edge, 1 the lower one
    doubts: list[tuple[int, int, str]] = field(default_factory=list)  # spans of words that might not be visible
    gaps: list[tuple[int, int, float, float]] = field(default_factory=list)  # wide ones: characters and edges around
    kind: BlockKind = "paragraph"
    level: int = 0
    label: str = ""
    row: tuple[int, int, int] = (-1, -1, 0)  # of a table: its number on the page, the row's, how many columns
    cells: list[tuple[int, int, int]] = field(default_factory=list)  # of a table: column, start, end


@dataclass(slots=True)
class PageText:
    """What a page says."""

    raw: str = ""
    lines: list[Line] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    label: str = ""
    words: list[tuple[int, int, float, float, float, float]] = field(default_factory=list)  # recognised: span, box
    trouble: str = ""  # why it has less text than it should: "image", "unmapped", "damaged" or "long"


class Frame(NamedTuple):
    """A page's box in PDF points, and its rotation."""

    x0: float
    y0: float
    x1: float
    y1: float
    rotation: int  # degrees clockwise: 0, 90, 180 or 270

    @property
    def size(self) -> tuple[float, float]:
        """Give width and height as displayed, in points."""
        width, height = self.x1 - self.x0, self.y1 - self.y0
        return (height, width) if self.rotation % 180 else (width, height)

    def shown(self, x: float, y: float) -> tuple[float, float]:
        """Turn a point of the page's own space into points from the displayed page's upper left corner."""
        across, up = x - self.x0, y - self.y0
        width, height = self.x1 - self.x0, self.y1 - self.y0
        return {
            0: (across, height - up),
            90: (up, across),
            180: (width - across, up),
            270: (height - up, width - across),
        }[self.rotation]

    def box(self, x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
        """Turn a box likewise; the result is (left, upper, right, lower)."""
        (ax, ay), (bx, by) = self.shown(x0, y0), self.shown(x1, y1)
        return min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)


def frame_of(page: Any) -> Frame:
    """Give a page's frame: CropBox within MediaBox, as PDFium displays it."""
    x0, y0, x1, y1 = page.get_bbox()
    return Frame(x0, y0, x1, y1, page.get_rotation())


class Glyphs:
    """What PDFium knows about the characters of one text page."""

    def __init__(self, textpage: Any) -> None:
        """Keep the handle, and places for PDFium's answers."""
        import pypdfium2.raw as pdfium

        self._pdfium = pdfium
        self._handle = textpage.raw
        self._box = pdfium.FS_RECTF()
        self._matrix = pdfium.FS_MATRIX()
        self._doubles = [ctypes.c_double() for _ in range(4)]
        self._colour = [ctypes.c_uint() for _ in range(4)]
        self._styles: dict[int, Style] = {}  # by text object

    def codes(self, count: int) -> str:
        """Give the characters by their numbers; PDFium gives code points beyond U+FFFF as two.

        PDFium's string has them at once, but leaves out what has no meaning: it serves where it leaves nothing out.
        """
        pdfium, handle = self._pdfium, self._handle
        buffer = (ctypes.c_ushort * (count + 1))()
        given = pdfium.FPDFText_GetText(handle, 0, count, buffer) - 1
        said = bytes(buffer)[: 2 * count].decode("utf-16-le", "surrogatepass")
        if given != count or len(said) != count or "\0" in said:
            codes = [pdfium.FPDFText_GetUnicode(handle, index) for index in range(count)]
            return "".join(chr(code if code <= sys.maxunicode else code & 0xFFFF) for code in codes)
        return said.replace("\ufffe", HYPHEN)

    def is_hyphen(self, index: int) -> bool:
        """Tell whether PDFium has joined two lines at a character."""
        return bool(self._pdfium.FPDFText_IsHyphen(self._handle, index) == 1)

    def is_generated(self, index: int) -> bool:
        """Tell whether a character is not in the document: a space or line break that PDFium has put in."""
        return bool(self._pdfium.FPDFText_IsGenerated(self._handle, index) == 1)

    def tight(self, index: int) -> tuple[float, float, float, float]:
        """Give the box of what is painted: (x0, y0, x1, y1), the page's own space."""
        left, right, bottom, top = self._doubles
        self._pdfium.FPDFText_GetCharBox(self._handle, index, left, right, bottom, top)
        return left.value, bottom.value, right.value, top.value

    def loose(self, index: int) -> tuple[float, float, float, float]:
        """Give the box that the font reserves: (x0, y0, x1, y1), the page's own space."""
        box = self._box
        self._pdfium.FPDFText_GetLooseCharBox(self._handle, index, box)
        return box.left, min(box.bottom, box.top), box.right, max(box.bottom, box.top)

    def extent(self, index: int, cos: float, sin: float) -> tuple[float, float]:
        """Give where that box starts and ends along a direction."""
        x0, y0, x1, y1 = self.loose(index)
        along = (x0 * cos + y0 * sin, x0 * cos + y1 * sin, x1 * cos + y0 * sin, x1 * cos + y1 * sin)
        return min(along), max(along)

    def origin(self, index: int) -> tuple[float, float]:
        """Give the point on the base line where a character starts."""
        x, y = self._doubles[:2]
        self._pdfium.FPDFText_GetCharOrigin(self._handle, index, x, y)
        return x.value, y.value

    def style(self, index: int) -> Style:
        """Tell how a character is set; all of one text object are set alike."""
        key = self._object(index)
        if key not in self._styles:
            self._styles[key] = self._look(index)
        return self._styles[key]

    def is_alike(self, first: int, last: int) -> bool:
        """Tell whether two characters are of one text object: then all between them are."""
        return self._object(first) == self._object(last)

    def _object(self, index: int) -> int:
        target = self._pdfium.FPDFText_GetTextObject(self._handle, index)
        return ctypes.addressof(target.contents) if target else -1 - index

    def _look(self, index: int) -> Style:
        pdfium, matrix = self._pdfium, self._matrix
        pdfium.FPDFText_GetMatrix(self._handle, index, matrix)
        size = pdfium.FPDFText_GetFontSize(self._handle, index) * math.hypot(matrix.c, matrix.d)
        angle = round(math.degrees(math.atan2(matrix.b, matrix.a)) + 180 * (size < 0)) % 360  # set upside down
        bold = pdfium.FPDFText_GetFontWeight(self._handle, index) >= 600
        red, green, blue, alpha = self._colour
        pdfium.FPDFText_GetFillColor(self._handle, index, red, green, blue, alpha)
        target = pdfium.FPDFText_GetTextObject(self._handle, index)
        mode = pdfium.FPDFTextObj_GetTextRenderMode(target) if target else 0
        doubt = ""
        if mode in (3, 7) or alpha.value < 16:
            doubt = "unpainted"
        elif mode in (0, 4) and min(red.value, green.value, blue.value) >= 245:
            doubt = "white"
        return Style(round(abs(size) * 4) / 4, angle, bold, doubt or ("tiny" if 0 < abs(size) < 1.5 else ""))


def upright_textpage(page: Any) -> Any:
    """Give PDFium's text page, its characters in the order in which most of the page is read.

    PDFium orders lines by where they are displayed, so a page whose text lies on its side comes in disorder unless
    PDFium believes that it is turned.
    """
    textpage = page.get_textpage()
    glyphs, count = Glyphs(textpage), textpage.count_chars()
    looks = Counter(glyphs.style(index).angle for index in range(0, count, max(1, count // _LOOKS)))
    turn = round(looks.most_common(1)[0][0] / 90) % 4 * 90 if looks else 0
    rotation = page.get_rotation()
    if turn == rotation or not looks:
        return textpage
    textpage.close()
    page.set_rotation(turn)
    try:
        return page.get_textpage()
    finally:
        page.set_rotation(rotation)


def characters(glyphs: Glyphs, count: int) -> str:
    """Give a page's characters as a string in which character k is PDFium's character k.

    Surrogate pairs are one character and ``GONE``; marks of joined hyphens stay; letters of one glyph that are read
    from the right, such as lam-alef, which PDFium gives in the order of display, are put in the order of reading.
    """
    raw = glyphs.codes(count)
    if raw.isascii() and raw.isprintable():
        return raw
    raw = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16") + GONE, raw)
    raw = _ODD.sub(GONE, raw)
    if HYPHEN in raw:
        marks = {index for index, char in enumerate(raw) if char == HYPHEN and not glyphs.is_hyphen(index)}
        raw = "".join(GONE if index in marks else char for index, char in enumerate(raw)) if marks else raw
    fixed = list(raw)
    for match in _RIGHT_TO_LEFT.finditer(raw):
        for _, glyph in groupby(range(*match.span()), lambda index: (glyphs.origin(index), glyphs.tight(index))):
            first, *others = glyph
            behind = first + 1 + len(others)
            if others and raw[first:behind] not in _LIGATURES:
                fixed[first:behind] = reversed(raw[first:behind])
    for match in _ACCENT.finditer(raw):
        _compose_accent(match.start(), fixed, glyphs)
    return "".join(fixed)


def _compose_accent(place: int, raw: list[str], glyphs: Glyphs) -> None:
    """Join an accent that was set by itself, as TeX does, with the letter whose box lies around its middle."""
    x0, bottom, x1, _ = glyphs.tight(place)
    middle = (x0 + x1) / 2
    near = sorted(range(max(0, place - _REACH), min(len(raw), place + _REACH)), key=lambda index: abs(index - place))
    for index in near:
        letter = _DOTLESS.get(raw[index], raw[index])
        composed = unicodedata.normalize("NFC", letter + _COMBINING[raw[place]])
        if len(composed) > 1 or index == place:
            continue
        left, low, right, high = glyphs.tight(index)
        if left <= middle <= right and low < bottom + (high - low) / 2 and bottom < high + (high - low) / 2:
            raw[index], raw[place] = composed, GONE
            _close_gap(place, raw, glyphs)
            return


def _close_gap(place: int, raw: list[str], glyphs: Glyphs) -> None:
    """Drop the spaces and line breaks that PDFium has made around an accent, unless the letters are apart."""
    left, right = place - 1, place + 1
    while left >= 0 and glyphs.is_generated(left):
        left -= 1
    while right < len(raw) and glyphs.is_generated(right):
        right += 1
    if left < 0 or right >= len(raw) or right - left == 2:
        return
    (_, low, x1, high), (x0, other, _, _) = glyphs.loose(left), glyphs.loose(right)
    if abs(low - other) < (high - low) / 2 and abs(x0 - x1) < _WORD_GAP * (high - low):
        raw[left + 1 : right] = GONE * (right - left - 1)


def unmapped_share(raw: str) -> float:
    """Tell what share of the characters have no meaning: the fonts do not say which letters they draw."""
    seen = len(raw) - sum(map(str.isspace, raw))
    return len(_NO_LETTER.findall(raw)) / seen if seen else 0.0


def lines_of(page: int, raw: str, glyphs: Glyphs, frame: Frame) -> list[Line]:
    """Cut a page into lines, in PDFium's order."""
    found = []
    for match in _LINE.finditer(raw):
        words = [(match.start() + word.start(), match.start() + word.end()) for word in _WORD.finditer(match[0])]
        words = [(start, end) for start, end in words if raw[start:end].strip(GONE)]
        if words:
            found.append(_line(page, words, glyphs, frame))
    _turn_upright(found, frame)
    return _in_order(found)


def _turn_upright(lines: list[Line], frame: Frame) -> None:
    """Let x and y count in the direction in which most of the page is read: a table may lie on its side."""
    angles = Counter(round((line.style.angle - frame.rotation) / 90) % 4 for line in lines)
    for line in lines:
        x, y = line.x, line.y
        line.x, line.y = ((x, y), (1 - y, x), (1 - x, 1 - y), (y, 1 - x))[angles.most_common(1)[0][0]]


def _in_order(lines: list[Line]) -> list[Line]:
    """Mend what can be proved wrong: a line that stands between the two before it, all three above each other."""
    for index in range(2, len(lines)):
        first, second, third = lines[index - 2 : index + 1]
        size = third.style.size
        between = first.last_base - 2 * size < third.base < first.last_base - size / 2
        below = third.last_base - 3 * size < second.base < third.last_base - size / 2
        over = third.left - size < second.left and second.right < third.right + size
        column = min(first.right, third.right) - max(first.left, third.left) > (third.right - third.left) / 2
        if first.style.angle == second.style.angle == third.style.angle and between and below and over and column:
            lines[index - 1], lines[index] = third, second
    return lines


def _line(page: int, words: list[tuple[int, int]], glyphs: Glyphs, frame: Frame) -> Line:
    """Look at a line's words: the style of most of them is the line's."""
    start, end = words[0][0], words[-1][1]
    style, alike = glyphs.style(start), glyphs.is_alike(start, end - 1)
    steps = [(at, min(at + _STEP, behind)) for first, behind in words for at in range(first, behind, _STEP)]
    looks = [(first, behind, style if alike else glyphs.style(first)) for first, behind in steps]
    weight: Counter[Style] = Counter()
    for first, behind, look in looks:
        weight[look] += behind - first
    style = weight.most_common(1)[0][0]
    cos, sin = math.cos(math.radians(style.angle)), math.sin(math.radians(style.angle))
    (x, y), (last_x, last_y) = glyphs.origin(start), glyphs.origin(end - 1)
    (left, _), (_, right) = glyphs.extent(start, cos, sin), glyphs.extent(end - 1, cos, sin)
    shown_x, shown_y = frame.shown(x, y)
    width, height = frame.size
    sparse = right - left > _SPARSE * style.size * (end - start)
    return Line(
        page,
        start,
        end,
        style,
        left=left,
        right=right,
        base=y * cos - x * sin,
        last_base=last_y * cos - last_x * sin,
        x=shown_x / (width or 1),
        y=shown_y / (height or 1),
        doubts=_doubts(looks, glyphs, frame),
        gaps=_gaps(words, glyphs, (cos, sin), _WIDE * style.size) if sparse else [],
    )


def _gaps(
    words: list[tuple[int, int]], glyphs: Glyphs, direction: tuple[float, float], least: float
) -> list[tuple[int, int, float, float]]:
    """List the gaps between words that are wider than spaces: (end, next start, right edge, next left edge)."""
    found = []
    for (_, end), (start, _) in pairwise(words):
        right, left = glyphs.extent(end - 1, *direction)[1], glyphs.extent(start, *direction)[0]
        if left - right > least:
            found.append((end, start, right, left))
    return found


def _doubts(looks: list[tuple[int, int, Style]], glyphs: Glyphs, frame: Frame) -> list[tuple[int, int, str]]:
    """List the spans that might not be visible, neighbours with one reason as one."""
    found: list[tuple[int, int, str]] = []
    strays = any(_is_outside(look[0], glyphs, frame) for look in (looks[0], looks[-1]))
    for start, end, style in looks:
        doubt = style.doubt or ("outside" if strays and _is_outside(start, glyphs, frame) else "")
        if doubt and found and found[-1][2] == doubt and found[-1][1] + 1 >= start:
            found[-1] = (found[-1][0], end, doubt)
        elif doubt:
            found.append((start, end, doubt))
    return found


def _is_outside(index: int, glyphs: Glyphs, frame: Frame) -> bool:
    """Tell whether a character starts outside the displayed page, with a little tolerance."""
    (x, y), (width, height) = frame.shown(*glyphs.origin(index)), frame.size
    return not (-2 <= x <= width + 2 and -2 <= y <= height + 2)
