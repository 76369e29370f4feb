"""ZIP and TAR, plain or compressed: names and contents of their files, within limits; nothing is ever written."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import PurePath
from typing import IO, NamedTuple

from pincite.acquire.decode import decode
from pincite.acquire.package import MEMBERS, Budget, Package, shown_name
from pincite.errors import SourceError, SourceTooLarge, SourceUndecodable

_COMPRESSED: dict[str, Callable[[io.BytesIO], IO[bytes]]] = {
    "application/gzip": gzip.open,  # type: ignore[dict-item]  # to read bytes, as by default
    "application/x-bzip2": bz2.open,
    "application/x-xz": lzma.open,
}
ARCHIVES = frozenset({"application/zip", "application/x-tar", *_COMPRESSED})
_UTF8_NAME = 0x800  # a flag of ZIP
_BAD = (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, OverflowError)


class Entry(NamedTuple):
    """A file in an archive."""

    name: str  # as the archive has it: never to be used as a path
    size: int  # bytes, as the archive says
    read: Callable[[], bytes]  # its content, before the next entry is asked for; raises SourceError


def entries(data: bytes, media_type: str, name: str, budget: Budget) -> Iterator[Entry]:
    """List the regular files of an archive.

    Args:
        data: the archive.
        media_type: one of ``ARCHIVES``.
        name: its file name; a compressed file that is no archive is called so, without its last suffix.
        budget: what it may inflate to.

    Yields:
        Files in the order of the archive; links, folders and devices are left out.

    Raises:
        SourceError: it is damaged, or has or inflates to too much.
    """
    if media_type == "application/zip":
        yield from _zip(data, budget)
        return
    with _telling():
        yield from _stream(data, media_type, name, budget)


@contextmanager
def _telling() -> Iterator[None]:
    """Say in one sentence what a library said of damaged bytes."""
    try:
        yield
    except _BAD as error:
        reason = " ".join(str(error).split())[:100].rstrip(".") or type(error).__name__
        raise SourceUndecodable(f"It is damaged: {reason}.", fix="Fetch or copy it again.") from error


def _zip(data: bytes, budget: Budget) -> Iterator[Entry]:
    package = Package(data, budget)
    for member, name in zip(package.members, _names(package.members), strict=True):
        mode = member.external_attr >> 16
        if member.filename and not member.is_dir() and stat.S_IFMT(mode) in (0, stat.S_IFREG):
            yield Entry(name, member.file_size, partial(package.read, member))


def _names(members: list[zipfile.ZipInfo]) -> list[str]:
    """Give the names; those in an unknown code page are decoded together, which tells more than each alone."""
    names = [member.filename for member in members]
    old = [at for at, member in enumerate(members) if not member.flag_bits & _UTF8_NAME and not names[at].isascii()]
    try:
        together = b"\n".join(names[at].encode("cp437") for at in old)
        decoded = decode(together)[0].split("\n") if old else []
    except (UnicodeEncodeError, SourceError):
        return names
    if len(decoded) == len(old):
        for at, name in zip(old, decoded, strict=True):
            names[at] = name
    return names


class _Counted(io.RawIOBase):
    """A stream that counts what is read against the budget."""

    def __init__(self, stream: IO[bytes], packed: int, name: str, budget: Budget) -> None:
        self._stream, self._packed, self._name, self._budget = stream, packed, name, budget
        self._total = 0

    def read(self, size: int = -1, /) -> bytes:
        part = self._stream.read(size)
        self._total += len(part)
        self._budget.take(len(part), self._total, self._packed, self._name)
        return part


def _stream(data: bytes, media_type: str, name: str, budget: Budget) -> Iterator[Entry]:
    """List a TAR as it comes by; or the one file that is compressed."""
    unpack = _COMPRESSED.get(media_type, _as_it_is)
    counted = _Counted(unpack(io.BytesIO(data)), len(data), shown_name(name), budget)
    if media_type != "application/x-tar" and unpack(io.BytesIO(data)).read(512)[257:262] != b"ustar":
        inner = PurePath(name).with_suffix("").name or name
        yield Entry(inner, 0, partial(_all_of, counted, budget, inner))
        return
    with tarfile.open(fileobj=counted, mode="r|") as tar:
        for count, info in enumerate(tar):
            if count >= MEMBERS:
                message = f"It has more than {MEMBERS:,} members."
                raise SourceTooLarge(message, fix="If you trust it, unpack it and add what is inside.")
            if info.isreg():
                yield Entry(info.name, info.size, partial(_of_tar, tar, info, budget))


def _as_it_is(file: io.BytesIO) -> IO[bytes]:
    return file


def _all_of(stream: IO[bytes] | io.RawIOBase, budget: Budget, name: str) -> bytes:
    with _telling():
        return budget.whole(iter(partial(stream.read, 1 << 20), b""), shown_name(name))


def _of_tar(tar: tarfile.TarFile, info: tarfile.TarInfo, budget: Budget) -> bytes:
    with _telling():
        file = None if info.issparse() else tar.extractfile(info)
        if file is not None:
            return _all_of(file, budget, info.name)
    message = "It is kept with holes in the archive, which are not filled."
    raise SourceUndecodable(message, fix="Unpack the archive, and add what is inside.")
