"""Damage to the truth is found and named, wherever it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pincite.store.sqlite.database import CATALOG
from pincite.store.sqlite.store import SqliteStore, open_store
from tests.store.documents import SPACE, analyze, put, vector_of


@pytest.fixture
def reopened(tmp_path: Path):
    """Open a library of three documents."""
    stores: list[SqliteStore] = []

    def open_it() -> SqliteStore:
        stores.append(open_store(tmp_path / "library", analyze=analyze, analyzer="words"))
        return stores[-1]

    store = open_it()
    for number in range(3):
        put(store, f"file:///{number}.md", [f"apple{number}", "pear", "unmistakable words"], context="A title")
    store.close()
    yield open_it
    for store in stores:
        store.close()


def failures(store: SqliteStore) -> dict[str, str]:
    return {check.name: check.detail for check in store.verify() if not check.ok}


def test_a_whole_library_is_well(reopened: Callable[[], SqliteStore]) -> None:
    store = reopened()
    checks = store.verify()
    assert [check.name for check in checks[:5]] == ["catalogue", "texts", "passages", "vectors", "counts"]
    assert all(check.ok and check.detail and not check.fix for check in checks[:5])
    assert len(checks) == 7, "the derived indexes are checked too"


DAMAGES = {
    "texts": "UPDATE texts SET text = x'6162' WHERE key = (SELECT max(key) FROM texts)",
    "passages": "UPDATE passages SET start = start + 1 WHERE key = 1",
    "vectors": "UPDATE embeddings SET vector = zeroblob(64) WHERE key = (SELECT max(key) FROM embeddings)",
    "counts": "UPDATE documents SET passages = 2 WHERE key = 1",
    "catalogue": "PRAGMA foreign_keys = OFF; DELETE FROM contents WHERE key = 1",
}
ALSO = {"texts": {"passages"}, "catalogue": set()}


@pytest.mark.parametrize("place", DAMAGES)
def test_damage_is_found_where_it_is(reopened: Callable[[], SqliteStore], place: str) -> None:
    store = reopened()
    connection = store._database._connect()
    for _ in connection.execute(DAMAGES[place]):
        pass
    connection.close()
    found = failures(store)
    assert place in found
    assert found.keys() <= {place} | ALSO.get(place, set())
    assert store.verify()[0].fix or place != "catalogue"


@pytest.mark.parametrize(
    "statement",
    [
        'UPDATE passages SET "end" = 9999999 WHERE key = 1',
        "DELETE FROM texts",
        "INSERT INTO texts VALUES (999999999999, x'00')",
        "UPDATE texts SET text = x'ff'",
        "UPDATE spaces SET vectors = 7",
        "UPDATE spaces SET dimension = 7",
        "INSERT INTO embeddings VALUES (5, 1, 1, x'00')",
        "UPDATE state SET sequence = 1",
        "UPDATE versions SET length = 3 WHERE key = 1",
        "UPDATE documents SET body = 77 WHERE key = 1",
        "PRAGMA foreign_keys = OFF; UPDATE passages SET document = 77 WHERE key = 1",
    ],
)
def test_any_disagreement_is_found(reopened: Callable[[], SqliteStore], statement: str) -> None:
    store = reopened()
    assert not failures(store)
    connection = store._database._connect()
    for _ in connection.execute(statement):
        pass
    connection.close()
    assert failures(store)


@pytest.mark.parametrize("what", [b"unmistakable words", vector_of("A title\npear").tobytes()])
def test_a_flipped_bit_is_found(reopened: Callable[[], SqliteStore], tmp_path: Path, what: bytes) -> None:
    store = reopened()
    store.close()
    path = tmp_path / "library" / CATALOG
    data = bytearray(path.read_bytes())
    at = data.find(what)
    assert at > 0
    data[at + len(what) // 2] ^= 0x10
    path.write_bytes(data)
    assert failures(reopened()), "a flipped bit went unnoticed"


def test_nothing_is_shown_of_what_is_gone(reopened: Callable[[], SqliteStore]) -> None:
    """An index that still names a removed passage does no harm: every hit is looked up in the truth."""
    store = reopened()
    index = store._indexes.keywords()
    hits = store.keyword_candidates(["apple1"], 9)
    index.search = lambda *_: hits  # type: ignore[method-assign]
    store.remove("file:///1.md")
    assert store.keyword_candidates(["apple1"], 9) == []
    assert store.vector_candidates(vector_of("A title\napple1"), 1, SPACE) != []
