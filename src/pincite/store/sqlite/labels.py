"""Labels: given to a place, kept with each document, and turned into a condition on what may be read."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import apsw

from pincite.errors import AccessDenied
from pincite.store.protocol import Grants
from pincite.store.sqlite.schema import pack, pack_json, unpack, unpack_json

NONE = 0  # the key of the empty set
_BEFORE = "SELECT uri, label_set FROM label_rules WHERE uri <= ? ORDER BY uri DESC LIMIT 1"
_BELOW = "(uri = ?1 OR uri >= ?2 AND uri < ?3 OR uri >= ?4 AND uri < ?5)"  # at or below a place; see _bounds


def seen(connection: apsw.Connection, grants: Grants) -> str:
    """Give the condition on the row ``d`` of ``documents`` under which grants show it; all of it is ours."""
    if grants is None:
        return "1"
    rows = connection.execute("SELECT key, labels FROM label_sets ORDER BY key")
    keys = [str(key) for key, labels in rows if key == NONE or not grants.isdisjoint(unpack_json(labels))]
    return f"d.label_set IN ({', '.join(keys)})"


def nearest(connection: apsw.Connection, uri: str) -> int:
    """Give the key of the set that the nearest rule at or above a URI names, ``NONE`` without one.

    Looks at the greatest rule that is not beyond the URI. If it is not above it, all that are above both are no longer
    than what both begin with. A URI may be long and full of slashes: its prefixes are not listed.
    """
    target = limit = pack(uri)
    while True:
        row: Any = connection.execute(_BEFORE, (limit,)).get
        if row is None:
            return NONE
        place, key = row
        if target == place or target.startswith((place + b"/", place + b"!")):
            return int(key)
        same = next(
            (n for n, pair in enumerate(zip(place, target, strict=False)) if pair[0] != pair[1]), len(place) - 1
        )
        limit = place[:same]


def for_new(connection: apsw.Connection, uri: str, grants: Grants) -> int:
    """Give the key of a new document's labels.

    Those of its place; where that has none, the writer's grants, which its URI keeps. AccessDenied where the place has
    labels of which the writer holds none.
    """
    found = nearest(connection, uri)
    if grants is None or (found == NONE and not grants):
        return found
    if found == NONE:
        found = _intern(connection, grants)
        connection.execute("INSERT OR REPLACE INTO label_rules VALUES (?, ?)", (pack(uri), found))
    elif grants.isdisjoint(_labels_of(connection, found)):
        raise denied(uri)
    return found


def check_writer(connection: apsw.Connection, uri: str, grants: Grants) -> None:
    """Raise AccessDenied if there is a document that the writer does not see."""
    if grants is not None:
        found = connection.execute("SELECT label_set FROM documents WHERE uri = ?", (pack(uri),)).get
        if found and grants.isdisjoint(_labels_of(connection, found)):
            raise denied(uri)


def denied(uri: str) -> AccessDenied:
    """Make the error, which is the same whatever stands in the way."""
    return AccessDenied(f"You may not write {uri}.", fix="Choose another name or place, or ask for the rights.")


def put_rule(connection: apsw.Connection, uri: str, labels: Collection[str], grants: Grants) -> int:
    """Give a place its labels, or take them away if there are none, and relabel what is there.

    Args:
        connection: in a transaction.
        uri: the place.
        labels: none: the nearest rule above counts again.
        grants: of the writer.

    Returns:
        How many documents are there.

    Raises:
        AccessDenied: grants are given, and the labels are not some of them, something is there, or the place has other
            labels.
    """
    name = pack(uri)
    if grants is not None:
        found = nearest(connection, uri)
        is_free = found == NONE or not grants.isdisjoint(_labels_of(connection, found))
        if not labels or not grants.issuperset(labels) or not is_free or _count(connection, name):
            raise denied(uri)
    if labels:
        rule = (name, _intern(connection, labels))
        connection.execute("INSERT OR REPLACE INTO label_rules VALUES (?, ?)", rule)
    else:
        connection.execute("DELETE FROM label_rules WHERE uri = ?", (name,))
    _relabel(connection, name, nearest(connection, uri))
    inner: list[Any] = connection.execute(
        f"SELECT uri, label_set FROM label_rules WHERE uri <> ?1 AND {_BELOW} ORDER BY length(uri)",  # noqa: S608
        _bounds(name),
    ).fetchall()
    for place, labels_key in inner:  # the longest last: it counts
        _relabel(connection, place, labels_key)
    return _count(connection, name)


def rules(connection: apsw.Connection) -> list[tuple[str, tuple[str, ...]]]:
    """List the places that labels were given to, with these, by URI."""
    rows = connection.execute(
        "SELECT uri, labels FROM label_rules r JOIN label_sets s ON s.key = label_set ORDER BY uri"
    )
    return [(unpack(uri), tuple(unpack_json(labels))) for uri, labels in rows]


def _count(connection: apsw.Connection, place: bytes) -> int:
    """Count the documents at or below a place."""
    return int(connection.execute(f"SELECT count(*) FROM documents WHERE {_BELOW}", _bounds(place)).get)  # noqa: S608


def _relabel(connection: apsw.Connection, place: bytes, key: int) -> None:
    statement = f"UPDATE documents SET label_set = ?6 WHERE label_set <> ?6 AND {_BELOW}"  # noqa: S608
    connection.execute(statement, (*_bounds(place), key))


def _bounds(place: bytes) -> tuple[bytes, ...]:
    """Give a place, and what begins with it and "/" or "!": from, and up to ("0" follows "/", and '"' follows "!")."""
    return (place, place + b"/", place + b"0", place + b"!", place + b'"')


def _labels_of(connection: apsw.Connection, key: int) -> list[str]:
    found: list[str] = unpack_json(connection.execute("SELECT labels FROM label_sets WHERE key = ?", (key,)).get)
    return found


def _intern(connection: apsw.Connection, labels: Collection[str]) -> int:
    """Give the key of a set of labels."""
    data = pack_json(sorted(set(labels)))
    connection.execute("INSERT OR IGNORE INTO label_sets (labels) VALUES (?)", (data,))
    return int(connection.execute("SELECT key FROM label_sets WHERE labels = ?", (data,)).get)
