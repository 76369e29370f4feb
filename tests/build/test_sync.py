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


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read anything")
def test_what_could_not_be_opened_is_tried_again(library, tmp_path):
    locked = tmp_path / "locked.txt"
    locked.write_text("Text.")
    locked.chmod(0)
    settle(locked)
    assert [source.status for source in library.add(locked).sources] == ["failed"]
    locked.chmod(0o600)
    assert [source.status for source in library.add(locked).sources] == ["indexed"]
