"""The embedded store: the SQLite catalogue, and candidates from the indexes derived from it."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from apsw import Connection
from numpy.typing import NDArray

from pincite.errors import AccessDenied, LibraryBusy
from pincite.reports import After, Check, Counts, Listing
from pincite.store.derived.stamp import locked
from pincite.store.filters import Filter
from pincite.store.protocol import Changes, Grants, Receipt, SourceRecord, Stats, VersionRecord
from pincite.store.sqlite import labels, lists, reads, writes
from pincite.store.sqlite import vectors as stored_vectors
from pincite.store.sqlite.database import Database, NameOf, last_part, open_database
from pincite.store.sqlite.explain import cannot_use
from pincite.store.sqlite.indexes import Analyze, Indexes
from pincite.store.sqlite.schema import pack, unpack
from pincite.store.sqlite.truth import SqliteTruth
from pincite.store.sqlite.verify import verify
from pincite.store.sqlite.where import compile_filter
from pincite.types import Candidate, Document, Passage, Source, Span

_PAGE = 1000  # sources read at once
_ALLOWED = 16  # filters whose keys are remembered
_OPEN_NOTES = frozenset({"readers"})  # notes that say nothing of any document: of how readers were improved
_RACY_NS = 2_000_000_000  # a file looked at sooner after its last change may change within one tick of its clock


def open_store(
    folder: Path, *, analyze: Analyze, analyzer: str, readonly: bool = False, name_of: NameOf = last_part
) -> SqliteStore:
    """Open a library, or make it with all its parent folders.

    Args:
        folder: the library.
        analyze: (text, language) -> terms, for the keyword index.
        analyzer: fingerprint of ``analyze``; when it changes, the keyword index is made anew.
        readonly: make and write nothing. Where nothing can be written, this comes by itself.
        name_of: what people call a source, by its URI; lists are ordered by it.

    Returns:
        The store, to be closed.

    Raises:
        PathMissing: not there, and only reading was asked for.
        LibraryError: newer, damaged, no library, cannot be made.
    """
    database = open_database(folder, readonly=readonly, name_of=name_of)
    return SqliteStore(database, analyze, analyzer)


class SqliteStore:
    """Implements ``store.protocol.Store``: what the methods give, and raise, stands there."""

    def __init__(self, database: Database, analyze: Analyze, analyzer: str) -> None:
        """Wire the parts."""
        self._database = database
        self.readonly = database.readonly
        self.truth = SqliteTruth(database)
        self._indexes = Indexes(database.folder, self.truth, analyze, analyzer, readonly=self.readonly)
        self._allowed: OrderedDict[tuple[object, ...], tuple[int, NDArray[np.int64]]] = OrderedDict()
        self._stats: OrderedDict[Grants, Stats] = OrderedDict()
        self._lock = Lock()
        self._grants: Grants = None
        self._is_owner = self._writes = True

    def restricted(self, grants: Grants, *, writes: bool) -> SqliteStore:
        """Give the same data as a reader or writer may use it; indexes and caches are shared."""
        view = copy.copy(self)
        view._grants, view._writes, view._is_owner = grants, writes, False
        return view

    def _check(self, is_allowed: bool) -> None:
        """Raise AccessDenied, which says nothing of what there is."""
        if not is_allowed:
            raise AccessDenied

    # --- writing

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        """Lend a connection whose changes are all on disk when the block is left; none if it raises."""
        self._check(self._writes)
        with self._database.write() as connection:
            yield connection

    def put_document(
        self,
        document: Document,
        spans: Sequence[Span],
        vectors: Mapping[str, NDArray[np.float32]],
        fingerprint: str,
        warnings: str = "",
    ) -> Receipt:
        """Replace a document, its passages and their new vectors in one transaction."""
        with self._write() as connection:
            return writes.put_document(connection, document, spans, vectors, fingerprint, warnings, self._grants)

    def together(self) -> AbstractContextManager[None]:
        """Let writes share one commit. This thread's reads see them; searches and everyone else not yet."""
        self._check(self._writes)
        return self._database.together()

    def put_failure(self, source: Source, status: str, reason: str, fix: str) -> int:
        """Record that a source cannot be read now. The same failure again writes nothing."""
        self._check(self._writes)
        with self._database.read() as connection:
            record = reads.source(connection, source.uri, self._grants)
            if record is not None and _says(record, source, status, reason, fix):
                return reads.sequence(connection)
        with self._write() as connection:
            return writes.put_failure(connection, source, status, reason, fix, self._grants)

    def touch(self, source: Source) -> None:
        """Record new size and time of a source whose content is what is stored; clear its failure."""
        with self._write() as connection:
            writes.touch(connection, source, self._grants)

    def remove(self, uri: str) -> bool:
        """Remove a source and all that came from it, earlier versions too. False if it was not there."""
        self._check(self._writes)
        if self.source(uri) is None:
            return False
        with self._write() as connection:
            return writes.remove(connection, uri, self._grants)

    def put_labels(self, uri: str, labelled: Collection[str]) -> int:
        """Give a place its labels. Return how many documents are there now."""
        with self._write() as connection:
            writes.bump(connection)
            return labels.put_rule(connection, uri, labelled, self._grants)

    def labelled(self) -> list[tuple[str, tuple[str, ...]]]:
        """List the places that labels were given to, with these, by URI; to the owner, for they tell what there is."""
        self._check(self._is_owner)
        with self._database.read() as connection:
            return labels.rules(connection)

    def put_vectors(self, vectors: Mapping[str, NDArray[np.float32]], fingerprint: str) -> int:
        """Store vectors of passages that are there already, and shown; others are left out. Return the sequence."""
        with self._write() as connection:
            if self._grants is not None:
                shown = stored_vectors.known_hashes(connection, vectors, None, self._grants)
                vectors = {name: vector for name, vector in vectors.items() if name in shown}
            sequence = writes.bump(connection)
            stored_vectors.put_vectors(connection, vectors, fingerprint, sequence)
            return sequence

    def note(self, name: str, value: str | None = None) -> str:
        """Keep a small text under a name, if one is given, and give what is kept."""
        is_open = self._is_owner or name in _OPEN_NOTES
        if value is not None:
            self._check(is_open)
            with self._write() as connection:
                writes.note(connection, name, value)
        elif not is_open and self._grants is not None:
            return ""
        with self._database.read() as connection:
            return reads.note(connection, name)

    def collect_garbage(self) -> int:
        """Drop vectors that no passage uses. Writes nothing when no passage went since."""
        self._check(self._writes)
        with self._database.read() as connection:
            if connection.execute("SELECT 1 FROM orphans LIMIT 1").get is None:
                return 0
        with self._write() as connection:
            dropped = stored_vectors.collect_garbage(connection)
        self._database.forget()
        return dropped if self._is_owner else 0

    # --- reading

    def source(self, name: str) -> SourceRecord | None:
        """Look up one source by its URI or its document's id."""
        with self._database.read() as connection:
            return reads.source(connection, name, self._grants)

    def sources(self, prefix: str = "") -> Iterator[SourceRecord]:
        """List sources whose URI starts with the prefix, by URI; the library may be written meanwhile."""
        after = b""
        while True:
            with self._database.read() as connection:
                page = reads.sources(connection, pack(prefix), after, _PAGE, self._grants)
            yield from page
            if len(page) < _PAGE:
                return
            after = pack(page[-1].source.uri)

    def failed(self) -> list[SourceRecord]:
        """List sources whose last look failed, and those that became unsupported, by URI."""
        with self._database.read() as connection:
            return reads.failed(connection, self._grants)

    def listed(self, listing: Listing, after: After | None, limit: int) -> tuple[list[SourceRecord], After | None]:
        """List some sources, from the first one after a place in the list on; give the next place, None at the end."""
        with self._database.read() as connection:
            return lists.listed(connection, listing, after, limit, self._grants)

    def counts(self) -> Counts:
        """Count the sources by what a list can be narrowed to."""
        with self._database.read() as connection:
            return lists.counts(connection, self._grants)

    def document(self, uri: str, version: int | None = None) -> Document:
        """Give one version of a document, the newest by default; NotInLibrary if there is none."""
        with self._database.read() as connection:
            return reads.document(connection, uri, version, self._grants)

    def versions(self, uri: str) -> list[VersionRecord]:
        """List the versions of a document, oldest first; [] when there is none."""
        with self._database.read() as connection:
            return reads.versions(connection, uri, self._grants)

    def passages(self, keys: Sequence[int]) -> dict[int, Passage]:
        """Give current passages; keys that are gone are absent."""
        with self._database.read() as connection:
            return {passage.key: passage for passage in reads.passages(connection, keys, self._grants)}

    def owners(self, keys: Sequence[int]) -> dict[int, int]:
        """Give the key of the document of each current passage; keys that are gone are absent."""
        with self._database.committed() as connection:
            return reads.owners(connection, keys, self._grants)

    def passages_of(self, uri: str) -> list[Passage]:
        """Give a document's current passages in order of start."""
        with self._database.read() as connection:
            return reads.passages_of(connection, uri, self._grants)

    def known_hashes(self, hashes: Sequence[str], fingerprint: str) -> set[str]:
        """Tell which embedding hashes have a vector in this space."""
        with self._database.read() as connection:
            return stored_vectors.known_hashes(connection, hashes, fingerprint, self._grants)

    def unembedded(self, fingerprint: str, limit: int) -> list[tuple[str, str]]:
        """Give (embedding hash, searched text) of passages that lack a vector; at once when none does."""
        with self._database.read() as connection:
            return reads.unembedded(connection, fingerprint, limit, self._grants)

    def changes(self, since: int) -> Changes:
        """Give what happened after a sequence number."""
        self._check(self._grants is None)
        return self.truth.changes(since)

    def stats(self) -> Stats:
        """Count; from memory while nothing changes."""
        known = self._stats.get(self._grants)
        if known is None or known.sequence != self.truth.sequence():
            with self._database.committed() as connection:
                known = reads.stats(connection, self._grants)
            with self._lock:
                _keep(self._stats, self._grants, known)
        return known if self._grants is None else replace(known, sequence=0)

    # --- searching

    def vector_candidates(
        self,
        vector: NDArray[np.float32],
        limit: int,
        fingerprint: str,
        where: Filter | None = None,
    ) -> list[Candidate]:
        """Give the passages nearest to a unit vector of shape (dimension,), by exact cosine, best first.

        Passages without a vector in this space are not found: ``unembedded`` tells whether there are any.
        FilterError if the filter is malformed, SpaceMismatch if the vector is not of the space's dimension.
        """
        allow = None if where is None and self._grants is None else self._keys(where, "passages")
        with self._database.committed() as connection:
            space, dimension, _ = stored_vectors.space_of(connection, fingerprint)
        if not space or limit < 1 or (allow is not None and not len(allow)):
            return []
        return self._indexes.vectors(fingerprint, dimension).search(vector, limit, allow)  # it scores from the truth

    def keyword_candidates(self, terms: Sequence[str], limit: int, where: Filter | None = None) -> list[Candidate]:
        """Give the passages with the highest BM25 score for analysed terms, best first.

        With grants the statistics, too, are those of what is shown: no score tells what else there is.
        """
        documents = None if where is None and self._grants is None else self._keys(where, "documents")
        if not terms or limit < 1 or (documents is not None and not len(documents)):
            return []
        shown = None if self._grants is None else self._keys(None, "documents")
        found = self._indexes.keywords().search(terms, limit, documents, shown)
        current = self.truth.current(np.array([candidate.key for candidate in found], dtype=np.int64))
        return [candidate for candidate in found if candidate.key in current]

    def _keys(self, where: Filter | None, kind: str) -> NDArray[np.int64]:
        """Give the keys that are shown and pass a filter; from memory while nothing changes."""
        condition, values = ("1", []) if where is None else compile_filter(where)
        name = (kind, self._grants, condition, *values)
        with self._database.committed() as connection:
            sequence = reads.sequence(connection)
            with self._lock:
                known = self._allowed.pop(name, None)
            if known is None or known[0] != sequence:
                known = sequence, reads.allowed(connection, kind, condition, values, self._grants)
        with self._lock:
            _keep(self._allowed, name, known)
        return known[1]

    # --- care

    def verify(self) -> list[Check]:
        """Check the truth and each derived index against it; for the owner, as the findings name documents."""
        self._check(self._is_owner)
        with self._database.committed() as connection:
            checks = verify(connection)
        if not all(check.ok for check in checks):
            return checks  # an index can be no better than what it is derived from
        self._open_indexes()
        return checks + [index.check() for index in self._indexes.opened()]

    def rebuild(self) -> None:
        """Make the derived indexes anew from the truth; nothing of what was removed is left in any file then."""
        self._check(self._is_owner)
        self._database.forget(everything=True)
        self._open_indexes()
        for index in self._indexes.opened():
            index.rebuild()

    @contextmanager
    def claimed(self, job: str) -> Iterator[bool]:
        """Hold a job that is done by one process at a time; gives False when it is another's."""
        self._check(self._writes)
        with ExitStack() as held:
            is_mine = True
            try:
                held.enter_context(locked(self._database.folder / f"catalog.{job}.lock", 0.0))
            except LibraryBusy:
                is_mine = False
            except OSError as error:
                raise cannot_use(error, self._database.folder) from error
            yield is_mine

    def flush(self) -> None:
        """Save the derived indexes, so that the next process opens them without catching up."""
        self._check(self._writes)
        if self.readonly:
            return
        self._indexes.keywords().save()  # before the vectors are opened, so that their memory does not add up
        self._open_indexes()
        for index in self._indexes.opened()[1:]:
            index.save()

    def _open_indexes(self) -> None:
        """Open the keyword index and that of the space last written, if this process has not yet."""
        with self._database.committed() as connection:
            row = connection.execute(
                "SELECT fingerprint, dimension FROM spaces ORDER BY sequence DESC, key LIMIT 1"
            ).get
        self._indexes.keywords()
        if row is not None:
            self._indexes.vectors(unpack(row[0]), row[1])

    def close(self) -> None:
        """Release files and locks, but those of the owner only by the owner. Calling it twice is harmless."""
        if self._is_owner:
            self._indexes.close()
            self._database.close()


def _keep(cache: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    """Remember a value, and forget the one that has not been asked for the longest if there are too many."""
    cache[key] = value
    cache.move_to_end(key)
    while len(cache) > _ALLOWED:
        cache.popitem(last=False)


def _says(record: SourceRecord, source: Source, status: str, reason: str, fix: str) -> bool:
    """Tell whether the catalogue says this already, and a newer time of looking would not spare the next look."""
    if (record.status, record.reason, record.fix) != (status, reason, fix):
        return False
    if record.version:
        return True
    settled = status == "failed" or record.checked_ns - record.source.modified_ns > _RACY_NS
    return settled and record.source == source
