"""What a reader is, and what readers of text share."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, Protocol

import regex

from pincite.acquire.decode import decode
from pincite.types import Block, BlockKind, Reading

_TITLE = 200  # characters
_NEWLINE = regex.compile(r"\r\n?|\n")
LIST_ITEM = regex.compile(r"[ \t]*+(?:[-*+•‣◦▪]|\d{1,9}[.)]|#\.)(?:[ \t]|$)")


class Reader(Protocol):
    """Turns the bytes of one document into its canonical text and structure."""

    def __call__(self, data: bytes, name: str, media_type: str) -> Reading:
        """Read.

        Args:
            data: the document.
            name: its file name, printable; for a title when there is no better one.
            media_type: what it is.

        Returns:
            The reading; ``language`` may stay empty.

        Raises:
            SourceError: the bytes cannot be read as what they seem to be. Nothing else is ever raised.
        """
        ...


def of_text(parse: Callable[[str, str, str], Reading]) -> Reader:
    """Make a reader of a function of (text, name, media type): decode first, keep the decoder's warnings."""

    def read(data: bytes, name: str, media_type: str) -> Reading:
        text, encoding, warnings = decode(data)
        reading = parse(text, name, media_type)
        metadata = {"encoding": encoding, **reading.metadata}
        return replace(reading, metadata=metadata, warnings=(*warnings, *reading.warnings))

    return read


class Lines:
    """The lines of a text, cut at LF, CR and CRLF only, by number from 0, without copying the text."""

    def __init__(self, text: str) -> None:
        """Find where lines start."""
        self.text = text
        self._starts = array("q", [0])
        self._starts.extend(match.end() for match in _NEWLINE.finditer(text))
        if self._starts[-1] < len(text) or not text:
            self._starts.append(len(text))

    def __len__(self) -> int:
        """Count the lines; an empty text has one."""
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> str:
        """Give a line without its line break."""
        return self.text[self._starts[number] : self._starts[number + 1]].rstrip("\r\n")

    def get(self, number: int) -> str:
        """Give a line, "" outside the text."""
        return self[number] if 0 <= number < len(self) else ""

    def blank(self, number: int) -> bool:
        """Tell whether a line has nothing but white space; lines outside the text are blank."""
        return not self.get(number).strip()

    def block(self, kind: BlockKind, first: int, behind: int, level: int = 0, label: str = "") -> Block:
        """Make a block of the lines [first, behind): from the first one's start to the last character to be seen."""
        start, end = self._starts[first], self._starts[behind]
        end = start + len(self.text[start:end].rstrip())
        return Block(kind, start, end, level, label)

    def at(self, offset: int) -> int:
        """Give the number of the line that a character is on."""
        return min(bisect_right(self._starts, offset) - 1, len(self) - 1)

    def paragraphs(self, first: int = 0, behind: int | None = None) -> Iterator[tuple[int, int]]:
        """Yield the runs of lines that are not blank among [first, behind), as [first, behind)."""
        behind = len(self) if behind is None else behind
        start = None
        for number in range(first, behind):
            if self.blank(number):
                if start is not None:
                    yield start, number
                start = None
            elif start is None:
                start = number
        if start is not None:
            yield start, behind


@dataclass(slots=True)
class Scan:
    """One pass over the lines of a text that becomes blocks."""

    lines: Lines
    blocks: list[Block] = field(default_factory=list)

    def run(self, rules: Sequence[Callable[[Any, int], int]], first: int = 0) -> list[Block]:
        """Make blocks of the lines from ``first`` on that are not blank.

        Args:
            rules: functions of (this scan, line) that add what begins there and give the line behind it, or the line
                itself where they do not apply; the first that applies is taken, and the last one always does.
            first: a line.

        Returns:
            The blocks.
        """
        number = first
        while number < len(self.lines):
            if self.lines.blank(number):
                number += 1
            else:
                number = next(behind for rule in rules if (behind := rule(self, number)) > number)
        return self.blocks

    def add(self, kind: BlockKind, first: int, behind: int, level: int = 0, label: str = "") -> int:
        """Add a block of the lines [first, behind), and give ``behind``."""
        self.blocks.append(self.lines.block(kind, first, behind, level, label))
        return behind


def one_line(text: str, limit: int = _TITLE) -> str:
    """Put a title on one line of at most ``limit`` characters; what cannot be printed is a space."""
    seen = "".join(char if char.isprintable() else " " for char in text[: 4 * limit])
    short = " ".join(seen.split())
    return short if len(short) <= limit else short[: limit - 1].rstrip() + "…"


def words(text: str) -> frozenset[str]:
    """Make a set of the words of a text."""
    return frozenset(text.split())


def stem(name: str) -> str:
    """Take a file name without its extension as a title."""
    return one_line(PurePath(name).stem)
