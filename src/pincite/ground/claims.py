"""Split a text into claims: sentences with exact offsets, and the citation markers that their writer put there."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import regex

from pincite.text import grapheme_floor, sentences, trim
from pincite.types import Finding

_GAP = r"\s{0,3}"  # not any amount: rows of spaces would be looked through again from each of them
_NUMBERS = rf"\d{{1,4}}(?:{_GAP}[-–,;]{_GAP}\d{{1,4}})*"
_MARKER = regex.compile(rf"[\[【]{_GAP}({_NUMBERS}){_GAP}[\]】]")
_ONLY_MARKERS = regex.compile(rf"(?:{_MARKER.pattern}|[\s.,;:])+")
_LEADING_MARKERS = regex.compile(rf"(?:{_MARKER.pattern}\s*)+")
_MARKER_AND_SPACE = regex.compile(rf"(?<![ \t])[ \t]+{_MARKER.pattern}|{_MARKER.pattern}")
_WIDEST_RANGE = 50  # [1-9999] is not a citation


@dataclass(frozen=True, slots=True)
class DraftClaim:
    """A sentence before it is checked. ``text == whole[start:end]``; ``plain`` is the text without markers."""

    start: int
    end: int
    text: str
    plain: str
    hints: tuple[int, ...] = ()  # numbers in the markers, in order, each once
    gap: str = ""  # the space before it


def split_claims(text: str, longest: int = sys.maxsize) -> list[DraftClaim]:
    """Split a text into claims that cover all of it but space, in order; none has more than ``longest`` characters.

    Markers such as ``[1]``, ``[2, 3]`` and ``[1-3]`` belong to the sentence before them on the same line, also after
    the full stop; at the start of a line they belong to the sentence that follows.
    """
    spans: list[list[int]] = []
    for start, end in sentences(text):
        moved = _markers_of_previous(text, start, end, spans[-1][1] if spans else -1)
        if moved > start:
            spans[-1][1] = trim(text, start, moved)[1]
            start = moved
        spans += _bounded(text, start, end, longest)
    ends = [0, *(end for _, end in spans)]
    return [_claim(text, before, start, end) for before, (start, end) in zip(ends, spans, strict=False)]


def _markers_of_previous(text: str, start: int, end: int, previous: int) -> int:
    """Give where a sentence starts once the markers of the sentence before it, which ends at a place, are taken off."""
    if previous < 0:
        return start
    only = _ONLY_MARKERS.fullmatch(text, start, end)
    if only:
        return end
    leading = _LEADING_MARKERS.match(text, start, end)
    return leading.end() if leading and "\n" not in text[previous:start] else start


def _bounded(text: str, start: int, end: int, longest: int) -> Iterator[list[int]]:
    """Divide a sentence of more than the most characters between words, where it has any."""
    while end - start > longest:
        space = max(text.rfind(mark, start + 1, start + longest) for mark in " \n\t")
        cut = space if space > 0 else grapheme_floor(text, start, start + longest)
        cut = cut if cut > start else start + longest
        yield [start, trim(text, start, cut)[1]]
        start, _ = trim(text, cut, end)
    if start < end:
        yield [start, end]


def _claim(text: str, before: int, start: int, end: int) -> DraftClaim:
    """Read the markers of one claim."""
    body = text[start:end]
    hints = [number for found in _MARKER.finditer(body) for number in _numbers(found[1])]
    return DraftClaim(start, end, body, without_markers(body), tuple(dict.fromkeys(hints)), text[before:start])


def without_markers(text: str) -> str:
    """Take the markers out of a text, with the space before each."""
    return str(_MARKER_AND_SPACE.sub("", text)).strip()


def _numbers(marker: str) -> list[int]:
    """Read ``2``, ``2, 3`` and ``2-4``."""
    numbers: list[int] = []
    for part in regex.split(r"\s*[,;]\s*", marker):
        first, *rest = map(int, regex.split(r"\s*[-–]\s*", part))
        last = rest[0] if rest else first
        numbers += range(first, last + 1) if 0 <= last - first <= _WIDEST_RANGE else (first, last)
    return numbers


def unknown_citations(claims: Collection[DraftClaim], known: Collection[int]) -> list[Finding]:
    """Report each number that a marker names but the evidence does not have."""
    return [
        Finding(
            "citation_unknown",
            f"The text cites [{number}], which is no passage it was given: {claim.plain[:80]!r}.",
            "Trust the quotes: that reference was made up.",
        )
        for claim in claims
        for number in claim.hints
        if number not in known
    ]
