"""How the reading process and its parent talk: messages of JSON with a length before them. Never pickles."""

from __future__ import annotations

import json
from dataclasses import astuple, fields
from typing import Any, BinaryIO, NamedTuple

from pincite.types import Block, Page, Reading

MESSAGE_LIMIT = 256 << 20  # bytes of one message; the text of the largest books is far below
_LENGTH = 8  # bytes that tell a message's length, big endian
_NESTED = {"blocks": Block, "pages": Page}


class Request(NamedTuple):
    """What the child is to do; the document's bytes follow as a message of their own."""

    module: str  # dotted name
    function: str  # called with the bytes and the arguments
    arguments: dict[str, Any]
    seconds: float  # of processor time


def send(pipe: BinaryIO, data: bytes) -> None:
    """Write a message."""
    pipe.write(len(data).to_bytes(_LENGTH, "big"))
    pipe.write(data)
    pipe.flush()


def receive(pipe: BinaryIO, limit: int) -> bytes:
    """Read a message of at most ``limit`` bytes; EOFError if the other side ends, OverflowError if it is longer."""
    size = int.from_bytes(_exactly(pipe, _LENGTH), "big")
    if size > limit:
        raise OverflowError(f"a message of {size:,} bytes; the limit is {limit:,}")
    return _exactly(pipe, size)


def _exactly(pipe: BinaryIO, size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def to_json(value: Any) -> bytes:
    """Encode, lone surrogates too. Not as ASCII: two escaped ones in a row would come back as one character."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def from_json(data: bytes) -> Any:
    """Decode; ValueError if it is no JSON."""
    return json.loads(data.decode("utf-8", "surrogatepass"))


def reading_to_wire(reading: Reading) -> dict[str, Any]:
    """Turn a reading into what JSON can say."""
    wire = {field.name: getattr(reading, field.name) for field in fields(reading)}
    wire["metadata"] = dict(reading.metadata)
    return wire | {name: [astuple(part) for part in wire[name]] for name in _NESTED}


def reading_of_wire(wire: dict[str, Any]) -> Reading:
    """Make the reading again. The child is not trusted: TypeError if values are not of the right kind."""
    parts: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in wire.items()}
    for name, kind in _NESTED.items():
        parts[name] = tuple(kind(*part) for part in parts.get(name, ()))
    reading = Reading(**parts)
    strings = (reading.text, reading.title, reading.language, *reading.warnings, *reading.metadata)
    numbers = [n for block in reading.blocks for n in (block.start, block.end, block.level)]
    numbers += [n for page in reading.pages for n in (page.number, page.start, page.end)]
    scalars = all(isinstance(value, str | int | float) for value in reading.metadata.values())
    if not (scalars and all(type(s) is str for s in strings) and all(type(n) is int for n in numbers)):
        raise TypeError("no reading")
    return reading
