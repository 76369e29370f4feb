"""Make the library say what the disk says: only what changed is read, only new passages are embedded.

A source is unchanged when its size and modification time are as recorded, and it was looked at well after that time;
otherwise its bytes are hashed. (A file written twice within one tick of the file system's clock has the same time and
may have the same size: git calls such entries racy, and so do we.)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pincite.acquire.crawl import Found, Skipped, crawl
from pincite.acquire.read import document_id, load, path_of, read, uri_of
from pincite.build.chunk import chunk
from pincite.build.embed import embed_missing
from pincite.errors import PathMissing, SourceError, SourceUnsupported
from pincite.models.protocols import Encoder
from pincite.store.hashing import embedding_hash
from pincite.store.protocol import SourceRecord, Store
from pincite.types import Document, Reading, Source, SourceReport, Span, Status, searched_text

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


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that is read and cut, but not yet committed."""

    document: Document
    spans: list[Span]
    warnings: tuple[str, ...]
    texts: dict[str, str]  # searched text by embedding hash


def sync(selections: Sequence[Selection], build: Build) -> Iterator[SourceReport]:
    """Bring the library up to date with some files and folders.

    Yields:
        One report for each source at or below the selections, once it is durably committed: new, changed, unchanged,
        gone, failed, unsupported and skipped ones.

    Raises:
        PathMissing: a selected path does not exist, and the library holds nothing from it either.
        LibraryError: the library cannot be written.
        ModelError: the encoder cannot be used.
    """
    seen: set[str] = set()
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
    yield from _gone((record for uri, record in known.items() if uri not in seen), build.store)
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
        for item in crawl([selection.path], include=selection.include, exclude=selection.exclude):
            if item.uri in seen:
                continue
            seen.add(item.uri)
            if isinstance(item, Skipped):
                yield _skipped(item, build.store)
            else:
                yield _look(item, known.get(item.uri), build, touched)


def _skipped(item: Skipped, store: Store) -> SourceReport:
    """Report what the crawl passed over; what the library holds of it is stale if it could not be looked at."""
    record = store.source(item.uri)
    if record is not None and item.status == "failed":
        store.put_failure(record.source, "failed", item.reason, item.fix)
    return SourceReport(uri=item.uri, status=item.status, reason=item.reason, fix=item.fix)


def _look(found: Found, record: SourceRecord | None, build: Build, touched: list[Source]) -> SourceReport | Prepared:
    """Compare a file with its record, and read it if it may have changed."""
    store = build.store
    if record is not None and _settled(found, record):
        return _as_recorded(record)
    source: Source | None = None
    try:
        source, data = load(found.path)
        if record is not None and record.version and source.content_hash == record.source.content_hash:
            touched.append(source)
            return _as_recorded(record)
        return prepare(source, read(source, data), build)
    except SourceError as error:
        if source is None:
            source = record.source if record else Source(found.uri, "", "", found.modified_ns, found.size)
        status: Status = "unsupported" if isinstance(error, SourceUnsupported) else "failed"
        store.put_failure(source, status, str(error), error.fix)
        version = record.version if record and record.version else None
        return SourceReport(found.uri, status, version, reason=str(error), fix=error.fix)


def _settled(found: Found, record: SourceRecord) -> bool:
    """Tell whether the file is surely the one that was recorded, without reading it."""
    return (
        record.status != "failed"
        and record.source.size == found.size
        and record.source.modified_ns == found.modified_ns
        and record.checked_ns - found.modified_ns > _RACY_NS
    )


def _as_recorded(record: SourceRecord) -> SourceReport:
    """Report a source that is as it was."""
    status: Status = "unsupported" if record.status == "unsupported" else "unchanged"
    return SourceReport(
        record.source.uri,
        status,
        record.version or None,
        record.passages,
        reason=record.reason,
        fix=record.fix,
    )


def _gone(unseen: Iterable[SourceRecord], store: Store) -> Iterator[SourceReport]:
    """Remove what the crawl did not meet and is not there any more; what cannot be looked at is stale."""
    for record in unseen:
        uri = record.source.uri
        try:
            os.lstat(path_of(uri))
        except (FileNotFoundError, NotADirectoryError):
            store.remove(uri)
            yield SourceReport(uri, "removed", record.version or None)
        except OSError as error:
            reason, fix = f"It cannot be looked at now: {error.strerror}.", "Check the permissions of its folder."
            store.put_failure(record.source, "failed", reason, fix)
            yield SourceReport(uri, "failed", record.version or None, record.passages, reason=reason, fix=fix)


def _below(path: Path, store: Store) -> Iterator[SourceRecord]:
    """List what the library holds from a file or folder."""
    uri = uri_of(path)
    for record in store.sources(uri):
        if record.source.uri == uri or record.source.uri.startswith(uri.rstrip("/") + "/"):
            yield record


def _exists(path: Path) -> bool:
    """Tell whether something is there; what cannot be looked at is not known to be gone."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
