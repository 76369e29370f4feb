"""Files that several processes use: written whole or not at all, put on the disk for sure, and locked."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import time
from pathlib import Path
from typing import IO

TEMPORARY = ".tmp"


def write_whole(path: Path, *parts: bytes | Path) -> None:
    """Replace a file: new name, fsync, rename, fsync of the folder. A crash leaves the old file or the new one.

    Args:
        path: the file; its folder exists.
        *parts: what it shall hold, in order: bytes, or files to copy.
    """
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}{TEMPORARY}")
    try:
        with temporary.open("xb") as stream:
            for part in parts:
                if isinstance(part, Path):
                    with part.open("rb") as source:
                        shutil.copyfileobj(source, stream, 1 << 20)
                else:
                    stream.write(part)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Put a file, or the names in a folder, on the disk; Windows keeps names by itself, and opens no folder."""
    is_folder = path.is_dir()
    if is_folder and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def take_lock(stream: IO[bytes], seconds: float | None) -> bool:
    """Take the exclusive lock on an open file between processes; closing it, or the process's end, frees it.

    Args:
        stream: the file, open for writing; its content means nothing.
        seconds: how long to wait; None waits as long as it takes.

    Returns:
        False when another one held it all the time.
    """
    until = None if seconds is None else time.monotonic() + seconds
    while not _try_lock(stream):
        if until is not None and time.monotonic() >= until:
            return False
        time.sleep(0.01)
    return True


if sys.platform == "win32":
    import msvcrt

    def _try_lock(stream: IO[bytes]) -> bool:
        try:
            msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(stream: IO[bytes]) -> bool:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
