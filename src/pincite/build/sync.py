"""Make the library say what the disk says: only what changed is read, only new passages are embedded.

A source is unchanged when its size and modification time are as recorded, and it was looked at well after that time;
otherwise its bytes are hashed. (A file written twice within one tick of the file system's clock has the same time and
may have the same size: git calls such entries racy, and so do we.)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pincite.acquire.crawl import Found, Skipped, crawl
from pincite.acquire.ignore import Rules, read_rules
from pincite.acquire.members import CONTAINERS, members
from pincite.acquire.read import document_id, load, path_of, read, uri_of
from pincite.build.chunk import chunk
from pincite.build.embed import embed_missing
from pincite.errors import PathMissing, SourceError, SourceUnsupported
from pincite.models.protocols import Encoder
from pincite.reports import SourceReport
from pincite.store.hashing import embedding_hash
from pincite.store.protocol import SourceRecord, Store
from pincite.types import Document, Reading, Source, Span, Status, searched_text

_RACY_NS = 2_000_000_000  # the coarsest file time in use: FAT's two seconds
_BATCH_PASSAGES = 512  # embedded together; more would only delay the first commit
_BATCH_CHARS = 4_000_000  # of text held before it is committed


@dataclass(frozen=True, slots=True)
class Selection:
    """What of a path belongs to the library: globs as in .gitignore, relative to the path."""

    path: Path
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Build:
    """What building needs. The encoder is called for when first needed: an unchanged folder needs none."""

    store: Store
    encoder: Callable[[], Encoder]
    passage_pieces: int = 128
    retry: bool = False  # read again what failed or was unsupported: a newer reader may do better


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that is read and cut, but not yet committed."""

    document: Document
    spans: list[Span]
    warnings: tuple[str, ...]
    texts: dict[str, str]  # searched text by embedding hash


def sync(selections: Sequence[Selection], build: Build) -> Iterator[SourceReport]:
    """Bring the library up to date with some files and folders.

    Args:
        selections: what to look at; a path inside an archive stands for the whole archive.
        build: the store and the encoder.

    Yields:
        One report for each source at or below the selections, once it is durably committed: new, changed, unchanged,
        gone, failed, unsupported and skipped ones.

    Raises:
        PathMissing: a selected path does not exist, and the library holds nothing from it either.
        LibraryError: the library cannot be written.
        ModelError: the encoder cannot be used.
    """
    seen: set[str] = set()
    selections = [_on_disk(selection, build.store) for selection in selections]
    present = [selection for selection in selections if _exists(selection.path)]
    gone = [selection for selection in selections if selection not in present]
    for selection in gone:
        if not any(_below(selection.path, build.store)):
            raise PathMissing(f"There is no {selection.path}.", fix="Check the path.")
    touched: list[Source] = []
    known = {record.source.uri: record for selection in selections for record in _below(selection.path, build.store)}
    yield from commit(_looked_at(present, known, build, seen, touched), build)
    if touched:
        with build.store.together():
            for source in touched:
                build.store.touch(source)
    yield from _gone([record for uri, record in known.items() if uri not in seen], known, seen, build.store)
    build.store.collect_garbage()  # only now: a renamed file's vectors outlive its old name


def commit(items: Iterable[SourceReport | Prepared], build: Build) -> Iterator[SourceReport]:
    """Embed and commit prepared documents, in batches; reports pass through."""
    batch: list[Prepared] = []
    passages = chars = 0
    for item in items:
        if isinstance(item, SourceReport):
            yield item
            continue
        batch.append(item)
        passages += len(item.spans)
        chars += len(item.document.text)
        if passages >= _BATCH_PASSAGES or chars >= _BATCH_CHARS:
            yield from _commit_batch(batch, build)
            batch, passages, chars = [], 0, 0
    yield from _commit_batch(batch, build)


def prepare(source: Source, reading: Reading, build: Build) -> Prepared:
    """Cut a reading into passages."""
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


def _commit_batch(batch: Sequence[Prepared], build: Build) -> Iterator[SourceReport]:
    """Embed what is new in the batch in one go, and commit whole documents; report them once they are on disk."""
    if not batch:
        return
    encoder = build.encoder()
    texts = {key: text for prepared in batch for key, text in prepared.texts.items()}
    known = build.store.known_hashes(list(texts), encoder.fingerprint)
    vectors = embed_missing({key: text for key, text in texts.items() if key not in known}, encoder)
    with build.store.together():
        reports = [_commit_one(prepared, vectors, encoder.fingerprint, build.store) for prepared in batch]
    yield from reports


def _commit_one(
    prepared: Prepared, vectors: Mapping[str, NDArray[np.float32]], fingerprint: str, store: Store
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
        embedded=len(new),
        reason=warnings,
    )


def _looked_at(
    selections: Sequence[Selection],
    known: Mapping[str, SourceRecord],
    build: Build,
    seen: set[str],
    touched: list[Source],
) -> Iterator[SourceReport | Prepared]:
    """Look at each file; every URI met goes into ``seen``, what was hashed and had not changed into ``touched``."""
    for selection in selections:
        rules = read_rules(selection.exclude)[0] if selection.exclude else None
        look = _Look(build, known, seen, touched, selection.path, rules)
        for item in crawl([selection.path], include=selection.include, exclude=selection.exclude):
            if item.uri in seen:
                continue
            seen.add(item.uri)
            if isinstance(item, Skipped):
                yield _skipped(item, build.store)
            else:
                yield from look.at(item)


def _skipped(item: Skipped, store: Store) -> SourceReport:
    """Report what the crawl passed over; what the library holds of it is stale if it could not be looked at."""
    record = store.source(item.uri)
    if record is not None and item.status == "failed":
        store.put_failure(record.source, "failed", item.reason, item.fix)
    return SourceReport(uri=item.uri, status=item.status, reason=item.reason, fix=item.fix)


@dataclass(frozen=True, slots=True)
class _Look:
    """What looking at the files of one selection needs."""

    build: Build
    known: Mapping[str, SourceRecord]
    seen: set[str]
    touched: list[Source]
    root: Path
    excluded: Rules | None  # as the crawl has them, for what is inside archives

    def at(self, found: Found) -> Iterator[SourceReport | Prepared]:
        """Compare a file with its record, and read it, and what is inside, if it may have changed."""
        record = self.known.get(found.uri)
        again = self.build.retry and record is not None and record.status in ("failed", "unsupported")
        if record is not None and not again and _settled(found, record):
            yield _as_recorded(record)
            yield from map(_as_recorded, self._inside(record))
            return
        try:
            source, data = load(found.path)
        except SourceError as error:
            source = record.source if record else Source(found.uri, "", "", found.modified_ns, found.size)
            yield from self._failed(source, record, error)
        else:
            yield from self._read(source, data, record)

    def _read(self, source: Source, data: bytes, record: SourceRecord | None) -> Iterator[SourceReport | Prepared]:
        """Read bytes that are not as recorded; what is inside comes first, so that the whole is settled last."""
        if record is not None and record.version and source.content_hash == record.source.content_hash:
            self.touched.append(source)
            yield _as_recorded(record)
            if record.status != "failed":
                yield from map(_as_recorded, self._inside(record))
            elif source.media_type in CONTAINERS:  # what is inside failed with it, and can be read again
                yield from self._members(source, data)
            return
        try:
            prepared = prepare(source, read(source, data), self.build)
        except SourceError as error:
            yield from self._failed(source, record, error)
            return
        if source.media_type in CONTAINERS:
            warning = yield from self._members(source, data)
            prepared = replace(prepared, warnings=(*prepared.warnings, *warning))
        yield prepared

    def _members(self, source: Source, data: bytes) -> Generator[SourceReport | Prepared, None, tuple[str, ...]]:
        """Read what is inside an archive or mail; give a warning if not all of it could be listed."""
        try:
            for inner, content in members(source, data):
                if inner.uri in self.seen or self._is_excluded(inner.uri):
                    continue
                self.seen.add(inner.uri)
                record = self.known.get(inner.uri)
                if isinstance(content, SourceError):
                    yield self._failure(inner, record, content)
                elif record is not None and record.version and inner.content_hash == record.source.content_hash:
                    self.touched.append(inner)
                    yield _as_recorded(record)
                else:
                    yield self._member(inner, content, record)
        except SourceError as error:
            return (f"Not all that is inside was read: {error}",)
        return ()

    def _member(self, source: Source, data: bytes, record: SourceRecord | None) -> SourceReport | Prepared:
        try:
            return prepare(source, read(source, data), self.build)
        except SourceError as error:
            return self._failure(source, record, error)

    def _is_excluded(self, uri: str) -> bool:
        """Tell whether the selection's patterns leave out something inside an archive."""
        if self.excluded is None:
            return False
        return self.excluded.match(path_of(uri).relative_to(self.root).as_posix(), False)

    def _inside(self, record: SourceRecord) -> Iterator[SourceRecord]:
        """List what the library holds from inside an archive or mail; it is seen."""
        if record.source.media_type in CONTAINERS:
            for inner in list(self.build.store.sources(record.source.uri + "/")):
                self.seen.add(inner.source.uri)
                yield inner

    def _failed(self, source: Source, record: SourceRecord | None, error: SourceError) -> Iterator[SourceReport]:
        """Record that a file cannot be read now, nor what was inside it."""
        yield self._failure(source, record, error)
        for inner in self._inside(record) if record else ():
            yield self._failure(inner.source, inner, error)

    def _failure(self, source: Source, record: SourceRecord | None, error: SourceError) -> SourceReport:
        status: Status = "unsupported" if isinstance(error, SourceUnsupported) else "failed"
        self.build.store.put_failure(source, status, str(error), error.fix)
        version = record.version if record and record.version else None
        return SourceReport(source.uri, status, version, reason=str(error), fix=error.fix)


def _settled(found: Found, record: SourceRecord) -> bool:
    """Tell whether the file is surely the one that was recorded, without reading it.

    What could be read as bytes but not as a document will not become readable by itself: only a change counts, or else
    one hostile file would cost each search the seconds until its reader is stopped.
    """
    was_looked_at = record.status != "failed" or (not record.version and bool(record.source.content_hash))
    return (
        was_looked_at
        and record.source.size == found.size
        and record.source.modified_ns == found.modified_ns
        and record.checked_ns - found.modified_ns > _RACY_NS
    )


def _as_recorded(record: SourceRecord) -> SourceReport:
    """Report a source that is as it was."""
    status: Status = "unchanged"
    if not record.version and record.status in ("unsupported", "failed"):
        status = "failed" if record.status == "failed" else "unsupported"
    return SourceReport(
        record.source.uri,
        status,
        record.version or None,
        record.passages,
        reason=record.reason,
        fix=record.fix,
    )


def _gone(
    unseen: Iterable[SourceRecord], known: Mapping[str, SourceRecord], seen: set[str], store: Store
) -> Iterator[SourceReport]:
    """Remove what the crawl did not meet and is not there any more; what cannot be looked at is stale."""
    for record in unseen:
        uri = record.source.uri
        holder = _holder(uri, known)
        try:
            is_gone = holder in seen or not _exists(path_of(holder or uri), strict=True)
        except OSError as error:
            reason, fix = f"It cannot be looked at now: {error.strerror}.", "Check the permissions of its folder."
            store.put_failure(record.source, "failed", reason, fix)
            yield SourceReport(uri, "failed", record.version or None, record.passages, reason=reason, fix=fix)
            continue
        if is_gone:
            store.remove(uri)
            yield SourceReport(uri, "removed", record.version or None)


def _holder(uri: str, known: Mapping[str, SourceRecord]) -> str:
    """Name the outermost file, an archive or a mail, that a source is inside of; "" if it is a file itself."""
    found = ""
    while uri := uri.rpartition("/")[0]:
        record = known.get(uri)
        if record is not None and record.source.media_type in CONTAINERS:
            found = uri
    return found


def _on_disk(selection: Selection, store: Store) -> Selection:
    """Look at the whole archive where a path inside it, from which the library holds something, is selected."""
    path = selection.path
    if _exists(path) or not any(_below(path, store)):
        return selection
    file = next((above for above in path.parents if _exists(above)), path)
    return selection if file.is_dir() else replace(selection, path=file)


def _below(path: Path, store: Store) -> Iterator[SourceRecord]:
    """List what the library holds from a file or folder."""
    uri = uri_of(path)
    for record in store.sources(uri):
        if record.source.uri == uri or record.source.uri.startswith(uri.rstrip("/") + "/"):
            yield record


def _exists(path: Path, *, strict: bool = False) -> bool:
    """Tell whether something is there; what cannot be looked at is not known to be gone, or an OSError if strict."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        if strict:
            raise
    return True
