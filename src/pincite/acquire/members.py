"""Archives and mail as folders: what is inside becomes documents with addresses of their own, such as a.zip/b/c.txt.

A path cannot be both a file and a folder, so these addresses clash with none of a file's; what is at or below an
archive is found by its address, as for folders. Names from archives only ever become such addresses.
"""

from __future__ import annotations

import hashlib
from base64 import b64decode
from collections.abc import Generator, Iterator
from pathlib import PurePosixPath
from urllib.parse import quote_from_bytes

from pincite.acquire.archive import ARCHIVES, Entry, entries
from pincite.acquire.crawl import is_passed_over
from pincite.acquire.identify import media_type
from pincite.acquire.package import Budget
from pincite.acquire.sandbox import call_in_child
from pincite.acquire.uri import readable
from pincite.errors import SourceError, SourceTooLarge
from pincite.types import Source

_MAIL = {"message/rfc822": "mail", "application/mbox": "mail", "application/vnd.ms-outlook": "msg"}
CONTAINERS = ARCHIVES | frozenset(_MAIL)
DEPTH = 3  # containers within one another
_HEAD = 1 << 16  # bytes that are enough to tell a media type
_NAME = 200  # characters of one part of an address


def members(source: Source, data: bytes) -> Iterator[tuple[Source, bytes | SourceError]]:
    """Unpack a container, and the containers in it up to ``DEPTH``.

    Args:
        source: a file whose media type is one of ``CONTAINERS``.
        data: its bytes.

    Yields:
        Each file inside as a source, whose times are those of the outermost one, with its bytes or with the reason why
        there are none. Hidden files and the like are passed over, as in folders. A container comes behind its members.

    Raises:
        SourceError: the list of members cannot be read (any further).
    """
    yield from _members(source, data, Budget(), 1)


def _members(source: Source, data: bytes, budget: Budget, depth: int) -> Iterator[tuple[Source, bytes | SourceError]]:
    taken: set[str] = set()
    for entry in _entries(source, data, budget):
        address = _address(entry.name, taken)
        if not address:
            continue
        content: bytes | SourceError
        try:
            content = entry.read()
        except SourceError as error:
            content = error
        inner = _source(f"{source.uri}/{address}", content, source)
        if isinstance(content, bytes) and inner.media_type in CONTAINERS:
            content = yield from _nested(inner, content, budget, depth)
        yield inner, content


def _nested(
    inner: Source, content: bytes, budget: Budget, depth: int
) -> Generator[tuple[Source, bytes | SourceError], None, bytes | SourceError]:
    """Unpack a container within; give what is to be said of itself."""
    if depth >= DEPTH:
        message = f"It is more than {DEPTH} archives deep."
        return SourceTooLarge(message, fix="Unpack the outer archive, and add what is inside.")
    try:
        yield from _members(inner, content, budget, depth + 1)
    except SourceError as error:
        return error
    return content


def _entries(source: Source, data: bytes, budget: Budget) -> Iterator[Entry]:
    """List the files of an archive, or the attachments of mail; mail is read in the child."""
    if source.media_type in ARCHIVES:
        yield from entries(data, source.media_type, _name(source.uri), budget)
        return
    found = call_in_child(_MAIL[source.media_type], "attachments", data, media_type=source.media_type)
    for name, content in found:
        packed = b64decode(content)
        yield Entry(name, len(packed), lambda packed=packed: packed)  # type: ignore[misc]


def _address(name: str, taken: set[str]) -> str:
    """Make the rest of a URI of a name, "" for what is passed over; steps up and roots go, doubles get a number."""
    shown = "".join(char if char.isprintable() else "_" for char in name.replace("\\", "/"))
    parts = [part[:_NAME] for part in shown.split("/") if part not in ("", ".", "..")]
    if not parts or "__MACOSX" in parts or any(is_passed_over(part) for part in parts):
        return ""
    path, count = PurePosixPath(*parts), 1
    while str(path) in taken:
        count += 1
        path = PurePosixPath(*parts).with_stem(f"{PurePosixPath(parts[-1]).stem} ({count})")
    taken.add(str(path))
    return quote_from_bytes(str(path).encode("utf-8", "replace"))


def _name(uri: str) -> str:
    return readable(uri).rpartition("/")[2]


def _source(uri: str, content: bytes | SourceError, outer: Source) -> Source:
    """Describe a file inside."""
    data = content if isinstance(content, bytes) else b""
    kind = media_type(_name(uri), data[:_HEAD]) if isinstance(content, bytes) else ""
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    return Source(uri, kind, digest, outer.modified_ns, len(data), outer.read_ns)
