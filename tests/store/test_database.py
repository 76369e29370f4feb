"""Opening: whatever lies there, one clear sentence, and nothing is touched that should not be."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import apsw
import pytest

from pincite.errors import (
    DiskFull,
    LibraryBusy,
    LibraryDamaged,
    LibraryError,
    LibraryNewer,
    LibraryReadOnly,
    PathMissing,
    PinciteError,
)
from pincite.store.sqlite import database as module
from pincite.store.sqlite import store as store_module
from pincite.store.sqlite.database import CATALOG, open_database
from pincite.store.sqlite.schema import SCHEMA_VERSION
from pincite.store.sqlite.store import SqliteStore, open_store
from tests.store.documents import SPACE, analyze, put, vector_of


def opened(folder: Path, **options) -> SqliteStore:
    return open_store(folder, analyze=analyze, analyzer="words", **options)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A closed library with one document."""
    store = opened(tmp_path / "library")
    put(store, "file:///a.md", ["apple", "pear"])
    store.close()
    return tmp_path / "library"


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_library_is_made_with_its_parents(tmp_path: Path) -> None:
    store = opened(tmp_path / "a" / "b" / "notes.pincite")
    store.close()
    assert [path.name for path in (tmp_path / "a" / "b" / "notes.pincite").iterdir()] == [CATALOG]


def test_reading_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(PathMissing) as caught:
        opened(tmp_path / "none", readonly=True)
    assert caught.value.fix
    assert not list(tmp_path.iterdir())


def test_many_make_one_library(tmp_path: Path) -> None:
    identities, failures = [], []

    def make(barrier: threading.Barrier) -> None:
        barrier.wait()
        try:
            store = opened(tmp_path / "library")
            identities.append(store.truth.identity)
            put(store, f"file:///{len(identities)}.md", ["one"])
            store.close()
        except PinciteError as error:
            failures.append(error)

    barrier = threading.Barrier(8)
    threads = [threading.Thread(target=make, args=(barrier,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(set(identities)) == 1
    assert len(identities) == 8
    assert [path.name for path in (tmp_path / "library").iterdir()] == [CATALOG]


def test_without_hard_links_it_is_renamed_into_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    opened(tmp_path / "library").close()
    assert [path.name for path in (tmp_path / "library").iterdir()] == [CATALOG]


@pytest.mark.parametrize("content", [b"", b"x", b"hello " * 100, b"SQLite format 3\0" + bytes(100), bytes(8192)])
def test_what_is_no_catalogue_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / CATALOG).write_bytes(content)
    with pytest.raises(LibraryDamaged) as caught:
        opened(tmp_path)
    assert caught.value.fix
    assert files(tmp_path) == {CATALOG: content}


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / CATALOG))
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    before = files(tmp_path)
    with pytest.raises(LibraryDamaged, match="not a catalogue that Pincite made"):
        opened(tmp_path)
    assert files(tmp_path) == before


def test_a_folder_of_other_things_becomes_no_library(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    (tmp_path / ".hidden").write_text("mine")
    with pytest.raises(LibraryDamaged, match=r"thesis\.txt") as caught:
        opened(tmp_path)
    assert "new or empty" in caught.value.fix
    assert sorted(files(tmp_path)) == [".hidden", "thesis.txt"]


@pytest.mark.parametrize("place", ["file.txt", "file.txt/library"])
def test_a_file_is_no_folder(tmp_path: Path, place: str) -> None:
    (tmp_path / "file.txt").write_text("mine")
    with pytest.raises(LibraryError) as caught:
        opened(tmp_path / place)
    assert caught.value.fix


def test_a_newer_library_is_refused_untouched(library: Path) -> None:
    connection = apsw.Connection(str(library / CATALOG))
    connection.pragma("user_version", SCHEMA_VERSION + 1)
    connection.close()
    before = files(library)
    for readonly in (False, True):
        with pytest.raises(LibraryNewer, match=str(SCHEMA_VERSION + 1)) as caught:
            opened(library, readonly=readonly)
        assert "newer Pincite" in caught.value.fix
    assert files(library) == before


def test_a_library_without_its_tables_is_damaged(library: Path) -> None:
    connection = apsw.Connection(str(library / CATALOG))
    connection.execute("DROP TABLE state")
    connection.close()
    with pytest.raises(LibraryDamaged):
        opened(library)


def test_a_truncated_library_is_damaged(library: Path) -> None:
    data = (library / CATALOG).read_bytes()
    for size in (50, 4096, 8192, 3 * 8192):
        (library / CATALOG).write_bytes(data[:size])
        with pytest.raises(LibraryDamaged):
            opened(library).passages_of("file:///a.md")


def test_damage_found_later_is_explained(library: Path) -> None:
    data = bytearray((library / CATALOG).read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    (library / CATALOG).write_bytes(data)
    with pytest.raises(LibraryDamaged) as caught:
        opened(library).source("file:///a.md")
    assert "backup" in caught.value.fix


def test_an_unsafe_sqlite_is_refused(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(LibraryError, match=r"3\.51\.2"):
        opened(library)


def test_commits_are_synced(library: Path) -> None:
    database = open_database(library)
    with database.read() as connection:
        assert connection.pragma("journal_mode") == "wal"
        assert connection.pragma("synchronous") == 2
        assert connection.pragma("foreign_keys") == 1
    database.close()


# --- waiting, space, permissions


def test_waiting_for_a_writer_ends(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.05)
    one, other = opened(library), opened(library)
    with one._database.write() as connection:
        connection.execute("UPDATE state SET sequence = sequence")
        with pytest.raises(LibraryBusy) as caught:
            put(other, "file:///b.md", ["plum"])
        assert "locked" not in str(caught.value)
        with pytest.raises(LibraryBusy):  # the same process waits for its own lock
            put(one, "file:///b.md", ["plum"])
        assert other.source("file:///a.md") is not None, "readers do not wait"
    assert put(other, "file:///b.md", ["plum"]).sequence == 2
    one.close()
    other.close()


def test_a_full_disk_loses_nothing(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(library)
    before, stats = store.passages_of("file:///a.md"), store.stats()
    with store._database.read() as connection:
        pages = connection.pragma("page_count")
        connection.pragma("max_page_count", pages + 2)
    for _ in range(3):
        with pytest.raises(DiskFull) as caught:
            put(store, "file:///a.md", [f"{number} {'long ' * 200}" for number in range(200)])
        assert "space" in caught.value.fix
        assert store.passages_of("file:///a.md") == before
        assert store.stats() == stats
    with store._database.read() as connection:
        connection.pragma("max_page_count", pages + 10_000)
    assert put(store, "file:///a.md", ["apple", "plum"]).version == 2
    assert all(check.ok for check in store.verify())
    store.close()


@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of 1 MB, where one can be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    try:
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("no file system can be mounted here")
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_is_really_full(small_disk: Path) -> None:
    store = opened(small_disk / "library")
    stored = 0
    with pytest.raises(DiskFull):
        for stored in range(10_000):
            put(store, f"file:///{stored}.md", [f"{stored} {part} {'long ' * 200}" for part in range(9)])
    assert stored > 2
    assert store.stats().documents == stored
    store.close()
    store = opened(small_disk / "library")
    assert sorted(record.source.uri for record in store.sources()) == sorted(f"file:///{n}.md" for n in range(stored))
    store.close()
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"):
        filler.write_bytes(bytes(1 << 20))
    for place in ("more/library", "library2"):
        with pytest.raises(DiskFull):
            opened(small_disk / place)
    filler.unlink()
    subprocess.run(["mount", "-o", "remount,size=2m", str(small_disk)], check=True)
    store = opened(small_disk / "library")
    put(store, "file:///more.md", ["there is space again"])
    assert all(check.ok for check in store.verify()[:5])
    store.close()


def test_reading_only_writes_nothing(library: Path) -> None:
    before = files(library)
    store = opened(library, readonly=True)
    assert store.readonly
    assert store.keyword_candidates(["apple"], 5)
    assert store.vector_candidates(vector_of("apple"), 5, SPACE)
    with pytest.raises(LibraryReadOnly) as caught:
        put(store, "file:///b.md", ["plum"])
    assert caught.value.fix
    assert store.collect_garbage() == 0
    store.flush()
    store.close()
    assert files(library)[CATALOG] == before[CATALOG]


READ = """
import json, os, sys
from pathlib import Path
import numpy.random, tantivy, turbovec
import pincite.store.derived.keywords, pincite.store.derived.vectors
from pincite.errors import LibraryReadOnly
from pincite.store.sqlite.store import open_store
from tests.store.documents import SPACE, analyze, put, vector_of
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    store = open_store(Path(sys.argv[1]), analyze=analyze, analyzer="words")
    try:
        put(store, "file:///b.md", ["plum"])
        refused = False
    except LibraryReadOnly:
        refused = True
    found = [store.keyword_candidates(["apple"], 5), store.vector_candidates(vector_of("apple"), 1, SPACE)]
    print(json.dumps([refused, [len(hits) for hits in found], [p.text for p in store.passages_of("file:///a.md")]]))
except LibraryReadOnly as error:
    print(json.dumps([str(error), error.fix]))
"""


def read_as_nobody(library: Path) -> list:
    """Open the library in another process that may not write it."""
    command = [sys.executable, "-c", READ, str(library)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def readable(library: Path):
    """The library where others can read it: pytest's own folders are closed to them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        copy = Path(folder) / "library"
        shutil.copytree(library, copy)
        copy.chmod(0o755)
        yield copy
        copy.chmod(0o755)


def test_what_cannot_be_written_can_be_read(readable: Path) -> None:
    readable.chmod(0o555)
    assert read_as_nobody(readable) == [True, [1, 1], ["apple", "pear"]]


def test_what_cannot_be_written_is_read_beside_a_writer(readable: Path) -> None:
    store = opened(readable)
    put(store, "file:///a.md", ["apple", "plum"])
    for path in readable.iterdir():
        path.chmod(0o644)
    readable.chmod(0o555)
    assert read_as_nobody(readable) == [True, [1, 1], ["apple", "plum"]]
    store.close()


def test_a_log_that_cannot_be_replayed_is_not_ignored(readable: Path) -> None:
    store = opened(readable)
    put(store, "file:///a.md", ["apple", "plum"])
    copy = readable.parent / "copy"
    copy.mkdir()
    for name in (CATALOG, CATALOG + "-wal"):  # as a killed writer leaves them
        (copy / name).write_bytes((readable / name).read_bytes())
    store.close()
    copy.chmod(0o555)
    message, fix = read_as_nobody(copy)
    assert "not closed" in message
    assert "writable" in fix
    copy.chmod(0o755)
    store = opened(copy)
    assert [passage.text for passage in store.passages_of("file:///a.md")] == ["apple", "plum"]
    store.close()


def test_a_place_that_cannot_be_written_makes_no_library(readable: Path) -> None:
    readable.parent.chmod(0o555)
    message, fix = read_as_nobody(readable.parent / "new")
    readable.parent.chmod(0o755)
    assert "cannot be opened or made" in message
    assert "--library" in fix


# --- small things


def test_a_closed_store_says_so(library: Path) -> None:
    store = opened(library)
    store.close()
    with pytest.raises(LibraryError, match="closed"):
        put(store, "file:///b.md", ["plum"])


def test_many_sources_come_in_pages(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_PAGE", 3)
    store = opened(library)
    for number in range(8):
        put(store, f"file:///n{number}.md", [])
    assert len(list(store.sources())) == 9
    assert len(list(store.sources("file:///n"))) == 8
    store.close()


def test_an_interrupted_write_is_undone(library: Path) -> None:
    store = opened(library)
    stats = store.stats()
    with pytest.raises(KeyboardInterrupt), store._database.write() as connection:
        connection.execute("UPDATE state SET sequence = 99")
        raise KeyboardInterrupt
    assert store.truth.sequence() == stats.sequence
    assert put(store, "file:///b.md", ["plum"]).sequence == 2
    store.close()


LOCK = """
import sys
import apsw
connection = apsw.Connection(sys.argv[1])
try:
    connection.pragma("locking_mode", "EXCLUSIVE")
    connection.execute("BEGIN EXCLUSIVE")
    print("no lock is left")
except apsw.BusyError:
    print("locked")
"""


def test_opening_again_does_not_drop_the_locks_of_the_first(library: Path) -> None:
    """POSIX drops all locks of a process on a file when it closes any descriptor of it."""
    store = opened(library)
    with store._database.write() as connection:
        connection.execute("UPDATE state SET sequence = sequence")
        opened(library).close()
        command = [sys.executable, "-c", LOCK, str(library / CATALOG)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "locked"
    store.close()
