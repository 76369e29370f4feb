"""Where a text that is too long may be cut: at the strongest natural boundary that still fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import regex

from pincite.models.protocols import Pieces
from pincite.text import grapheme_floor, sentences
from pincite.types import BlockKind

Ends = Callable[[str, int, int], Iterable[int]]
"""Finds where units of one level end in ``text[start:end]``, in order; ends beyond ``end`` are ignored."""

_AHEAD = 64  # code points seen beyond a possible cut, to tell whether it is one
_INDENT = 32  # longest indent that stays with a passage
_PIECE_SPACES = " \n\t\r"
_SPACE = re.compile(r"\s*")
_CLUSTER = regex.compile(r"\X")
_PREPENDS = regex.compile(r"\p{Grapheme_Cluster_Break=Prepend}")


class Room(NamedTuple):
    """What a passage may hold beside its context."""

    pieces: int
    characters: int


class Ruler:
    """Measures spans of one text in pieces, after a single pass of the tokenizer over it."""

    def __init__(self, text: str, pieces: Pieces) -> None:
        """Tokenize the text once.

        Args:
            text: any string.
            pieces: what to count; if it has a true attribute ``additive``, spans that end at white space are measured
                in the pass over the whole text, otherwise every span is counted afresh.
        """
        self.text = text
        self.pieces = pieces
        self.additive = bool(getattr(pieces, "additive", False))
        self._starts = pieces.starts(text)
        self._counts: dict[tuple[int, int], int] = {}  # of spans that had to be counted afresh

    def count(self, start: int, end: int) -> int:
        """Count the pieces of ``text[start:end]`` by itself: exactly what the encoder will see."""
        if self.additive and self._is_loose(start) and self._is_loose(end):
            return self._index(end) - self._index(start)
        if (start, end) not in self._counts:
            self._counts[start, end] = self.pieces.count(self.text[start:end])
        return self._counts[start, end]

    def fits(self, start: int, end: int, room: Room) -> bool:
        """Tell whether ``text[start:end]`` is within both limits."""
        return end - start <= room.characters and self.count(start, end) <= room.pieces

    def reach(self, start: int, end: int, room: Room) -> int:
        """Estimate the furthest offset in ``(start, end]`` up to which the text fits; exact between white space."""
        over = self._index(start) + room.pieces
        stop = int(self._starts[over]) if over < len(self._starts) else end
        return max(start + 1, min(stop, start + room.characters, end))

    def shrink(self, start: int, stop: int, room: Room) -> int:
        """Improve the estimate, to within ``(start, stop)``, when ``text[start:stop]`` holds too many pieces."""
        over = int(self.pieces.starts(self.text[start:stop])[room.pieces])
        return max(start + 1, min(start + over, stop - 1))

    def _index(self, offset: int) -> int:
        return int(np.searchsorted(self._starts, offset))

    def _is_loose(self, offset: int) -> bool:
        """Tell whether white space (or nothing) is beside the offset, so that no piece can cross it."""
        text = self.text
        return offset in (0, len(text)) or text[offset - 1] in _PIECE_SPACES or text[offset] in _PIECE_SPACES


def cut(ruler: Ruler, start: int, end: int, kind: BlockKind, rooms: Iterator[Room]) -> list[tuple[int, int]]:
    """Cut ``text[start:end]`` into spans that fit, each ending at the strongest boundary in reach.

    Args:
        ruler: measures the text.
        start: a grapheme cluster boundary.
        end: a grapheme cluster boundary.
        kind: decides which boundaries are strong: rows of a table, blank lines and lines of code, sentences elsewhere.
        rooms: how much fits into the first span, the second, and so on; never ending.

    Returns:
        Spans in order, not overlapping. All that lies between them is white space. Grapheme clusters are whole, except
        one that does not fit alone.
    """
    spans = []
    room = next(rooms)
    while (start := begin(ruler.text, start, end)) < end:
        stop = _stop(ruler, start, end, _LEVELS.get(kind, _PROSE), room)
        if not ruler.text[start:stop].isspace():  # an indent before a cluster that does not fit beside it
            spans.append((start, stop))
            room = next(rooms)
        start = stop
    return spans


def begin(text: str, start: int, end: int) -> int:
    """Skip white space, but neither a short indent nor a space with a combining mark; or give ``end``."""
    first = _SPACE.match(text, start, end).end()  # type: ignore[union-attr]  # matches the empty string too
    if first >= end or first == start:
        return min(first, end)
    if text[first] > "\u02ff" and _CLUSTER.match(text[first - 1 : first + 1]).end() > 1:
        return first - 1
    line = max(text.rfind("\n", start, first) + 1, start)
    is_indent = (line == 0 or text[line - 1] == "\n") and first - line <= _INDENT and not text[line:first].strip(" \t")
    return line if is_indent else first


def finish(text: str, start: int, end: int) -> int:
    """Give up white space at the end of ``text[start:end]``, but not the second half of a grapheme cluster."""
    stop = start + len(text[start:end].rstrip())
    carries = start < stop < end and text[stop] not in "\r\n" and _PREPENDS.match(text[stop - 1])
    return stop + 1 if carries else stop


def _stop(ruler: Ruler, start: int, end: int, levels: tuple[Ends, ...], room: Room) -> int:
    reach = ruler.reach(start, end, room)
    while True:
        stop = end if reach >= end else _boundary(ruler, start, reach, end, levels, room)
        if stop == start + 1 or ruler.count(start, stop) <= room.pieces:
            return stop
        reach = ruler.shrink(start, stop, room)


def _boundary(ruler: Ruler, start: int, reach: int, end: int, levels: tuple[Ends, ...], room: Room) -> int:
    """Choose the last boundary of the strongest level that leaves no crumb; a grapheme boundary if there is none."""
    text = ruler.text
    least = min(ruler.reach(start, end, Room(room.pieces // 6, room.characters // 6)), reach)
    ahead = min(end, reach + _AHEAD)
    for ends in levels:
        last = max((stop for stop in ends(text, start, ahead) if least <= stop <= reach), default=start)
        last = grapheme_floor(text, start, last)
        if last >= least:
            return last
    last = grapheme_floor(text, start, reach)
    return last if last > start else reach


def _before(pattern: str) -> Ends:
    compiled = regex.compile(pattern)
    return lambda text, start, end: (match.start() for match in compiled.finditer(text, start, end))


def _after(pattern: str) -> Ends:
    compiled = regex.compile(pattern)
    return lambda text, start, end: (match.end() for match in compiled.finditer(text, start, end))


def _sentence_ends(text: str, start: int, end: int) -> Iterable[int]:
    # The last one ends where we stopped looking, not where a sentence does.
    return (stop for _, stop in sentences(text, start, end) if stop < end)


_DEFINITIONS = _before(r"(?:\r?\n[ \t]*){2,}(?<=[\n])(?=[^\s)\]}])")  # blank line, then something that is not indented
_BLANK_LINES = _before(r"\r?\n[ \t]*\r?\n|\r[ \t]*\r")
_OUTER_LINES = _before(r"\r?\n(?=[^\s)\]}])")
_LINES = _before(r"\r\n|[\n\r\u2028\u2029]")
# Where a line ends with a sentence, a paragraph ends, or at least the sentence.
_FULL_LINES = _before(r"(?<=[.!?…。！？][\"'”’)\]]{0,3}[ \t]{0,3})(?:\r\n|[\n\r\u2028\u2029])")
_STOPS = _after(r"[.!?…][\"'”’)\]]*(?=\s)")  # also before a small letter: lower-cased text has sentences too
_CLAUSES = _after(r"[,;:—–][\"'”’)\]]*(?=\s)|[，、；：]")
_WORDS = _before(r"\s+")
_IDEOGRAPHS = _after(r"[\p{Han}\p{Hiragana}\p{Katakana}ー。、]")

_PROSE = (_BLANK_LINES, _FULL_LINES, _sentence_ends, _LINES, _STOPS, _CLAUSES, _WORDS, _IDEOGRAPHS)
_CODE = (_DEFINITIONS, _BLANK_LINES, _OUTER_LINES, _LINES, _CLAUSES, _WORDS, _IDEOGRAPHS)
_TABLE = (_LINES, _sentence_ends, _CLAUSES, _WORDS, _IDEOGRAPHS)
_LEVELS: dict[BlockKind, tuple[Ends, ...]] = {"code": _CODE, "front_matter": _CODE, "table": _TABLE}
