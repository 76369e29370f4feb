"""What changes the catalogue. Each function works inside the caller's transaction: all of it is committed, or none."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import apsw
import numpy as np
from numpy.typing import NDArray

from pincite.store.hashing import bytes_hash, document_id, embedding_hash
from pincite.store.protocol import Grants, Receipt
from pincite.store.sqlite import labels
from pincite.store.sqlite.faults import fault
from pincite.store.sqlite.schema import SEGMENT, SEGMENT_BITS, pack, pack_json, text_base
from pincite.store.sqlite.vectors import put_vectors
from pincite.store.sqlite.where import bound
from pincite.text import line_starts
from pincite.types import Document, Page, Source, Span, searched_text


@dataclass(frozen=True, slots=True)
class _Put:
    """A document whose row is written, but not yet its passages."""

    key: int
    version: int
    same_language: bool  # as before: analysed words stay the same


def bump(connection: apsw.Connection) -> int:
    """Give this change its number."""
    return int(connection.execute("UPDATE state SET sequence = sequence + 1 RETURNING sequence").get)


def put_document(
    connection: apsw.Connection,
    document: Document,
    spans: Sequence[Span],
    vectors: Mapping[str, NDArray[np.float32]],
    fingerprint: str,
    warnings: str,
    grants: Grants,
) -> Receipt:
    """Replace a document: its catalogue row, its text as a new version, its passages, their new vectors."""
    _check_spans(document, spans)
    labels.check_writer(connection, document.source.uri, grants)
    sequence = bump(connection)
    fault("begin")
    put = _put_version(connection, document, warnings, grants)
    fault("version")
    added = _put_passages(connection, put, document, spans, sequence)
    fault("passages")
    put_vectors(connection, vectors, fingerprint, sequence)
    fault("vectors")
    return Receipt(sequence, put.version, len(spans), added)


def _check_spans(document: Document, spans: Sequence[Span]) -> None:
    """Raise ValueError for a span that is empty, outside the text, or out of order."""
    last = 0
    for span in spans:
        if not last <= span.start < span.end <= len(document.text):
            raise ValueError(f"no passage of {document.source.uri}: [{span.start}, {span.end}) after {last}")
        last = span.start


def _put_version(connection: apsw.Connection, document: Document, warnings: str, grants: Grants) -> _Put:
    """Write the catalogue row and, if the content is not what is stored, the text as the next version."""
    source, text = document.source, pack(document.text)
    row = connection.execute(
        "SELECT d.key, d.version, d.body, d.content_hash, v.text_hash, d.language FROM documents d"
        " LEFT JOIN versions v ON v.key = d.body WHERE d.uri = ?",
        (pack(source.uri),),
    ).get
    key, version, body, *known, language = row or (_insert_source(connection, source, grants), 0, 0, None, None, None)
    digest = bytes_hash(text)
    if not version or known != [pack(source.content_hash), digest]:
        last = connection.execute("SELECT version FROM retired WHERE id = ?", (pack(document.id),)).get
        version = version + 1 if version else (last or 0) + 1
        body = _insert_version(connection, key, version, document, digest)
    named = {"title": pack(document.title), "language": pack(document.language)}
    _update(connection, "versions", body, named | _structure(document))
    checked_ns = source.read_ns or time.time_ns()
    state = {"version": version, "body": body, "checked_ns": checked_ns, "id": pack(document.id)}
    status = {"status": b"partly" if warnings else b"indexed", "fix": b""}
    told = dict.fromkeys(("reason", "warnings"), pack(warnings))
    added = connection.execute("SELECT added_ns FROM versions WHERE key = ?", (body,)).get
    row_now = _source_row(source) | named | state | status | told | {"added_ns": added}
    _update(connection, "documents", key, row_now)
    connection.execute("DELETE FROM metadata WHERE document = ?", (key,))
    connection.executemany(
        "INSERT INTO metadata VALUES (?, ?, ?)", [(key, pack(n), bound(v)) for n, v in document.metadata.items()]
    )
    return _Put(key, version, same_language=language == named["language"])


def _insert(connection: apsw.Connection, table: str, values: Mapping[str, Any]) -> int:
    """Insert a row and give its key; table and columns are ours."""
    marks = ", ".join("?" * len(values))
    statement = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks}) RETURNING key"  # noqa: S608
    return int(connection.execute(statement, tuple(values.values())).get)


def _update(connection: apsw.Connection, table: str, key: int, values: Mapping[str, Any]) -> None:
    """Change a row; table and columns are ours."""
    columns = ", ".join(f"{column} = ?" for column in values)
    connection.execute(f"UPDATE {table} SET {columns} WHERE key = ?", (*values.values(), key))  # noqa: S608


def _insert_source(connection: apsw.Connection, source: Source, grants: Grants) -> int:
    """Make the row of a source that was never read, with the labels of its place; give its key."""
    path = unquote(source.uri.removeprefix("file://"), errors="surrogateescape")
    names = {"id": pack(document_id(source.uri)), "uri": pack(source.uri), "path": pack(path)}
    name = connection.execute("SELECT folded_name(?)", (pack(source.uri),)).get
    new = {"added_ns": time.time_ns(), "label_set": labels.for_new(connection, source.uri, grants), "name": name}
    return _insert(connection, "documents", names | _source_row(source) | new)


def _source_row(source: Source) -> dict[str, bytes | int]:
    return {
        "media_type": pack(source.media_type),
        "content_hash": pack(source.content_hash),
        "modified_ns": source.modified_ns,
        "size": source.size,
    }


def _structure(document: Document) -> dict[str, bytes]:
    """Give metadata, pages and blocks as they are stored."""
    pages = [(page.number, page.label, page.start, page.end, page.places) for page in document.pages]
    blocks = [(block.kind, block.start, block.end, block.level, block.label) for block in document.blocks]
    parts = {"metadata": dict(document.metadata), "pages": pages, "blocks": blocks}
    return {name: pack_json(part) for name, part in parts.items()}


def _insert_version(connection: apsw.Connection, key: int, version: int, document: Document, digest: bytes) -> int:
    """Write a version's text in segments; give its key."""
    text = document.text
    row = {"document": key, "version": version, "added_ns": time.time_ns(), "length": len(text), "text_hash": digest}
    body = _insert(connection, "versions", row | _source_row(document.source))
    segments = (pack(text[start : start + SEGMENT]) for start in range(0, len(text), SEGMENT))
    connection.executemany("INSERT INTO texts VALUES (?, ?)", enumerate(segments, text_base(body)))
    return body


def _put_passages(
    connection: apsw.Connection, put: _Put, document: Document, spans: Sequence[Span], sequence: int
) -> int:
    """Make the document's passages these: the same searched text keeps its key, in order; count the new keys."""
    texts = [searched_text(span.context, document.text[span.start : span.end]) for span in spans]
    contents = _intern(connection, [embedding_hash(text) for text in texts])
    old: dict[int, deque[int]] = defaultdict(deque)
    query = "SELECT key, content FROM passages WHERE document = ? ORDER BY ordinal"
    rows: list[Any] = connection.execute(query, (put.key,)).fetchall()
    for passage, content in rows:
        old[content].append(passage)
    kept, new = [], []
    for content, row in zip(contents, _passage_rows(document, spans), strict=True):
        if put.same_language and old[content]:
            kept.append((*row, old[content].popleft()))
        else:
            new.append((*row, put.key, content, sequence))
    drop_passages(connection, [passage for passages in old.values() for passage in passages], sequence)
    assignments = ", ".join(f"{column} = ?" for column in _PLACE)
    connection.executemany(f"UPDATE passages SET {assignments} WHERE key = ?", kept)  # noqa: S608 - our columns
    columns = ", ".join((*_PLACE, "document", "content", "sequence"))
    marks = ", ".join("?" * (len(_PLACE) + 3))
    connection.executemany(f"INSERT INTO passages ({columns}) VALUES ({marks})", new)  # noqa: S608 - our columns
    connection.execute("UPDATE documents SET passages = ? WHERE key = ?", (len(spans), put.key))
    return len(new)


def _intern(connection: apsw.Connection, hashes: Sequence[str]) -> list[int]:
    """Give the key of each searched text, new ones included."""
    digests = tuple(bytes.fromhex(digest) for digest in hashes)
    if not digests:
        return []
    connection.executemany("INSERT OR IGNORE INTO contents (hash) VALUES (?)", ((digest,) for digest in digests))
    rows: list[Any] = connection.execute(
        "SELECT hash, key FROM contents WHERE hash IN carray(?)", (apsw.carray(digests),)
    ).fetchall()
    found = dict(rows)
    return [found[digest] for digest in digests]


_PLACE = (
    "start", '"end"', "pieces", "context", "heading_path", "ordinal", "line_from", "line_to", "page_from", "page_to"
)  # fmt: skip


def _passage_rows(document: Document, spans: Sequence[Span]) -> Iterator[tuple[Any, ...]]:
    """Give the values of ``_PLACE`` for each passage."""
    starts = np.array([span.start for span in spans], dtype=np.int64)
    lasts = np.array([span.end - 1 for span in spans], dtype=np.int64)
    lines = line_starts(document.text)
    places = zip(
        range(len(spans)),
        np.searchsorted(lines, starts, side="right").tolist(),
        np.searchsorted(lines, lasts, side="right").tolist(),
        _page_numbers(document.pages, starts),
        _page_numbers(document.pages, lasts),
        strict=True,
    )
    for span, place in zip(spans, places, strict=True):
        yield span.start, span.end, span.pieces, pack(span.context), pack_json(span.heading_path), *place


def _page_numbers(pages: Sequence[Page], offsets: NDArray[np.int64]) -> list[int | None]:
    """Give the number of the page that each offset lies on, or of the last one before it."""
    if not pages:
        return [None] * len(offsets)
    found = np.searchsorted(np.array([page.start for page in pages]), offsets, side="right") - 1
    return [pages[max(index, 0)].number for index in found.tolist()]


def drop_passages(connection: apsw.Connection, keys: Sequence[int], sequence: int) -> None:
    """Delete passages; indexes learn it from the tombstones, the collector from the orphans."""
    rows = [(key,) for key in keys]
    connection.executemany("INSERT OR IGNORE INTO orphans SELECT content FROM passages WHERE key = ?", rows)
    connection.executemany("DELETE FROM passages WHERE key = ?", rows)
    connection.executemany("INSERT INTO tombstones VALUES (?, ?)", [(key, sequence) for key in keys])


def remove(connection: apsw.Connection, uri: str, grants: Grants) -> bool:
    """Remove a source with all its versions; only the number of the last one is remembered."""
    condition = f"d.uri = ? AND {labels.seen(connection, grants)}"
    row = connection.execute(f"SELECT key, id, version FROM documents d WHERE {condition}", (pack(uri),)).get  # noqa: S608
    if row is None:
        return False
    key, document_id, version = row
    passages: list[Any] = connection.execute(
        "SELECT key FROM passages WHERE document = ? ORDER BY key", (key,)
    ).fetchall()
    drop_passages(connection, [passage for (passage,) in passages], bump(connection))
    connection.execute(
        "DELETE FROM texts WHERE key IN (SELECT t.key FROM versions v CROSS JOIN texts t"
        " ON t.key >= v.key << ?2 AND t.key < (v.key + 1) << ?2 WHERE v.document = ?1)",
        (key, SEGMENT_BITS),
    )
    connection.execute("DELETE FROM versions WHERE document = ?", (key,))
    connection.execute("DELETE FROM metadata WHERE document = ?", (key,))
    connection.execute("DELETE FROM documents WHERE key = ?", (key,))
    if version:
        connection.execute("INSERT OR REPLACE INTO retired VALUES (?, ?)", (document_id, version))
    return True


def put_failure(connection: apsw.Connection, source: Source, status: str, reason: str, fix: str, grants: Grants) -> int:
    """Record why a source cannot be read; give the sequence.

    A source with a good version keeps that version's size and time, and counts as never looked at, so that it is read
    again until it is readable, or unchanged.
    """
    labels.check_writer(connection, source.uri, grants)
    row: Any = connection.execute("SELECT key, version FROM documents WHERE uri = ?", (pack(source.uri),)).get
    key, version = row or (_insert_source(connection, source, grants), 0)
    failure = {"status": pack(status), "reason": pack(reason), "fix": pack(fix)}
    looked = {"checked_ns": 0} if version else {"checked_ns": time.time_ns()} | _source_row(source)
    _update(connection, "documents", key, failure | looked)
    return bump(connection)


def touch(connection: apsw.Connection, source: Source, grants: Grants) -> None:
    """Record size and time of a source whose content is what is stored; what failed is well again."""
    labels.check_writer(connection, source.uri, grants)
    connection.execute(
        "UPDATE documents SET modified_ns = ?, size = ?, checked_ns = ?, reason = warnings, fix = x'',"
        " status = CASE warnings WHEN x'' THEN CAST('indexed' AS BLOB) ELSE CAST('partly' AS BLOB) END"
        " WHERE uri = ? AND version > 0",
        (source.modified_ns, source.size, source.read_ns or time.time_ns(), pack(source.uri)),
    )


def note(connection: apsw.Connection, name: str, value: str) -> None:
    """Keep a small text under a name."""
    connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (pack(name), pack(value)))
