"""A store as one reader or writer may use it: what the grants do not show is not there, whichever method is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray

from pincite.errors import AccessDenied
from pincite.reports import Check
from pincite.store.filters import Filter
from pincite.store.protocol import Changes, Grants, Receipt, SourceRecord, Stats, Store, VersionRecord
from pincite.types import Candidate, Document, Passage, Source, Span

_OPEN_NOTES = frozenset({"readers"})  # notes that say nothing of any document: of how readers were improved


class AllowedStore:
    """Implements ``store.protocol.Store`` over another store; every method is written out, so that none is forgotten.

    A method that cannot be restricted raises AccessDenied. Arguments and results are those of the protocol.
    """

    def __init__(self, store: Store, grants: Grants, *, writes: bool) -> None:
        """Restrict a store.

        Args:
            store: the whole.
            grants: None shows everything.
            writes: whether documents may be put and removed, those that the grants show.
        """
        self._store, self._grants, self._writes = store, grants, writes

    # --- writing

    def put_document(
        self,
        document: Document,
        spans: Sequence[Span],
        vectors: Mapping[str, NDArray[np.float32]],
        fingerprint: str,
        warnings: str = "",
        *,
        grants: Grants = None,
    ) -> Receipt:
        """Replace a document that is shown, or add one; ``grants`` counts for nothing here, nor below."""
        self._check_writes()
        return self._store.put_document(document, spans, vectors, fingerprint, warnings, grants=self._grants)

    def together(self) -> AbstractContextManager[None]:
        """Let writes share one commit."""
        self._check_writes()
        return self._store.together()

    def put_failure(self, source: Source, status: str, reason: str, fix: str, *, grants: Grants = None) -> int:
        """Record that a source that is shown, or new, cannot be read now."""
        self._check_writes()
        return self._store.put_failure(source, status, reason, fix, grants=self._grants)

    def touch(self, source: Source, *, grants: Grants = None) -> None:
        """Record new size and time of a source that is shown."""
        self._check_writes()
        self._store.touch(source, grants=self._grants)

    def remove(self, uri: str, *, grants: Grants = None) -> bool:
        """Remove a source that is shown; False for any other."""
        self._check_writes()
        return self._store.remove(uri, grants=self._grants)

    def put_labels(self, uri: str, labelled: Collection[str], *, grants: Grants = None) -> int:
        """Give a place where nothing is yet some of the grants as labels."""
        self._check_writes()
        return self._store.put_labels(uri, labelled, grants=self._grants)

    def labelled(self) -> list[tuple[str, tuple[str, ...]]]:
        """Refuse: the places tell what there is."""
        raise _refused()

    def put_vectors(
        self, vectors: Mapping[str, NDArray[np.float32]], fingerprint: str, *, grants: Grants = None
    ) -> int:
        """Store vectors of passages that are shown."""
        self._check_writes()
        return self._store.put_vectors(vectors, fingerprint, grants=self._grants)

    def collect_garbage(self) -> int:
        """Drop vectors that no passage uses; how many is not told, for other documents left some of them."""
        self._check_writes()
        self._store.collect_garbage()
        return 0

    def note(self, name: str, value: str | None = None) -> str:
        """Keep or give a note that says nothing of documents; any other is empty, and cannot be written."""
        if value is not None:
            self._check_writes()
        if name in _OPEN_NOTES or (value is None and self._grants is None):
            return self._store.note(name, value)
        if value is not None:
            raise _refused()
        return ""

    # --- reading

    def source(self, name: str, *, grants: Grants = None) -> SourceRecord | None:
        """Look up a source that is shown."""
        return self._store.source(name, grants=self._grants)

    def sources(self, prefix: str = "", *, grants: Grants = None) -> Iterator[SourceRecord]:
        """List the sources that are shown."""
        return self._store.sources(prefix, grants=self._grants)

    def failed(self, *, grants: Grants = None) -> list[SourceRecord]:
        """List those of the failed sources that are shown."""
        return self._store.failed(grants=self._grants)

    def document(self, uri: str, version: int | None = None, *, grants: Grants = None) -> Document:
        """Give any version of a document that is shown now."""
        return self._store.document(uri, version, grants=self._grants)

    def versions(self, uri: str, *, grants: Grants = None) -> list[VersionRecord]:
        """List the versions of a document that is shown."""
        return self._store.versions(uri, grants=self._grants)

    def passages(self, keys: Sequence[int], *, grants: Grants = None) -> dict[int, Passage]:
        """Give those of the passages that are shown."""
        return self._store.passages(keys, grants=self._grants)

    def owners(self, keys: Sequence[int], *, grants: Grants = None) -> dict[int, int]:
        """Give the documents of those of the passages that are shown."""
        return self._store.owners(keys, grants=self._grants)

    def passages_of(self, uri: str, *, grants: Grants = None) -> list[Passage]:
        """Give the passages of a document that is shown."""
        return self._store.passages_of(uri, grants=self._grants)

    def known_hashes(self, hashes: Sequence[str], fingerprint: str, *, grants: Grants = None) -> set[str]:
        """Tell which hashes have a vector and a passage that is shown."""
        return self._store.known_hashes(hashes, fingerprint, grants=self._grants)

    def unembedded(self, fingerprint: str, limit: int, *, grants: Grants = None) -> list[tuple[str, str]]:
        """Give the texts of passages that are shown and lack a vector."""
        return self._store.unembedded(fingerprint, limit, grants=self._grants)

    def vector_candidates(
        self,
        vector: NDArray[np.float32],
        limit: int,
        fingerprint: str,
        where: Filter | None = None,
        *,
        grants: Grants = None,
    ) -> list[Candidate]:
        """Give the nearest of the passages that are shown."""
        return self._store.vector_candidates(vector, limit, fingerprint, where, grants=self._grants)

    def keyword_candidates(
        self, terms: Sequence[str], limit: int, where: Filter | None = None, *, grants: Grants = None
    ) -> list[Candidate]:
        """Give the best of the passages that are shown, scored as if there were no others."""
        return self._store.keyword_candidates(terms, limit, where, grants=self._grants)

    def changes(self, since: int) -> Changes:
        """Refuse, unless everything is shown: of what went nobody knows any more who saw it."""
        if self._grants is not None:
            raise _refused()
        return self._store.changes(since)

    def stats(self, *, grants: Grants = None) -> Stats:
        """Count what is shown; the sequence, which would tell of other changes, is 0."""
        found = self._store.stats(grants=self._grants)
        if self._grants is None:
            return found
        return Stats(0, found.documents, found.passages, found.languages, found.spaces)

    # --- care

    def verify(self) -> list[Check]:
        """Refuse: the findings name documents."""
        raise _refused()

    def rebuild(self) -> None:
        """Refuse: it is the owner's to do."""
        raise _refused()

    def flush(self) -> None:
        """Save the derived indexes."""
        self._check_writes()
        self._store.flush()

    def close(self) -> None:
        """Leave the store open: it is not this reader's."""

    def _check_writes(self) -> None:
        if not self._writes:
            raise _refused()


def _refused() -> AccessDenied:
    """Make the error for what a role does not allow."""
    return AccessDenied("You may not do this.", fix="Ask for a key whose role allows it.")
