"""What derived indexes are told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pincite.store.sqlite import truth as module
from pincite.store.sqlite.store import SqliteStore, open_store
from tests.store.documents import DIMENSION, SPACE, analyze, make, put, vector_of, vectors_of


@pytest.fixture
def store(tmp_path: Path):
    store = open_store(tmp_path / "library", analyze=analyze, analyzer="words")
    yield store
    store.close()


def keys(store: SqliteStore, uri: str) -> list[int]:
    return [passage.key for passage in store.passages_of(uri)]


def test_changes_are_told_once_and_level_with_their_sequence(store: SqliteStore) -> None:
    """Whoever applies the changes since any moment to the keys of that moment gets the keys of now."""
    truth, moments = store.truth, []
    rng = np.random.default_rng(3)
    for step in range(40):
        uri = f"file:///{rng.integers(5)}.md"
        if rng.random() < 0.25:
            store.remove(uri)
        else:
            put(store, uri, [f"text {number}" for number in rng.integers(0, 9, rng.integers(0, 6))], language="en")
        if step % 7 == 0:
            store.collect_garbage()
        moments.append((truth.sequence(), set(truth.passage_keys().tolist())))
    now = moments[-1][1]
    for sequence, then in [(0, set[int]()), *moments]:
        for changes in (truth.changes(sequence), truth.vector_changes(sequence, SPACE)):
            added, removed = changes.added.tolist(), changes.removed.tolist()
            assert added == sorted(added)
            assert removed == sorted(removed)
            assert not set(added) & set(removed)
            assert (then | set(added)) - set(removed) == now
            assert changes.sequence == moments[-1][0]


def test_a_passage_joins_a_space_with_its_vector(store: SqliteStore) -> None:
    document, spans = make("file:///a.md", ["one", "two"])
    vectors = vectors_of(document, spans)
    first, second = vectors
    store.put_document(document, spans, {first: vectors[first]}, SPACE)
    truth, (one, two) = store.truth, keys(store, "file:///a.md")
    assert truth.vector_changes(0, SPACE).added.tolist() == [one]
    since = truth.sequence()
    store.put_vectors({second: vectors[second]}, SPACE)
    assert truth.vector_changes(since, SPACE).added.tolist() == [two]
    assert truth.changes(since).added.tolist() == []
    since = truth.sequence()
    put(store, "file:///b.md", ["one"])  # its vector was there before it
    assert truth.vector_changes(since, SPACE).added.tolist() == keys(store, "file:///b.md")
    assert truth.vector_changes(0, "another").added.tolist() == []


def test_vectors_come_in_the_order_of_the_keys(store: SqliteStore) -> None:
    texts = [f"text {number}" for number in range(9)]
    put(store, "file:///a.md", texts)
    asked = np.array([9, 2, 77, 5], dtype=np.int64)
    found, vectors = store.truth.vectors(asked, SPACE)
    assert found.tolist() == [9, 2, 5]
    assert np.array_equal(vectors, np.stack([vector_of(texts[key - 1]) for key in found]))
    for nobody in (store.truth.vectors(asked, "another"), store.truth.vectors(asked[:0], SPACE)):
        assert nobody[0].shape == (0,)
    assert store.truth.vectors(asked[:0], SPACE)[1].shape == (0, DIMENSION)


@pytest.mark.parametrize("rows", [1, 4, 100])
def test_batches_hold_everything_once(store: SqliteStore, rows: int) -> None:
    texts = [f"text {number}" for number in range(9)]
    put(store, "file:///a.md", texts)
    batches = list(store.truth.vector_batches(SPACE, rows))
    assert max(len(batch) for batch, _ in batches) <= rows
    assert np.concatenate([batch for batch, _ in batches]).tolist() == list(range(1, 10))
    assert np.array_equal(np.concatenate([v for _, v in batches]), np.stack([vector_of(text) for text in texts]))


def test_searched_passages_carry_context_and_language(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BATCH", 2)
    put(store, "file:///a.md", ["eins", "zwei", "drei"], context="Titel > Kopf", language="de")
    put(store, "file:///b.md", ["four"])
    found = list(store.truth.searched(np.array([4, 3, 99, 1, 2], dtype=np.int64)))
    assert [passage.key for passage in found] == [4, 3, 1, 2]
    assert [passage.text for passage in found] == ["four", *(f"Titel > Kopf\n{t}" for t in ("drei", "eins", "zwei"))]
    assert [passage.language for passage in found] == ["en", "de", "de", "de"]
    assert found[1].document_key == found[2].document_key != found[0].document_key


def test_an_index_never_learns_what_may_be_undone(store: SqliteStore) -> None:
    put(store, "file:///a.md", ["one"])
    before = store.truth.sequence()
    with pytest.raises(ZeroDivisionError), store.together():
        put(store, "file:///b.md", ["two"])
        assert store.truth.sequence() == before
        assert len(store.truth.passage_keys()) == 1
        raise ZeroDivisionError
