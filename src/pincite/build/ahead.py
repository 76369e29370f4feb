"""Reading ahead: children read the next documents while the ones before are cut, committed and embedded."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from pincite.acquire.read import is_read_in_child, read
from pincite.acquire.sandbox import stop_reading
from pincite.build.commit import Build, Prepared, prepare
from pincite.errors import SourceError
from pincite.reports import SourceReport
from pincite.types import Reading, Source

_READERS = max(1, min(4, os.cpu_count() or 1))  # children at work at once
_AHEAD = 2 * _READERS  # documents
_AHEAD_BYTES = 64 << 20  # of documents that wait or are being read


@dataclass(frozen=True, slots=True)
class Pending:
    """A document to be read."""

    source: Source
    data: bytes
    failed: Callable[[SourceError], Iterator[SourceReport]]  # what is to be done if it cannot be read


def read_ahead(items: Iterable[SourceReport | Prepared | Pending], build: Build) -> Iterator[SourceReport | Prepared]:
    """Read pending documents, several at once, and cut them; all else passes through. The order stays as it is.

    Args:
        items: what was found, in order.
        build: how to read and cut.

    Yields:
        Reports and prepared documents in the order of the items.
    """
    waiting: deque[tuple[SourceReport | Prepared | Pending, Future[Reading] | None]] = deque()
    held = 0
    pool = ThreadPoolExecutor(_READERS, thread_name_prefix="pincite-read")
    done = False
    try:
        for item in items:
            future = None
            if isinstance(item, Pending) and is_read_in_child(item.source.media_type, build.readers):
                future = pool.submit(_read, item, build)
                held += len(item.data)
            waiting.append((item, future))
            while waiting and (waiting[0][1] is None or len(waiting) > _AHEAD or held > _AHEAD_BYTES):
                first, future = waiting.popleft()
                held -= len(first.data) if isinstance(first, Pending) and future is not None else 0
                yield from _settled(first, future, build)
        while waiting:
            yield from _settled(*waiting.popleft(), build)
        done = True
    finally:
        if not done:
            stop_reading()
        pool.shutdown(cancel_futures=True)


def _settled(
    item: SourceReport | Prepared | Pending, future: Future[Reading] | None, build: Build
) -> Iterator[SourceReport | Prepared]:
    """Wait for a reading, or read what is read in this process, and cut it."""
    if not isinstance(item, Pending):
        yield item
        return
    try:
        reading = future.result() if future else _read(item, build)
        yield prepare(item.source, reading, build)
    except SourceError as error:
        yield from item.failed(error)


def _read(item: Pending, build: Build) -> Reading:
    about = build.about(item.source.uri)
    return read(item.source, item.data, password=build.password, about=about, readers=build.readers)
