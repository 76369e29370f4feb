"""What SQLite's and the operating system's errors mean to a person."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from pincite.errors import DiskFull, LibraryBusy, LibraryDamaged, LibraryError, LibraryReadOnly

RESTORE = "Restore the folder from a backup, or remove it and add the documents again."


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Raise every failure of the database as a LibraryError that says what to do."""
    try:
        yield
    except apsw.Error as error:
        raise _meaning(error, folder) from error


def _meaning(error: apsw.Error, folder: Path) -> LibraryError:
    """Find the words for an error of SQLite."""
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return busy(folder)
    if isinstance(error, apsw.FullError):
        return disk_full(folder)
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError):
        return read_only(folder)
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return LibraryDamaged(f"The library {folder} is damaged: {error}.", fix=RESTORE)
    if isinstance(error, apsw.CantOpenError | apsw.IOError):
        return LibraryError(
            f"The disk under the library {folder} does not read or write: {error}.",
            fix="Check the disk and the permissions of the folder's files.",
        )
    if isinstance(error, apsw.ConnectionClosedError):
        return closed(folder)
    return LibraryError(f"The library {folder} cannot be used: {error}.", fix="`pincite doctor` checks it.")


def cannot_use(error: OSError, folder: Path) -> LibraryError:
    """Find the words for an error of the operating system while the library is opened or made."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(folder)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return LibraryReadOnly(
            f"The library {folder} cannot be opened or made: {error.strerror}.",
            fix="Check the permissions, or name another place with --library.",
        )
    return LibraryError(
        f"The library {folder} cannot be opened or made: {error.strerror}.", fix="Name another place with --library."
    )


def busy(folder: Path) -> LibraryBusy:
    """Say that others held the library for too long."""
    return LibraryBusy(
        f"Another process has been writing to the library {folder} for too long.",
        fix="Wait until it is done, or end it, and try again.",
    )


def disk_full(folder: Path) -> DiskFull:
    """Say that there is no space."""
    return DiskFull(
        f"No space is left for the library {folder}; what was acknowledged before is safe.",
        fix="Free some space, and repeat the command.",
    )


def read_only(folder: Path) -> LibraryReadOnly:
    """Say that the library cannot be written."""
    return LibraryReadOnly(
        f"The library {folder} can only be read.", fix="Make the folder and its files writable, or use another library."
    )


def closed(folder: Path) -> LibraryError:
    """Say that the library was closed."""
    return LibraryError(f"The library {folder} is closed.", fix="Open it again.")
