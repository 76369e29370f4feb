"""Exact search over float vectors in memory: small libraries, the oracle of the codes, and their stand-in."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pincite.types import Candidate

Keys = NDArray[np.int64]
Vectors = NDArray[np.float32]

# Scores are rounded to this many decimals. BLAS sums in an order that depends on where a row lies, so equal vectors
# get scores that differ in the last bits; rounded, they tie, and the key decides.
DECIMALS = 7
SLACK = 1e-5  # float32 error of a dot product of unit vectors, with room


def dot(vectors: Vectors, vector: Vectors) -> NDArray[np.float64]:
    """Compute dot products of rows (n, dimension) with a vector in float64, rounded: (n,).

    Not by ``@``: BLAS shares even 100 rows among threads, which wait for each other 20 ms where the cores are busy.
    """
    product: NDArray[np.float64] = np.asarray(np.vecdot(vectors.astype(np.float64), vector.astype(np.float64)))
    return np.nan_to_num(np.round(product, DECIMALS), nan=-1.0)


def finite(vectors: Vectors) -> Vectors:
    """Put zeros for rows that hold NaN or infinity: they match nothing, and spoil no other row's rank."""
    good: NDArray[np.bool_] = np.all(np.isfinite(vectors), axis=1)
    return vectors if good.all() else np.where(good.reshape(-1, 1), vectors, np.float32(0))


def best(keys: Keys, scores: NDArray[np.float64], limit: int) -> list[Candidate]:
    """Rank by (-score, key) and keep the first ``limit``."""
    order = np.lexsort((keys, -scores))[:limit]
    return [Candidate(key, score) for key, score in zip(keys[order].tolist(), scores[order].tolist(), strict=True)]


def held(keys: Keys, wanted: Keys) -> Keys:
    """Give those of the wanted keys that are among the (ascending) keys: ascending, without repeats."""
    wanted = _ascending(wanted)
    return wanted[among(keys, wanted)]


def without(keys: Keys, gone: Keys) -> NDArray[np.bool_]:
    """Mark which of the (ascending) keys are not among the gone: (n,)."""
    return ~among(_ascending(gone), keys)


def _ascending(keys: Keys) -> Keys:
    """Sort and drop repeats, unless that is done: np.unique takes ten times as long as looking."""
    return keys if bool(np.all(keys[1:] > keys[:-1])) else np.unique(keys)


def among(keys: Keys, wanted: Keys) -> NDArray[np.bool_]:
    """Mark those of the wanted keys (n,), in any order, that are among the (ascending) keys: (n,)."""
    if len(keys) == 0:
        return np.zeros(len(wanted), dtype=np.bool_)
    if len(wanted) * 4 > len(keys):  # by a table: a third of the time when they are many
        return np.isin(wanted, keys)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found: NDArray[np.bool_] = keys[places] == wanted
    return found


class ExactIndex:
    """Float32 rows, ascending by key. A search works on a snapshot, so writers need no lock against readers."""

    name = "exact"

    def __init__(self, dimension: int) -> None:
        """Hold nothing."""
        self._rows: tuple[Keys, Vectors] = (np.empty(0, np.int64), np.empty((0, dimension), np.float32))

    @property
    def keys(self) -> Keys:
        """The keys that are held, ascending."""
        return self._rows[0]

    @property
    def vectors(self) -> Vectors:
        """The rows, in the order of the keys."""
        return self._rows[1]

    def extend(self, batches: Iterable[tuple[Keys, Vectors]]) -> None:
        """Add rows in batches of keys (n,) and vectors (n, dimension), copying once; held keys are passed over."""
        parts = [self._rows, *batches]
        keys = np.concatenate([part[0] for part in parts])
        keys, first = np.unique(keys, return_index=True)
        vectors = finite(np.concatenate([part[1] for part in parts]))
        in_order = len(first) == len(vectors) and bool(np.all(first[1:] > first[:-1]))
        self._rows = (keys, vectors if in_order else vectors[first])

    def add(self, keys: Keys, vectors: Vectors) -> None:
        """Add rows: keys (n,) and vectors (n, dimension); held keys are passed over."""
        self.extend([(keys, vectors)])

    def remove(self, keys: Keys) -> None:
        """Remove rows; keys that are not held are passed over."""
        stay = without(self.keys, keys)
        if not stay.all():
            self._rows = (self.keys[stay], self.vectors[stay])

    def search(self, vector: Vectors, limit: int, allow: Keys | None = None) -> list[Candidate]:
        """Rank all rows, or the allowed ones.

        Args:
            vector: shape (dimension,).
            limit: how many to give, at least 1.
            allow: keys; others are passed over. None: all.

        Returns:
            At most ``limit`` candidates by (-score, key); exact, ties at the cut included.
        """
        keys, vectors = self._rows
        if allow is not None:
            allow = held(keys, allow)
            vectors = vectors[np.searchsorted(keys, allow)]
            keys = allow
        if len(keys) > limit:
            rough = np.asarray(np.vecdot(vectors, vector))
            cut = np.partition(rough, len(rough) - limit)[len(rough) - limit]
            near = np.flatnonzero(rough >= cut - SLACK)
            keys, vectors = keys[near], vectors[near]
        return best(keys, dot(vectors, vector), limit)

    def dump(self, path: Path) -> None:
        """Write the rows, float32, little endian."""
        path.write_bytes(self.vectors.astype("<f4", copy=False).data)

    @classmethod
    def from_bytes(cls, data: bytes, dimension: int) -> ExactIndex:
        """Undo ``dump``; ValueError when the bytes fit no index."""
        rows, rest = divmod(len(data), 8 + 4 * dimension)
        if rest:
            raise ValueError("the length fits no number of rows")
        index = cls(dimension)
        keys = np.frombuffer(data, "<i8", rows).astype(np.int64)
        vectors = np.frombuffer(data, "<f4", offset=8 * rows).astype(np.float32)
        index._rows = (keys, vectors.reshape(rows, dimension))
        return index
