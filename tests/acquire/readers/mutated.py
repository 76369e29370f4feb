"""Damaged variants of a file: bytes changed, cut, doubled; inside zip files too, where a damaged sum ends it early."""

from __future__ import annotations

import io
import random
import zipfile
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module

from pincite.errors import SourceError
from pincite.types import Reading
from tests.acquire.made import archive


def mutations(data: bytes, count: int, source: random.Random) -> Iterator[bytes]:
    """Yield variants; of a zip file, half of them have whole packing and one damaged member."""
    for _ in range(count):
        yield mutation(data, source)


def mutation(data: bytes, source: random.Random) -> bytes:
    """Make one variant."""
    members = _members(data)
    if members and source.random() < 0.5:
        name = source.choice(sorted(members))
        return archive({**members, name: mutated(members[name], source)})
    return mutated(data, source)


def survey(
    data: bytes, *, reader: str, name: str, media_type: str, first: int, count: int
) -> dict[str, int | list[str]]:
    """Read variants [first, first + count) one after the other; runs in the child, many in one.

    Args:
        data: the file before damage.
        reader: its module.
        name: the file's name.
        media_type: what it is.
        first: the number of the first variant; the same number is always the same variant.
        count: how many.

    Returns:
        How many were read, and refused with a reason; and what else happened, which is a defect of the reader.
    """
    read = import_module(f"pincite.acquire.readers.{reader}").read
    found: dict[str, int | list[str]] = {}
    counts, defects = Counter(), []
    for number in range(first, first + count):
        try:
            reading = read(mutation(data, random.Random(number)), name, media_type)
        except SourceError as error:
            counts["refused"] += 1
            defects += [] if str(error) and error.fix else [f"{number}: {error!r} has no remedy"]
        except Exception as error:  # noqa: BLE001 - what the survey is for
            defects.append(f"{number}: {type(error).__name__}: {error}"[:200])
        else:
            counts["read"] += 1
            defects += [f"{number}: {fault}" for fault in faults(reading)]
    found.update(counts)
    return found | {"defects": defects}


def faults(reading: Reading) -> Iterator[str]:
    """Yield what is wrong with the blocks and pages of a reading."""
    position, text = 0, reading.text
    for block in reading.blocks:
        if not position <= block.start < block.end <= len(text) or text[position : block.start].strip():
            yield f"{block.kind} at {block.start}-{block.end}"
        position = max(position, block.end)
    if text[position:].strip() and reading.blocks:
        yield f"text behind the last block, {position}"
    if any(not 0 <= page.start <= page.end <= len(text) for page in reading.pages):
        yield "a page outside the text"


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


@lru_cache(maxsize=4)
def _members(data: bytes) -> dict[str, bytes]:
    if not data.startswith(b"PK"):
        return {}
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}
