"""Lists of sources: the pages are those of the plain definition, and cost what they show, however much there is."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from pincite.reports import After, Counts, Listing
from pincite.store.protocol import Grants, SourceRecord
from pincite.store.sqlite import lists
from pincite.store.sqlite.database import last_part
from pincite.store.sqlite.store import SqliteStore, open_store
from tests.store.documents import analyze, make

GRANTS: tuple[Grants, ...] = (None, frozenset(), frozenset({"hr"}), frozenset({"hr", "it"}))
TYPES = ("text/plain", "text/markdown", "audio/mpeg")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with_sources = open_store(tmp_path / "library", analyze=analyze, analyzer="words")
    yield with_sources
    with_sources.close()


def fill(store: SqliteStore, count: int, folders: tuple[str, ...] = ("a", "b", "c", "%C3%9F")) -> None:
    """Put sources of every kind; names and sizes repeat."""
    chance = random.Random(count)
    with store.together():
        for number in range(count):
            uri = f"file:///{chance.choice(folders)}/{chance.choice('xyzXY')}%20{number}.md"
            document, spans = make(uri, [f"word {number}"])
            source = replace(document.source, media_type=chance.choice(TYPES), size=number // 9, modified_ns=number % 7)
            if chance.random() < 0.8:
                title = chance.choice(("Straße", "report", "odd \ud800"))
                store.put_document(replace(document, source=source, title=title), spans, {}, "")
            if chance.random() < 0.3:
                store.put_failure(source, chance.choice(("failed", "unsupported")), "no", "")
            if chance.random() < 0.1:
                store.remove(uri)


def label(store: SqliteStore) -> None:
    store.put_labels("file:///a", ["hr"])
    store.put_labels("file:///b", ["it", "board"])
    store.put_labels("file:///%C3%9F", ["board"])


def is_stale(record: SourceRecord) -> bool:
    return record.version > 0 and record.status in ("failed", "unsupported")


def by_definition(store: SqliteStore, listing: Listing, grants: Grants) -> list[str]:
    keys = {
        "name": lambda r: last_part(r.source.uri).casefold(),
        "added": lambda r: r.added_ns,
        "modified": lambda r: r.source.modified_ns,
        "size": lambda r: r.source.size,
    }
    words, uris = listing.words.casefold(), []
    records = store.restricted(grants, writes=False).sources()
    for r in sorted(records, key=lambda r: (keys[listing.order](r), r.source.uri), reverse=listing.descending):
        texts = (last_part(r.source.uri), r.title, unquote(r.source.uri))
        if (
            listing.status in (None, r.status)
            and listing.media_type in (None, r.source.media_type)
            and listing.stale in (None, is_stale(r))
            and (listing.label is None or listing.label in r.labels)
            and any(words in text.casefold() for text in texts)
        ):
            uris.append(r.source.uri)
    return uris


def pages(store: SqliteStore, listing: Listing, grants: Grants, limit: int) -> list[str]:
    view, found = store.restricted(grants, writes=False), list[str]()
    after: After | None = None
    while True:
        records, after = view.listed(listing, after, limit)
        assert len(records) <= limit and (after is None or len(records) == limit)
        found += [record.source.uri for record in records]
        if after is None:
            return found


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("order", ["name", "added", "modified", "size"])
def test_the_pages_are_those_of_the_definition(store: SqliteStore, order: Any, descending: bool) -> None:
    fill(store, 60)
    label(store)
    narrowed: tuple[dict[str, Any], ...] = (
        {},
        {"words": "STRASSE"},
        {"words": "x 1"},
        {"words": "ß/"},
        {"status": "failed"},
        {"status": "unsupported", "media_type": "text/plain"},
        {"stale": True, "words": "\ud800"},
        {"stale": False, "label": "it"},
        {"label": "hr"},
        {"label": "board", "media_type": "audio/mpeg"},
        {"status": "nowhere"},
    )
    for narrow, grants, limit in product(narrowed, GRANTS, (1, 7, 60)):
        listing = Listing(order, descending, **narrow)
        assert pages(store, listing, grants, limit) == by_definition(store, listing, grants), (listing, grants)


def counted(store: SqliteStore, grants: Grants) -> Counts:
    records = list(store.restricted(grants, writes=False).sources())
    return Counts(
        len(records),
        sum(map(is_stale, records)),
        Counter(record.status for record in records),
        Counter(record.source.media_type for record in records),
        Counter(each for record in records for each in record.labels),
    )


def test_counts_follow_every_change(store: SqliteStore) -> None:
    fill(store, 40)
    for change in (
        lambda: label(store),
        lambda: fill(store, 50),
        lambda: store.put_labels("file:///a", []),
        lambda: [store.remove(record.source.uri) for record in list(store.sources())[::2]],
        lambda: [store.touch(record.source) for record in list(store.sources())],
        lambda: [store.remove(record.source.uri) for record in list(store.sources())],
    ):
        change()
        for grants in GRANTS:
            assert store.restricted(grants, writes=False).counts() == counted(store, grants)


def steps(store: SqliteStore, grants: Grants, listing: Listing) -> int:
    """Count the steps of SQLite's machine for a first page and the counts."""
    taken = 0

    def step() -> bool:
        nonlocal taken
        taken += 1
        return False

    with store._database.read() as connection:
        connection.set_progress_handler(step, 1)
        lists.listed(connection, listing, None, 20, grants)
        lists.counts(connection, grants)
        connection.set_progress_handler(None)
    return taken


def test_a_first_page_costs_the_same_however_many_sources_there_are(store: SqliteStore) -> None:
    listings = [Listing(order, way) for order in ("name", "added", "modified", "size") for way in (False, True)]
    fill(store, 300)
    label(store)
    few = [steps(store, *each) for each in product(GRANTS, listings)]
    fill(store, 1_500)
    many = [steps(store, *each) for each in product(GRANTS, listings)]
    for before, after in zip(few, many, strict=True):
        assert after < 1.5 * before, "five times the sources, and some kinds more"


def test_what_is_hidden_costs_nothing(store: SqliteStore) -> None:
    fill(store, 100, ("c",))
    alone = steps(store, frozenset(), Listing())
    store.put_labels("file:///a", ["hr"])
    fill(store, 1_000, ("a",))
    assert steps(store, frozenset(), Listing()) < 1.5 * alone, "ten times the sources"
