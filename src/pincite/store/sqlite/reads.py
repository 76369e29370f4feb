"""What is read from the catalogue. Each function sees the one state of the caller's read transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from pincite.errors import NotInLibrary
from pincite.store.hashing import embedding_hash
from pincite.store.protocol import Grants, SourceRecord, Stats, VersionRecord
from pincite.store.sqlite.labels import seen
from pincite.store.sqlite.schema import (
    SEGMENT,
    pack,
    successor,
    text_base,
    unpack,
    unpack_json,
    vector_base,
)
from pincite.store.sqlite.vectors import LACKING, SHOWN, space_of
from pincite.store.sqlite.where import Bound
from pincite.types import Block, Document, Page, Passage, Source, searched_text

_LONGEST_LINE = 128_000  # code points: further back nobody looks for its beginning
RECORD = (
    "SELECT uri, media_type, content_hash, modified_ns, size, id, version, passages, title, language, status, reason,"
    " fix, added_ns, checked_ns, (SELECT labels FROM label_sets s WHERE s.key = d.label_set) FROM documents d"
)
_PASSAGE = (
    'SELECT p.key, d.id, d.uri, d.version, p.start, p."end", d.title, p.heading_path, p.context, p.page_from,'
    " p.page_to, p.line_from, p.line_to, d.body"
)


def sequence(connection: apsw.Connection) -> int:
    """Give the newest change's number."""
    return int(connection.execute("SELECT sequence FROM state").get)


def keys_of(connection: apsw.Connection, select: str, values: Sequence[Any]) -> NDArray[np.int64]:
    """Give the keys that a SELECT yields: (n,), ascending. As one text: a third of the time of a row each."""
    joined = connection.execute(f"SELECT group_concat(key) FROM ({select})", values).get  # noqa: S608 - ours
    found = np.fromstring(joined, dtype=np.int64, sep=",") if joined is not None else np.empty(0, np.int64)
    found.sort()
    return found


# --- sources


def source(connection: apsw.Connection, name: str, grants: Grants) -> SourceRecord | None:
    """Look up one source by its URI or its document's id."""
    named = f"(uri = ?1 OR id = ?1) AND {seen(connection, grants)}"
    row = connection.execute(f"{RECORD} WHERE {named}", (pack(name),)).get
    return None if row is None else record(row, grants)


def sources(connection: apsw.Connection, prefix: bytes, after: bytes, limit: int, grants: Grants) -> list[SourceRecord]:
    """List sources by URI, from the first one after another."""
    below = f"uri < x'{successor(prefix).hex()}'" if prefix else "1"
    rows = connection.execute(
        f"{RECORD} WHERE uri >= ? AND uri > ? AND {below} AND {seen(connection, grants)} ORDER BY uri LIMIT ?",
        (prefix, after, limit),
    )
    return [record(row, grants) for row in rows]


def failed(connection: apsw.Connection, grants: Grants) -> list[SourceRecord]:
    """List failed sources, and those that became unsupported, by URI."""
    rows = connection.execute(
        f"{RECORD} WHERE (status = ? OR (status = ? AND version > 0)) AND {seen(connection, grants)} ORDER BY uri",
        (b"failed", b"unsupported"),
    )
    return [record(row, grants) for row in rows]


def record(row: tuple[Any, ...], grants: Grants) -> SourceRecord:
    """Make a record of a row of ``RECORD``."""
    uri, media_type, content_hash, modified_ns, size, document_id, version, count, *texts, added_ns, checked_ns, own = (
        row
    )
    source = Source(unpack(uri), unpack(media_type), unpack(content_hash), modified_ns, size)
    title, language, status, reason, fix = map(unpack, texts)
    labels = tuple(label for label in unpack_json(own or b"[]") if grants is None or label in grants)
    return SourceRecord(
        source, unpack(document_id), version, count, title, language, status, reason, fix, added_ns, checked_ns, labels
    )


def stats(connection: apsw.Connection, grants: Grants) -> Stats:
    """Count; what grants do not show counts as absent."""
    shown = seen(connection, grants)
    languages: list[Any] = connection.execute(
        f"SELECT language, count(*) FROM documents d WHERE version > 0 AND {shown}"  # noqa: S608 - ours
        " GROUP BY language ORDER BY 2 DESC, 1"
    ).fetchall()
    counted = "SELECT count(*) FROM passages"
    if grants is not None:
        counted = f"SELECT total(passages) FROM documents d WHERE {shown}"  # noqa: S608 - ours
    passages = int(connection.execute(counted).get)
    return Stats(
        sequence(connection),
        sum(count for _, count in languages),
        passages,
        tuple(unpack(language) for language, _ in languages if language),
        _spaces(connection, shown, passages, grants),
    )


def _spaces(connection: apsw.Connection, shown: str, passages: int, grants: Grants) -> dict[str, int]:
    """Count the vectors of each space; for grants, the passages they show that have one."""
    rows: list[Any] = connection.execute(
        "SELECT fingerprint, vectors, key, complete >= (SELECT max(key) FROM passages) FROM spaces ORDER BY fingerprint"
    ).fetchall()
    if grants is None:
        return {unpack(fingerprint): vectors for fingerprint, vectors, *_ in rows}
    having = (
        f"SELECT count(*) FROM documents d CROSS JOIN passages p ON p.document = d.key WHERE {shown}"  # noqa: S608
        " AND EXISTS (SELECT 1 FROM embeddings e WHERE e.key = ? + p.content)"
    )
    counts = {
        unpack(fingerprint): passages if is_complete else connection.execute(having, (vector_base(key),)).get
        for fingerprint, _, key, is_complete in rows
    }
    return {fingerprint: count for fingerprint, count in counts.items() if count}


def note(connection: apsw.Connection, name: str) -> str:
    """Give a note, "" when there is none."""
    return unpack(connection.execute("SELECT value FROM notes WHERE name = ?", (pack(name),)).get or b"")


# --- documents and passages


def document(connection: apsw.Connection, uri: str, version: int | None, grants: Grants) -> Document:
    """Give one version of a document, the newest by default; NotInLibrary if there is none."""
    row: Any = connection.execute(
        "SELECT d.id, d.version, d.modified_ns, d.size, v.key, v.version, v.media_type, v.content_hash,"  # noqa: S608
        " v.modified_ns, v.size, v.title, v.language, v.metadata, v.pages, v.blocks FROM documents d"
        " JOIN versions v ON v.document = d.key WHERE d.uri = ? AND v.version = coalesce(?, d.version)"
        f" AND {seen(connection, grants)}",
        (pack(uri), version),
    ).get
    if row is None:
        wanted = uri if version is None else f"version {version} of {uri}"
        raise NotInLibrary(f"The library does not hold {wanted}.", fix="`pincite list` shows what it holds.")
    document_id, current, seen_ns, seen_size, body, number, media_type, content_hash, modified_ns, size, *rest = row
    title, language, metadata, pages, blocks = rest
    if number == current:  # the same bytes may have been seen again, later
        modified_ns, size = seen_ns, seen_size
    return Document(
        unpack(document_id),
        Source(uri, unpack(media_type), unpack(content_hash), modified_ns, size),
        number,
        version_text(connection, body),
        unpack(title),
        tuple(Block(*block) for block in unpack_json(blocks)),
        tuple(Page(*page) for page in unpack_json(pages)),
        unpack_json(metadata),
        unpack(language),
    )


def versions(connection: apsw.Connection, uri: str, grants: Grants) -> list[VersionRecord]:
    """List the versions of a document, oldest first."""
    rows = connection.execute(
        "SELECT v.version, v.title, v.content_hash, v.size, v.added_ns FROM documents d"  # noqa: S608
        f" JOIN versions v ON v.document = d.key WHERE d.uri = ? AND {seen(connection, grants)} ORDER BY v.version",
        (pack(uri),),
    )
    return [VersionRecord(number, unpack(title), unpack(digest), *rest) for number, title, digest, *rest in rows]


def version_text(connection: apsw.Connection, body: int) -> str:
    """Join a version's text."""
    rows = connection.execute(
        "SELECT text FROM texts WHERE key >= ? AND key < ? ORDER BY key", (text_base(body), text_base(body + 1))
    )
    return unpack(b"".join(text for (text,) in rows))


class Texts:
    """Cuts spans out of texts and reads only the segments they lie in, each once."""

    def __init__(self, connection: apsw.Connection, spans: Sequence[tuple[int, int, int]]) -> None:
        """Read the segments of all (body, start, end) at once."""
        self._connection = connection
        wanted = {
            text_base(body) + segment
            for body, start, end in spans
            for segment in range(start // SEGMENT, (end - 1) // SEGMENT + 1)
        }
        keys = np.array(sorted(wanted), dtype=np.int64)
        rows = (
            connection.execute(
                "SELECT t.key, t.text FROM carray(?) c JOIN texts t ON t.key = c.value", (apsw.carray(keys),)
            )
            if len(keys)
            else ()
        )
        self._segments = {key: unpack(text) for key, text in rows}

    def column(self, body: int, offset: int) -> int | None:
        """Give the column, from 1, of a character whose segment is here; None far behind the beginning of its line."""
        key, before = text_base(body) + offset // SEGMENT, offset % SEGMENT
        text, passed = self._segments[key][:before], 0
        while (start := max(text.rfind("\n"), text.rfind("\r"))) < 0 and key > text_base(body):
            passed, key = passed + len(text), key - 1
            if passed > _LONGEST_LINE:
                return None
            text = unpack(self._connection.execute("SELECT text FROM texts WHERE key = ?", (key,)).get)
        return passed + len(text) - start

    def cut(self, body: int, start: int, end: int) -> str:
        """Give ``text[start:end]``."""
        first, last = start // SEGMENT, (end - 1) // SEGMENT
        text = "".join(self._segments[text_base(body) + segment] for segment in range(first, last + 1))
        return text[start - first * SEGMENT : end - first * SEGMENT]


def passages(
    connection: apsw.Connection, keys: Sequence[int] | NDArray[np.int64], grants: Grants = None
) -> list[Passage]:
    """Give those of the passages that are current and shown, in the order of the keys."""
    if not len(keys):
        return []
    wanted = apsw.carray(np.ascontiguousarray(keys, dtype=np.int64))
    return _passages(
        connection,
        f"{_PASSAGE} FROM carray(?) c CROSS JOIN passages p ON p.key = c.value"
        f" CROSS JOIN documents d ON d.key = p.document WHERE {seen(connection, grants)}",
        (wanted,),
    )


def owners(connection: apsw.Connection, keys: Sequence[int], grants: Grants) -> dict[int, int]:
    """Give the document key of each passage that is current."""
    if not len(keys):
        return {}
    wanted = apsw.carray(np.array(keys, dtype=np.int64))
    return dict(
        connection.execute(
            "SELECT p.key, p.document FROM carray(?) c CROSS JOIN passages p ON p.key = c.value"  # noqa: S608 - ours
            f" CROSS JOIN documents d ON d.key = p.document WHERE {seen(connection, grants)}",
            (wanted,),
        )
    )


def passages_of(connection: apsw.Connection, uri: str, grants: Grants) -> list[Passage]:
    """Give a document's current passages in order."""
    return _passages(
        connection,
        f"{_PASSAGE} FROM documents d CROSS JOIN passages p ON p.document = d.key WHERE d.uri = ?"
        f" AND {seen(connection, grants)} ORDER BY p.ordinal",
        (pack(uri),),
    )


def _passages(connection: apsw.Connection, select: str, values: tuple[Any, ...]) -> list[Passage]:
    rows: list[Any] = connection.execute(select, values).fetchall()
    texts = Texts(connection, [(row[13], row[4], row[5]) for row in rows])
    return [_passage(row, texts.cut(row[13], row[4], row[5]), texts.column(row[13], row[4])) for row in rows]


def _passage(row: tuple[Any, ...], text: str, column: int | None) -> Passage:
    key, document_id, uri, version, start, end, title, heading_path, context, *pages, line_from, line_to, _ = row
    document_id = unpack(document_id)
    return Passage(
        id=f"{document_id}@{version}:{start}-{end}",
        key=key,
        document_id=document_id,
        uri=unpack(uri),
        version=version,
        start=start,
        end=end,
        text=text,
        title=unpack(title),
        heading_path=tuple(unpack_json(heading_path)),
        context=unpack(context),
        page_from=pages[0],
        page_to=pages[1],
        line_from=line_from,
        line_to=line_to,
        column_from=column,
    )


def unembedded(connection: apsw.Connection, fingerprint: str, limit: int, grants: Grants) -> list[tuple[str, str]]:
    """Give (embedding hash, searched text) of the first passages that lack a vector; the same text once."""
    space, _, complete = space_of(connection, fingerprint)
    shown = "" if grants is None else f" AND {SHOWN.format(seen(connection, grants))}"
    query = f"SELECT p.key{LACKING}{shown} ORDER BY p.key LIMIT ?"
    rows: list[Any] = connection.execute(query, (complete, vector_base(space), limit)).fetchall()
    texts = {searched_text(p.context, p.text): None for p in passages(connection, [key for (key,) in rows])}
    return [(embedding_hash(text), text) for text in texts]


# --- filters

_ALLOWED = {
    "documents": "SELECT d.key FROM documents d WHERE ",
    "passages": "SELECT p.key FROM documents d CROSS JOIN passages p ON p.document = d.key WHERE ",
}


def allowed(
    connection: apsw.Connection, kind: str, condition: str, values: Sequence[Bound], grants: Grants
) -> NDArray[np.int64]:
    """Give the keys of the "documents", or "passages", that are shown and meet a compiled filter: (n,), ascending."""
    return keys_of(connection, f"{_ALLOWED[kind]}{seen(connection, grants)} AND {condition}", values)
