"""Text as code points: sentences, lines, grapheme clusters. Every function is linear in the length of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import regex
from numpy.typing import NDArray

_SURROGATE = re.compile("[\ud800-\udfff]")
_NEWLINE = re.compile(r"\r\n?|\n")
_SPACE = re.compile(r"\s*")
_CLUSTERS = regex.compile(r"(\X)*")

_CLOSERS = r"""["'”’»)\]」』）】》〉›*_]*"""
# Each alternative consumes what it looks at, so that a run of a million full stops is read once, not a million times.
_BREAK = regex.compile(
    r"(?P<heading>^[ ]{0,3}\#{1,6}[ \t][^\r\n]*(?>\r\n?|\n))"
    r"|(?P<blank>(?>\r\n|[\r\n])[ \t]*(?>\r\n|[\r\n])|\u2029)"
    r"|(?P<item>(?>\r\n|[\r\n])(?=[ \t]*(?:(?:[-*+•–]|\d{1,9}[.)]|\#{1,6})[ \t]|\|)))"
    rf"|(?P<full>[。！？｡।॥؟۔։።။។]+{_CLOSERS})"
    rf"|(?P<stop>[.!?…]+{_CLOSERS})(?P<gap>\s*)"
    r"|(?<=[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}])(?P<sea>[ ]+)(?=[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}])",
    regex.MULTILINE,
)
_BLANK = re.compile(r"(?>\r\n|[\r\n])[ \t]*[\r\n]|\u2029")
_LAST_WORD = 24  # no abbreviation is longer, with its inner full stops
_INITIALS = regex.compile(r"(?:^|[\s(\[\"'“‘.-])(?:\p{Lu}|\p{L}(?:\.\p{L})+)$")  # "J", "U.S", "e.g", "z.B"
_MARKER = regex.compile(r"(?:^|[\r\n])[ \t]*\d{1,9}$")  # the number of a list item
# Titles, references, Latin, companies, places, months; German, French, Spanish, Italian.
_ABBREVIATIONS = frozenset(
    re.findall(
        r"\w+",
        """
        mr mrs ms dr prof rev hon gen col capt lt sgt sen rep gov st jr sr mme mlle sig sra srta dott
        fig figs eq eqs sec secs ch chap ref refs tab vol no nos pp p art nr ed eds app ex cf viz vs v al ibid c ca
        approx resp incl excl est inc ltd corp co dept univ assn bros mt ft ave blvd
        jan feb mar apr jun jul aug sep sept oct nov dec
        bzw vgl usw evtl ggf bspw sog abs hrsg bd etw inkl zzgl av env num
        """,
    )
)
# These are words or names as well: abbreviations only before a digit.
_NUMBERED = frozenset(re.findall(r"\w+", "no nos nr p pp art ex c v mar ed app ch co num av"))


_MARKS = ("'’‘‛ʼ`´", '"“”„‟«»', "-‐‑‒–—−")
_ALIKE = re.compile(r"\\?[" + re.escape("".join(_MARKS)) + "]")
_LONGEST_QUOTE = 20_000  # code points; a longer one must be exact, for a pattern of that size takes its time


def printable_surrogates(text: str) -> str:
    """Replace each lone surrogate by U+FFFD, for libraries that take only UTF-8. The length stays the same."""
    return _SURROGATE.sub("\ufffd", text)


def sentences(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Split ``text[start:end]`` into sentences.

    Rules, not a model: terminators of all scripts with their closing quotes, but not after abbreviations, initials and
    list numbers, and not before a small letter. Blank lines, list items, table rows and heading lines end one too.
    Thai, Lao, Khmer and Burmese write a space where others write a full stop.

    Args:
        text: any string.
        start: first code point to look at.
        end: one after the last; None is the end of the text.

    Returns:
        Spans in order, without white space at their edges, never empty. Together they hold every character that is not
        white space. Offsets point into ``text``.
    """
    end = len(text) if end is None else min(end, len(text))
    spans = []
    for stop in (*_sentence_ends(text, start, end), end):
        first, last = trim(text, start, stop)
        if first < last:
            spans.append((first, last))
        start = stop
    return spans


def quoted_places(text: str, quote: str) -> list[tuple[int, int]]:
    """Find where a text holds a quote, as people copy quotes.

    Args:
        text: any string.
        quote: its edges do not count if they are white space. Where the text does not hold it exactly, case, the kinds
            of quotation marks, dashes and white space do not count either.

    Returns:
        Spans of ``text`` in order, not overlapping; none if it is not there, or the quote is blank.
    """
    quote = quote.strip()
    if not quote:
        return []
    exact = [match.span() for match in re.finditer(re.escape(quote), text)]
    if exact or len(quote) > _LONGEST_QUOTE:
        return exact
    words = (_ALIKE.sub(lambda match: _alike(match[0]), re.escape(word)) for word in quote.split())
    return [match.span() for match in re.finditer(r"\s+".join(words), text, re.IGNORECASE)]


def _alike(mark: str) -> str:
    """Give a pattern for all marks that are written for one another."""
    return next(f"[{re.escape(marks)}]" for marks in _MARKS if mark[-1] in marks)


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Shrink a span until no white space is left at its edges; an empty span stays at its start."""
    if start >= end:
        return start, start
    first = _SPACE.match(text, start, end).end()  # type: ignore[union-attr]  # matches the empty string too
    if first == end:
        return start, start
    while text[end - 1].isspace():
        end -= 1
    return first, end


def grapheme_floor(text: str, start: int, offset: int) -> int:
    """Find the last grapheme cluster boundary (UAX 29) in ``[start, offset]``.

    Args:
        text: any string.
        start: a boundary; it decides how a run of flags or of joined emoji is divided.
        offset: where one would like to cut, ``start <= offset <= len(text)``.

    Returns:
        ``offset`` where that is a boundary, otherwise the beginning of the cluster around it: ``start`` when even the
        first cluster reaches beyond ``offset``.
    """
    if offset <= start or offset >= len(text):
        return offset
    before, after = text[offset - 1], text[offset]
    if before < "\x80" and after < "\x80" and before != "\r":
        return offset
    # One code point to the right decides, so the last cluster of [start, offset + 1) tells. A copy, because the library
    # looks back over a run of flags to its beginning, wherever it is told to start.
    return start + int(_CLUSTERS.match(text[start : offset + 1]).start(1))


def line_starts(text: str) -> NDArray[np.int64]:
    r"""Give the offset at which each line begins: (lines,), ascending, first 0. Ends: ``\n``, ``\r\n`` and ``\r``."""
    ends = np.fromiter((match.end() for match in _NEWLINE.finditer(text)), dtype=np.int64)
    return np.concatenate((np.zeros(1, dtype=np.int64), ends))


def line_of(starts: NDArray[np.int64], offset: int) -> int:
    """Give the number, from 1, of the line that holds the offset; ``starts`` is from ``line_starts``."""
    return int(np.searchsorted(starts, offset, side="right"))


def _sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    for match in _BREAK.finditer(text, start, end):
        if match.lastgroup != "gap" or _stops(text, match, end):
            yield match.end()


def _stops(text: str, match: regex.Match[str], end: int) -> bool:
    """Tell whether a full stop, question or exclamation mark ends its sentence."""
    gap = match["gap"]
    if not gap:
        return False
    after = match.end()
    if after >= end or _BLANK.search(gap):
        return True
    if text[after].islower() or text[after] in ",;:)":
        return False
    return (
        not match["stop"].startswith(".")
        or len(match["stop"]) > 1
        or not _abbreviates(text, match.start(), text[after])
    )


def _abbreviates(text: str, stop: int, following: str) -> bool:
    before = text[max(0, stop - _LAST_WORD) : stop]
    if not before or before[-1].isspace():
        return False
    if _INITIALS.search(before) or _MARKER.search(before):
        return True
    word = before.split()[-1].lstrip("([\"'“‘").casefold()
    return word in _ABBREVIATIONS and (word not in _NUMBERED or following.isdigit())
