"""An uploaded file's name is only ever text, and what did not come whole leaves nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.acquire.uploads import Uploads, clean_name
from pincite.acquire.uri import uri_of

NAMES = [
    "../../x", "..\\..\\x", "/etc/x", "C:\\x", "a\0b", "CON", "x" * 300, "x/" * 300 + "y.pdf", ".", "..", "", "/",
    "~/.ssh/x", "a\nb", "..%2f..%2fx", "\u202egpj.exe", "x.\u202epdf", "a.PDF/..", "file.p d f", "x.pdf\0.html",
    "\ud800.txt", "about.json",
]  # fmt: skip


@pytest.fixture
def uploads(tmp_path):
    return Uploads(tmp_path / "library" / "uploads")


def kept(uploads, name, text="x", labels=()):
    coming = uploads.coming()
    (coming / "0").write_text(text)
    name = clean_name(name)
    place = uploads.keep(coming / "0", name, uploads.place(name, labels))
    coming.rmdir()
    return place


def everything(top):
    return {path.relative_to(top).as_posix() for path in top.rglob("*")}


@pytest.mark.parametrize("name", NAMES)
def test_row_01_whatever_a_file_is_called_it_lies_where_we_put_it(tmp_path, uploads, name):
    place = kept(uploads, name, "secret")
    assert place.read_text() == "secret"
    identifier = place.parent.name
    home = f"library/uploads/{identifier}"
    assert everything(tmp_path) == {"library", "library/uploads", home, f"{home}/.about.json", f"{home}/{place.name}"}
    assert len(identifier) == 24
    assert re.fullmatch(r"[A-Za-z0-9-]{1,60}(\.[a-z0-9]{1,10})?", place.name)
    assert not re.fullmatch(r"con|nul", place.stem, re.IGNORECASE)
    assert uploads.name_of(uri_of(place)) == clean_name(name)


@given(st.text(max_size=40))
def test_row_01_a_clean_name_is_printable_and_leads_nowhere(name):
    clean = clean_name(name)
    assert clean.isprintable()
    assert not clean.startswith("/")
    assert not {"", ".", ".."} & set(clean.split("/"))
    assert "\\" not in clean
    assert clean_name(clean) == clean


def test_names_that_look_the_same_are_the_same(uploads):
    assert kept(uploads, "Zoe\u0308.txt", "1") == kept(uploads, "Zo\u00eb.txt", "2")
    assert [path.read_text() for path in uploads.files()] == ["2"]


def test_the_same_name_is_the_same_document_unless_its_labels_differ(uploads):
    first = kept(uploads, "a/b.txt", "1", ["hr", "it"])
    assert kept(uploads, "a/b.txt", "2", ["it", "hr"]) == first
    assert kept(uploads, "a/b.txt", "3", ["hr"]) != first
    assert kept(uploads, "b.txt", "4", ["hr", "it"]) != first
    assert first.read_text() == "2"


def test_what_is_inside_an_uploaded_archive_is_called_after_it(uploads):
    place = kept(uploads, "papers/all.zip")
    assert uploads.name_of(uri_of(place) + "/b%20c/d.txt") == "papers/all.zip/b c/d.txt"


def test_only_uploaded_files_are_named_and_discarded(tmp_path, uploads):
    place, other = kept(uploads, "a.txt"), tmp_path / "other" / "file.txt"
    other.parent.mkdir()
    other.write_text("mine")
    strangers = [uri_of(other), uri_of(uploads.folder), uri_of(place.parent), uri_of(place) + "/inside", "note:a"]
    strangers += [f"{uri_of(uploads.folder)}/../../other/file.txt", f"{uri_of(uploads.folder)}/%2e%2e/other", ""]
    for uri in strangers:
        uploads.discard(uri)
        assert uploads.name_of(uri) in ("", "a.txt/inside")
    assert other.exists()
    assert place.exists()
    uploads.discard(uri_of(place))
    assert uploads.files() == []
    assert uploads.name_of(uri_of(place)) == ""


def test_what_was_coming_is_swept_and_what_was_kept_stays(uploads):
    place = kept(uploads, "a.txt")
    (uploads.coming() / "0").write_text("half")
    uploads.sweep()
    assert [path.name for path in uploads.folder.iterdir()] == [place.parent.name]
    uploads.discard(uri_of(place))
    Uploads(uploads.folder / "nowhere").sweep()


def test_the_place_of_a_file_says_what_is_harmless_of_its_name(uploads):
    names = ["papers/Q3 Report (final).PDF", "Zo\u00eb's notes.md", "\u62a5\u544a.docx", "CON.txt", ".env"]
    kept = [uploads.place(clean_name(name)).name for name in names]
    assert kept == ["Q3-Report-final.pdf", "Zoe-s-notes.md", "file.docx", "file.txt", "env"]
