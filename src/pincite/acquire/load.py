"""A path becomes bytes and a source: bounded, never blocking, never a mixture of two states of a file."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from pathlib import Path

from pincite.acquire.identify import media_type
from pincite.acquire.uri import absolute, path_of, shown, uri_of
from pincite.errors import SourceError, SourceTooLarge, SourceUnreadable
from pincite.types import Source

LIMIT = 512 << 20  # bytes
_HEAD = 1 << 16  # bytes that are enough to tell a media type
# O_NONBLOCK: opening a FIFO must not wait for a writer; O_NOCTTY: nor may a terminal become ours.
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_ATTEMPTS = 2


def load(where: str | Path, *, limit: int = LIMIT, follow: bool = True) -> tuple[Source, bytes]:
    """Read a file, given by its path or its file URI.

    Args:
        where: a path, or a string that begins with ``file://``.
        limit: the most bytes to take.
        follow: whether the path may be a symbolic link; inside folders none is followed, whenever it came there.

    Returns:
        The source (its size, time and hash are those of the bytes) and the bytes.

    Raises:
        SourceUnreadable: missing, not permitted, not a regular file, or it kept changing while it was read.
        SourceTooLarge: it has more than ``limit`` bytes.
    """
    is_uri = isinstance(where, str) and where.startswith("file://")
    path = path_of(str(where)) if is_uri else absolute(where)
    for _ in range(_ATTEMPTS):
        started = time.time_ns()
        data, before, after = _bytes(path, limit, follow)
        if len(data) == before.st_size and _state(before) == _state(after):
            return _source(path, data, changed_ns(before), started), data
    raise SourceUnreadable(f"{shown(path)} changed while it was being read.", fix="Add it again.")


def changed_ns(status: os.stat_result) -> int:
    """Give the later of a file's modification and status change, nanoseconds since the epoch.

    Any program can set the first back, as `cp -p` and `rsync -t` do; no program sets the second.
    """
    return max(status.st_mtime_ns, status.st_ctime_ns)


def _state(status: os.stat_result) -> tuple[int, int]:
    """Take what changes when a file is written."""
    return status.st_size, changed_ns(status)


def _source(path: Path, data: bytes, modified_ns: int, read_ns: int) -> Source:
    """Describe the bytes."""
    return Source(
        uri=uri_of(path),
        media_type=media_type(path.name, data[:_HEAD]),
        content_hash=hashlib.blake2b(data, digest_size=16).hexdigest(),
        modified_ns=modified_ns,
        size=len(data),
        read_ns=read_ns,
    )


def _bytes(path: Path, limit: int, follow: bool) -> tuple[bytes, os.stat_result, os.stat_result]:
    """Read once, with the file's state before and after."""
    try:
        with os.fdopen(os.open(path, _FLAGS if follow else _FLAGS | _NO_LINK), "rb") as file:
            before = os.fstat(file.fileno())
            _check(path, before, limit)
            data = file.read(before.st_size + 1)
            return data, before, os.fstat(file.fileno())
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise _unreadable(path, error) from error


def _check(path: Path, status: os.stat_result, limit: int) -> None:
    """Refuse what is no regular file or too large."""
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise SourceUnreadable(f"{shown(path)} is {kind}.", fix="Name a file.")
    if status.st_size > limit:
        message = f"{shown(path)} has {status.st_size:,} bytes; the limit is {limit:,}."
        raise SourceTooLarge(message, fix="Split it into smaller files.")


_REASONS = {
    errno.ENOENT: ("{} no longer exists.", "Check the path."),
    errno.ENOTDIR: ("{} no longer exists.", "Check the path."),
    errno.EACCES: ("{} may not be read: permission denied.", "Give yourself permission to read it."),
    errno.EPERM: ("{} may not be read: permission denied.", "Give yourself permission to read it."),
    errno.EISDIR: ("{} is a folder.", "Name a file."),
    errno.ENXIO: ("{} is not a regular file.", "Name a file."),
    errno.ELOOP: ("{} is a link that leads in a circle, or out of its folder.", "Mend or remove the link."),
    errno.ENAMETOOLONG: ("{} is too long a name.", "Check the path."),
}


def _unreadable(path: Path, error: OSError | ValueError) -> SourceError:
    """Say in one sentence what the operating system said."""
    code = error.errno if isinstance(error, OSError) else None
    reason = (getattr(error, "strerror", None) or str(error)).lower()
    message, fix = _REASONS.get(code or 0, (f"{{}} cannot be read: {reason}.", "Check the disk, then try again."))
    return SourceUnreadable(message.replace("{}", shown(path), 1), fix=fix)
