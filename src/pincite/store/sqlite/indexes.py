"""The derived indexes of one library, made when first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pincite.store.derived.truth import Truth
from pincite.types import Candidate, Check

Analyze = Callable[[str, str], list[str]]


class Derived(Protocol):
    """What every derived index can do."""

    def save(self) -> None:
        """Write the files, caught up."""

    def check(self) -> Check:
        """Compare with the truth."""

    def rebuild(self) -> None:
        """Make anew from the truth."""

    def close(self) -> None:
        """Let go of everything."""


class VectorSearch(Derived, Protocol):
    """An index of one vector space."""

    def search(self, vector: NDArray[np.float32], limit: int, allow: NDArray[np.int64] | None) -> list[Candidate]:
        """Give the best of the allowed passages."""
        ...


class KeywordSearch(Derived, Protocol):
    """An index of analysed words."""

    def search(self, terms: Sequence[str], limit: int, documents: NDArray[np.int64] | None) -> list[Candidate]:
        """Give the best passages of the allowed documents."""
        ...


def _default_vectors(folder: Path, truth: Truth, fingerprint: str, dimension: int, readonly: bool) -> VectorSearch:
    from pincite.store.derived.vectors import VectorIndex

    return VectorIndex(folder, truth, fingerprint=fingerprint, dimension=dimension, readonly=readonly)


def _default_keywords(folder: Path, truth: Truth, analyze: Analyze, analyzer: str) -> KeywordSearch:
    from pincite.store.derived.keywords import KeywordIndex

    return KeywordIndex(folder, truth, analyze=analyze, analyzer=analyzer)


@dataclass(frozen=True, slots=True)
class Makers:
    """How the indexes are made; tests put others in."""

    vectors: Callable[[Path, Truth, str, int, bool], VectorSearch] = _default_vectors
    keywords: Callable[[Path, Truth, Analyze, str], KeywordSearch] = _default_keywords


class Indexes:
    """Makes each index once."""

    def __init__(
        self, folder: Path, truth: Truth, analyze: Analyze, analyzer: str, makers: Makers, *, readonly: bool
    ) -> None:
        """Make nothing yet."""
        self._folder, self._truth, self._makers, self._readonly = folder, truth, makers, readonly
        self._analyze, self._analyzer = analyze, analyzer
        self._vectors: dict[str, VectorSearch] = {}
        self._keywords: KeywordSearch | None = None
        self._lock = Lock()

    def vectors(self, fingerprint: str, dimension: int) -> VectorSearch:
        """Give the index of a space."""
        with self._lock:
            if fingerprint not in self._vectors:
                make = self._makers.vectors
                self._vectors[fingerprint] = make(self._folder, self._truth, fingerprint, dimension, self._readonly)
            return self._vectors[fingerprint]

    def keywords(self) -> KeywordSearch:
        """Give the keyword index."""
        with self._lock:
            if self._keywords is None:
                self._keywords = self._makers.keywords(self._folder, self._truth, self._analyze, self._analyzer)
            return self._keywords

    def opened(self) -> Iterator[Derived]:
        """Give those that were made, the keyword index first."""
        with self._lock:
            made: list[Derived] = [] if self._keywords is None else [self._keywords]
            made += self._vectors.values()
        yield from made

    def close(self) -> None:
        """Close those that were made."""
        for index in self.opened():
            index.close()
        self._vectors, self._keywords = {}, None
