"""Damaged variants of a file: bytes changed, cut, doubled; inside zip files too, where a damaged sum ends it early."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Iterator

from tests.acquire.made import archive


def mutations(data: bytes, count: int, source: random.Random) -> Iterator[bytes]:
    """Yield variants; of a zip file, half of them have whole packing and one damaged member."""
    members = _members(data)
    for _ in range(count):
        if members and source.random() < 0.5:
            name = source.choice(sorted(members))
            yield archive({**members, name: mutated(members[name], source)})
        else:
            yield mutated(data, source)


def mutated(data: bytes, source: random.Random) -> bytes:
    """Damage bytes in one of a few ways."""
    at, size = source.randrange(len(data) + 1), source.randrange(1, 40)
    match source.randrange(5):
        case 0:
            return data[:at] + source.randbytes(size) + data[at + size :]
        case 1:
            return data[:at]
        case 2:
            return data[:at] + data[at + size :]
        case 3:
            return data[:at] + data[max(0, at - size) :]
        case _:
            swapped = bytearray(data)
            for _ in range(size):
                if swapped:
                    swapped[source.randrange(len(swapped))] = source.choice(b'<>"=&;\x00\xff 09/')
            return bytes(swapped)


def _members(data: bytes) -> dict[str, bytes]:
    if not data.startswith(b"PK"):
        return {}
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}
