"""A truth in plain Python: the model that derived indexes are checked against."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pincite.store.derived.truth import Searched
from pincite.store.protocol import Changes

SPACE = "space"


def atomic(method):
    """Each call sees or makes one committed state, as a transaction does."""

    @functools.wraps(method)
    def locked(self, *args, **kwargs):
        with self._lock:
            return method(self, *args, **kwargs)

    return locked


class FakeTruth:
    """Passages with text and vector in dicts, and a log of what came and went."""

    def __init__(self, dimension: int = 8, identity: str = "library") -> None:
        self.identity = identity
        self.dimension = dimension
        self.passages: dict[int, Searched] = {}
        self.rows: dict[int, NDArray[np.float32]] = {}
        self.log: list[tuple[int, str, int]] = []  # (sequence, "+" or "-", key)
        self.calls: Counter[str] = Counter()
        self._sequence = 0
        self._next = 1
        self._lock = threading.RLock()

    # --- writing

    def put(
        self, text: str, vector: NDArray[np.float32] | None = None, document_key: int = 0, language: str = ""
    ) -> int:
        return self.put_many([text], [vector], document_key, language)[0]

    @atomic
    def put_many(self, texts, vectors, document_key: int = 0, language: str = "") -> list[int]:
        """One change that adds passages."""
        self._sequence += 1
        keys = []
        for text, vector in zip(texts, vectors, strict=True):
            key, self._next = self._next, self._next + 1
            self.passages[key] = Searched(key, document_key, language, text)
            if vector is not None:
                self.rows[key] = np.asarray(vector, np.float32)
            self.log.append((self._sequence, "+", key))
            keys.append(key)
        return keys

    @atomic
    def remove(self, *keys: int) -> None:
        """One change that removes passages."""
        self._sequence += 1
        for key in keys:
            del self.passages[key]
            self.rows.pop(key, None)
            self.log.append((self._sequence, "-", key))

    # --- the protocol

    def sequence(self) -> int:
        return self._sequence

    def changes(self, since: int) -> Changes:
        self.calls["changes"] += 1
        return self._changes(since, self.passages)

    def vector_changes(self, since: int, fingerprint: str) -> Changes:
        return self._changes(since, self.rows if fingerprint == SPACE else {})

    @atomic
    def _changes(self, since: int, current) -> Changes:
        later = [(sign, key) for sequence, sign, key in self.log if sequence > since]
        added = sorted({key for sign, key in later if sign == "+" and key in current})
        removed = sorted({key for sign, key in later if sign == "-"})
        return Changes(self._sequence, np.array(added, np.int64), np.array(removed, np.int64))

    @atomic
    def vectors(self, keys, fingerprint: str):
        there = [key for key in keys.tolist() if fingerprint == SPACE and key in self.rows]
        return np.array(there, np.int64), self._stack(there)

    @atomic
    def vector_batches(self, fingerprint: str, rows: int = 8192):
        self.calls["vector_batches"] += 1
        keys = sorted(self.rows) if fingerprint == SPACE else []
        parts = [keys[start : start + rows] for start in range(0, len(keys), rows)]
        return iter([(np.array(part, np.int64), self._stack(part)) for part in parts])

    def _stack(self, keys):
        if not keys:
            return np.empty((0, self.dimension), np.float32)
        return np.stack([self.rows[key] for key in keys])

    @atomic
    def searched(self, keys) -> Iterator[Searched]:
        self.calls["searched"] += len(keys)
        return iter([self.passages[key] for key in keys.tolist() if key in self.passages])

    @atomic
    def passage_keys(self):
        return np.array(sorted(self.passages), np.int64)
