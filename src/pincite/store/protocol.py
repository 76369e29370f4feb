"""What Pincite asks of a store: one source of truth, and candidates from indexes derived from it.

Every write returns a sequence number; a read that starts after a write returned, in any process, sees it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pincite.reports import After, Check, Counts, Listing
from pincite.store.filters import Filter
from pincite.types import Candidate, Document, Passage, Source, Span

Grants = frozenset[str] | None  # what a reader or writer holds; None: no document is hidden


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """What the catalogue knows of one source, readable or not."""

    source: Source
    document_id: str
    version: int  # 0: never readable so far
    passages: int
    title: str
    language: str
    status: str  # indexed, partly, failed, unsupported
    reason: str
    fix: str
    added_ns: int  # when this version was committed
    checked_ns: int = 0  # when the bytes on disk were last seen to be this version
    labels: tuple[str, ...] = ()  # ascending; those that the reader holds


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """What the catalogue knows of one version of a document."""

    version: int
    title: str
    content_hash: str
    size: int  # bytes
    added_ns: int  # when it was committed


@dataclass(frozen=True, slots=True)
class Receipt:
    """What one committed write did."""

    sequence: int
    version: int
    passages: int  # in the document now
    added: int  # of these, new rows; the others kept their key


@dataclass(frozen=True, slots=True)
class Changes:
    """Passage keys that came or went after a sequence number; a key never comes back once it went."""

    sequence: int  # where the list ends
    added: NDArray[np.int64]  # ascending
    removed: NDArray[np.int64]  # ascending


@dataclass(frozen=True, slots=True)
class Stats:
    """The size of a library."""

    sequence: int
    documents: int
    passages: int
    languages: tuple[str, ...]  # of its documents, most frequent first
    spaces: Mapping[str, int]  # fingerprint -> stored vectors; for grants: passages that are shown and have one


class Store(Protocol):
    """A library's data, as its owner may use it, or as ``restricted``. May be called from several threads."""

    def restricted(self, grants: Grants, *, writes: bool) -> Store:
        """Give the same data as a reader or writer may use it; to close it closes nothing.

        Grants show the documents without labels and those with a label among them. Reads give what they would give if
        the store held no other documents: hits, order, scores and counts. Writes raise AccessDenied for a document that
        is not shown; a new one carries the grants where its place has no labels. What cannot be restricted raises
        AccessDenied, too.

        Args:
            grants: None shows everything.
            writes: whether documents may be put and removed, those that the grants show.

        Returns:
            A store that shares everything with this one.
        """
        ...

    def put_document(
        self,
        document: Document,
        spans: Sequence[Span],
        vectors: Mapping[str, NDArray[np.float32]],
        fingerprint: str,
        warnings: str = "",
    ) -> Receipt:
        """Replace a document, its passages and their new vectors in one transaction.

        Args:
            document: its ``version`` is ignored; the store gives the next one.
            spans: in order of start.
            vectors: by ``embedding_hash`` of the searched text; those already stored need not be there.
            fingerprint: the space of the vectors.
            warnings: what could not be read; not empty makes the source's status "partly".

        Returns:
            The sequence of the change, the version, which stays when content hash and text are what is stored, and how
            many passages are new.

        Raises:
            ValueError: spans that are not spans of the text, or vectors that do not fit their space.
            AccessDenied: the writer does not see what is there, or may not write there.
            LibraryError: nothing was changed.
        """
        ...

    def together(self) -> AbstractContextManager[None]:
        """Let the writes that this thread makes in the block share one commit; they are acknowledged at its end.

        If the block raises, none of them happened.
        """
        ...

    def put_failure(self, source: Source, status: str, reason: str, fix: str) -> int:
        """Record that a source cannot be read now; a version read earlier stays. Return the sequence."""
        ...

    def touch(self, source: Source) -> None:
        """Record new size and time of a source whose content is what is stored; clear its failure."""
        ...

    def remove(self, uri: str) -> bool:
        """Remove a source and all that came from it. False if it was not there."""
        ...

    def source(self, name: str) -> SourceRecord | None:
        """Look up one source by its URI or its document's id."""
        ...

    def sources(self, prefix: str = "") -> Iterator[SourceRecord]:
        """List sources whose URI starts with the prefix, by URI."""
        ...

    def failed(self) -> list[SourceRecord]:
        """List sources whose last look failed, by URI; those with a version are stale."""
        ...

    def listed(self, listing: Listing, after: After | None, limit: int) -> tuple[list[SourceRecord], After | None]:
        """List some sources, from the first one after a place in the list on; give the next place, None at the end.

        What comes or goes meanwhile neither repeats nor hides others.
        """
        ...

    def counts(self) -> Counts:
        """Count the sources by what a list can be narrowed to."""
        ...

    def put_labels(self, uri: str, labelled: Collection[str]) -> int:
        """Give a document, or all that is and will be below a place, its labels; none takes them away.

        Of several places that a document is at or below, the nearest that has labels counts: the one with the longest
        URI. Existing documents change in the same transaction.

        Args:
            uri: the place, without a final slash. Nothing need be there yet.
            labelled: the labels; with grants some of these, and only where nothing is yet.

        Returns:
            How many documents are there now.

        Raises:
            AccessDenied: the grants do not allow it.
        """
        ...

    def labelled(self) -> list[tuple[str, tuple[str, ...]]]:
        """List the places that labels were given to, with these, by URI."""
        ...

    def note(self, name: str, value: str | None = None) -> str:
        """Keep a small text under a name, if one is given, and give what is kept; "" when there is none.

        Who is restricted gets "" for a note that may tell of documents, and AccessDenied for writing it.
        """
        ...

    def document(self, uri: str, version: int | None = None) -> Document:
        """Give one version of a document.

        Args:
            uri: which document.
            version: which version; None takes the newest.

        Returns:
            The document.

        Raises:
            NotInLibrary: no such document or version.
        """
        ...

    def versions(self, uri: str) -> list[VersionRecord]:
        """List the versions of a document, oldest first; [] when there is none."""
        ...

    def passages(self, keys: Sequence[int]) -> dict[int, Passage]:
        """Give current passages; keys that are gone are absent."""
        ...

    def owners(self, keys: Sequence[int]) -> dict[int, int]:
        """Give the key of the document of each current passage; keys that are gone are absent."""
        ...

    def passages_of(self, uri: str) -> list[Passage]:
        """Give a document's current passages in order of start."""
        ...

    def known_hashes(self, hashes: Sequence[str], fingerprint: str) -> set[str]:
        """Tell which embedding hashes have a vector in this space."""
        ...

    def unembedded(self, fingerprint: str, limit: int) -> list[tuple[str, str]]:
        """Give (embedding hash, searched text) of passages that lack a vector in this space."""
        ...

    def put_vectors(self, vectors: Mapping[str, NDArray[np.float32]], fingerprint: str) -> int:
        """Store vectors of passages that are there already. Return the sequence."""
        ...

    def vector_candidates(
        self,
        vector: NDArray[np.float32],
        limit: int,
        fingerprint: str,
        where: Filter | None = None,
    ) -> list[Candidate]:
        """Give the passages nearest to a unit vector of shape (dimension,), by exact cosine, best first."""
        ...

    def keyword_candidates(self, terms: Sequence[str], limit: int, where: Filter | None = None) -> list[Candidate]:
        """Give the passages with the highest BM25 score for analysed terms, best first; a repeated term counts more."""
        ...

    def changes(self, since: int) -> Changes:
        """Give what happened after a sequence number; not to who is restricted: nobody knows who saw what went."""
        ...

    def stats(self) -> Stats:
        """Count; the sequence is 0 for grants, as it would tell of other changes."""
        ...

    def collect_garbage(self) -> int:
        """Drop vectors that no passage uses. Return how many; 0 to who is restricted, for others left some of them."""
        ...

    def verify(self) -> list[Check]:
        """Check the truth and each derived index against it."""
        ...

    def rebuild(self) -> None:
        """Make the derived indexes anew from the truth."""
        ...

    def claimed(self, job: str) -> AbstractContextManager[bool]:
        """Hold a job that is done by one process at a time; gives False when it is another's. Its end frees it."""
        ...

    def flush(self) -> None:
        """Save the derived indexes, so that the next process opens them without catching up."""
        ...

    def close(self) -> None:
        """Release files and locks. Calling it twice is harmless."""
        ...
