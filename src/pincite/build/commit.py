"""Documents that were read become passages on disk: text and vectors at once if they are few, text first if many.

Keyword search sees a document as soon as its text is committed. In a long run the vectors follow, made in a thread of
their own while more is read; what was interrupted is found by what lacks a vector, and embedded by the next run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pincite.acquire.named import NamedReader
from pincite.acquire.read import document_id
from pincite.build.embed import embed_missing
from pincite.models.protocols import Encoder
from pincite.reports import Pace, SourceReport
from pincite.store.hashing import embedding_hash
from pincite.store.protocol import Store
from pincite.types import Document, Metadata, Reading, Source, Span, searched_text

_BATCH_PASSAGES = 512  # committed together; more would only delay the first commit
_BATCH_CHARS = 4_000_000  # of text held before it is committed
_EMBEDDED_TOGETHER = 256  # passages: what an interruption may lose of the vectors
_TOLD_EVERY = 0.2  # seconds, while only vectors are missing


@dataclass(frozen=True, slots=True)
class Build:
    """What building needs. The encoder is called for when first needed: an unchanged folder needs none."""

    store: Store
    encoder: Callable[[], Encoder]
    passage_pieces: int = 128
    retry: frozenset[str] = frozenset()  # read again what has one of these states, or was read by an older reader
    password: str = ""  # for encrypted documents; never stored
    readers: Mapping[str, NamedReader] = field(default_factory=dict)  # by media type, instead of our own
    about: Callable[[str], Metadata] = lambda _: {}  # by URI, what is known of a source besides its bytes
    pace: Pace = field(default_factory=Pace)
    tell: Callable[[Pace], None] = lambda _: None  # called in this thread as the pace changes


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that is read and cut, but not yet committed."""

    document: Document
    spans: list[Span]
    warnings: tuple[str, ...]
    texts: dict[str, str]  # searched text by embedding hash


def prepare(source: Source, reading: Reading, build: Build) -> Prepared:
    """Cut a reading into passages."""
    from pincite.build.chunk import chunk  # to compile its patterns takes a start 10 ms, and most starts cut nothing

    document = Document(
        id=document_id(source.uri),
        source=source,
        version=0,
        text=reading.text,
        title=reading.title,
        blocks=reading.blocks,
        pages=reading.pages,
        metadata=reading.metadata,
        language=reading.language,
    )
    spans = chunk(document, build.encoder().pieces, limit=build.passage_pieces)
    texts = [searched_text(span.context, document.text[span.start : span.end]) for span in spans]
    return Prepared(document, spans, reading.warnings, {embedding_hash(text): text for text in texts})


def commit(items: Iterable[SourceReport | Prepared], build: Build) -> Iterator[SourceReport]:
    """Commit prepared documents in batches; reports pass through.

    A single batch is committed with its vectors. Once a second one begins, text is committed first, and vectors follow.

    Args:
        items: documents, and reports on what there is nothing to commit of.
        build: the store and the encoder.

    Yields:
        A report on each document once its text is durably committed. The iteration ends when all have their vectors.

    Raises:
        LibraryError: the library cannot be written.
        ModelError: the encoder cannot be used.
    """
    batch: list[Prepared] = []
    passages = chars = 0
    follower = Follower(build)
    try:
        for item in items:
            if isinstance(item, SourceReport):
                yield item
                continue
            batch.append(item)
            passages += len(item.spans)
            chars += len(item.document.text)
            if passages >= _BATCH_PASSAGES or chars >= _BATCH_CHARS:
                reports = _commit_batch(batch, build, embed=False)
                follower.go()
                yield from reports
                batch, passages, chars = [], 0, 0
        reports = _commit_batch(batch, build, embed=not follower.started)
        yield from reports
        follower.finish()
    finally:
        follower.stop()


def embed_rest(build: Build, *, waits: bool = True) -> None:
    """Embed, in this thread, what lacks a vector in the encoder's space; wait for another process that does, or not."""
    while (done := _embed_some(build)) or (done is None and waits):
        build.tell(build.pace)
        if done is None:
            time.sleep(_TOLD_EVERY)


class Follower:
    """Embeds, in a thread of its own, what was committed without vectors."""

    def __init__(self, build: Build, *, once: bool = False) -> None:
        """Wait to be told that there is something; ``once``: what is there then is all."""
        self._build = build
        self._more = threading.Event()
        self._last, self._stopped = once, False
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="pincite-embed")
        self._running: Future[None] | None = None

    @property
    def started(self) -> bool:
        """Tell whether there was ever something to do."""
        return self._running is not None

    @property
    def ended(self) -> bool:
        """Tell whether it has done all that there was, or failed."""
        return self._running is not None and self._running.done()

    @property
    def failure(self) -> BaseException | None:
        """What it failed with, if it did."""
        return self._running.exception() if self._running is not None and self._running.done() else None

    def go(self) -> None:
        """Tell it that more was committed; raises what embedding raised so far."""
        if self._running is None:
            self._running = self._pool.submit(self._run)
        elif self._running.done():
            self._running.result()
        self._more.set()

    def finish(self) -> None:
        """Wait until everything is embedded; raises what embedding raised."""
        self._last = True
        self._more.set()
        if self._running is None:
            return
        while not wait([self._running], _TOLD_EVERY).done:
            self._build.tell(self._build.pace)
        self._running.result()

    def stop(self) -> None:
        """End after the batch at hand."""
        self._stopped = True
        self._more.set()
        self._pool.shutdown()

    def _run(self) -> None:
        while not self._stopped:
            self._more.clear()  # before looking: what is committed from now on is told again
            last = self._last
            done = _embed_some(self._build, whole=not last)
            if done == 0 and last:
                return
            if not done:
                self._more.wait(None if done == 0 else _TOLD_EVERY)


def _embed_some(build: Build, *, whole: bool = False) -> int | None:
    """Embed the first texts that lack a vector, only a whole batch if asked so; give how many.

    None while another process is at it, for it would be the same texts.

    Which texts share a batch depends on their order alone, not on how fast they came: an encoder that computes with
    few bits gives a text slightly different vectors in different company.
    """
    encoder = build.encoder()
    with build.store.claimed("embedding") as is_mine:
        if not is_mine:
            return None
        rest = build.store.unembedded(encoder.fingerprint, 2 * _EMBEDDED_TOGETHER)
        if not rest or (whole and len(rest) <= _EMBEDDED_TOGETHER):
            return 0
        chosen = dict(rest[:_EMBEDDED_TOGETHER])
        build.store.put_vectors(embed_missing(chosen, encoder), encoder.fingerprint)
        build.pace.embedded += len(chosen)
        return len(chosen)


def _commit_batch(batch: Sequence[Prepared], build: Build, *, embed: bool) -> list[SourceReport]:
    """Commit whole documents in one go, with their vectors or without; report them once they are on disk."""
    if not batch:
        return []
    encoder = build.encoder()
    texts = {key: text for prepared in batch for key, text in prepared.texts.items()}
    missing = texts.keys() - build.store.known_hashes(list(texts), encoder.fingerprint)
    vectors = embed_missing({key: texts[key] for key in missing}, encoder) if embed else {}
    with build.store.together():
        reports = [_commit_one(prepared, missing, vectors, encoder.fingerprint, build.store) for prepared in batch]
    build.pace.to_embed += len(missing)
    build.pace.embedded += len(vectors)
    return reports


def _commit_one(
    prepared: Prepared,
    missing: set[str],
    vectors: Mapping[str, NDArray[np.float32]],
    fingerprint: str,
    store: Store,
) -> SourceReport:
    """Write one document with the vectors that are new."""
    source = prepared.document.source
    before = store.source(source.uri)
    new = {key: vectors[key] for key in prepared.texts if key in vectors}
    warnings = "; ".join(prepared.warnings)
    receipt = store.put_document(prepared.document, prepared.spans, new, fingerprint, warnings)
    updated = before is not None and before.version > 0
    return SourceReport(
        uri=source.uri,
        status="partly" if warnings else "updated" if updated else "indexed",
        version=receipt.version,
        passages=receipt.passages,
        embedded=len(missing & prepared.texts.keys()),
        reason=warnings,
    )
