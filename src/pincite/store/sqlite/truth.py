"""The catalogue as derived indexes see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from pincite.store.derived.truth import Searched
from pincite.store.protocol import Changes
from pincite.store.sqlite import reads
from pincite.store.sqlite.database import Database
from pincite.store.sqlite.schema import unpack, vector_base
from pincite.store.sqlite.vectors import VECTOR, space_of
from pincite.types import searched_text

_BATCH = 1000  # passages whose texts are held at once
_KEYS = tuple[NDArray[np.int64], NDArray[np.float32]]


class SqliteTruth:
    """Implements ``store.derived.truth.Truth``."""

    def __init__(self, database: Database) -> None:
        """Learn which library this is."""
        self._database = database
        with database.committed() as connection:
            self.identity = unpack(connection.execute("SELECT identity FROM state").get)

    def sequence(self) -> int:
        """Give the newest change's number."""
        with self._database.committed() as connection:
            return reads.sequence(connection)

    def changes(self, since: int) -> Changes:
        """Give the passages that came or went after a sequence number."""
        with self._database.committed() as connection:
            added = reads.keys_of(connection, "SELECT key FROM passages WHERE sequence > ?", (since,))
            return Changes(reads.sequence(connection), added, _removed(connection, since))

    def vector_changes(self, since: int, fingerprint: str) -> Changes:
        """Give the passages that came with a vector, got theirs, or went after a sequence number."""
        with self._database.committed() as connection:
            space, _, _ = space_of(connection, fingerprint)
            base, end = vector_base(space), vector_base(space + 1)
            came = reads.keys_of(
                connection,
                "SELECT p.key FROM passages p JOIN embeddings e ON e.key = ? + p.content WHERE p.sequence > ?",
                (base, since),
            )
            embedded = reads.keys_of(
                connection,
                "SELECT p.key FROM embeddings e INDEXED BY embeddings_sequence JOIN passages p ON p.content = e.key - ?"
                " WHERE e.sequence > ? AND e.key >= ? AND e.key < ?",
                (base, since, base, end),
            )
            return Changes(reads.sequence(connection), np.union1d(came, embedded), _removed(connection, since))

    def vectors(self, keys: NDArray[np.int64], fingerprint: str) -> _KEYS:
        """Give the vectors of those passages that are current and have one, in the order of the keys."""
        with self._database.committed() as connection:
            space, dimension, _ = space_of(connection, fingerprint)
            if not len(keys) or not space:
                return _stacked([], dimension)
            rows: list[Any] = connection.execute(
                "SELECT p.key, e.vector FROM carray(?) c CROSS JOIN passages p ON p.key = c.value"
                " CROSS JOIN embeddings e ON e.key = ? + p.content",
                (apsw.carray(np.ascontiguousarray(keys, dtype=np.int64)), vector_base(space)),
            ).fetchall()
            return _stacked(rows, dimension)

    def vector_batches(self, fingerprint: str, rows: int = 8192) -> Iterator[_KEYS]:
        """Give all passages with a vector, by key. Each batch is a read of its own: long ones let the log grow."""
        last = 0
        while True:
            with self._database.committed() as connection:
                space, dimension, _ = space_of(connection, fingerprint)
                batch: list[Any] = connection.execute(
                    "SELECT p.key, e.vector FROM passages p CROSS JOIN embeddings e ON e.key = ? + p.content"
                    " WHERE p.key > ? ORDER BY p.key LIMIT ?",
                    (vector_base(space), last, rows),
                ).fetchall()
            if not batch:
                return
            last = batch[-1][0]
            yield _stacked(batch, dimension)

    def searched(self, keys: NDArray[np.int64]) -> Iterator[Searched]:
        """Give current passages for the keyword index, in the order of the keys."""
        for start in range(0, len(keys), _BATCH):
            with self._database.committed() as connection:
                batch = _searched(connection, np.ascontiguousarray(keys[start : start + _BATCH], dtype=np.int64))
            yield from batch

    def current(self, keys: NDArray[np.int64]) -> set[int]:
        """Tell which of the keys are passages now."""
        if not len(keys):
            return set()
        with self._database.committed() as connection:
            rows: list[Any] = connection.execute(
                "SELECT p.key FROM carray(?) c JOIN passages p ON p.key = c.value", (apsw.carray(keys),)
            ).fetchall()
        return {key for (key,) in rows}

    def passage_keys(self) -> NDArray[np.int64]:
        """Give the keys of all current passages, ascending."""
        with self._database.committed() as connection:
            return reads.keys_of(connection, "SELECT key FROM passages", ())


def _removed(connection: apsw.Connection, since: int) -> NDArray[np.int64]:
    return reads.keys_of(connection, "SELECT key FROM tombstones WHERE sequence > ?", (since,))


def _stacked(rows: list[tuple[int, bytes]], dimension: int) -> _KEYS:
    """Make arrays of rows: (n,), (n, dimension)."""
    keys = np.array([key for key, _ in rows], dtype=np.int64)
    vectors = np.frombuffer(b"".join(blob for _, blob in rows), dtype=VECTOR)
    return keys, vectors.reshape(len(rows), dimension)


def _searched(connection: apsw.Connection, keys: NDArray[np.int64]) -> list[Searched]:
    rows: list[Any] = connection.execute(
        'SELECT p.key, p.document, d.language, p.context, d.body, p.start, p."end" FROM carray(?) c'
        " CROSS JOIN passages p ON p.key = c.value CROSS JOIN documents d ON d.key = p.document",
        (apsw.carray(keys),),
    ).fetchall()
    texts = reads.Texts(connection, [row[4:] for row in rows])
    return [
        Searched(key, document, unpack(language), searched_text(unpack(context), texts.cut(*span)))
        for key, document, language, context, *span in rows
    ]
