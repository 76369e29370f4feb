"""MSG: mails as Outlook keeps them, in the container of before 2007."""

from __future__ import annotations

import datetime
import email
import io
import struct
from collections import Counter
from email.message import EmailMessage
from typing import Any

from pincite.acquire.decode import decode
from pincite.acquire.readers.base import one_line
from pincite.acquire.readers.dom import Piece
from pincite.acquire.readers.mail import Letter, body_pieces, letter_reading, packed
from pincite.acquire.readers.rtf import read as read_rtf
from pincite.errors import SourceError, SourceUndecodable
from pincite.types import Reading

# Properties by number, from MS-OXPROPS.
_SUBJECT, _HEADERS, _BODY, _HTML, _RTF = "0037", "007D", "1000", "1013", "1009"
_SENDER, _RECEIVER = ("0C1A", "5D01", "0C1F"), ("3001", "39FE", "3003")  # a name, then addresses
_RECIPIENT = 0x0C150003  # 1: to, 2: a copy to
_LONG = 20_000  # characters of a list of people
_DATES = (0x00390040, 0x0E060040)  # when it was sent, when it arrived
_PAGE = 0x3FFD0003  # code page of texts that are not Unicode
_FILE = ("3707", "3704", "3001")  # long name, short name, what is shown
_EPOCH = datetime.datetime(1601, 1, 1, tzinfo=datetime.UTC)
# What olefile and struct raise for damaged or hostile bytes.
_BAD = (OSError, ValueError, IndexError, KeyError, TypeError, AttributeError, struct.error, RecursionError)
_NESTED = 4  # messages in messages
_Path = tuple[str, ...]
"""A folder of the container."""
_FIX = "Save it again in Outlook, or as .eml."
_RTF_START = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans Serif"
    rb"SymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0" + b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)  # MS-OXRTFCP 2.1.2.1: what every compressed text may refer to


def read(data: bytes, name: str, media_type: str) -> Reading:
    """Read an Outlook message, as ``base.Reader`` has it; what comes of it is as for other mail."""
    return letter_reading(_letter(data), name)


def attachments(data: bytes, media_type: str) -> list[tuple[str, str]]:
    """Give the attachments: the name of each and its content in base 64."""
    return packed(_letter(data).attachments)


def _letter(data: bytes) -> Letter:
    import olefile

    try:
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            return _of_file(file)
    except _BAD as error:
        raise SourceUndecodable("It is damaged, or no Outlook message.", fix=_FIX) from error


def _of_file(file: Any, base: _Path = ()) -> Letter:
    """Read the message in a folder of the container; one that another encloses has a folder of its own."""
    if not file.exists([*base, "__properties_version1.0"]):
        raise SourceUndecodable("It is no Outlook message.", fix=_FIX)
    numbers = _numbers(file.openstream([*base, "__properties_version1.0"]).read(), 24 if base else 32)
    page = f"cp{numbers[_PAGE]}" if _PAGE in numbers else _guessed(_stream(file, base, f"{_BODY}001E"))
    texts = {key: _property(file, base, key, page) for key in (_SUBJECT, _HEADERS, _BODY)}
    transport = email.message_from_string(texts[_HEADERS])
    folders = sorted({path[len(base)] for path in file.listdir() if tuple(path[: len(base)]) == base})
    headers = _people(file, base, page, [folder for folder in folders if folder.startswith("__recip_version1.0_")])
    writer = email.utils.parseaddr(str(transport.get("From", "")))[1]
    if "@" in writer and "<" not in headers["From"] and "@" not in headers["From"]:
        headers["From"] = f"{headers['From']} <{writer}>".strip()
    headers["Date"] = str(transport.get("Date", "")) or _date(numbers)
    headers["Message-ID"] = str(transport.get("Message-ID", ""))
    headers = {key: one_line(value, _LONG) for key, value in headers.items()}
    files = [_file(file, (*base, folder), page) for folder in folders if folder.startswith("__attach_version1.0_")]
    body = body_pieces(texts[_BODY].encode("utf-8", "replace"), "utf-8") if texts[_BODY].strip() else []
    left_out = Counter[str]()
    return Letter(one_line(texts[_SUBJECT], 1000), headers, body or _rich(file, base, page, left_out), files, left_out)


def _people(file: Any, base: _Path, page: str, recipients: list[str]) -> dict[str, str]:
    """Give who wrote the message and to whom, with the addresses that are known."""
    found: dict[str, list[str]] = {"From": [_person(file, base, page, _SENDER)], "To": [], "Cc": []}
    for folder in recipients:
        kind = _numbers(_stream(file, (*base, folder), ""), 8).get(_RECIPIENT, 1)
        found.get({1: "To", 2: "Cc"}.get(kind, ""), []).append(_person(file, (*base, folder), page, _RECEIVER))
    said = {"To": _property(file, base, "0E04", page), "Cc": _property(file, base, "0E03", page)}
    return {key: "; ".join(filter(None, people)) or said.get(key, "") for key, people in found.items()}


def _person(file: Any, folder: _Path, page: str, keys: tuple[str, ...]) -> str:
    """Write a name with its address, or what there is of them."""
    name, *addresses = (one_line(_property(file, folder, key, page)) for key in keys)
    address = next((text for text in addresses if "@" in text and text[0] != "/"), "")
    return f"{name} <{address}>" if name and address not in ("", name) else name or address or next(iter(addresses))


def _guessed(body: bytes) -> str:
    """Tell the code page of the texts by the longest of them."""
    try:
        return decode(body)[1] or "cp1252"
    except SourceError:
        return "cp1252"


def _property(file: Any, folder: _Path, key: str, page: str) -> str:
    """Give a text, in either of the two ways in which it is kept."""
    for kind, encoding in (("001F", "utf-16-le"), ("001E", page)):
        data = _stream(file, folder, f"{key}{kind}")
        if data:
            try:
                return data.decode(encoding, "replace").rstrip("\0")
            except LookupError:
                return data.decode("cp1252", "replace").rstrip("\0")
    return ""


def _stream(file: Any, folder: _Path, name: str) -> bytes:
    path = [*folder, f"__substg1.0_{name}" if name else "__properties_version1.0"]
    return bytes(file.openstream(path).read()) if file.exists(path) and file.get_type(path) == 2 else b""


def _rich(file: Any, base: _Path, page: str, left_out: Counter[str]) -> list[Piece]:
    """Give the body from HTML, or else from RTF."""
    html = _stream(file, base, f"{_HTML}0102") or _property(file, base, _HTML, page).encode("utf-8", "replace")
    if html:
        return body_pieces(html, page, left_out)
    packed_rtf = _stream(file, base, f"{_RTF}0102")
    if not packed_rtf:
        return []
    try:
        reading = read_rtf(unpacked(packed_rtf), "", "")
    except SourceError:
        return []
    return [Piece(b.kind, reading.text[b.start : b.end], b.level, b.label) for b in reading.blocks]


def _file(file: Any, folder: _Path, page: str) -> tuple[str, str, bytes]:
    """Give an attachment; an enclosed message comes as a mail of its own."""
    name = next(filter(None, (_property(file, folder, key, page) for key in _FILE)), "")
    inner = (*folder, "__substg1.0_3701000D")
    if len(folder) < 2 * _NESTED and file.exists([*inner, "__properties_version1.0"]):
        letter = _of_file(file, inner)
        return (
            f"{one_line(name or letter.subject).removesuffix('.msg').removesuffix('.eml')}.eml",
            "message/rfc822",
            _enclosed(letter),
        )
    kind = _property(file, folder, "370E", page) or "application/octet-stream"
    return one_line(name) or folder[-1][-8:], one_line(kind), _stream(file, folder, "37010102")


def _enclosed(letter: Letter) -> bytes:
    """Write a message as MIME has it."""
    message = EmailMessage()
    for key, value in {"Subject": letter.subject, **letter.headers}.items():
        if value:
            message[key] = value.replace(";", ",") if key in ("To", "Cc") else value
    message.set_content("\n\n".join(piece.text for piece in letter.body))
    for name, _, content in letter.attachments:
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()


def _numbers(data: bytes, start: int) -> dict[int, int]:
    """Give the properties of fixed size, by tag."""
    rows = (struct.unpack_from("<IIq", data, at) for at in range(start, len(data) - 15, 16))
    return {tag: value & 0xFFFFFFFF if tag & 0xFFFF == 3 else value for tag, _, value in rows}  # 3: of four bytes


def _date(numbers: dict[int, int]) -> str:
    """Give when it was sent as mail headers write it, "" if that is not known."""
    ticks = next((numbers[tag] for tag in _DATES if numbers.get(tag, 0) > 0), 0)
    try:
        moment = _EPOCH + datetime.timedelta(microseconds=ticks // 10)
    except OverflowError:
        return ""
    return email.utils.format_datetime(moment) if ticks else ""


def unpacked(data: bytes) -> bytes:
    """Unpack RTF as Outlook packs it (MS-OXRTFCP); of damaged data, give what comes before the damage."""
    if data[8:12] != b"LZFu":
        return data[16:]
    size = min(struct.unpack_from("<I", data, 4)[0], 64 * len(data))
    out, position = bytearray(_RTF_START), 16
    while position < len(data) and len(out) - len(_RTF_START) < size:
        control = data[position]
        position += 1
        for bit in range(8):
            if not control >> bit & 1:
                out += data[position : position + 1]
                position += 1
                continue
            pair = int.from_bytes(data[position : position + 2], "big")
            position += 2
            at = len(out) - ((len(out) - (pair >> 4)) % 4096 or 4096)
            if (pair >> 4) == len(out) % 4096 or at < 0:  # the end
                return bytes(out[len(_RTF_START) :][:size])
            for step in range((pair & 15) + 2):
                out.append(out[at + step])
    return bytes(out[len(_RTF_START) :][:size])
