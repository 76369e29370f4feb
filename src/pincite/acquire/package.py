"""Zip files from someone else: bounded by what they really inflate to, read in memory, names never used as paths."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import IO

from pincite.errors import SourceTooLarge, SourceUndecodable

INFLATED = 512 << 20  # bytes of all members together
RATIO = 200  # most bytes that one packed byte may become, once a member
FREE = 10 << 20  # has given this many
PART = 200 << 20  # bytes of one member that is read whole
MEMBERS = 10_000
_DIRECTORY = 10 << 20  # bytes of the list of members: far more than so many need, and quick to read
_CHUNK = 1 << 20  # bytes
_END, _END64 = b"PK\x05\x06", b"PK\x06\x06"
_BAD = (  # what zipfile and its decompressors raise for damaged or hostile bytes
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError, KeyError,
    IndexError, NotImplementedError, RuntimeError, OverflowError, AttributeError,
)  # fmt: skip
_RESAVE = "Open it in the program that made it, save it again, and add that."


class Budget:
    """How much may still come out of one file, archives inside archives included."""

    def __init__(self, left: int = INFLATED) -> None:
        """Begin with ``left`` bytes."""
        self.left = left

    def chunks(self, stream: IO[bytes], packed: int, name: str) -> Iterator[bytes]:
        """Read a stream of ``packed`` bytes to its end, a megabyte at a time; raises as ``take`` does."""
        total = 0
        while part := stream.read(_CHUNK):
            total += len(part)
            self.take(len(part), total, packed, name)
            yield part

    def whole(self, chunks: Iterable[bytes], name: str) -> bytes:
        """Join what ``chunks`` gives; SourceTooLarge, before it is in memory, if that is more than ``PART``."""
        parts: list[bytes] = []
        total = 0
        for part in chunks:
            total += len(part)
            if total > PART:
                message = f"{name} inflates to more than {PART >> 20} MiB."
                raise SourceTooLarge(message, fix="If you trust it, unpack it and add what is inside.")
            parts.append(part)
        return b"".join(parts)

    def take(self, count: int, total: int, packed: int, name: str) -> None:
        """Count bytes as they come, of a part that has given ``total`` so far.

        SourceTooLarge: that is more than is left, or far more than compression can honestly do.
        """
        self.left -= count
        if self.left < 0 or (total > FREE and total > RATIO * max(1, packed)):
            message = f"{name} inflates to more than is reasonable ({total:,} bytes from {packed:,} and more)."
            raise SourceTooLarge(message, fix="If you trust it, unpack it and add what is inside.")


class Package:
    """A zip file in memory."""

    def __init__(self, data: bytes, budget: Budget | None = None) -> None:
        """Read its list of members; SourceError if it is no zip file, a damaged one, or has too many."""
        self.budget = budget or Budget()
        _check_directory(data)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except _BAD as error:
            raise _damaged(error) from error
        self.members = self._zip.infolist()
        if len(self.members) > MEMBERS:
            raise _too_many(len(self.members))
        self._known = {member.filename.lower(): member for member in self.members}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._known

    def read(self, member: str | zipfile.ZipInfo) -> bytes:
        """Give the bytes of a member (or of a name, in any case); SourceError when that is not possible or too much."""
        name = member if isinstance(member, str) else member.filename
        return self.budget.whole(self.chunks(member), shown_name(name))

    def chunks(self, member: str | zipfile.ZipInfo) -> Iterator[bytes]:
        """Give a member's bytes, a part at a time; raises as ``read`` does."""
        info = self._known.get(member.lower()) if isinstance(member, str) else member
        if info is None:
            raise SourceUndecodable(f"It has no part {member!r}, which it needs.", fix=_RESAVE)
        if info.flag_bits & 1:
            raise SourceUndecodable("It is protected by a password.", fix="Save it without a password, and add that.")
        try:
            with self._zip.open(info) as stream:
                yield from self.budget.chunks(stream, info.compress_size, shown_name(info.filename))
        except SourceTooLarge:
            raise
        except _BAD as error:
            raise _damaged(error) from error


def shown_name(name: str) -> str:
    """Write a member's name for people."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name[:200])


def _check_directory(data: bytes) -> None:
    """Refuse a list of members that is too long, before anybody reads it."""
    end = data.rfind(_END, max(0, len(data) - (1 << 16) - 22))
    if end < 0 or len(data) < end + 22:
        raise SourceUndecodable("It is no whole zip file: its end is missing.", fix="Fetch or copy it again.")
    count, size = struct.unpack_from("<HL", data, end + 10)
    end64 = data.rfind(_END64, max(0, end - 76 - 65536), end)
    if 0xFFFF in (count, size >> 16) and 0 <= end64 <= len(data) - 48:
        count, size = struct.unpack_from("<QQ", data, end64 + 32)
    if count > MEMBERS or size > _DIRECTORY:
        raise _too_many(count)


def _too_many(count: int) -> SourceTooLarge:
    message = f"It has {count:,} members or a list of them that is too long; the limit is {MEMBERS:,}."
    return SourceTooLarge(message, fix="If you trust it, unpack it and add what is inside.")


def _damaged(error: BaseException) -> SourceUndecodable:
    reason = " ".join(str(error).split())[:100].rstrip(".") or type(error).__name__
    return SourceUndecodable(f"It is damaged: {reason}.", fix="Fetch or copy it again, or save it anew.")
