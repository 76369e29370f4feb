"""RTF: text in its code pages, headings by style or outline level, tables, lists, notes; no recursion, any depth.

Headings ("## Label"), lists, tables ("| ... |") and paragraphs in order, then notes ("[^1]: ..."), comments, and
headers and footers as furniture. Metadata: what the document states of itself, and the number of characters that are
hidden or deleted and so left out.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pincite.acquire.readers import rtf_words as known
from pincite.acquire.readers.base import one_line, stem
from pincite.acquire.readers.dom import Piece, assembled, join, rows_text
from pincite.errors import SourceUndecodable
from pincite.types import BlockKind, Reading

_HEADING = re.compile(r"heading ?([1-9])$")
_TINY = 2  # half points


@dataclass(frozen=True, slots=True)
class _Format:
    """What a group inherits from the one around it."""

    page: str = "cp1252"  # the code page
    fallback: int = 1  # characters that stand for a \\u in old programs
    hidden: bool = False
    deleted: bool = False
    skipped: bool = False  # the destination holds no text
    white: bool = False
    ground: bool = False  # it stands on a colour
    tiny: bool = False
    sink: int = 0  # which of the sinks takes the text


@dataclass(slots=True)
class _Sink:
    """Where text goes: the body, or a destination of its own."""

    kind: str
    parts: list[str] = field(default_factory=list)


class _Scan:
    """One pass over the tokens."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self.format = _Format()
        self.stack: list[_Format] = []
        self.sinks = [_Sink("body")]
        self.bytes = bytearray()  # of characters that may have several
        self.skip = 0  # characters to leave out behind a \\u
        self.starred = False
        self.default_page = "cp1252"
        self.fonts: dict[int, str] = {}
        self.font = 0
        self.levels: dict[int, int] = {}  # style: level of heading
        self.style = self.level = 0
        self.in_table = False
        self.row: list[str] = []
        self.rows: list[list[str]] = []
        self.pieces: list[Piece] = []
        self.behind: list[Piece] = []  # notes, comments, furniture
        self.notes = 0
        self.info: dict[str, str] = {}  # what the document states of itself
        self.left_out = {"hidden_text": 0, "deleted_text": 0}
        self.colours = known.colours(data)
        # Of cells or paragraphs; which text stands on them is not simply told.
        self.has_grounds = b"cbpat" in data or b"\\cb" in data

    def run(self) -> None:
        """Read all tokens; a file that ends early ends all its groups."""
        while self.position < len(self.data):
            match = known.TOKEN.match(self.data, self.position)
            if match is None:
                break
            self.position = match.end()
            word, value, code, symbol, brace, text = match.groups()
            if text is not None or code is not None:
                self._raw(text if text is not None else bytes([int(code, 16)]))
            elif brace == b"{":
                self._flush()
                self.stack.append(self.format)
            elif brace == b"}":
                self._close()
            elif symbol is not None:
                self._symbol(symbol)
            elif word is not None:
                self._word(word.decode("ascii").lower(), None if value is None else int(value))
        while self.stack:
            self._close()
        self._end_paragraph()
        self._end_table()

    # --- text

    def _raw(self, text: bytes) -> None:
        """Take bytes in the code page of the font."""
        drop = min(self.skip, len(text))
        self.skip -= drop
        if not self.format.skipped:
            self.bytes += text[drop:]

    def _flush(self) -> None:
        """Decode the bytes that wait."""
        if self.bytes:
            text = bytes(self.bytes).decode(self.format.page, "replace")
            self.bytes.clear()
            self._text(text)

    def _text(self, text: str) -> None:
        form = self.format
        if form.hidden or form.deleted:
            self.left_out["hidden_text" if form.hidden else "deleted_text"] += len(text)
        elif not form.skipped and (form.tiny or (form.white and not form.ground and not self.has_grounds)):
            self.left_out["hidden_text"] += len(text.strip())
        elif not form.skipped:
            self.sinks[form.sink].parts.append(text)

    def _symbol(self, symbol: bytes) -> None:
        if symbol == b"*":
            self.starred = True
        elif self.skip and symbol in known.SYMBOLS:
            self.skip -= 1
        elif symbol in (b"\r", b"\n"):
            self._word("par", None)
        elif symbol in known.SYMBOLS:
            self._flush()
            self._text(known.SYMBOLS[symbol])

    # --- groups

    def _close(self) -> None:
        """End a group; if it was a destination of its own, its text is complete."""
        self._flush()
        self.starred, self.skip = False, 0
        if not self.stack:
            return
        ended, self.format = self.format, self.stack.pop()
        if ended.sink != self.format.sink and ended.sink == len(self.sinks) - 1:
            sink = self.sinks.pop()
            self._ended(sink.kind, "".join(sink.parts))
        elif self.sinks[ended.sink].kind == "styles":
            self._end_style()

    def _open(self, kind: str) -> None:
        """Let the rest of the group be a destination of its own."""
        self.sinks.append(_Sink(kind))
        self.format = replace(self.format, sink=len(self.sinks) - 1, hidden=False, deleted=False)

    # --- control words

    def _word(self, word: str, value: int | None) -> None:
        self._flush()
        starred, self.starred = self.starred, False
        self.skip = 0
        if word == "bin":
            self.position += max(0, value or 0)
        elif word in known.DESTINATIONS:
            if not self.format.skipped:
                self._open(known.DESTINATIONS[word])
        elif word in known.SKIPPED or (starred and word not in known.SHOWN):
            self.format = replace(self.format, skipped=True)
        elif word in known.CHARACTERS:
            self._text(known.CHARACTERS[word])
        elif word in _LOOKS:
            self.format = replace(self.format, **_LOOKS[word](self, value))
        elif word in _WORDS:
            _WORDS[word](self, value)

    def unicode(self, value: int | None) -> None:
        """Take a character by its number; what stands for it in old programs follows and is left out."""
        code = (value or 0) % 0x10000 if abs(value or 0) < 0x10000 else 0xFFFD
        self._text(chr(code))
        self.skip = self.format.fallback

    def set_font(self, value: int | None) -> None:
        """Choose a font: it decides the code page. In the table of fonts, begin to define it."""
        self.font = value or 0
        if self.sinks[self.format.sink].kind != "fonts":
            self.format = replace(self.format, page=self.fonts.get(self.font, self.default_page))

    def define_font(self, value: int | None) -> None:
        """Say which character set a font has."""
        page = known.CHARSETS.get(value or 0, self.default_page)
        self.fonts[self.font] = self.default_page if value in (0, 1) else page

    def set_page(self, value: int | None) -> None:
        """Choose the code page of fonts without a character set."""
        try:
            self.default_page = codecs.lookup(f"cp{value}").name
        except LookupError:
            return
        self.format = replace(self.format, page=self.default_page)

    def begin_paragraph(self, _: int | None) -> None:
        """Put the properties of the paragraph back."""
        self.style = self.level = 0
        self.in_table = False

    def set_level(self, value: int | None) -> None:
        """Take the outline level: of the paragraph, or of a style that is being defined."""
        self.level = (value or 0) + 1 if 0 <= (value or 0) < 9 else 0
        if self.sinks[self.format.sink].kind == "styles":
            self.levels[self.style] = self.level

    def end_paragraph(self, _: int | None) -> None:
        """End a paragraph."""
        sink = self.sinks[self.format.sink]
        if sink.kind != "body" or self.in_table:
            sink.parts.append("\n")
        else:
            self._end_paragraph()

    def end_cell(self, _: int | None) -> None:
        """End a cell."""
        if self.format.sink == 0:
            self.row.append(" ".join(self._taken().split()))

    def end_row(self, _: int | None) -> None:
        """End a row."""
        if self.row:
            self.rows.append(self.row)
            self.row = []

    # --- what is complete

    def _taken(self) -> str:
        """Take the text of the body that waits; two halves of a character by number become one."""
        text = "".join(self.sinks[0].parts)
        self.sinks[0].parts.clear()
        return known.joined(text)

    def _end_paragraph(self) -> None:
        text = re.sub(r" *\n *", "\n", re.sub(r"[ \t]+", " ", self._taken())).strip()
        if not text:
            return
        self._end_table()
        level = self.level or self.levels.get(self.style, 0)
        item = re.match(r"(\S{1,12})\u0001\s*", text)
        if level:
            label = one_line(text.replace("\u0001", " "), 1000)
            self.pieces.append(Piece("heading", f"{'#' * min(6, level)} {label}", level, label))
        elif item:
            marker = item[1] if item[1][-1] in ".)" or item[1].isdecimal() else "-"
            join(self.pieces, "list", f"{marker} {text[item.end() :]}")
        else:
            parts = re.split(r"\n(?:\s*\n)+", text.replace("\u0001", " ").strip())
            self.pieces += [Piece("paragraph", part) for part in parts]

    def _end_table(self) -> None:
        self.end_row(None)
        if self.rows:
            kind: BlockKind = "table" if any(len(row) > 1 for row in self.rows) else "paragraph"
            text = rows_text(self.rows) if kind == "table" else "\n\n".join(row[0] for row in self.rows)
            self.pieces.append(Piece(kind, text))
            self.rows = []

    def _ended(self, kind: str, text: str) -> None:
        """Keep what a destination of its own held; text that only defines something is dropped."""
        said = known.shown(text)
        if kind == "styles":
            self.begin_paragraph(None)
        elif kind == "note":
            self.notes += 1
            self.sinks[self.format.sink].parts.append(f"[^{self.notes}]")
            self.behind.append(Piece("paragraph", f"[^{self.notes}]: {said}"))
        elif kind == "comment":
            self.behind.append(Piece("paragraph", f"Comment: {said}"))
        elif kind == "furniture":
            self.behind.append(Piece("furniture", said))
        elif kind == "marker" and text.strip():
            self.sinks[self.format.sink].parts.append(f"{text.strip()}\u0001")
        elif kind.startswith("info ") and said:
            self.info.setdefault(kind[5:], one_line(said, 1000))

    def _end_style(self) -> None:
        """Learn from the name of a style, which ends its definition, whether it is a heading."""
        parts = self.sinks[self.format.sink].parts
        match = _HEADING.match("".join(parts).strip(" ;\n").lower())
        if match:
            self.levels[self.style] = int(match[1])
        if parts:
            self.style = 0
        parts.clear()


_PLAIN = {"hidden": False, "deleted": False, "white": False, "ground": False, "tiny": False}
_LOOKS: dict[str, Callable[[_Scan, int | None], dict[str, Any]]] = {  # what a control word changes of the format
    "uc": lambda scan, value: {"fallback": min(9, max(0, value or 0))},
    "v": lambda scan, value: {"hidden": value != 0},
    "deleted": lambda scan, value: {"deleted": value != 0},
    "cf": lambda scan, value: {"white": value in scan.colours},
    "fs": lambda scan, value: {"tiny": value is not None and value <= _TINY},
    "highlight": lambda scan, value: {"ground": bool(value)},
    "plain": lambda scan, value: {"page": scan.default_page, **_PLAIN},
}
_WORDS: dict[str, Callable[[_Scan, int | None], None]] = {
    "u": _Scan.unicode,
    "f": _Scan.set_font,
    "fcharset": _Scan.define_font,
    "ansicpg": _Scan.set_page,
    "pard": _Scan.begin_paragraph,
    "s": lambda scan, value: setattr(scan, "style", value or 0),
    "outlinelevel": _Scan.set_level,
    "intbl": lambda scan, value: setattr(scan, "in_table", True),
    **dict.fromkeys(("par", "sect", "page"), _Scan.end_paragraph),
    **dict.fromkeys(("cell", "nestcell"), _Scan.end_cell),
    **dict.fromkeys(("row", "nestrow"), _Scan.end_row),
}


def read(data: bytes, name: str, media_type: str) -> Reading:
    """Read a rich text document, as ``base.Reader`` has it."""
    start = data.find(b"{\\rtf", 0, 1024)
    if start < 0:
        message = "It does not begin as a rich text document does."
        raise SourceUndecodable(message, fix="Open it in the program that made it, save it again, and add that.")
    scan = _Scan(data[start:])
    scan.run()
    text, blocks = assembled([*scan.pieces, *sorted(scan.behind, key=lambda piece: piece.kind == "furniture")])
    heading = next((block.label for block in blocks if block.kind == "heading"), "")
    title = scan.info.pop("title", "")
    title = one_line(title) if any(char.isalnum() for char in title) else heading
    metadata = scan.info | {key: count for key, count in scan.left_out.items() if count}
    return Reading(text, title or stem(name), blocks, metadata=metadata)
