"""The file: made in one step, opened with care, read from many threads, written by one at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, local
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import apsw

from pincite.disk import sync
from pincite.errors import LibraryDamaged, LibraryError, LibraryNewer, LibraryReadOnly, PathMissing
from pincite.store.sqlite.explain import RESTORE, busy, cannot_use, closed, explained, read_only
from pincite.store.sqlite.faults import fault
from pincite.store.sqlite.lists import mentions
from pincite.store.sqlite.schema import (
    APPLICATION_ID,
    MIGRATIONS,
    PAGE_BYTES,
    SCHEMA,
    SCHEMA_VERSION,
    SEEN_AS_NEWEST,
    pack,
    unpack,
)
from pincite.store.sqlite.where import glob_matches

NameOf = Callable[[str], str]
CATALOG = "catalog.sqlite"
WAIT_SECONDS = 30.0  # for other processes
_OURS = ("catalog.", "vectors", "keywords", ".")  # names that a folder may hold and still become a library
_HEADER_BYTES = 100
_SAFE_SQLITE = (3, 51, 3)  # before it, two writers in WAL mode could lose a commit
_SETUP = """
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA trusted_schema = OFF;
PRAGMA secure_delete = ON;
PRAGMA cache_size = -16000;
PRAGMA journal_size_limit = 67108864;
"""


class Database:
    """Connections to one catalogue. Reads run beside each other and beside a write."""

    def __init__(self, folder: Path, *, readonly: bool, name_of: NameOf) -> None:
        """Take a library that exists and whose header was checked."""
        self.folder = folder
        self.path = folder / CATALOG
        self.readonly = readonly
        self._name_of = name_of
        self._idle: list[apsw.Connection] = []
        self._pooled = True
        self._closed = False
        self._writing = Lock()
        self._local = local()  # .joint: the connection of this thread's writes that belong together

    @contextmanager
    def read(self) -> Iterator[apsw.Connection]:
        """Lend a connection that sees the newest state, with what this thread wrote ``together`` so far."""
        joint = self._joint()
        if joint is None:
            with self.committed() as connection:
                yield connection
        else:
            with explained(self.folder):
                yield joint

    @contextmanager
    def committed(self) -> Iterator[apsw.Connection]:
        """Lend a connection that sees one committed state, the newest at its first read."""
        with explained(self.folder), self._connection() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[apsw.Connection]:
        """Lend a connection whose changes are on disk, all of them, when the block is left; none if it raises.

        LibraryReadOnly when it cannot be written, LibraryBusy when others write for longer than ``WAIT_SECONDS``.
        """
        joint = self._joint()
        if joint is not None:
            with explained(self.folder), _savepoint(joint):
                yield joint
            return
        if self.readonly:
            raise read_only(self.folder)
        if not self._writing.acquire(timeout=WAIT_SECONDS):
            raise busy(self.folder)
        try:
            with explained(self.folder), self._connection() as connection:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    fault("before_commit")
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:  # SQLite itself rolls back after some errors
                        connection.execute("ROLLBACK")
        finally:
            self._writing.release()
        fault("after_commit")

    def forget(self, *, everything: bool = False) -> None:
        """Leave nothing in the files of what was deleted, as far as readers let us.

        Deleted rows are overwritten with zeros; here the log that still holds them is emptied too.

        Args:
            everything: write the file anew as well, without what a Pincite before this one did not overwrite.
        """
        if self.readonly or self._joint() is not None:
            return
        with explained(self.folder), self._connection() as connection:
            if everything:
                connection.execute("VACUUM")
            connection.set_busy_timeout(0)  # a reader that is still at work does not hold up the writer
            try:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                connection.set_busy_handler(_patience())

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let this thread's writes in the block be one transaction, and so one flush to disk."""
        if self._joint() is not None:
            yield
            return
        with self.write() as connection:
            self._local.joint = connection
            try:
                yield
            finally:
                self._local.joint = None

    def _joint(self) -> apsw.Connection | None:
        """Give the connection whose transaction this thread's writes share, if there is one."""
        return getattr(self._local, "joint", None)

    @contextmanager
    def _connection(self) -> Iterator[apsw.Connection]:
        """Lend a connection to one thread."""
        if self._closed:
            raise closed(self.folder)
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        try:
            yield connection
        finally:
            if self._closed or not self._pooled:
                connection.close()
            else:
                self._idle.append(connection)

    def _connect(self) -> apsw.Connection:
        """Open one more connection."""
        if not self.readonly:
            return self._prepared(apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE))
        uri, flags = self.path.absolute().as_uri(), apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        try:
            connection = self._prepared(apsw.Connection(f"{uri}?mode=ro", flags=flags))
            connection.execute("SELECT sequence FROM state").get  # noqa: B018 - opens the files beside it
        except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
            # SQLite cannot make the files beside a WAL database here. Without a log the file alone is whole. A writer
            # with more rights may come, so such a connection serves one read only.
            log = self.path.with_name(CATALOG + "-wal")
            if log.exists() and log.stat().st_size:
                raise LibraryReadOnly(
                    f"The library {self.folder} was not closed, and cannot be mended where it can only be read.",
                    fix="Make the folder writable once, or copy it to a place that is.",
                ) from error
            self._pooled = False
            connection = self._prepared(apsw.Connection(f"{uri}?immutable=1", flags=flags))
        connection.execute(SEEN_AS_NEWEST.get(connection.pragma("user_version"), ""))
        return connection

    def _prepared(self, opened: apsw.Connection) -> apsw.Connection:
        """Set what SQLite keeps by connection."""
        connection: Any = opened  # its stubs do not say that functions take bytes
        connection.set_busy_handler(_patience())
        connection.execute(_SETUP)
        connection.create_scalar_function("glob_matches", glob_matches, 2, deterministic=True)
        connection.create_scalar_function("mentions", mentions, 4, deterministic=True)
        connection.create_scalar_function("folded_name", self._folded_name, 1)
        return opened

    def _folded_name(self, uri: bytes) -> bytes:
        """Give what lists are ordered by; SQL calls it."""
        return pack(self._name_of(unpack(uri)).casefold())

    def close(self) -> None:
        """Close the connections that no thread uses now; the others close when they come back."""
        self._closed = True
        with explained(self.folder):
            while self._idle:
                self._idle.pop().close()


def last_part(uri: str) -> str:
    """Name a source by the last part of its URI."""
    return unquote(uri).rstrip("/").rpartition("/")[2]


def open_database(folder: Path, *, readonly: bool = False, name_of: NameOf = last_part) -> Database:
    """Open a library's catalogue, or make it. Where the folder or the file cannot be written, it is opened for reading.

    Args:
        folder: the library.
        readonly: make and write nothing.
        name_of: what people call a source, by its URI.

    Returns:
        The database; a first read of it went well.

    Raises:
        PathMissing: it is not there, and may not be made because only reading was asked for.
        LibraryNewer: a newer Pincite made it; nothing was touched.
        LibraryDamaged: it is no library, or a damaged one.
        LibraryReadOnly: it cannot be made here.
        LibraryError: this SQLite must not be used, or the operating system refuses.
    """
    _check_sqlite()
    path = folder / CATALOG
    try:
        if not path.exists():
            if readonly:
                raise PathMissing(f"There is no library at {folder}.", fix="Add documents first, or check the path.")
            _create(folder)
        _check_header(path)
    except OSError as error:
        raise cannot_use(error, folder) from error
    writable = os.access(folder, os.W_OK) and os.access(path, os.W_OK)
    database = Database(folder, readonly=readonly or not writable, name_of=name_of)
    try:
        with database.committed() as connection:
            version = connection.pragma("user_version")
            _check_version(version, folder)
            connection.execute("SELECT identity, sequence FROM state").get  # noqa: B018
        if version < SCHEMA_VERSION and not database.readonly:
            _migrate(database)
    except LibraryError as error:
        database.close()
        if isinstance(error.__cause__, apsw.SQLError):
            raise LibraryDamaged(f"The library {folder} lacks its tables.", fix=RESTORE) from error
        raise
    return database


def _check_sqlite() -> None:
    """Refuse an SQLite that can lose commits."""
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if version < _SAFE_SQLITE:
        raise LibraryError(
            f"SQLite {apsw.sqlite_lib_version()} can lose what two processes write.",
            fix="Install a newer apsw: pip install -U apsw.",
        )


def _check_header(path: Path) -> None:
    """Look at the file's first bytes and touch nothing, so that a newer library stays as it is.

    Through SQLite's file, not ``open``: to close a file drops every lock that this process holds on it, and SQLite
    takes care of the locks of other connections.
    """
    with explained(path.parent):
        file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
        header = file.xRead(_HEADER_BYTES, 0) if file.xFileSize() >= _HEADER_BYTES else b""
        file.xClose()
    if not header.startswith(b"SQLite format 3\0"):
        raise LibraryDamaged(f"{path} is not a library's catalogue, or is damaged.", fix=RESTORE)
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise LibraryDamaged(f"{path} is not a catalogue that Pincite made.", fix="Name another place with --library.")
    _check_version(int.from_bytes(header[60:64], "big"), path.parent)


def _check_version(version: int, folder: Path) -> None:
    """Refuse a format that this Pincite does not know."""
    if version > SCHEMA_VERSION:
        raise LibraryNewer(
            f"The library {folder} has format {version}; this Pincite knows formats up to {SCHEMA_VERSION}.",
            fix="Install a newer Pincite: pip install -U pincite.",
        )


def _migrate(database: Database) -> None:
    """Bring a library of an older format up to date, all at once or not at all; another process may do it first."""
    with database.write() as connection:
        for version in range(connection.pragma("user_version"), SCHEMA_VERSION):
            connection.execute(f"{MIGRATIONS[version]}; PRAGMA user_version = {version + 1}")


def _create(folder: Path) -> None:
    """Make an empty library under another name and link it into place: no process ever sees half of one."""
    folder.mkdir(parents=True, exist_ok=True)
    strangers = [entry.name for entry in folder.iterdir() if not entry.name.startswith(_OURS)]
    if strangers and not (folder / CATALOG).exists():
        raise LibraryDamaged(
            f"{folder} holds other files ({min(strangers)}) and no library.", fix="Name a new or empty folder."
        )
    temporary = folder / f"{CATALOG}.{uuid4().hex}.new"
    try:
        with explained(folder):
            connection = apsw.Connection(str(temporary))
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}; BEGIN; {SCHEMA}")
            connection.execute("INSERT INTO state VALUES (?, 0)", (uuid4().hex.encode(),))
            connection.execute("COMMIT; PRAGMA journal_mode = WAL")
            connection.close()
        sync(temporary)
        with suppress(FileExistsError):  # another process was first: its library is as good
            _put_in_place(temporary, folder / CATALOG)
    finally:
        temporary.unlink(missing_ok=True)
    sync(folder)


def _put_in_place(temporary: Path, path: Path) -> None:
    """Give the file its name unless that is taken; where there are no hard links, by renaming."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        if not path.exists():
            temporary.rename(path)


@contextmanager
def _savepoint(connection: apsw.Connection) -> Iterator[None]:
    """Undo one of several writes if it raises. A full disk may have undone all of them: then no other can follow."""
    if not connection.in_transaction:
        raise apsw.FullError("an earlier write was undone, and all with it")
    connection.execute("SAVEPOINT one")
    try:
        yield
        connection.execute("RELEASE one")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO one; RELEASE one")
        raise


def _patience() -> Callable[[int], bool]:
    """Make a busy handler: it tries again soon and often, which starves nobody, until the time is over."""
    started = 0.0

    def wait(tries: int) -> bool:
        nonlocal started
        now = time.monotonic()
        started = now if tries == 0 else started
        time.sleep(min(0.0005 * (1 << min(tries, 6)), 0.02))
        return now - started < WAIT_SECONDS

    return wait
