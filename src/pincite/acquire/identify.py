"""What kind of document is it? The content decides, and where content says only "text", the name does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path, PurePath

from pincite.acquire.decode import looks_binary

_OFFICE = "application/vnd.openxmlformats-officedocument."
_MAGIC = (
    (b"%PDF-", "application/pdf"),
    (b"{\\rtf", "application/rtf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"\x7fELF", "application/x-executable"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"PAR1", "application/vnd.apache.parquet"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"\x00asm", "application/wasm"),
)
_ZIP_MEMBERS = (  # a name in the archive's first entries: what kind of archive it is
    (b"mimetypeapplication/epub+zip", "application/epub+zip"),
    (b"mimetypeapplication/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
    (b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "application/vnd.oasis.opendocument.spreadsheet"),
    (b"mimetypeapplication/vnd.oasis.opendocument.presentation", "application/vnd.oasis.opendocument.presentation"),
    (b"word/", f"{_OFFICE}wordprocessingml.document"),
    (b"xl/", f"{_OFFICE}spreadsheetml.sheet"),
    (b"ppt/", f"{_OFFICE}presentationml.presentation"),
)
_PACKAGES = (b"[Content_Types].xml", b"mimetype", b"_rels/", b"docProps/", b"customXml/", b"word/", b"xl/", b"ppt/")
_BINARY_EXTENSIONS = {  # believed only when the content is a container of the right kind
    **dict.fromkeys(("docx", "docm", "dotx", "dotm"), f"{_OFFICE}wordprocessingml.document"),
    **dict.fromkeys(("xlsx", "xlsm", "xltx", "xltm", "xlsb"), f"{_OFFICE}spreadsheetml.sheet"),
    **dict.fromkeys(("pptx", "pptm", "ppsx", "potx"), f"{_OFFICE}presentationml.presentation"),
    "epub": "application/epub+zip",
    "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "odp": "application/vnd.oasis.opendocument.presentation",
    "doc": "application/msword",
    "xls": "application/vnd.ms-excel",
    "ppt": "application/vnd.ms-powerpoint",
    "msg": "application/vnd.ms-outlook",
}
IMAGES = ("image/png", "image/jpeg", "image/tiff", "image/gif", "image/webp", "image/bmp")  # text may be recognised on
_TABLES = tomllib.loads((Path(__file__).parent / "extensions.toml").read_text(encoding="utf-8"))
CODE_TYPES, DATA_TYPES = tuple(_TABLES["code"]), tuple(_TABLES["data"])
_BY_EXTENSION = {
    extension: kind for table in _TABLES.values() for kind, names in table.items() for extension in names.split()
}
_BEGINS_MAIL = re.compile(  # two lines of headers that mail begins with, or the line that parts mails in a mailbox
    rb"(?:From \S+ [^\r\n]*\d{4}[^\r\n]*\r?\n)?"
    rb"(?:(?:Return-Path|Received|Delivered-To|X-[\w-]+|MIME-Version|Message-ID|DKIM-Signature|From|To|Date|Subject|"
    rb"Content-Type):[^\r\n]*\r?\n(?:[ \t][^\r\n]*\r?\n)*){2}",
    re.IGNORECASE,
)
_HEADERS = re.compile(rb"(?:From \S+ [^\r\n]*\r?\n)?((?:[!-9;-~]+:[^\r\n]*\r?\n(?:[ \t][^\r\n]*\r?\n)*+)++)")
_MAIL_HEADERS = ((b"from",), (b"date", b"subject", b"received", b"message-id"))
_PDF_JUNK = 1024  # bytes that may stand before a PDF's signature (ISO 32000-1, annex H.3.4.1)


def media_type(name: str, head: bytes) -> str:
    """Tell a document's media type.

    Args:
        name: the file's name; only its extension (or the whole of names such as ``Makefile``) counts.
        head: its first bytes; 64 KiB are enough for anything.

    Returns:
        A media type; ``text/plain`` for text of an unknown kind, ``application/octet-stream`` for other bytes.
    """
    extension = _extension(name)
    for signature, kind in _MAGIC:
        if head.startswith(signature):
            return _BINARY_EXTENSIONS.get(extension, kind) if kind == "application/x-ole-storage" else kind
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _archive(extension, head)
    if head.startswith(b"RIFF") and head[8:12] in (b"WEBP", b"WAVE", b"AVI "):
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}[head[8:12]]
    if head[4:8] == b"ftyp":
        return "video/mp4"
    if head[257:262] == b"ustar":
        return "application/x-tar"
    if extension in ("eml", "mbox") and _begins_mail(head):  # even if its parts are not text
        return str(_BY_EXTENSION[extension])
    binary = looks_binary(head)
    if b"%PDF-" in head[:_PDF_JUNK] and (binary or extension == "pdf"):
        return "application/pdf"
    if binary:
        return "application/octet-stream"
    return _BY_EXTENSION.get(extension) or _sniffed(head)


def type_of_extension(extension: str) -> str:
    """Give the media type that an extension (without its dot, in lower case) stands for, "" if it is not known."""
    own = {"pdf": "application/pdf", "rtf": "application/rtf", "png": "image/png", "jpg": "image/jpeg"}
    return own.get(extension) or _BINARY_EXTENSIONS.get(extension) or str(_BY_EXTENSION.get(extension, ""))


def _begins_mail(head: bytes) -> bool:
    """Tell whether a text begins with the headers of a mail, in any order."""
    if _BEGINS_MAIL.match(head):
        return True
    block = _HEADERS.match(head)
    names = {line.partition(b":")[0].lower() for line in block[1].splitlines()} if block else set()
    return all(names.intersection(some) for some in _MAIL_HEADERS)


def _extension(name: str) -> str:
    """Take what decides about a text: the extension in lower case, or the whole name of such as ``Makefile``."""
    whole = name.lower()
    return whole if whole in _BY_EXTENSION else PurePath(whole).suffix.removeprefix(".")


def _archive(extension: str, head: bytes) -> str:
    """Tell what a zip file holds: by its first members if the very first is one that such packages begin with.

    A package may hold others (a slide its chart's workbook), so the name that comes first decides.
    """
    if head[30:].startswith(_PACKAGES):
        places = [(head.find(member), kind) for member, kind in _ZIP_MEMBERS if member in head]
        if places:
            return min(places)[1]
    return _BINARY_EXTENSIONS.get(extension, "application/zip")


def _sniffed(head: bytes) -> str:
    """Tell a text without a known extension by how it begins."""
    start = head[:1024].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "text/html"
    if _begins_mail(head):
        return "application/mbox" if head.startswith(b"From ") else "message/rfc822"
    if start.startswith(b"webvtt"):
        return "text/x-subtitles"
    if start.startswith(b"<?xml"):
        return "application/xml"
    if start.startswith(b"#!"):
        return "text/x-python" if b"python" in start.partition(b"\n")[0] else "text/x-sh"
    return "text/plain"
