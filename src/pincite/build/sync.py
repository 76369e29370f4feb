"""Make the library say what the disk says: only what changed is read, only new passages are embedded.

A source is unchanged when its size and modification time are as recorded, and it was looked at well after that time;
otherwise its bytes are hashed. (A file written twice within one tick of the file system's clock has the same time and
may have the same size: git calls such entries racy, and so do we.)
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pincite.acquire.crawl import Found, Skipped, crawl
from pincite.acquire.ignore import Rules, read_rules
from pincite.acquire.members import CONTAINERS, members
from pincite.acquire.read import load, path_of, read, uri_of
from pincite.build.ahead import Pending, read_ahead
from pincite.build.commit import Build, Prepared, commit, prepare
from pincite.build.outdated import newer_readers
from pincite.errors import PathMissing, SourceError, SourceUnsupported
from pincite.reports import SourceReport
from pincite.store.protocol import SourceRecord, Store
from pincite.types import Source, Status

_RACY_NS = 2_000_000_000  # the coarsest file time in use: FAT's two seconds

_Item = SourceReport | Prepared | Pending


@dataclass(frozen=True, slots=True)
class Selection:
    """What of a path belongs to the library: globs as in .gitignore, relative to the path."""

    path: Path
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


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
    selections = [_on_disk(selection, build.store) for selection in selections]
    present = [selection for selection in selections if _exists(selection.path)]
    gone = [selection for selection in selections if selection not in present]
    for selection in gone:
        if not any(_below(selection.path, build.store)):
            raise PathMissing(f"There is no {selection.path}.", fix="Check the path.")
    known = {record.source.uri: record for selection in selections for record in _below(selection.path, build.store)}
    look = _Look(build, known, newer_readers(build.store, build.readers, keep=bool(build.retry)))
    yield from look.committed(_looked_at(present, look))
    yield from _gone([record for uri, record in known.items() if uri not in look.seen], look)
    build.store.collect_garbage()  # only now: a renamed file's vectors outlive its old name


def sync_bytes(source: Source, data: bytes, build: Build) -> Iterator[SourceReport]:
    """Do as ``sync`` does with the bytes of a source that lie nowhere on this disk, such as a page of the web."""
    store = build.store
    record = store.source(source.uri)
    known = {source.uri: record} if record else {}
    if record and record.source.media_type in CONTAINERS:
        known |= {inner.source.uri: inner for inner in store.sources(source.uri + "/")}
    look = _Look(build, known, newer_readers(store, build.readers, keep=True))
    look.seen.add(source.uri)
    yield from look.committed(look.read(source, data))
    for uri in sorted(known.keys() - look.seen):
        store.remove(uri)
        yield SourceReport(uri, "removed", known[uri].version or None)
    store.collect_garbage()


def _looked_at(selections: Sequence[Selection], look: _Look) -> Iterator[_Item]:
    """Look at each file of the selections."""
    build = look.build
    for selection in selections:
        rules = read_rules(selection.exclude)[0] if selection.exclude else None
        here = replace(look, root=selection.path, excluded=rules)
        found = list(crawl([selection.path], include=selection.include, exclude=selection.exclude))
        build.pace.find(item.size for item in found if isinstance(item, Found))
        for item in found:
            build.pace.pass_by(item.size if isinstance(item, Found) else 0)
            build.tell(build.pace)
            if item.uri in look.seen:
                continue
            look.seen.add(item.uri)
            if isinstance(item, Skipped):
                yield _skipped(item, build.store)
            else:
                yield from here.at(item)


def _skipped(item: Skipped, store: Store) -> SourceReport:
    """Report what the crawl passed over; what the library holds of it is stale if it could not be looked at."""
    record = store.source(item.uri)
    if record is not None and item.status == "failed":
        store.put_failure(record.source, "failed", item.reason, item.fix)
    return SourceReport(uri=item.uri, status=item.status, reason=item.reason, fix=item.fix)


@dataclass(frozen=True, slots=True)
class _Look:
    """What looking at files needs, and what it gathers."""

    build: Build
    known: Mapping[str, SourceRecord]
    since: Mapping[str, int]  # when a newer reader of a media type came, nanoseconds since the epoch
    root: Path = Path()  # of the selection
    excluded: Rules | None = None  # by the selection, as the crawl has them, for what is inside archives
    seen: set[str] = field(default_factory=set)  # every URI that was met
    touched: list[Source] = field(default_factory=list)  # what was hashed and had not changed

    def committed(self, items: Iterable[_Item]) -> Iterator[SourceReport]:
        """Commit what was read, and then when the rest was seen to be unchanged."""
        yield from commit(read_ahead(items, self.build), self.build)
        if self.touched:
            with self.build.store.together():
                for source in self.touched:
                    self.build.store.touch(source)

    def at(self, found: Found) -> Iterator[_Item]:
        """Compare a file with its record, and read it, and what is inside, if it may have changed."""
        record = self.known.get(found.uri)
        if record is not None and not self._again(record) and _settled(found, record):
            yield _as_recorded(record)
            yield from map(_as_recorded, self._inside(record))
            return
        try:
            source, data = load(found.path, follow=found.path == self.root)
        except SourceError as error:
            source = record.source if record else Source(found.uri, "", "", found.modified_ns, found.size)
            yield from self._failed(source, record, error)
        else:
            yield from self.read(source, data)

    def _again(self, record: SourceRecord) -> bool:
        """Tell whether something is to be read again, or something inside it, though it has not changed."""
        if not self.build.retry:
            return False
        if record.status in self.build.retry or self._is_outdated(record):
            return True
        if record.source.media_type not in CONTAINERS:
            return False
        states = self.build.retry if "partly" in self.build.retry else ()  # or every add would unpack it again
        inside = self.build.store.sources(record.source.uri + "/")
        return any(inner.status in states or self._is_outdated(inner) for inner in inside)

    def _is_outdated(self, record: SourceRecord) -> bool:
        """Tell whether an older reader read it."""
        return record.checked_ns < self.since.get(record.source.media_type, 0)

    def _is_same(self, source: Source, record: SourceRecord | None) -> bool:
        """Tell whether bytes are those that are recorded, and need not be read again."""
        if record is None or not record.version or source.content_hash != record.source.content_hash:
            return False
        return not (self._is_outdated(record) or (record.status == "partly" and "partly" in self.build.retry))

    def read(self, source: Source, data: bytes) -> Iterator[_Item]:
        """Read bytes that are not as recorded; what is inside comes first, so that the whole is settled last."""
        record = self.known.get(source.uri)
        if record is not None and self._is_same(source, record):
            self.touched.append(source)
            yield _as_recorded(record)
            if source.media_type in CONTAINERS and (record.status == "failed" or self._again(record)):
                yield from self._members(source, data)  # what is inside failed, and can be read again
            else:
                yield from map(_as_recorded, self._inside(record))
            return
        if source.media_type not in CONTAINERS:
            yield Pending(source, data, lambda error: self._failed(source, record, error))
            return
        try:
            reading = read(source, data, about=self.build.about(source.uri), readers=self.build.readers)
            prepared = prepare(source, reading, self.build)
        except SourceError as error:
            yield from self._failed(source, record, error)
            return
        warning = yield from self._members(source, data)
        yield replace(prepared, warnings=(*prepared.warnings, *warning))

    def _members(self, source: Source, data: bytes) -> Generator[_Item, None, tuple[str, ...]]:
        """Read what is inside an archive or mail; give a warning if not all of it could be listed."""
        try:
            for inner, content in members(source, data):
                if inner.uri in self.seen or self._is_excluded(inner.uri):
                    continue
                self.seen.add(inner.uri)
                yield self._member(inner, content)
        except SourceError as error:
            return (f"Not all that is inside was read: {error}",)
        return ()

    def _member(self, source: Source, content: bytes | SourceError) -> _Item:
        record = self.known.get(source.uri)
        if isinstance(content, SourceError):
            return self._failure(source, record, content)
        if record is not None and self._is_same(source, record):
            self.touched.append(source)
            return _as_recorded(record)
        return Pending(source, content, lambda error: iter((self._failure(source, record, error),)))

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


def _gone(unseen: Iterable[SourceRecord], look: _Look) -> Iterator[SourceReport]:
    """Remove what the crawl did not meet and is not there any more; what cannot be looked at is stale."""
    for record in unseen:
        uri = record.source.uri
        holder = _holder(uri, look.known)
        try:
            is_gone = holder in look.seen or not _exists(path_of(holder or uri), strict=True)
        except OSError as error:
            reason, fix = f"It cannot be looked at now: {error.strerror}.", "Check the permissions of its folder."
            look.build.store.put_failure(record.source, "failed", reason, fix)
            yield SourceReport(uri, "failed", record.version or None, record.passages, reason=reason, fix=fix)
            continue
        if is_gone:
            look.build.store.remove(uri)
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
