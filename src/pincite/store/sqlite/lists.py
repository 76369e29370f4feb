"""Sources as people look through them: page by page in any order, and counted. The cost is that of what is shown."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import unquote

import apsw

from pincite.reports import After, Counts, Listing
from pincite.store.protocol import Grants, SourceRecord
from pincite.store.sqlite.labels import seen
from pincite.store.sqlite.reads import RECORD, record
from pincite.store.sqlite.schema import pack, unpack, unpack_json

_COLUMNS = {"name": "name", "added": "added_ns", "modified": "modified_ns", "size": "size"}
_STALE = "(d.version > 0 AND d.status IN (CAST('failed' AS BLOB), CAST('unsupported' AS BLOB)))"


def listed(
    connection: apsw.Connection, listing: Listing, after: After | None, limit: int, grants: Grants
) -> tuple[list[SourceRecord], After | None]:
    """List some sources; give the place in the list after which the next ones come, None at the end.

    Each set of labels has its own stretch of an index, of which only the beginning is read: what is hidden costs
    nothing, and so does all that stands on later pages.
    """
    column, (way, beyond) = _COLUMNS[listing.order], ("DESC", "<") if listing.descending else ("ASC", ">")
    tests, values = _tests(listing)
    if after is not None:
        tests.append(f"(d.{column}, d.uri) {beyond} (?, ?)")
        values += [pack(part) if isinstance(part, str) else part for part in after]
    select = (
        f"{RECORD.replace('SELECT', f'SELECT d.{column},', 1)} WHERE {' AND '.join(['d.label_set = ?', *tests])}"
        f" ORDER BY d.{column} {way}, d.uri {way} LIMIT ?"
    )
    rows: list[Any] = [
        row
        for key in _sets(connection, listing, grants)
        for row in connection.execute(select, (key, *values, limit + 1))
    ]
    rows.sort(key=lambda row: row[:2], reverse=listing.descending)
    records = [record(row[1:], grants) for row in rows[:limit]]
    if len(rows) <= limit:
        return records, None
    value = rows[limit - 1][0]
    return records, (unpack(value) if isinstance(value, bytes) else value, records[-1].source.uri)


def _tests(listing: Listing) -> tuple[list[str], list[Any]]:
    """Write what a list is narrowed to as conditions on ``d``, and their values; names are ours."""
    words = pack(listing.words.casefold())
    given = {
        "d.status = ?": None if listing.status is None else pack(listing.status),
        "d.media_type = ?": None if listing.media_type is None else pack(listing.media_type),
        f"{_STALE} = ?": listing.stale,
        "mentions(d.name, d.title, d.uri, ?)": words or None,
    }
    chosen = {test: value for test, value in given.items() if value is not None}
    return list(chosen), list(chosen.values())


def mentions(name: bytes, title: bytes, uri: bytes, words: bytes) -> bool:
    """Tell whether folded words stand in what a source is called; SQL calls it."""
    return words in name or any(unpack(words) in each.casefold() for each in (unpack(title), unquote(unpack(uri))))


def _sets(connection: apsw.Connection, listing: Listing, grants: Grants) -> list[int]:
    """Give the keys of the sets of labels whose documents are shown, and wanted."""
    wanted = listing.label
    rows = connection.execute(
        "SELECT DISTINCT label_set, labels FROM tallies d JOIN label_sets s ON s.key = label_set"  # noqa: S608 - ours
        f" WHERE documents > 0 AND {seen(connection, grants)} ORDER BY label_set"
    )
    held = [(key, unpack_json(labels)) for key, labels in rows]
    if wanted is None:
        return [key for key, _ in held]
    return [key for key, labels in held if wanted in labels and (grants is None or wanted in grants)]


def counts(connection: apsw.Connection, grants: Grants) -> Counts:
    """Count the sources by what a list can be narrowed to."""
    status, media_type, labels = Counter[str](), Counter[str](), Counter[str]()
    stale = 0
    rows = connection.execute(
        f"SELECT documents, status, media_type, labels, {_STALE.replace('d.version', 'd.readable')}"  # noqa: S608
        " FROM tallies d JOIN label_sets s ON s.key = d.label_set"
        f" WHERE documents > 0 AND {seen(connection, grants)}"
    )
    for documents, its_status, its_type, its_labels, is_stale in rows:
        status[unpack(its_status)] += documents
        media_type[unpack(its_type)] += documents
        for label in unpack_json(its_labels):
            labels[label] += documents if grants is None or label in grants else 0
        stale += documents * is_stale
    return Counts(status.total(), stale, dict(status), dict(media_type), dict(+labels))
