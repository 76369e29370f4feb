"""What a derived index asks of the truth it is derived from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pincite.store.protocol import Changes


@dataclass(frozen=True, slots=True)
class Searched:
    """One passage as the keyword index sees it."""

    key: int
    document_key: int
    language: str
    text: str  # context and text


class Truth(Protocol):
    """The rows that derived indexes are made from. Reads see the newest committed state."""

    identity: str  # of this library: an index of another one is refused

    def sequence(self) -> int:
        """Give the newest change's number; costs microseconds."""
        ...

    def changes(self, since: int) -> Changes:
        """Passages that came or went after a sequence number."""
        ...

    def vector_changes(self, since: int, fingerprint: str) -> Changes:
        """Like ``changes`` for one vector space: a passage is added when it has its vector."""
        ...

    def vectors(self, keys: NDArray[np.int64], fingerprint: str) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Give those of the keys that are current and have a vector, with the vectors: (n,), (n, dimension)."""
        ...

    def vector_batches(
        self, fingerprint: str, rows: int = 8192
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Give all passages that have a vector in this space, in ascending order of key."""
        ...

    def searched(self, keys: NDArray[np.int64]) -> Iterator[Searched]:
        """Give current passages for the keyword index, in the order of the keys; those that are gone are left out."""
        ...

    def passage_keys(self) -> NDArray[np.int64]:
        """Give the keys of all current passages, ascending."""
        ...
