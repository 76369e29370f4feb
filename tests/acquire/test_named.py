"""Readers by name: found by entry point, read in the child, held to the canonical text, read again when they change."""

from __future__ import annotations

import sys

import pytest

import pincite
from pincite.acquire.named import named_readers
from pincite.acquire.read import read
from pincite.errors import SettingError, SourceError
from pincite.types import Source
from tests.fakes import HashEncoder

READERS = """
import os
import socket
import time
from pincite.types import Block, Page, Reading

def shout(data, name, media_type):
    text = data.decode().upper()
    end = text.index("\\n")
    blocks, pages = (Block("heading", 0, end, 1, text[:end]),), (Page(1, "", 0, len(text)),)
    return Reading(text, name, blocks, pages, {"kind": media_type})

class Two:
    def __call__(self, data, name, media_type):
        return Reading(data.decode()[::-1], name)

two = Two()

def unfit(data, name, media_type):
    return Reading("short", name, (Block("paragraph", 2, 99),))

def pages(data, name, media_type):
    return Reading("short", name, (), (Page(2, "", 0, 5), Page(1, "", 0, 5)))

def no_reading(data, name, media_type):
    return {"text": "x"}

def abort(data, name, media_type):
    os.abort()

def network(data, name, media_type):
    socket.create_connection(("127.0.0.1", 9))

def broken(data, name, media_type):
    raise RuntimeError("no luck")
"""
POINTS = "[pincite.readers]\n" + "".join(
    f"{name} = heavy_parser:{name}\n"
    for name in ("shout", "two", "unfit", "pages", "no_reading", "abort", "network", "broken")
)


def install(folder, version="1.0"):
    """Put a package with readers where Python finds it, as pip does."""
    (folder / "heavy_parser.py").write_text(READERS)
    for old in folder.glob("*.dist-info"):
        for file in old.iterdir():
            file.unlink()
        old.rmdir()
    info = folder / f"heavy_parser-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: heavy-parser\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(POINTS)


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    folder.mkdir()
    install(folder)
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    yield folder
    from pincite.acquire import sandbox

    sandbox.close()


def reading(setting, text="Title\nbody one\n\nbody two\n", kind="text/plain"):
    source = Source("file:///a/notes.txt", kind, "", 0, len(text))
    return read(source, text.encode(), readers=named_readers(setting))


def test_it_is_found_by_entry_point_and_its_text_is_covered_by_blocks(package):
    found = reading("txt=shout")
    assert found.text == "TITLE\nBODY ONE\n\nBODY TWO\n"
    assert [(b.kind, found.text[b.start : b.end]) for b in found.blocks] == [
        ("heading", "TITLE"), ("paragraph", "BODY ONE"), ("paragraph", "BODY TWO"),
    ]  # fmt: skip
    assert found.metadata["reader"] == "shout 1.0" and found.metadata["kind"] == "text/plain"


def test_any_object_that_fits_and_any_place_will_do(package):
    assert reading("text/plain=two", "abc").text == "cba"
    assert reading("application/pdf=shout, text/plain=heavy_parser:two", "abc").text == "cba"
    assert reading("doc=two", "abc", "application/msword").text == "cba", "formats that have no reader here"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("unfit", "block at 2-99"),
        ("pages", "page 1 at"),
        ("no_reading", "no reading"),
        ("abort", "crashed"),
        ("network", "not permitted"),
        ("broken", "no luck"),
    ],
)
def test_what_it_does_wrong_only_fails_the_document(package, name, said):
    with pytest.raises(SourceError, match=said) as error:
        reading(f"txt={name}")
    assert error.value.fix


@pytest.mark.parametrize(
    ("setting", "said"),
    [("pdf", "names no type"), ("=shout", "names no type"), ("nonsense=shout", "no type"), ("pdf=who", "no reader")],
)
def test_a_setting_that_means_nothing_is_refused(package, setting, said):
    with pytest.raises(SettingError, match=said) as error:
        named_readers(setting)
    assert error.value.fix


def test_docling_is_missing_with_a_remedy():
    with pytest.raises(SettingError, match="not installed") as error:
        named_readers("pdf=docling")
    assert "pincite[docling]" in error.value.fix


def test_what_another_reader_read_is_read_again(package, tmp_path):
    (folder := tmp_path / "docs").mkdir()
    (folder / "a.txt").write_text("Plums\nfell in May\n")
    (folder / "b.md").write_text("# Pears\n")

    def added(**settings):
        with pincite.open(tmp_path / "l.pincite", encoder=HashEncoder(), generator="none", **settings) as library:
            statuses = {report.uri[-5:]: report.status for report in library.add(folder).sources}
            return statuses, library.document(folder / "a.txt").text

    plain = "Plums\nfell in May\n"
    assert added() == ({"a.txt": "indexed", "/b.md": "indexed"}, plain)
    assert added(readers="txt=shout") == ({"a.txt": "updated", "/b.md": "unchanged"}, plain.upper())
    assert added(readers="txt=shout")[0] == {"a.txt": "unchanged", "/b.md": "unchanged"}
    install(package, "2.0")
    assert added(readers="txt=shout")[0]["a.txt"] == "updated", "a newer version of it"
    assert added()[1] == plain
