"""Readers by name: what the settings give to another parser is read by it, in the child and within limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from typing import NamedTuple

from pincite.acquire.identify import type_of_extension
from pincite.acquire.readers.base import Lines
from pincite.acquire.sandbox import call_in_child
from pincite.errors import SettingError, SourceUndecodable
from pincite.types import Block, Reading

GROUP = "pincite.readers"  # of entry points; each is a ``Reader``: (data, name, media_type) -> Reading
MEMORY = 16 << 30  # bytes of address space: such parsers map gigabytes of libraries and models
_BASE_SECONDS, _SECONDS_PER_MEGABYTE, _MOST_SECONDS = 300.0, 120.0, 7200.0  # of processor time
_OWN = {"docling": ("pincite.acquire.readers.docling:read", ("docling", "docling-slim"))}  # place, packages it needs


class NamedReader(NamedTuple):
    """A reader that is not ours, where to import it, and which one it is."""

    name: str
    module: str
    function: str
    version: str  # name and version: what another one read is read again

    def __call__(self, data: bytes, name: str, media_type: str) -> Reading:
        """Read in the child; see ``Reader``. What it leaves outside its blocks becomes paragraphs."""
        seconds = min(_MOST_SECONDS, _BASE_SECONDS + _SECONDS_PER_MEGABYTE * len(data) / (1 << 20))
        reading = call_in_child(
            f":{self.module}", self.function, data, seconds=seconds, memory=MEMORY, name=name, media_type=media_type
        )
        if not isinstance(reading, Reading):
            message = f"The reader {self.name} gave no reading."
            raise SourceUndecodable(message, fix="Report this to those who made it, or use another reader.")
        blocks = _covering(reading.text, reading.blocks)
        return replace(reading, blocks=blocks, metadata={**reading.metadata, "reader": self.version})


def named_readers(setting: str) -> Mapping[str, NamedReader]:
    """Find the readers that a setting names.

    Args:
        setting: "TYPE=NAME" once or several times, with commas or spaces between. A type is a media type or the
            extension of a file's name; a name is "docling", that of an entry point in the group
            ``pincite.readers``, or "module:attribute".

    Returns:
        Media type -> reader.

    Raises:
        SettingError: it is no such list, or names a type or reader that there is not.
    """
    found = {}
    for pair in re.split(r"[\s,]+", setting.strip()) if setting.strip() else ():
        key, _, name = pair.partition("=")
        kind = key if "/" in key else type_of_extension(key.lower().removeprefix("."))
        if not name or not kind:
            raise SettingError(f"readers has {pair!r}, which names no type and reader.", fix="Write pdf=docling.")
        found[kind] = _found(name)
    return found


def _found(name: str) -> NamedReader:
    """Find a reader; its code is not imported here."""
    if name in _OWN:
        place, packages = _OWN[name]
        versions = [version for package in packages if (version := _version(package))]
        if not versions:
            raise SettingError(f"The reader {name} is not installed.", fix=f"pip install 'pincite[{name}]'")
        return _at(name, place, versions[0])
    if ":" in name:
        return _at(name, name, _version(name.partition(".")[0].partition(":")[0]))
    entries = metadata.entry_points(group=GROUP)
    for entry in entries:
        if entry.name == name:
            return _at(name, entry.value, entry.dist.version if entry.dist else "")
    known = ", ".join(sorted({*_OWN, *entries.names}))
    raise SettingError(f"There is no reader {name!r}.", fix=f"Those known here are: {known}.")


def _at(name: str, place: str, version: str) -> NamedReader:
    module, _, function = place.partition(":")
    return NamedReader(name, module.strip(), function.strip(), f"{name} {version}".strip())


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _covering(text: str, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Make paragraphs of text outside all blocks: whoever wrote the reader, nothing is lost to search."""
    found, position = list[Block](), 0
    for block in (*blocks, Block("paragraph", len(text), len(text))):
        between = Lines(text[position : block.start])
        outside = (between.block("paragraph", *run) for run in between.paragraphs())
        found += [replace(part, start=part.start + position, end=part.end + position) for part in outside]
        found += [block] if block.start < block.end else []
        position = max(position, block.end)
    return tuple(found)
