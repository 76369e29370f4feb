"""What is looked at again, and what is not."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import pincite
import pincite.build.sync as module
from tests.fakes import HashEncoder


@pytest.fixture
def library(tmp_path: Path) -> Iterator[pincite.Library]:
    with pincite.open(tmp_path / "t.pincite", encoder=HashEncoder(), generator="none") as opened:
        yield opened


def settle(path: Path) -> None:
    """Wait until a file's time is surely older than the clock's coarsest tick."""
    time.sleep(max(0, (path.stat().st_ctime_ns + 2_100_000_000 - time.time_ns()) / 1e9))


def test_what_cannot_be_read_is_read_again_only_when_it_changes(library, tmp_path, monkeypatch):
    bad = tmp_path / "bad.docx"
    bad.write_bytes(b"PK\x03\x04")
    settle(bad)
    assert [source.status for source in library.add(bad).sources] == ["failed"]
    reads = []
    monkeypatch.setattr(module, "load", lambda path: reads.append(path) or pytest.fail("read again"))
    again = library.refresh(bad).sources
    assert [(source.status, bool(source.reason), bool(source.fix)) for source in again] == [("failed", True, True)]
    assert reads == []
    monkeypatch.undo()
    bad.write_text("Now it is text.")
    bad.rename(tmp_path / "bad.txt")
    assert {source.status for source in library.add([tmp_path / "bad.txt"]).sources} == {"indexed"}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_what_could_not_be_opened_is_tried_again(library, tmp_path, modes_bind):
    locked = tmp_path / "locked.txt"
    locked.write_text("Text.")
    locked.chmod(0)
    settle(locked)
    assert [source.status for source in library.add(locked).sources] == ["failed"]
    locked.chmod(0o600)
    assert [source.status for source in library.add(locked).sources] == ["indexed"]


def test_retry_reads_what_failed_was_unsupported_or_partly_read_and_nothing_else(library, tmp_path, monkeypatch):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "good.txt").write_text("Good.")
    (docs / "bad.docx").write_bytes(b"PK\x03\x04")
    (docs / "odd.bin").write_bytes(bytes(range(256)))
    (docs / "part.txt").write_bytes(
        b"Text with a wrong byte \xff in it, and enough others around it to be UTF-8: \xc3\xa9" * 9
    )
    settle(docs / "part.txt")
    states = {Path(source.uri).name: source.status for source in library.add(docs).sources}
    assert states == {"bad.docx": "failed", "good.txt": "indexed", "odd.bin": "unsupported", "part.txt": "partly"}
    looked = []
    real = module.load
    monkeypatch.setattr(module, "load", lambda path, **given: (looked.append(path.name), real(path, **given))[1])
    library.add(docs)
    assert looked == ["bad.docx"]
    looked.clear()
    again = {Path(source.uri).name: source.status for source in library.retrying()}
    assert (
        again == {"bad.docx": "failed", "odd.bin": "unsupported", "part.txt": "updated"}
        or again["part.txt"] == "partly"
    )
    assert looked == ["bad.docx", "odd.bin", "part.txt"]
    assert [Path(source.uri).name for source in library.retrying(docs / "bad.docx")] == ["bad.docx"]
    (docs / "bad.docx").unlink()
    assert "removed" in {source.status for source in library.retrying()}
    assert library.refresh().summary["removed"] == 0


def test_a_password_opens_and_is_never_told_nor_kept(library, tmp_path):
    from tests.data.make_pdf import Pdf, PdfPage, lines

    path = tmp_path / "secret.pdf"
    path.write_bytes(bytes(Pdf([PdfPage(lines(40, 500, ["The weir holds 4,200 litres."]))], password="hush-hush")))
    [report] = library.add(path).sources
    assert report.status == "failed" and "password" in report.reason and "PINCITE_PASSWORD" in report.fix
    library.password = "wrong-one"
    [report] = library.add(path).sources
    assert report.status == "failed" and "wrong-one" not in report.reason + report.fix
    library.password = "hush-hush"
    [report] = library.add(path).sources
    assert report.status == "indexed"
    [hit] = library.search("weir litres", mode="keyword").hits
    assert library.page_image(hit.passage.id).startswith(b"\x89PNG")
    library.store.flush()
    assert not any(b"hush-hush" in file.read_bytes() for file in library.path.rglob("*") if file.is_file())
