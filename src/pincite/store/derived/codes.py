"""Search over 4-bit codes: turbovec behind a seam of add, remove and search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.store.derived.exact import Keys, Vectors, among, finite, without

BITS = 4
MOST = 0.8  # share of the rows from which on an allow-list is applied to what is found without it: bench/speed/access
SPARE = 1.5  # more rows than needed are then taken, so that enough of them are allowed


def usable(dimension: int) -> bool:
    """Tell whether turbovec is installed and takes vectors of this dimension."""
    try:
        import turbovec  # noqa: F401
    except ImportError:
        return False
    return dimension % 8 == 0


class CodeIndex:
    """Codes of unit vectors, ``dimension / 2`` bytes a row; no float vector stays in memory.

    Writers must be serialised by the caller; readers may run beside one writer, and get ``KeyError`` when an allowed
    key is removed under them.
    """

    name = f"turbovec-{BITS}bit"

    def __init__(self, dimension: int) -> None:
        """Hold nothing; the dimension is a multiple of 8."""
        import turbovec

        self._index: Any = turbovec.IdMapIndex(dimension, BITS)
        self._keys: Keys = np.empty(0, np.int64)

    @property
    def keys(self) -> Keys:
        """The keys that are held, ascending."""
        return self._keys

    def add(self, keys: Keys, vectors: Vectors) -> None:
        """Add rows: keys (n,) and vectors (n, dimension); held keys are passed over."""
        # Asks turbovec, not _keys: an interrupted call may have left rows there that _keys does not know.
        new = np.fromiter((not self._index.contains(key) for key in keys.tolist()), np.bool_, len(keys))
        if new.any():
            rows = np.ascontiguousarray(finite(vectors[new]), dtype=np.float32)
            self._index.add_with_ids(rows, keys[new].astype(np.uint64), chunk_size=0)
        later = len(self._keys) == 0 or (len(keys) > 0 and keys.min() > self._keys[-1])
        self._keys = np.concatenate([self._keys, np.sort(keys)]) if later else np.union1d(self._keys, keys)

    def remove(self, keys: Keys) -> None:
        """Remove rows; keys that are not held are passed over."""
        self._keys = self._keys[without(self._keys, keys)]
        for key in keys.tolist():
            self._index.remove(key)

    def search(self, vector: Vectors, limit: int, allow: Keys | None = None) -> tuple[Keys, NDArray[np.float32]]:
        """Find the rows whose codes are nearest.

        Args:
            vector: shape (dimension,).
            limit: how many to give, at least 1.
            allow: keys that are held, ascending, at least one. None: all.

        Returns:
            Keys and approximate scores, both of shape (at most ``limit``,), best first; ties in any order.

        Raises:
            KeyError: an allowed key is not held, perhaps since it was removed at the same time.
        """
        query = np.ascontiguousarray(vector, dtype=np.float32).reshape(1, -1)
        if allow is None:
            return _row(self._index.search(query, limit))
        if len(allow) >= MOST * len(self._keys):  # to look up so many would take longer than the search
            keys, scores = _row(self._index.search(query, int(SPARE * limit * len(self._keys) / len(allow))))
            inside = among(allow, keys)
            if inside.sum() >= limit:
                return keys[inside][:limit], scores[inside][:limit]
        return _row(self._index.search(query, limit, allowlist=allow.astype(np.uint64)))

    def dump(self, path: Path) -> None:
        """Write turbovec's own format: by itself, since as bytes it would take the memory of a second index."""
        self._index.write(str(path), durable=False)

    @classmethod
    def from_bytes(cls, keys: bytes, codes: bytes) -> CodeIndex:
        """Undo ``dump``; ValueError when the bytes fit no index."""
        import turbovec

        index = cls.__new__(cls)
        index._index = turbovec.IdMapIndex.from_bytes(codes)
        index._keys = np.frombuffer(keys, "<i8").astype(np.int64)
        if len(index._index) != len(index._keys):
            raise ValueError("keys and codes do not belong together")
        return index


def _row(found: tuple[NDArray[np.float32], NDArray[np.uint64]]) -> tuple[Keys, NDArray[np.float32]]:
    """Take the one query's keys and scores."""
    scores, keys = found
    return keys[0].astype(np.int64), scores[0]
