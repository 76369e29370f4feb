"""EML and MBOX: headers, body and nested messages of mail; attachments are documents of their own."""

from __future__ import annotations

import email
import email.errors
import email.utils
import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from email.header import decode_header
from email.message import Message
from typing import Any, NamedTuple

from pincite.acquire.decode import decode
from pincite.acquire.readers import text as plain
from pincite.acquire.readers.base import one_line, stem
from pincite.acquire.readers.dom import Piece, paged, squashed
from pincite.acquire.readers.html import visible_pieces
from pincite.errors import SourceError, SourceUndecodable
from pincite.types import Reading, Scalar

_HEADER = 64 << 10  # characters of a header that are decoded
_DEPTH = 30  # of messages and parts within one another
_STUB = 300  # characters: a shorter plain text may only say that there is another form
_FROM = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\r\n]*\d{4}[^\r\n]*\r?\n")
_SHOWN = ("From", "To", "Cc", "Date")
_KEPT = {"author": "From", "to": "To", "cc": "Cc", "message_id": "Message-ID"}


class Letter(NamedTuple):
    """What every format of mail comes down to."""

    subject: str
    headers: dict[str, str]  # as in ``_SHOWN``
    body: list[Piece]
    attachments: list[tuple[str, str, bytes]]  # name, media type, content
    left_out: Counter[str]  # characters that are hidden in the body


def read(data: bytes, name: str, media_type: str) -> Reading:
    """Read a mail, or a mailbox.

    Args:
        data: the document.
        name: the file's name, the title when there is no better.
        media_type: ``application/mbox`` is several mails, each of which becomes a page.

    Returns:
        Of each mail the subject as a heading, a paragraph "From: ...", the body (as plain text where there is some,
        else HTML's), mails within as sections, and a paragraph "Attachments: ...". Metadata: author, to, cc and date
        (ISO 8601) of a mail, the number of mails of a mailbox.

    Raises:
        SourceUndecodable: it is no mail, or nested beyond reason.
    """
    if media_type == "application/mbox":
        letters = [_letter(part) for part in _messages(data)]
        text, blocks, pages = paged((letter.subject, letter_pieces(letter)) for letter in letters)
        left_out = sum((letter.left_out for letter in letters), Counter[str]())
        return Reading(text, stem(name), blocks, pages, {"messages": len(letters), **left_out})
    return letter_reading(_letter(data), name)


def attachments(data: bytes, media_type: str) -> list[tuple[str, str]]:
    """Give the attachments of a mail or a mailbox: the name of each and its content in base 64."""
    messages = _messages(data) if media_type == "application/mbox" else [data]
    return packed(file for message in messages for file in _letter(message).attachments)


def packed(files: Sequence[tuple[str, str, bytes]] | Iterator[tuple[str, str, bytes]]) -> list[tuple[str, str]]:
    """Write attachments as JSON can say it."""
    return [(name, b64encode(content).decode("ascii")) for name, _, content in files]


def letter_reading(letter: Letter, name: str) -> Reading:
    """Make the reading of one mail."""
    text, blocks, _ = paged([("", letter_pieces(letter))])
    metadata: dict[str, Scalar] = {ours: letter.headers[key] for key, ours in _OURS.items() if letter.headers.get(key)}
    metadata |= +letter.left_out
    date = _date(letter.headers.get("Date", ""))
    return Reading(text, letter.subject or stem(name), blocks, metadata=metadata | ({"date": date} if date else {}))


_OURS = {key: ours for ours, key in _KEPT.items()}


def letter_pieces(letter: Letter, level: int = 1) -> Iterator[Piece]:
    """Write a mail, its subject as a heading of a level."""
    subject = letter.subject or "(no subject)"
    yield Piece("heading", f"{'#' * min(6, level)} {subject}", level, subject)
    yield Piece("paragraph", "\n".join(f"{key}: {letter.headers[key]}" for key in _SHOWN if letter.headers.get(key)))
    yield from letter.body
    files = [f"{one_line(name)} ({kind}, {len(content):,} bytes)" for name, kind, content in letter.attachments]
    yield Piece("paragraph", f"Attachments: {', '.join(files)}" if files else "")


def _messages(data: bytes) -> list[bytes]:
    """Cut a mailbox into its mails."""
    starts = list(_FROM.finditer(data))
    if not starts:
        raise SourceUndecodable("It is no mailbox: no line begins a mail.", fix="Save the mails as .eml files.")
    ends = [*(match.start() for match in starts[1:]), len(data)]
    parts = (data[match.end() : end] for match, end in zip(starts, ends, strict=True))
    return [re.sub(rb"(?m)^>(>*From )", rb"\1", part) for part in parts]


def _letter(data: bytes) -> Letter:
    try:
        message = email.message_from_bytes(data)
        found = _of_message(message, 0)
    except (RecursionError, ValueError, LookupError, TypeError, AttributeError, email.errors.MessageError) as error:
        raise SourceUndecodable("It is no mail that can be understood.", fix="Save it again as .eml.") from error
    if not message.keys():
        raise SourceUndecodable("It is no mail: it has no headers.", fix="If it is text, name it .txt.")
    return found


def _of_message(message: Message, depth: int) -> Letter:
    headers = {key.title(): _header(value) for key, value in reversed(list(message.raw_items()))}
    named = {key: headers.get(key.title(), "") for key in (*_SHOWN, *_KEPT.values())}
    letter = Letter(one_line(headers.get("Subject", ""), 1000), named, [], [], Counter())
    _collect(message, letter, depth)
    return letter


def _collect(part: Message, letter: Letter, depth: int) -> None:
    """Sort a part and those within into body and attachments."""
    if depth > _DEPTH:
        raise SourceUndecodable(f"Its parts are nested more than {_DEPTH} deep.", fix="Save the inner mails apart.")
    kind = part.get_content_type()
    inner: Any = part.get_payload()
    if kind == "multipart/alternative" and isinstance(inner, list):
        _alternatives(inner, letter, depth + 1)
    elif kind in ("message/rfc822", "message/global") and isinstance(inner, list):
        for message in inner:
            within = _of_message(message, depth + 1)
            letter.body.extend(letter_pieces(within, 2))
            letter.attachments.extend(within.attachments)
            letter.left_out.update(within.left_out)
    elif kind.startswith("message/") and isinstance(inner, list):  # a report of delivery: fields without a body
        for fields in inner:
            lines = [f"{key}: {_header(value)}" for key, value in fields.items()]
            letter.body.append(Piece("paragraph", "\n".join(lines)))
            _collect(fields, letter, depth + 1)
    elif isinstance(inner, list):
        for one in inner[:1] if kind == "multipart/signed" else inner:
            _collect(one, letter, depth + 1)
    else:
        _leaf(part, kind, letter)


def _alternatives(parts: list[Message], letter: Letter, depth: int) -> None:
    """Take one of several forms of a text, and the files that hang on the others."""
    chosen = _best(parts)
    for part in parts:
        form = letter if part is chosen else letter._replace(body=[], attachments=[], left_out=Counter())
        if part is chosen or part.is_multipart():
            _collect(part, form, depth)
        if part is not chosen:  # pictures belong to the look of that form
            letter.attachments.extend(file for file in form.attachments if not file[1].startswith("image/"))


def _best(parts: list[Message]) -> Message | None:
    """Choose among alternatives: plain text if it says something, else the last one that is not a file."""
    readable = [part for part in parts if part.get_content_maintype() in ("text", "multipart")] or parts
    for part in parts:
        if part.get_content_type() == "text/plain":
            size = len(_content(part).strip())
            if size > _STUB or (size and size >= max(len(squashed(_shown_text(other))) // 3 for other in readable)):
                return part
    return readable[-1] if readable else None


def _shown_text(part: Message) -> str:
    """Give the text of the first HTML in a part, "" if there is none."""
    page = next((inner for inner in part.walk() if inner.get_content_type() == "text/html"), None)
    pieces = body_pieces(_content(page), page.get_content_charset() or "", Counter()) if page is not None else []
    return "".join(piece.text for piece in pieces)


def _content(part: Message) -> bytes:
    content = part.get_payload(decode=True)
    data = content if isinstance(content, bytes) else b""
    if any(isinstance(defect, email.errors.InvalidBase64LengthDefect) for defect in part.defects):
        letters = re.sub(rb"[^A-Za-z0-9+/]", b"", data)  # cut off in the middle: what is whole counts
        data = b64decode(letters[: len(letters) // 4 * 4])
    return data


def _leaf(part: Message, kind: str, letter: Letter) -> None:
    data = _content(part)
    name = _header(part.get_filename() or "")
    disposition = part.get_content_disposition()
    is_shown = disposition == "inline" and kind in ("text/plain", "text/html")
    is_text = kind.startswith(("text/", "message/")) and kind != "text/rtf"
    if disposition == "attachment" or not is_text or (name and not is_shown):
        default = f"part-{len(letter.attachments) + 1}"
        letter.attachments.append((name or default, kind, data))
    elif data.strip():
        letter.body.extend(
            body_pieces(data, part.get_content_charset() or "", letter.left_out if kind == "text/html" else None)
        )


def body_pieces(data: bytes, charset: str, left_out: Counter[str] | None = None) -> list[Piece]:
    """Write a body, of HTML if there is where to count what is hidden; bytes that are no text give none."""
    try:
        body = decode(data, charset)[0]
    except SourceError:
        return []
    if left_out is not None:
        return visible_pieces(body, left_out)
    reading = plain.parse(body.replace("\r\n", "\n"), "")
    return [Piece(block.kind, reading.text[block.start : block.end]) for block in reading.blocks]


def _header(value: object) -> str:
    """Decode a header: encoded words, and bytes that should not be there."""
    raw = str(value)[:_HEADER]
    try:
        raw = decode(raw.encode("ascii", "surrogateescape"))[0] if not raw.isascii() else raw
    except (UnicodeEncodeError, SourceError):
        raw = raw.encode("utf-8", "replace").decode("utf-8", "replace")
    try:
        parts = decode_header(raw)
    except (ValueError, email.errors.HeaderParseError):
        return " ".join(raw.split())
    text = "".join(part if isinstance(part, str) else _word(part, charset or "") for part, charset in parts)
    return " ".join(text.split())


def _word(data: bytes, charset: str) -> str:
    try:
        return decode(data, charset)[0] if charset else data.decode("ascii", "replace")
    except SourceError:
        return data.decode("latin-1")


def _date(text: str) -> str:
    """Write a date as ISO 8601, "" if it is none."""
    try:
        return email.utils.parsedate_to_datetime(text[:200]).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""
