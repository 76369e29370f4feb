"""The derived indexes of one library, made when first needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from pincite.store.derived.truth import Truth

if TYPE_CHECKING:
    from pincite.store.derived.keywords import KeywordIndex
    from pincite.store.derived.vectors import VectorIndex

Analyze = Callable[[str, str], list[str]]


class Indexes:
    """Makes each index once."""

    def __init__(self, folder: Path, truth: Truth, analyze: Analyze, analyzer: str, *, readonly: bool) -> None:
        """Make nothing yet."""
        self._folder, self._truth, self._readonly = folder, truth, readonly
        self._analyze, self._analyzer = analyze, analyzer
        self._vectors: dict[str, VectorIndex] = {}
        self._keywords: KeywordIndex | None = None
        self._lock = Lock()

    def vectors(self, fingerprint: str, dimension: int) -> VectorIndex:
        """Give the index of a space."""
        from pincite.store.derived.vectors import VectorIndex

        with self._lock:
            if fingerprint not in self._vectors:
                self._vectors[fingerprint] = VectorIndex(
                    self._folder, self._truth, fingerprint=fingerprint, dimension=dimension, readonly=self._readonly
                )
            return self._vectors[fingerprint]

    def keywords(self) -> KeywordIndex:
        """Give the keyword index."""
        from pincite.store.derived.keywords import KeywordIndex

        with self._lock:
            if self._keywords is None:
                self._keywords = KeywordIndex(
                    self._folder,
                    self._truth,
                    analyze=self._analyze,
                    analyzer=self._analyzer,
                    readonly=self._readonly,
                )
            return self._keywords

    def opened(self) -> list[KeywordIndex | VectorIndex]:
        """Give those that were made, the keyword index first."""
        with self._lock:
            made: list[KeywordIndex | VectorIndex] = [] if self._keywords is None else [self._keywords]
            return made + list(self._vectors.values())

    def close(self) -> None:
        """Close those that were made."""
        for index in self.opened():
            index.close()
        self._vectors, self._keywords = {}, None
