"""Bytes become a reading: canonical text and its structure, by the reader of their media type."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import cast

from pincite.acquire.archive import ARCHIVES
from pincite.acquire.identify import CODE_TYPES, DATA_TYPES, IMAGES
from pincite.acquire.load import load
from pincite.acquire.named import NamedReader
from pincite.acquire.readers.base import Reader
from pincite.acquire.recognise import read_image, read_pdf
from pincite.acquire.sandbox import sandboxed
from pincite.acquire.uri import document_id, path_of, readable, shown, uri_of
from pincite.errors import SourceError, SourceUndecodable, SourceUnsupported
from pincite.types import Metadata, Reading, Scalar, Source

__all__ = ["READERS", "REVISIONS", "document_id", "is_read_in_child", "load", "path_of", "read", "uri_of"]

_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."
# Media type: a reader, or the name of the module in readers/ whose ``read`` is one (imported at first use).
READERS: dict[str, Reader | Callable[..., Reading] | str] = {
    "text/plain": "text",
    "text/x-asciidoc": "markup",
    "text/x-tex": "markup",
    "text/x-org": "markup",
    "text/x-subtitles": "subtitles",
    "text/markdown": "markdown",
    "text/html": sandboxed("html"),
    "text/x-rst": "rst",
    "application/pdf": read_pdf,
    **dict.fromkeys(IMAGES, read_image),
    f"{_OFFICE}wordprocessingml.document": sandboxed("docx"),
    f"{_OFFICE}presentationml.presentation": sandboxed("pptx"),
    **dict.fromkeys(
        (
            f"{_OFFICE}spreadsheetml.sheet",
            "application/vnd.ms-excel",
            f"{_OPEN}spreadsheet",
        ),
        sandboxed("sheets"),
    ),
    **dict.fromkeys((f"{_OPEN}text", f"{_OPEN}presentation"), sandboxed("odf")),
    "application/rtf": sandboxed("rtf"),
    "application/epub+zip": sandboxed("epub"),
    "application/x-ipynb+json": sandboxed("notebook"),
    **dict.fromkeys(("message/rfc822", "application/mbox"), sandboxed("mail")),
    "application/vnd.ms-outlook": sandboxed("msg"),
    **dict.fromkeys(ARCHIVES, sandboxed("listing")),
    **dict.fromkeys(CODE_TYPES, "code"),
    **dict.fromkeys(DATA_TYPES, "data"),
}
# How often a media type's reader was improved, where that is more than once: what an older one read is read again.
_OFTEN = (
    *("application/pdf", "text/html", "application/rtf", "application/vnd.ms-outlook"),
    *(
        f"{_OFFICE}{kind}"
        for kind in ("wordprocessingml.document", "presentationml.presentation", "spreadsheetml.sheet")
    ),
    *(f"{_OPEN}{kind}" for kind in ("text", "presentation", "spreadsheet")),
)
_TWICE = (
    *("message/rfc822", "application/mbox", "application/epub+zip", "text/x-subtitles", "text/x-rst", "text/x-org"),
    *("application/json", "application/jsonl", "application/xml", "text/x-ini"),
)
REVISIONS = dict.fromkeys((*_TWICE, *CODE_TYPES, *IMAGES), 2) | dict.fromkeys(_OFTEN, 3)
_WITH_PASSWORD = frozenset({"application/pdf"})
_AS_TEXT = "Save it as text, Markdown or HTML, and add that."
_CURRENT = "Save it in the current format of the program, and add that."
_UNREAD = {  # the beginning of a media type: what people call it, and what to do
    "application/vnd.openxml": ("an office document", _AS_TEXT),
    "application/vnd.oasis": ("an office document", _AS_TEXT),
    "application/vnd.ms": ("an office document of before 2007", _CURRENT),
    "application/msword": ("an office document of before 2007", _CURRENT),
    "application/x-ole": ("an office document of before 2007", _CURRENT),
    "application/vnd.rar": ("an archive", "Unpack it, and add what is inside."),
    "application/x-7z": ("an archive", "Unpack it, and add what is inside."),
    "image/": ("an image", "Save it as PNG, and add that."),
    "audio/": ("a sound", "Add what is said in it, as subtitles or text."),
    "video/": ("a film", "Add what is said in it, as subtitles or text."),
}
_INVISIBLE = re.compile("[\U000e0000-\U000e007f\u202a-\u202e\u2066-\u2069]")


def read(
    source: Source,
    data: bytes,
    *,
    password: str = "",
    about: Metadata | None = None,
    readers: Mapping[str, NamedReader] | None = None,
) -> Reading:
    """Read a document with the reader of its media type.

    Args:
        source: what the bytes are.
        data: all of them.
        password: opens the document if it is encrypted.
        about: what is known of it besides, for its metadata; its "name" is what people call it.
        readers: those that are not our own, by media type.

    Returns:
        The reading, its language detected where the reader left it open. Blocks are sorted, do not overlap, lie
        within the text, and leave nothing but white space outside.

    Raises:
        SourceUnsupported: there is no reader for the media type.
        SourceUndecodable: the bytes are not what they seem to be.
    """
    about = about or {}
    called = shown(str(about.get("name") or readable(source.uri)))
    short = called.rpartition("/")[2] or called
    named = (readers or {}).get(source.media_type)
    reader = named or _reader(source.media_type, short)
    try:
        options = {"password": password} if source.media_type in _WITH_PASSWORD and not named else {}
        reading = reader(data, short, source.media_type, **options)
    except SourceError as error:
        raise type(error)(f"{called}: {error}", fix=error.fix) from error
    _check(reading, called)
    language = reading.language or _language(reading.text) or _declared(reading.metadata.get("language"))
    metadata = {**reading.metadata, **_invisible(reading.text), **about}
    return replace(reading, language=language, metadata=metadata)


def is_read_in_child(media_type: str, readers: Mapping[str, NamedReader]) -> bool:
    """Tell whether documents of a media type are read by another process, so that several may be at a time."""
    return media_type in readers or callable(READERS.get(media_type))


def _reader(media_type: str, name: str) -> Callable[..., Reading]:
    """Find a media type's reader."""
    entry = READERS.get(media_type)
    if entry is None:
        known = (about for start, about in _UNREAD.items() if media_type.startswith(start))
        called, fix = next(known, ("no text", _AS_TEXT))
        raise SourceUnsupported(f"{name} is {called} ({media_type}), which is not readable yet.", fix=fix)
    if isinstance(entry, str):
        return cast(Reader, import_module(f"pincite.acquire.readers.{entry}").read)
    return entry


def _check(reading: Reading, name: str) -> None:
    """Refuse a reading whose blocks or pages are out of order or out of the text; everything later relies on them."""
    last = 0
    for block in reading.blocks:
        if not last <= block.start < block.end <= len(reading.text):
            raise _unfit(name, f"a block at {block.start}-{block.end}")
        last = block.end
    number = 0
    for page in reading.pages:
        if not (number < page.number and 0 <= page.start <= page.end <= len(reading.text)):
            raise _unfit(name, f"a page {page.number} at {page.start}-{page.end}")
        number = page.number


def _unfit(name: str, what: str) -> SourceUndecodable:
    return SourceUndecodable(
        f"{name}: the reader gave {what} that does not fit.", fix="Report this as a defect of the reader."
    )


def _declared(language: Scalar | None) -> str:
    """Take the language that the document itself states, "en" of "en-GB"."""
    match = re.match(r"[a-z]{2}(?![a-z])", str(language or "").lower())
    return match[0] if match else ""


def _invisible(text: str) -> dict[str, Scalar]:
    """Count what can smuggle text past a reader's eyes: tag characters and overriding directions."""
    count = len(_INVISIBLE.findall(text))
    return {"invisible_characters": count} if count else {}


def _language(text: str) -> str:
    """Detect the language of a text from its beginning, and its middle if it is long."""
    from pincite.acquire.language import detect_language

    half, size = len(text) // 2, 5_000
    return detect_language(text if len(text) <= 2 * size else text[:size] + "\n" + text[half : half + size])
