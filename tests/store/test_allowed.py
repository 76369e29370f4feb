"""Labels and grants in the store: every method is restricted, rules follow places, and the top k stays full."""

from __future__ import annotations

import gzip
import inspect
import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.errors import AccessDenied, LibraryBusy, NotInLibrary
from pincite.reports import Listing
from pincite.store.derived.beside import Analysed, analysed, score, statistics_of
from pincite.store.derived.truth import Searched
from pincite.store.filters import Glob, Is
from pincite.store.protocol import Store
from pincite.store.sqlite.database import CATALOG
from pincite.store.sqlite.store import SqliteStore, open_store
from tests.store.documents import SPACE, analyze, make, put, vector_of, vectors_of

LABELS = ("hr", "board", "lab")
HR, OPEN = frozenset({"hr"}), frozenset[str]()
OLD = Path(__file__).parents[1] / "data" / "library_format_1.sqlite.gz"  # made by the code that wrote format 1


def opened(folder: Path, **options: Any) -> SqliteStore:
    return open_store(folder, analyze=analyze, analyzer="words", **options)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with_labels = opened(tmp_path / "library")
    yield with_labels
    with_labels.close()


def uris(store: Store, grants: frozenset[str] | None) -> list[str]:
    return [record.source.uri for record in shown_to(store, grants).sources()]


def shown_to(store: Store, grants: frozenset[str] | None) -> Store:
    """The store as a reader may use it."""
    return store.restricted(grants, writes=False)


# --- every method of the protocol

PLACE = "file:///board/a.md"
DOCUMENT, SPANS = make(PLACE, ["secret apple"])
VECTORS = vectors_of(DOCUMENT, SPANS)
READS: dict[str, Callable[[Store], Any]] = {
    "source": lambda store: store.source(PLACE),
    "sources": lambda store: list(store.sources()),
    "failed": lambda store: store.failed(),
    "listed": lambda store: store.listed(Listing(), None, 9),
    "counts": lambda store: store.counts(),
    "note": lambda store: store.note("roots"),
    "document": lambda store: store.document(PLACE),
    "versions": lambda store: store.versions(PLACE),
    "passages": lambda store: store.passages(range(9)),
    "owners": lambda store: store.owners(range(9)),
    "passages_of": lambda store: store.passages_of(PLACE),
    "known_hashes": lambda store: store.known_hashes(list(VECTORS), SPACE),
    "unembedded": lambda store: store.unembedded("another space", 9),
    "vector_candidates": lambda store: store.vector_candidates(next(iter(VECTORS.values())), 9, SPACE),
    "keyword_candidates": lambda store: store.keyword_candidates(["secret"], 9),
    "stats": lambda store: store.stats(),
    "close": lambda store: store.close(),
}
WRITES: dict[str, Callable[[Store], Any]] = {
    "put_document": lambda store: store.put_document(DOCUMENT, SPANS, VECTORS, SPACE),
    "together": lambda store: store.together(),
    "put_failure": lambda store: store.put_failure(DOCUMENT.source, "failed", "no", ""),
    "touch": lambda store: store.touch(DOCUMENT.source),
    "remove": lambda store: store.remove(PLACE),
    "put_labels": lambda store: store.put_labels(PLACE, ["hr"]),
    "put_vectors": lambda store: store.put_vectors(VECTORS, SPACE),
    "collect_garbage": lambda store: store.collect_garbage(),
    "flush": lambda store: store.flush(),
    "claimed": lambda store: store.claimed("embedding").__enter__(),
}
OWNERS: dict[str, Callable[[Store], Any]] = {
    "labelled": lambda store: store.labelled(),
    "changes": lambda store: store.changes(0),
    "verify": lambda store: store.verify(),
    "rebuild": lambda store: store.rebuild(),
}


def test_no_method_of_the_protocol_is_forgotten() -> None:
    """A new method must be restricted, and stand in one of these tables."""
    methods = {name for name, _ in inspect.getmembers(Store, inspect.isfunction) if not name.startswith("_")}
    assert READS.keys() | WRITES.keys() | OWNERS.keys() | {"restricted"} == methods


def outcome(call: Callable[[Store], Any], store: Store) -> Any:
    try:
        return call(store)
    except NotInLibrary as error:
        return str(error)


@pytest.fixture(scope="module")
def with_a_secret(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """A store with one document, which failed of late, and its label."""
    whole = opened(tmp_path_factory.mktemp("secret") / "library")
    whole.put_labels("file:///board", ["board"])
    WRITES["put_document"](whole)
    WRITES["put_failure"](whole)
    whole.note("roots", "[secret]")
    yield whole
    whole.close()


@pytest.mark.parametrize("name", READS)
def test_a_reader_finds_nothing_of_what_is_hidden(with_a_secret: SqliteStore, tmp_path: Path, name: str) -> None:
    empty = opened(tmp_path / "empty")
    expected = outcome(READS[name], shown_to(empty, HR))
    assert outcome(READS[name], shown_to(with_a_secret, HR)) == expected
    if name != "close":
        assert outcome(READS[name], shown_to(with_a_secret, frozenset({"board"}))) != expected or name == "note"
        assert outcome(READS[name], with_a_secret) != expected, "or else this shows nothing"
    empty.close()


@pytest.mark.parametrize("name", WRITES)
def test_a_reader_writes_nothing(with_a_secret: SqliteStore, name: str) -> None:
    for grants in (None, HR, frozenset({"board"})):
        with pytest.raises(AccessDenied):
            WRITES[name](shown_to(with_a_secret, grants))
    assert with_a_secret.document(PLACE).version == 1


@pytest.mark.parametrize("name", OWNERS)
def test_what_tells_of_everything_is_for_the_owner(with_a_secret: SqliteStore, name: str) -> None:
    with pytest.raises(AccessDenied):
        OWNERS[name](with_a_secret.restricted(HR, writes=True))
    if name != "changes":  # who sees every document may see that one changed
        with pytest.raises(AccessDenied):
            OWNERS[name](with_a_secret.restricted(None, writes=True))
    OWNERS[name](with_a_secret)


def test_a_reader_closes_nothing(store: SqliteStore) -> None:
    put(store, "note:a", ["apple"])
    shown_to(store, OPEN).close()
    assert uris(store, OPEN) == ["note:a"]


def test_notes_that_name_paths_are_empty(store: SqliteStore) -> None:
    store.note("roots", "[secret]")
    store.note("readers", "{}")
    seen = store.restricted(HR, writes=True)
    assert (seen.note("roots"), seen.note("readers")) == ("", "{}")
    with pytest.raises(AccessDenied):
        seen.note("roots", "[mine]")
    assert store.note("roots") == "[secret]"
    assert store.restricted(None, writes=False).note("roots") == "[secret]"


# --- labels follow places


PLACES = [
    *("file:///a", "file:///a/b", "file:///a/b/c.zip", "file:///ab", "file:///a/b/c.zip/d/e.md", "file:///a/b/c.zip!f"),
    *("file:///a!", "file:///a/b0", "file:///a/a", "file:///a/b/", "file:///", "file:///\uffff/x", "file:///a/b/c"),
]


def labels_by_rule(uri: str, rules: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The slow, obvious meaning: of the places at or above, the longest that has labels."""
    above = [place for place in rules if uri == place or uri.startswith((place + "/", place + "!"))]
    return rules[max(above, key=len)] if above else ()


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(("label", "put", "fail", "remove")),
            st.sampled_from(PLACES),
            st.sets(st.sampled_from(LABELS), max_size=2),
        ),
        max_size=14,
    )
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_nearest_label_counts_whatever_came_first(tmp_path: Path, steps) -> None:
    folder = tmp_path / uuid4().hex
    store, rules, held = opened(folder), {}, set()
    for step, place, labels in steps:
        if step == "label":
            count = store.put_labels(place, labels)
            assert count == sum(u == place or u.startswith((place + "/", place + "!")) for u in held)
            rules.pop(place, None)
            rules |= {place: tuple(sorted(labels))} if labels else {}
        elif step == "put":
            put(store, place, ["words"])
            held.add(place)
        elif step == "fail":
            store.put_failure(make(place, [])[0].source, "failed", "no", "")
            held.add(place)
        elif store.remove(place):
            held.remove(place)
        expected = {uri: labels_by_rule(uri, rules) for uri in sorted(held)}
        assert {record.source.uri: record.labels for record in store.sources()} == expected
    for grants in (OPEN, HR, frozenset(LABELS)):
        shown = [u for u in sorted(held) if not labels_by_rule(u, rules) or grants & set(labels_by_rule(u, rules))]
        assert uris(store, grants) == shown
    assert dict(store.labelled()) == rules
    assert all(check.ok for check in store.verify())
    store.close()


def test_a_new_file_is_never_seen_without_the_label_of_its_folder(store: SqliteStore) -> None:
    store.put_labels("file:///hr", ["hr"])
    seen: list[str] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.extend(uris(store, OPEN))
            seen.extend(str(c.key) for c in shown_to(store, OPEN).keyword_candidates(["secret"], 5))

    reader = threading.Thread(target=look)
    reader.start()
    for number in range(40):
        put(store, f"file:///hr/{number % 7}.md", [f"secret {number}"])
        if number % 5 == 4:
            store.remove(f"file:///hr/{number % 7}.md")
    done.set()
    reader.join()
    assert seen == []


def test_a_change_of_labels_is_seen_by_every_store_at_once(store: SqliteStore, tmp_path: Path) -> None:
    put(store, "file:///a/one.md", ["apple pear"])
    other = opened(tmp_path / "library")
    vector = vector_of("apple pear")

    def found(by: Store) -> list[int]:
        return [
            len(shown_to(by, OPEN).keyword_candidates(["apple"], 5)),
            len(shown_to(by, OPEN).vector_candidates(vector, 5, SPACE)),
            shown_to(by, OPEN).stats().passages,
        ]

    for _ in range(3):
        assert (found(store), found(other)) == ([1, 1, 1], [1, 1, 1])
        store.put_labels("file:///a", ["hr"])
        assert (found(other), found(store)) == ([0, 0, 0], [0, 0, 0])
        other.put_labels("file:///a", [])
    other.close()


def test_a_name_of_nothing_but_slashes_costs_no_time(store: SqliteStore) -> None:
    store.put_labels("file:///a", ["hr"])
    store.put_labels("file:///a" + "/" * 100, ["lab"])
    for uri, labels in (("file:///a" + "/" * 500_000, ("lab",)), ("file:///a" + "/!" * 40, ("hr",))):
        put(store, uri, ["apple"])
        assert store.source(uri).labels == labels


# --- a writer with grants


def test_what_an_editor_adds_carries_his_grants(store: SqliteStore) -> None:
    mine = store.restricted(HR, writes=True)
    put(mine, "note:a", ["apple"])
    assert store.source("note:a").labels == ("hr",)
    put(mine, "note:a", ["apple", "again"])
    store.put_labels("note:other", ["board"])  # whatever is labelled later, it keeps them
    assert uris(store, OPEN) == []
    store.put_labels("file:///shared", ["hr", "board"])
    put(mine, "file:///shared/x.md", ["pear"])
    assert store.source("file:///shared/x.md").labels == ("board", "hr")
    assert mine.source("file:///shared/x.md").labels == ("hr",), "of labels only his own are shown"
    put(store.restricted(OPEN, writes=True), "note:open", ["fig"])
    assert store.source("note:open").labels == ()


def test_an_editor_neither_replaces_nor_removes_what_he_does_not_see(store: SqliteStore) -> None:
    store.put_labels("file:///board", ["board"])
    put(store, "file:///board/a.md", ["secret apple"])
    mine = store.restricted(HR, writes=True)
    document, spans = make("file:///board/a.md", ["mine"])
    nothing_there, _ = make("file:///board/b.md", ["mine"])
    refused = []
    for call in (
        lambda: mine.put_document(document, spans, {}, ""),
        lambda: mine.put_document(nothing_there, [], {}, ""),
        lambda: mine.put_failure(document.source, "failed", "no", ""),
        lambda: mine.touch(document.source),
        lambda: mine.put_labels("file:///board", ["hr"]),
        lambda: mine.put_labels("file:///board/b.md", ["hr"]),
        lambda: mine.put_labels("file:///elsewhere", ["board"]),
        lambda: mine.put_labels("file:///elsewhere", []),
    ):
        with pytest.raises(AccessDenied) as caught:
            call()
        refused.append(str(caught.value).replace("b.md", "a.md"))
    assert len(set(refused[:4])) == 1, "nothing tells whether something is there"
    assert mine.remove("file:///board/a.md") is False
    assert store.document("file:///board/a.md").text == "secret apple"
    assert store.source("file:///board/a.md").status == "indexed"
    assert mine.put_labels("file:///elsewhere", ["hr"]) == 0


def test_whether_a_hidden_document_says_the_same_is_not_told(store: SqliteStore) -> None:
    store.put_labels("file:///board", ["board"])
    document, spans = make("file:///board/a.md", ["secret apple"])
    store.put_document(document, spans, vectors_of(document, spans), SPACE)
    hashes = list(vectors_of(document, spans))
    assert store.known_hashes(hashes, SPACE) == set(hashes)
    assert shown_to(store, HR).known_hashes(hashes, SPACE) == set()
    assert shown_to(store, HR).stats().spaces == {}
    store.restricted(HR, writes=True).put_vectors({hashes[0]: vector_of("other")}, "another space")
    assert store.known_hashes(hashes, "another space") == set()
    put(store.restricted(HR, writes=True), "note:mine", ["secret apple"])
    assert shown_to(store, HR).known_hashes(hashes, SPACE) == set(hashes)


# --- the best k of what is shown


def corpus(store: SqliteStore, rng: random.Random, count: int) -> dict[str, tuple[str, ...]]:
    """Fill a store; give the labels of each document."""
    labels = {}
    with store.together():
        for number in range(count):
            uri = f"file:///{number % 5}/{number}.md"
            labels[uri] = tuple(sorted(rng.sample(LABELS, rng.choice((0, 1, 1, 2)))))
            store.put_labels(uri, labels[uri])
            words = [
                " ".join(rng.choices(["apple", "pear", "plum", "fig", "lime", "date", "kiwi"], k=rng.randint(1, 60)))
                for _ in range(6)
            ]
            put(store, uri, words, language=rng.choice(("en", "en", "de")))
    return labels


def shown_passages(store: SqliteStore, grants: frozenset[str]) -> list[Analysed]:
    """Everything that grants show, as the keyword index sees it."""
    found = []
    for record in shown_to(store, grants).sources():
        for passage in store.passages_of(record.source.uri):
            text = Searched(passage.key, 0, record.language, passage.searched)
            found.append(analysed(text, analyze))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_the_hits_are_the_best_of_what_is_shown(store: SqliteStore, seed: int) -> None:
    """By brute force over the shown passages, with their own statistics; some indexed, some new, some removed."""
    words = ["apple", "pear", "plum", "fig", "lime", "date", "kiwi", "langde", "nothing"]
    rng = random.Random(seed)
    labels = corpus(store, rng, 60)
    store.flush()
    corpus(store, random.Random(seed + 100), 9)  # these are scored beside the index
    labels = {record.source.uri: record.labels for record in store.sources()}
    store.remove(rng.choice(sorted(labels)))
    store.put_labels("file:///3", ["lab"])  # of the folder: each file has its own, which counts
    for grants in (OPEN, HR, frozenset({"board", "lab"}), frozenset(LABELS)):
        passages = shown_passages(store, grants)
        for _ in range(6):
            terms = rng.choices(words, k=rng.randint(1, 5))
            rows = score(passages, sorted(terms), statistics_of(passages), None)
            best = sorted(((-value, key) for value, key in rows))
            for where, limit in ((None, 5), (None, 500), (Is("language", "de"), 7), (Glob("uri", "*/1*"), 7)):
                allowed = {p.key for u in uris(store, grants) for p in store.passages_of(u)}
                if where is not None:
                    allowed &= {c.key for c in store.keyword_candidates([*terms], 10_000, where)}
                expected = [(key, -value) for value, key in best if key in allowed][:limit]
                found = shown_to(store, grants).keyword_candidates(terms, limit, where)
                assert [(c.key, c.score) for c in found] == expected
        vector = vector_of(f"{seed}")
        keys = [passage.key for passage in passages]
        every = {c.key: c.score for c in store.vector_candidates(vector, 10_000, SPACE)}
        nearest = sorted((-every[key], key) for key in keys)[:20]
        assert [(-c.score, c.key) for c in shown_to(store, grants).vector_candidates(vector, 20, SPACE)] == nearest


def test_codes_are_searched_among_what_is_shown(tmp_path: Path) -> None:
    """Beyond 4,096 passages vectors are searched by codes; for grants as for all the top 20 is that of brute force."""
    store = opened(tmp_path / "library")
    rng = np.random.default_rng(1)
    with store.together():
        store.put_labels("file:///hr", ["hr"])
        for number in range(60):
            place = "hr" if number % 3 else "open"
            put(store, f"file:///{place}/{number}.md", [f"{number} {part}" for part in range(100)])
    for grants in (OPEN, HR):
        shown = {p.key for uri in uris(store, grants) for p in store.passages_of(uri)}
        for _ in range(10):
            vector = rng.standard_normal(16).astype(np.float32)
            vector /= np.linalg.norm(vector)
            every = {c.key: c.score for c in store.vector_candidates(vector, 10_000, SPACE)}
            expected = sorted(((-value, key) for key, value in every.items() if key in shown))[:20]
            found = shown_to(store, grants).vector_candidates(vector, 20, SPACE)
            assert [(-c.score, c.key) for c in found] == expected
    store.close()


# --- a library of the format before


@pytest.fixture
def old(tmp_path: Path) -> Path:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / CATALOG).write_bytes(gzip.decompress(OLD.read_bytes()))
    return tmp_path / "old"


def holds(store: SqliteStore) -> None:
    assert uris(store, OPEN) == ["file:///a/one.md", "file:///a/two.md", "note:three"]
    assert store.source("note:three").labels == ()
    records, after = store.listed(Listing(descending=True), None, 2)
    records += store.listed(Listing(descending=True), after, 2)[0]
    assert [record.source.uri for record in records] == ["file:///a/two.md", "file:///a/one.md", "note:three"]
    assert store.counts().all == store.counts().status["indexed"] == 3
    assert store.document("file:///a/two.md", 2).text == "apple fig\n\na second version"
    assert len(shown_to(store, OPEN).keyword_candidates(["apple"], 5)) == 2
    assert shown_to(store, OPEN).stats().languages == store.stats().languages == ("en", "de")


def test_an_old_library_is_brought_up_to_date(old: Path) -> None:
    store = opened(old)
    holds(store)
    store.put_labels("file:///a", ["hr"])
    assert uris(store, OPEN) == ["note:three"]
    assert all(check.ok for check in store.verify())
    store.close()
    again = opened(old)
    assert uris(again, HR) == ["file:///a/one.md", "file:///a/two.md", "note:three"]
    again.close()


def test_an_old_library_that_can_only_be_read_is_read(old: Path) -> None:
    before = (old / CATALOG).read_bytes()
    store = opened(old, readonly=True)
    holds(store)
    store.close()
    assert (old / CATALOG).read_bytes() == before


def test_a_migrated_library_has_the_tables_of_a_new_one(old: Path, tmp_path: Path) -> None:
    def tables(folder: Path) -> Counter[Any]:
        store = opened(folder)
        with store._database.read() as connection:
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
            found: Counter[Any] = Counter(names)
            for name in names:
                found.update((name, *row[1:]) for row in connection.execute(f"PRAGMA table_xinfo({name})"))
        store.close()
        return found

    assert tables(old) == tables(tmp_path / "new")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_death_while_a_library_is_brought_up_to_date(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pincite.store.sqlite import faults

    for point in ("before_commit", "after_commit"):
        child = os.fork()
        if not child:
            monkeypatch.setattr(faults, "_POINT", point)
            opened(old)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 137
    store = opened(old)
    holds(store)
    assert all(check.ok for check in store.verify())
    store.close()


def test_two_processes_may_bring_it_up_to_date_at_once(old: Path) -> None:
    errors: list[Exception] = []

    def use() -> None:
        try:
            store = opened(old)
            holds(store)
            store.close()
        except (NotInLibrary, LibraryBusy, AssertionError) as error:
            errors.append(error)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
