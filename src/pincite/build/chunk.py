"""A document becomes passages: sections are packed with their blocks, and only what does not fit is cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat, takewhile

import regex

from pincite.build.cut import Room, Ruler, begin, cut, finish
from pincite.errors import SettingError
from pincite.models.protocols import Pieces
from pincite.types import Block, BlockKind, Document, Reading, Span, searched_text

LEAST_LIMIT = 16  # below, the pieces of one character might not fit
PIECE_CHARACTERS = 8  # per word piece of the limit; English has 4 to 5
_CONTEXT_SHARE = 4  # the context takes at most 1/4 of a passage, and a table's header as much again
_TINY_SHARE = 6  # a section below 1/6 of the limit may share a passage with another such section
_WHOLE: tuple[BlockKind, ...] = ("code", "table")

_Path = tuple[tuple[int, str], ...]
"""Level and label of each heading around, outermost first."""

_PARAGRAPH_END = regex.compile(r"(?>\r\n|[\r\n])[ \t]*(?>\r\n|[\r\n])")
_WORD_START = regex.compile(
    r"(?<=\s)(?=\S)|(?<=[\p{Han}\p{Hiragana}\p{Katakana}])(?=[\p{Han}\p{Hiragana}\p{Katakana}])"
)


@dataclass(slots=True)
class _Section:
    """A heading, or a run of ever deeper ones, with all that follows up to the next; without furniture inside."""

    path: _Path
    joinable: bool  # nothing but white space before it, back to the previous section
    blocks: list[Block] = field(default_factory=list)

    @property
    def start(self) -> int:
        return self.blocks[0].start

    @property
    def end(self) -> int:
        return self.blocks[-1].end

    @property
    def opening(self) -> list[Block]:
        return list(takewhile(lambda block: block.kind == "heading", self.blocks))


def chunk(document: Reading | Document, pieces: Pieces, *, limit: int = 128, chars: int | None = None) -> list[Span]:
    """Cut a document into passages.

    Blocks are packed up to the limit within their section. Sections share a passage only where both are tiny. Code and
    tables stay whole where they fit; what does not fit is cut at rows, blank lines, lines, sentences, clauses, words,
    ideographs, and at last between grapheme clusters. Passages do not overlap, and every character that is neither
    white space nor furniture is in one of them. Linear in the length of the text.

    Args:
        document: its text, title and blocks count; where there are no blocks, blank lines separate paragraphs.
        pieces: counts as the encoder does.
        limit: most pieces of a passage, its context and the line break between included; at least 16.
        chars: most characters of the same, at least ``limit``; None is 8 for each piece.

    Returns:
        Spans in the order of the text. Each keeps to both limits. A grapheme cluster is divided only where it exceeds a
        limit by itself, or where a block begins or ends inside it.

    Raises:
        SettingError: a limit is too small to cut anything by.
    """
    chars = PIECE_CHARACTERS * limit if chars is None else chars
    if limit < LEAST_LIMIT or chars < limit:
        raise SettingError(
            f"Passages of {limit} word pieces and {chars} characters cannot be made.",
            fix=f"Choose at least {LEAST_LIMIT} pieces, and at least as many characters.",
        )
    ruler = Ruler(document.text, pieces)
    packer = _Packer(ruler, document.title, Room(limit, chars))
    sections = _sections(_segments(document.text, document.blocks))
    return [span for section in _join_tiny(sections, ruler, limit // _TINY_SHARE) for span in packer.pack(section)]


def _segments(text: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """Fill the gaps between blocks with paragraphs, and drop what is blank."""
    position = 0
    for block in chain(blocks, [Block("furniture", len(text), len(text))]):
        start = max(position, min(block.start, len(text)))
        yield from _paragraphs(text, position, start)
        position = max(start, min(block.end, len(text)))
        first = begin(text, start, position)
        if first < position:
            yield Block(block.kind, first, finish(text, first, position), block.level, block.label)


def _paragraphs(text: str, start: int, end: int) -> Iterator[Block]:
    ends = (match.end() for match in _PARAGRAPH_END.finditer(text, start, end))
    for stop in chain(ends, [end]):
        first = begin(text, start, stop)
        if first < stop:
            yield Block("paragraph", first, finish(text, first, stop))
        start = max(start, stop)


def _sections(segments: Iterable[Block]) -> Iterator[_Section]:
    path: _Path = ()
    section = _Section((), joinable=True)
    for segment in segments:
        opens = segment.kind == "heading" and not _introduces(section, segment)
        if segment.kind == "furniture" or opens:
            if section.blocks:
                yield section
            section = _Section(path, joinable=opens and (section.joinable or bool(section.blocks)))
        if segment.kind == "furniture":
            continue
        if segment.kind == "heading":
            section.path = path = _enter(path, segment)
        section.blocks.append(segment)
    if section.blocks:
        yield section


def _introduces(section: _Section, heading: Block) -> bool:
    """Tell whether a section holds only outer headings of this one, so that they belong together."""
    last = section.blocks[-1] if section.blocks else None
    return last is not None and last.kind == "heading" and last.level < heading.level


def _enter(path: _Path, heading: Block) -> _Path:
    outer = takewhile(lambda around: around[0] < heading.level, path)
    return (*outer, (heading.level, _label(heading)))


def _label(heading: Block) -> str:
    return " ".join(heading.label.split())


def _join_tiny(sections: Iterable[_Section], ruler: Ruler, tiny: int) -> Iterator[_Section]:
    """Join neighbours while both are tiny; the path of the whole is what their paths share."""
    joined: _Section | None = None
    for section in sections:
        if joined is None:
            joined = section
        elif section.joinable and all(ruler.count(part.start, part.end) < tiny for part in (joined, section)):
            joined.path = _shared(joined.path, section.path)
            joined.blocks += section.blocks
        else:
            yield joined
            joined = section
    if joined is not None:
        yield joined


def _shared(left: _Path, right: _Path) -> _Path:
    pairs = zip(left, right, strict=False)
    return tuple(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


class _Packer:
    """Turns sections into passages."""

    def __init__(self, ruler: Ruler, title: str, limit: Room) -> None:
        self.ruler = ruler
        self.title = " ".join(title.split())
        self.limit = limit
        self._rooms: dict[str, Room] = {}

    def pack(self, section: _Section) -> list[Span]:
        """Make the passages of one section; the first holds the heading, the others have it in their context."""
        path = tuple(label for _, label in section.path if label)
        return [self._span(start, end, path, context) for start, end, context in self._fill(section)]

    def _fill(self, section: _Section) -> list[tuple[int, int, str]]:
        """Put block after block into a passage while they fit; give start, end and context of each."""
        ruler = self.ruler
        context, other = self._contexts(section)  # of the passage that is being filled, and of the next ones
        done: list[tuple[int, int, str]] = []
        start, end, bare = section.start, section.start, True  # bare: holds no more than headings so far
        for block in section.blocks:
            if ruler.fits(start, block.end, self._room(context)):
                end = block.end
            else:
                if end > start and not (bare and self._follows(block, self._room(other))):
                    done.append((start, end, context))
                    start, context = block.start, other
                inner = self._within(block, other)
                rooms = chain([self._room(context)], repeat(self._room(inner)))
                spans = cut(ruler, start, block.end, block.kind, rooms)
                *full, (start, end, context) = [
                    (*span, inner if place else context) for place, span in enumerate(spans)
                ]
                done += full
            bare = bare and block.kind == "heading"
        return [*done, (start, end, context)]

    def _within(self, block: Block, context: str) -> str:
        """Give the context behind the first rows of a table: with the header, so that rows are found by its words."""
        if block.kind != "table":
            return context
        rows = self.ruler.text[block.start : min(block.end, block.start + 2 * self.limit.characters)].split("\n")
        first = next((row for row in rows if any(map(str.isalnum, row))), "")
        header = " ".join(first.split())
        if (
            sum(map(str.isalpha, header)) <= sum(map(str.isdigit, header))
            or "\n" not in self.ruler.text[block.start : block.end]
        ):
            return context
        starts = self.ruler.pieces.starts(header)
        pieces, characters = (part // _CONTEXT_SHARE for part in self.limit)
        end = min(characters, int(starts[pieces - 2]) if len(starts) > pieces - 2 else len(header))
        header = header if end >= len(header) else header[:end].rpartition(" ")[0]
        return "\n".join(filter(None, (context, header)))

    def _follows(self, block: Block, room: Room) -> bool:
        """Tell whether a block may be cut to keep its heading company: not where it would have stayed whole."""
        return block.kind not in _WHOLE or not self.ruler.fits(block.start, block.end, room)

    def _span(self, start: int, end: int, path: tuple[str, ...], context: str) -> Span:
        end = finish(self.ruler.text, start, end)
        if self.ruler.additive:
            count = self.ruler.count(start, end) + self.limit.pieces - self._room(context).pieces
        else:
            count = self.ruler.pieces.count(searched_text(context, self.ruler.text[start:end]))
        return Span(start, end, path, context, count)

    def _room(self, context: str) -> Room:
        if context not in self._rooms:
            prefix = f"{context}\n"
            left = Room(self.limit.pieces - self.ruler.pieces.count(prefix), self.limit.characters - len(prefix))
            self._rooms[context] = left if context else self.limit
        return self._rooms[context]

    def _contexts(self, section: _Section) -> tuple[str, str]:
        """Give the context of the section's first passage, which begins with its headings, and that of the others."""
        said = {_label(heading) for heading in section.opening}
        if self.title and self.ruler.text.startswith(self.title, section.start):
            said.add(self.title)
        parts = [label for _, label in section.path if label]
        if self.title and self.title not in parts[:1]:
            parts.insert(0, self.title)
        return self._shorten([part for part in parts if part not in said]), self._shorten(parts)

    def _shorten(self, parts: list[str]) -> str:
        """Join the parts, outermost first; over its share, keep the end of it, from a word on."""
        context = " > ".join(parts)
        pieces, characters = (part // _CONTEXT_SHARE for part in self.limit)
        if len(context) <= characters and self.ruler.pieces.count(context) <= pieces:
            return context
        tail = context[-characters + 2 :]
        starts = self.ruler.pieces.starts(tail)
        least = int(starts[-pieces]) if len(starts) > pieces else 0  # nothing that begins before it can fit
        for word in _WORD_START.finditer(tail, least):
            shortened = f"… {tail[word.start() :].removeprefix('> ')}"
            if self.ruler.pieces.count(shortened) <= pieces:
                return shortened
        return ""
