"""What a derived file says of itself, and the lock of those who write it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO

from pincite.disk import TEMPORARY, take_lock
from pincite.errors import LibraryBusy, LibraryDamaged

MAGIC = b"PINCITE1"
DIGEST = 16  # bytes of BLAKE2b over magic, length and header
HEADER_LIMIT = 1 << 20  # bytes; a header is a few hundred


@dataclass(frozen=True, slots=True)
class Stamp:
    """The state of the truth that a derived index reflects. Any difference means: make it anew."""

    kind: str  # which index, and its layout
    identity: str  # of the library
    space: str  # fingerprint of the vector space, or of the analyzer
    sequence: int  # the change up to which it is whole; it may hold later ones too
    detail: Mapping[str, str | int | bool] = field(default_factory=dict)  # what the index needs to open its data

    def encode(self) -> bytes:
        """Write magic, length (uint32, little endian), JSON and BLAKE2b-128 of all these."""
        body = json.dumps(asdict(self), sort_keys=True).encode()
        head = MAGIC + struct.pack("<I", len(body)) + body
        return head + hashlib.blake2b(head, digest_size=DIGEST).digest()

    def expect(self, kind: str, identity: str, space: str) -> None:
        """Raise LibraryDamaged unless the index is of this kind, library and space."""
        for name, found, wanted in (
            ("layout", self.kind, kind),
            ("library", self.identity, identity),
            ("space", self.space, space),
        ):
            if found != wanted:
                raise LibraryDamaged(f"The index is of another {name}: {found!r} instead of {wanted!r}.")


def read_stamp(stream: IO[bytes]) -> Stamp:
    """Read a stamp, leaving the stream where it ends; LibraryDamaged when these bytes are not a whole one."""
    head = stream.read(len(MAGIC) + 4)
    if len(head) != len(MAGIC) + 4 or not head.startswith(MAGIC):
        raise LibraryDamaged("The index file does not begin as it should.")
    (length,) = struct.unpack("<I", head[len(MAGIC) :])
    body = stream.read(min(length, HEADER_LIMIT))
    digest = stream.read(DIGEST)
    if hashlib.blake2b(head + body, digest_size=DIGEST).digest() != digest:
        raise LibraryDamaged("The index's stamp does not match its checksum.")
    return Stamp(**json.loads(body))


def load_stamp(path: Path) -> Stamp | None:
    """Read the stamp at the head of a file: None when there is no file, LibraryDamaged when it has no whole stamp."""
    try:
        with path.open("rb") as stream:
            return read_stamp(stream)
    except FileNotFoundError:
        return None


def sweep(path: Path) -> None:
    """Remove what killed writers of a file left behind; only for the holder of its lock."""
    for stray in path.parent.glob(f"{path.name}.*{TEMPORARY}"):
        if stray.is_dir():
            shutil.rmtree(stray, ignore_errors=True)
        else:
            stray.unlink(missing_ok=True)


def checksum(path: Path, length: int | None = None, value: int = 0) -> int:
    """Go on from a CRC-32 with a file, or its leading bytes: 4 GB/s, and it finds every flip of one byte."""
    left = path.stat().st_size if length is None else length
    with path.open("rb") as stream:
        while left > 0 and (part := stream.read(min(left, 1 << 20))):
            value, left = zlib.crc32(part, value), left - len(part)
    return value


@contextlib.contextmanager
def locked(path: Path, seconds: float) -> Iterator[None]:
    """Hold an exclusive lock between processes for the block; the system frees it when a process dies.

    LibraryBusy when another process holds it for so many seconds. The file is made when missing, and never removed.
    """
    with path.open("ab") as stream:
        if not take_lock(stream, seconds):
            raise LibraryBusy(
                f"Another process has been writing {path.parent} for more than {seconds:g} s.",
                fix="Wait until it is done, or end it.",
            )
        yield  # closing the file frees the lock
