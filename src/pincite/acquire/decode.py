"""Bytes become text. The canonical text is the decoded text exactly: no byte order mark, newlines untouched."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterable, Iterator

from pincite.acquire.latin import best_latin
from pincite.errors import SourceUndecodable

Decoded = tuple[str, str, tuple[str, ...]]  # text, encoding, warnings

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SEVEN_BIT = (  # what would pass as UTF-8: the signs of an encoding that shifts
    (rb"\x1b\$\)C", "iso2022_kr"),
    (rb"\x1b\$", "iso2022_jp_2"),
    (rb"~\{(?:[\x21-\x77][\x21-\x7e]){2,}~\}", "hz"),
)
_HEAD = 4096  # bytes in which a document may say what it is written in
_DECLARATION = re.compile(
    rb"""(?:charset|coding)\s*[=:]\s*["']?\s*([\w.:-]{1,40})|@charset\s+["']([\w.:-]{1,40})|\[(\w{1,40})\]\{inputenc\}""",
    re.IGNORECASE | re.ASCII,
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\f\r\x1b")) + b"\x7f"
_ASCII = frozenset(b"\t\n\r") | frozenset(range(32, 127))
_UTF8_CONTROLS = 0.35  # a text with NULs in it has less, UTF-16 made of ASCII and its like half
_LEGACY_CONTROLS = 0.05
_BAD = 0.02  # share of bad bytes up to which damaged UTF-8 is still called UTF-8
_SAMPLE = 1 << 16  # bytes shown to the guesser


def decode(data: bytes, declared: str = "") -> Decoded:
    """Decode bytes of unknown encoding.

    The first that fits: byte order mark; strict UTF-8; UTF-32 and UTF-16 without a mark, told by where the NULs
    are; the declared encoding; UTF-8 with at most 2 % of bad bytes; the guess of charset-normalizer, corrected
    between Latin code pages by the letters that languages use.

    Args:
        data: the bytes.
        declared: the label that the document's transport gives, "" for none; then the one that stands at its own
            beginning counts (of HTML, XML, CSS, Python, LaTeX, or as editors write it). It is only believed when
            the bytes are not UTF-8 and do decode as it says.

    Returns:
        The text, the encoding's Python name, and a warning for each thing that could not be decoded as it stands.
        Newlines, NULs and control characters are as in the bytes. What cannot be decoded is U+FFFD.

    Raises:
        SourceUndecodable: the bytes are no text.
    """
    if not declared and (own := _DECLARATION.search(data[:_HEAD])):
        declared = next(filter(None, own.groups())).decode("ascii")
    for decoded in _attempts(data, declared):
        return decoded
    raise SourceUndecodable("The content is not text in any known encoding.", fix="Convert it to UTF-8 text.")


def looks_binary(data: bytes) -> bool:
    """Tell from a file's first bytes whether they can be no text, in any encoding."""
    if any(data.startswith(mark) for mark, _ in _MARKS):
        return False
    share = _control_share(data)
    limit = _UTF8_CONTROLS if _begins_utf8(data) else _LEGACY_CONTROLS
    return share > limit and not any(_wide(data))


def _begins_utf8(data: bytes) -> bool:
    """Tell whether bytes are UTF-8 as far as they go; the last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


def _attempts(data: bytes, declared: str) -> Iterator[Decoded]:
    """Decode in every way, the most certain first."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            yield from _damaged(data[len(mark) :], encoding)
    if data.isascii():
        for sign, encoding in _SEVEN_BIT:
            if re.search(sign, data):
                yield from _strict(data, encoding)
    if _control_share(data) <= _UTF8_CONTROLS:
        yield from _strict(data, "utf-8")
    yield from _wide(data)
    if _control_share(data) <= _LEGACY_CONTROLS:
        yield from _strict(data, _codec(declared))
        yield from _damaged_utf8(data)
        yield from _guessed(data)


def _control_share(data: bytes) -> float:
    """Measure how much of the data is bytes that no text holds often: 0 to 1."""
    return (len(data) - len(data.translate(None, _CONTROLS))) / max(1, len(data))


def _strict(data: bytes, encoding: str) -> Iterator[Decoded]:
    """Decode without a fault, or not at all."""
    if encoding:
        try:
            yield data.decode(encoding), encoding, ()
        except UnicodeDecodeError:
            return


def _damaged(data: bytes, encoding: str, limit: float = 0.1) -> Iterator[Decoded]:
    """Decode with U+FFFD for what is bad, if that is at most ``limit`` of the text."""
    text = data.decode(encoding, "replace")
    replacement = "\ufffd".encode(encoding, "ignore")  # b"": the encoding has none
    bad = max(0, text.count("\ufffd") - (data.count(replacement) if replacement else 0))
    if bad == 0:
        yield text, encoding, ()
    elif bad <= limit * len(text):
        yield text, encoding, (f"{bad} places are not valid {encoding.upper()} and were read as U+FFFD.",)


def _damaged_utf8(data: bytes) -> Iterator[Decoded]:
    """Decode UTF-8 with a few bad bytes: only if more of its other bytes are UTF-8 and not merely ASCII."""
    for text, encoding, warnings in _damaged(data, "utf-8", _BAD):
        bad = text.count("\ufffd")
        beyond_ascii = len(text) - len(text.encode("ascii", "ignore")) - bad
        if beyond_ascii >= bad:
            yield text, encoding, warnings


def _wide(data: bytes) -> Iterator[Decoded]:
    """Decode UTF-32 or UTF-16 that has no mark: the byte order that has more ASCII in it, if that makes a text."""
    if b"\0" not in data:
        return
    if len(data) % 4 == 0:
        for encoding in ("utf-32-le", "utf-32-be"):
            yield from (decoded for decoded in _strict(data, encoding) if _plausible(decoded[0]))
    whole = data[: len(data) & ~1]
    cut = ("The last byte is half a character and was dropped.",) if len(data) % 2 else ()
    even, odd = whole[0:_SAMPLE:2], whole[1:_SAMPLE:2]
    counts = {"utf-16-le": _ascii_units(even, odd), "utf-16-be": _ascii_units(odd, even)}
    for encoding in sorted(counts, key=lambda order: -counts[order]):
        if counts[encoding]:
            yield from ((text, encoding, cut) for text, _, _ in _strict(whole, encoding) if _plausible(text))


def _ascii_units(low: bytes, high: bytes) -> int:
    """Count the ASCII characters among UTF-16 units, given by their halves."""
    return sum(upper == 0 and lower in _ASCII for lower, upper in zip(low, high, strict=True))


def _plausible(text: str) -> bool:
    """Tell whether a text is made of characters that texts are made of: at most 2 % are control or unassigned."""
    sample = text[:10_000]
    strange = sum(unicodedata.category(char) in ("Cc", "Cn", "Co", "Cs") and char not in "\t\n\f\r" for char in sample)
    return strange <= 0.02 * len(sample)


_KNOWN_CODECS = re.compile(
    r"cp\d+|iso8859-\d+|iso2022_\w+|koi8\S+|mac\S+|gb\S*|big5\S*|euc_\w+|shift_jis|hz|tis-620|ascii"
)
# What a label means on the web: the superset that its users write (WHATWG Encoding Standard).
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
}


def _codec(label: str) -> str:
    """Turn a declared label into a Python codec for text, "" when there is none or it proves nothing."""
    try:
        name = codecs.lookup(label.strip().removeprefix("x-")).name
    except (LookupError, ValueError):
        return ""
    return _SUPERSETS.get(name, name) if _KNOWN_CODECS.fullmatch(name) else ""


def _guessed(data: bytes) -> Iterator[Decoded]:
    """Decode by statistics, on the lines that tell something: those beyond ASCII."""
    from charset_normalizer import from_bytes

    sample = _telling(data)
    best = from_bytes(sample).best()
    eastern = _eastern(sample, _EASTERN if best is None else _EASTERN[:1])
    if eastern or best is not None:
        yield from _damaged(data, eastern or best_latin(sample, best.encoding if best else ""))


# Encoding, the characters that tell it (kana; syllables of Korean), their least share of those beyond ASCII. The first
# is taken for others in short samples, the rest for none at all.
_EASTERN = (
    ("euc_jp", "\u3040", "\u30ff", 0.25),
    ("cp949", "\uac00", "\ud7a3", 0.5),
    ("johab", "\uac00", "\ud7a3", 0.5),
)


def _eastern(sample: bytes, encodings: Iterable[tuple[str, str, str, float]]) -> str:
    """Give the encoding in which a sample has the characters that tell it, "" when it has none."""
    for name, first, last, share in encodings:
        for text, _, _ in _strict(sample, name):
            beyond = [char for char in text if char > "\x7f"]
            if sum(first <= char <= last for char in beyond) >= share * len(beyond) > 0:
                return name
    return ""


def _telling(data: bytes) -> bytes:
    """Take the lines beyond ASCII, at most ``_SAMPLE`` bytes of them."""
    if len(data) <= _SAMPLE:
        return data
    lines, size = [], 0
    for match in re.finditer(rb"[^\n]*+[\n]?", data):
        if not match[0].isascii():
            lines.append(match[0][: _SAMPLE - size])
            size += len(lines[-1])
        if size >= _SAMPLE:
            break
    return b"".join(lines)
