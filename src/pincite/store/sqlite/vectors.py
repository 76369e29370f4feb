"""Vectors in the catalogue: one for each searched text and space, whichever passages say that text."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from pincite.store.protocol import Grants
from pincite.store.sqlite.labels import seen
from pincite.store.sqlite.schema import pack, vector_base

VECTOR = np.dtype("<f4")
# The passages after spaces.complete that lack their vector; the first of them is found quickly, since keys only grow.
LACKING = " FROM passages p WHERE p.key > ? AND NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.key = ? + p.content)"
SHOWN = "EXISTS (SELECT 1 FROM documents d WHERE d.key = p.document AND {})"  # a passage, of a document that is


def space_of(connection: apsw.Connection, fingerprint: str) -> tuple[int, int, int]:
    """Give key, dimension and completeness of a vector space; zeros when it has no vectors."""
    row = connection.execute(
        "SELECT key, dimension, complete FROM spaces WHERE fingerprint = ?", (pack(fingerprint),)
    ).get
    return row or (0, 0, 0)


def put_vectors(
    connection: apsw.Connection, vectors: Mapping[str, NDArray[np.float32]], fingerprint: str, sequence: int
) -> None:
    """Store vectors of searched texts that passages have; others are left out.

    ValueError if a vector is not finite or not of the space's dimension, or if the space has no name.
    """
    space, dimension, complete = space_of(connection, fingerprint)
    if vectors and not space:
        space, dimension = _new_space(connection, fingerprint, len(next(iter(vectors.values()))))
    if not space:
        return
    rows = []
    for digest, vector in vectors.items():
        data = np.ascontiguousarray(vector, dtype=VECTOR)
        if data.shape != (dimension,) or not np.isfinite(data).all():
            raise ValueError(f"not a finite vector of {dimension} numbers: {data.shape} for {digest}")
        blob = data.tobytes()
        rows.append((vector_base(space), sequence, zlib.crc32(blob), blob, bytes.fromhex(digest)))
    before = connection.total_changes()
    connection.executemany(
        "INSERT OR IGNORE INTO embeddings SELECT ? + key, ?, ?, ? FROM contents WHERE hash = ?", rows
    )
    connection.execute(
        "UPDATE spaces SET vectors = vectors + ?, complete = ?, sequence = ? WHERE key = ?",
        (connection.total_changes() - before, _complete(connection, space, complete), sequence, space),
    )


def _new_space(connection: apsw.Connection, fingerprint: str, dimension: int) -> tuple[int, int]:
    """Make a space; give its key and dimension."""
    if not fingerprint:
        raise ValueError("vectors need the fingerprint of their space")
    connection.execute("INSERT INTO spaces VALUES (NULL, ?, ?, 0, 0, 0)", (pack(fingerprint), dimension))
    return connection.last_insert_rowid(), dimension


def _complete(connection: apsw.Connection, space: int, complete: int) -> int:
    """Give the key up to which every passage has its vector. It only grows: all calls look at each key once."""
    lacking = connection.execute(f"SELECT p.key{LACKING} ORDER BY p.key LIMIT 1", (complete, vector_base(space))).get
    if lacking is not None:
        return int(lacking) - 1
    return int(connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'passages'").get or 0)


def known_hashes(
    connection: apsw.Connection, hashes: Collection[str], fingerprint: str | None, grants: Grants
) -> set[str]:
    """Tell which of the hashes have a vector, or (without a space) a passage, and one that grants show."""
    if not hashes:
        return set()
    condition = "1"
    values: list[Any] = [apsw.carray(tuple(bytes.fromhex(digest) for digest in hashes))]
    if fingerprint is not None:
        condition = "EXISTS (SELECT 1 FROM embeddings e WHERE e.key = ? + c.key)"
        values.append(vector_base(space_of(connection, fingerprint)[0]))
    if grants is not None:
        shown = SHOWN.format(seen(connection, grants))
        condition += f" AND EXISTS (SELECT 1 FROM passages p WHERE p.content = c.key AND {shown})"  # noqa: S608
    rows = connection.execute(f"SELECT c.hash FROM contents c WHERE c.hash IN carray(?) AND {condition}", values)  # noqa: S608
    return {digest.hex() for (digest,) in rows}


def collect_garbage(connection: apsw.Connection) -> int:
    """Delete the vectors of texts that no passage says any more; give how many."""
    unused = "SELECT content FROM orphans o WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.content = o.content)"
    dropped = 0
    spaces: list[Any] = connection.execute("SELECT key FROM spaces").fetchall()
    for (space,) in spaces:
        before = connection.total_changes()
        connection.execute(
            f"DELETE FROM embeddings WHERE key IN (SELECT ? + content FROM ({unused}))",  # noqa: S608 - a constant
            (vector_base(space),),
        )
        gone = connection.total_changes() - before
        connection.execute("UPDATE spaces SET vectors = vectors - ? WHERE key = ?", (gone, space))
        dropped += gone
    connection.execute(f"DELETE FROM contents WHERE key IN ({unused})")  # noqa: S608 - a constant
    connection.execute("DELETE FROM orphans")
    return dropped
