"""A folder with links out of it, loops, pipes and devices: nothing is followed, nothing hangs."""

from __future__ import annotations

import os
import stat
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="these files are POSIX")

SECRET = "the-shadow-of-this-machine"


def plant(docs, outside) -> None:
    """Put everything into the folder that leads out of it or never ends."""
    outside.mkdir()
    (outside / "shadow").write_text(SECRET)
    (docs / "good.md").write_text("A weir holds water back.")
    (docs / "file.md").symlink_to(outside / "shadow")
    (docs / "folder").symlink_to(outside)
    (docs / "etc.md").symlink_to("/etc/passwd")
    (docs / "loop").symlink_to(docs)
    (docs / "self.md").symlink_to(docs / "self.md")
    os.mkfifo(docs / "pipe.md")
    (docs / "zero.md").symlink_to("/dev/zero")
    if os.geteuid() == 0:
        os.mknod(docs / "device.md", stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero itself


def test_row_03_links_and_specials_are_listed_and_not_followed(library, docs, tmp_path):
    plant(docs, tmp_path / "outside")
    started = time.process_time()
    report = library.add(docs)
    assert time.process_time() - started < 20  # far from never, whatever the machine does besides
    status = {source.uri.rpartition("/")[2]: source.status for source in report.sources}
    assert status.pop("good.md") == "indexed"
    assert set(status.values()) == {"skipped"} and len(status) >= 7
    assert [record.source.uri for record in library.list()] == [(docs / "good.md").as_uri()]
    assert not library.search(SECRET, mode="keyword").hits


def test_row_03_a_file_that_became_a_link_is_not_read_later(library, docs, tmp_path):
    """Not by a refresh, nor by a retry of what had failed."""
    (tmp_path / "shadow").write_text(SECRET)
    good, bad = docs / "good.md", docs / "bad.pdf"
    good.write_text("A weir holds water back.")
    bad.write_bytes(b"%PDF-1.7 broken")
    library.add(docs)
    for path in (good, bad):
        path.unlink()
        path.symlink_to(tmp_path / "shadow")
    library.refresh()
    list(library.retrying())
    assert SECRET not in "".join(library.document(r.source.uri).text for r in library.list() if r.version)
    assert not library.search(SECRET, mode="keyword").hits


def test_row_03_an_ignore_file_that_is_a_link_or_a_pipe_is_no_way_in(library, docs, tmp_path):
    (docs / "good.md").write_text("A weir holds water back.")
    os.mkfifo(docs / ".gitignore")
    (docs / ".ignore").symlink_to("/dev/zero")
    report = library.add(docs)
    assert "indexed" in {source.status for source in report.sources}
