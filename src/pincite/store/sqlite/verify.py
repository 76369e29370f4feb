"""Is the truth whole? Every checksum is computed anew, so this takes as long as reading the library."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import apsw
import numpy as np

from pincite.reports import Check
from pincite.store.hashing import bytes_hash, embedding_hash
from pincite.store.sqlite import reads
from pincite.store.sqlite.explain import RESTORE
from pincite.store.sqlite.schema import CONTENT_BITS, SEGMENT_BITS, pack, unpack
from pincite.types import searched_text

_SHOWN = 5  # findings named in a detail
_BATCH = 1000


def verify(connection: apsw.Connection) -> list[Check]:
    """Check the file, its references, texts, passages, vectors and counts, in this order."""
    checks = [_check("catalogue", _file_faults(connection), "the file is whole")]
    if checks[0].ok:
        checks += [
            _check("texts", _text_faults(connection), "every text has its checksum"),
            _check("passages", _passage_faults(connection), "every passage is a span of its text"),
            _check("vectors", _vector_faults(connection), "every vector has its checksum"),
            _check("counts", _count_faults(connection), "all counts agree"),
        ]
    return checks


def _check(name: str, faults: Iterator[str], well: str) -> Check:
    """Sum up the faults."""
    try:
        found = list(faults)
    except (apsw.CorruptError, UnicodeDecodeError, ValueError, KeyError) as error:
        found = [str(error)]
    shown = "; ".join(found[:_SHOWN]) + (f"; {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
    return Check(name, not found, shown or well, RESTORE if found else "")


def _file_faults(connection: apsw.Connection) -> Iterator[str]:
    """Let SQLite check its pages, indexes, constraints and references."""
    for (message,) in connection.execute("PRAGMA integrity_check"):
        if message != "ok":
            yield message
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"row {row} of {table} has no {parent}"


def _text_faults(connection: apsw.Connection) -> Iterator[str]:
    """Compare each version's text with its checksum and length."""
    versions: list[Any] = connection.execute(
        "SELECT d.uri, v.version, v.key, v.length, v.text_hash FROM versions v JOIN documents d ON d.key = v.document"
    ).fetchall()
    for uri, version, body, length, digest in versions:
        text = reads.version_text(connection, body)
        if len(text) != length or bytes_hash(pack(text)) != digest:
            yield f"the text of version {version} of {unpack(uri)} is not what was stored"
    strays = "SELECT count(*) FROM texts WHERE key >> ? NOT IN (SELECT key FROM versions)"
    if stray := connection.execute(strays, (SEGMENT_BITS,)).get:
        yield f"{stray} pieces of text belong to no document"


def _passage_faults(connection: apsw.Connection) -> Iterator[str]:
    """Compare each passage, as it would be shown, with the hash of what was embedded."""
    keys = reads.keys_of(connection, "SELECT key FROM passages", ())
    for start in range(0, len(keys), _BATCH):
        batch = reads.passages(connection, keys[start : start + _BATCH])
        rows: list[Any] = connection.execute(
            "SELECT p.key, c.hash FROM carray(?) a JOIN passages p ON p.key = a.value"
            " JOIN contents c ON c.key = p.content",
            (apsw.carray(np.ascontiguousarray(keys[start : start + _BATCH])),),
        ).fetchall()
        hashes = dict(rows)
        for passage in batch:
            same = embedding_hash(searched_text(passage.context, passage.text)) == hashes[passage.key].hex()
            if not same or len(passage.text) != passage.end - passage.start:
                yield f"passage {passage.id} of {passage.uri} is not its text"
        if len(batch) != len(hashes) or len(batch) != len(keys[start : start + _BATCH]):
            yield "some passages belong to no document"


def _vector_faults(connection: apsw.Connection) -> Iterator[str]:
    """Compare each vector with its checksum."""
    rows = connection.execute(
        "SELECT e.key, e.checksum, e.vector, s.dimension, c.key FROM embeddings e"
        " LEFT JOIN spaces s ON s.key = e.key >> ? LEFT JOIN contents c ON c.key = e.key & ?",
        (CONTENT_BITS, (1 << CONTENT_BITS) - 1),
    )
    for key, checksum, vector, dimension, content in rows:
        if dimension is None or content is None or len(vector) != 4 * dimension or zlib.crc32(vector) != checksum:
            yield f"vector {key} is not what was stored"


def _count_faults(connection: apsw.Connection) -> Iterator[str]:
    """Compare what is counted once with what is there."""
    for (uri,) in connection.execute(
        "SELECT uri FROM documents d WHERE passages <> (SELECT count(*) FROM passages p WHERE p.document = d.key)"
    ):
        yield f"{unpack(uri)} has not the passages that its row says"
    for (uri,) in connection.execute("SELECT uri FROM documents WHERE label_set NOT IN (SELECT key FROM label_sets)"):
        yield f"{unpack(uri)} has labels that are not there"
    for fingerprint, count, found in connection.execute(
        "SELECT fingerprint, vectors, (SELECT count(*) FROM embeddings e"
        " WHERE e.key >= s.key << ?1 AND e.key < (s.key + 1) << ?1) FROM spaces s",
        (CONTENT_BITS,),
    ):
        if count != found:
            yield f"the space {unpack(fingerprint)} has {found} vectors instead of {count}"
    newest = "SELECT max(sequence) FROM (SELECT sequence FROM passages UNION ALL SELECT sequence FROM tombstones)"
    if (connection.execute(newest).get or 0) > reads.sequence(connection):
        yield "a change is newer than the newest"
