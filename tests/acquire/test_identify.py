"""Content decides first, then the name."""

from __future__ import annotations

import io
import zipfile

import pytest

from pincite.acquire.identify import CODE_TYPES, DATA_TYPES, media_type
from pincite.acquire.read import READERS


def archive(*members: tuple[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members:
            file.writestr(name, content)
    return buffer.getvalue()


OFFICE = "application/vnd.openxmlformats-officedocument."
OPEN = "application/vnd.oasis.opendocument.text"


@pytest.mark.parametrize(
    ("name", "head", "wanted"),
    [
        ("a.txt", b"%PDF-1.7\n", "application/pdf"),
        ("a.pdf", b"junk before\n%PDF-1.7\n%\xe2\xe3\xcf\xd3", "application/pdf"),
        ("notes.txt", b"A PDF begins with %PDF-1.7, you know.", "text/plain"),
        ("a.md", b"\x89PNG\r\n\x1a\n....", "image/png"),
        ("a.md", b"\xff\xd8\xff\xe0", "image/jpeg"),
        ("a", b"GIF89a", "image/gif"),
        ("a", b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        ("a.txt", b"\x1f\x8b\x08\x00", "application/gzip"),
        ("a.txt", b"SQLite format 3\x00", "application/vnd.sqlite3"),
        ("a.py", b"\x7fELF\x02", "application/x-executable"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/msword"),
        ("a.txt", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
        ("a.txt", b"{\\rtf1\\ansi", "application/rtf"),
        ("a.mp4", b"\x00\x00\x00\x18ftypmp42", "video/mp4"),
        (
            "x.docx",
            archive(("[Content_Types].xml", ""), ("word/document.xml", "")),
            f"{OFFICE}wordprocessingml.document",
        ),
        ("x.zip", archive(("[Content_Types].xml", ""), ("xl/workbook.xml", "")), f"{OFFICE}spreadsheetml.sheet"),
        ("x", archive(("mimetype", OPEN), ("content.xml", "")), OPEN),
        ("x.epub", archive(("mimetype", "application/epub+zip")), "application/epub+zip"),
        ("x.zip", archive(("a.txt", "b")), "application/zip"),
        ("x.pptx", b"PK\x03\x04" + bytes(40), f"{OFFICE}presentationml.presentation"),
        ("x.bin", bytes(range(256)), "application/octet-stream"),
        ("x.txt", bytes(100), "application/octet-stream"),
        ("README.MD", b"# hi", "text/markdown"),
        ("a.b.rst", b"hi", "text/x-rst"),
        ("Makefile", b"all:\n", "text/x-makefile"),
        ("Dockerfile", b"FROM x\n", "text/x-dockerfile"),
        ("a.py", b"", "text/x-python"),
        ("a.rs", "// größe\n".encode(), "text/x-rust"),
        ("a.jsonl", b"{}\n", "application/jsonl"),
        ("a.csv", "é;b\n".encode("cp1252"), "text/csv"),
        ("a.csv", "a,b\nc,d\n".encode("utf-16"), "text/csv"),
        ("a.csv", "a,b\nc,d\n".encode("utf-16-be"), "text/csv"),
        ("a.ipynb", b"{}", "application/x-ipynb+json"),
        ("a.eml", b"From: x", "message/rfc822"),
        ("a.svg", b"<svg/>", "image/svg+xml"),
        ("unknown.qqq", b"words", "text/plain"),
        ("none", b"\n <!DOCTYPE HTML><html>", "text/html"),
        ("none", b"<?xml version='1.0'?><a/>", "application/xml"),
        ("none", b"#!/usr/bin/env python3\n", "text/x-python"),
        ("none", b"#!/bin/sh\n", "text/x-sh"),
        ("", b"", "text/plain"),
        (".bashrc", b"x=1", "text/plain"),
    ],
)
def test_media_types(name, head, wanted):
    assert media_type(name, head) == wanted


def test_code_and_data_have_readers():
    assert set(CODE_TYPES + DATA_TYPES) <= set(READERS)


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        (b"Reply-To: a\nX-Loop: 1\nReceived: from a\n\tby b\nTo: c\nFrom: d\n\nbody", "message/rfc822"),
        (b"From a@b Mon Jan  1 00:00:00 2024\nX-A: 1\nX-B: 2\nSubject: s\nFrom: a\n\nbody", "application/mbox"),
        (b"Package: a\nVersion: 1\nDate: today\n\nFrom: there", "text/plain"),
        (b"From: the first page\n\nDate: none", "text/plain"),
    ],
)
def test_mail_is_told_by_its_headers_in_any_order(head, wanted):
    assert media_type("cur/1234", head) == wanted
