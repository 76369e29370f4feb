"""What every store must do, written against the protocol alone; a new store is one more line in ``STORES``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.errors import LibraryError, NotInLibrary
from pincite.store.filters import And, Between, Filter, Glob, In, Is, Not, Or, matches
from pincite.store.hashing import embedding_hash
from pincite.store.protocol import Store
from pincite.types import Block, Page, Source, Span, searched_text
from tests.store.documents import DIMENSION, SPACE, analyze, make, put, vector_of, vectors_of

Open = Callable[[], Store]


def open_sqlite(folder: Path) -> Store:
    from pincite.store.sqlite.store import open_store

    return open_store(folder / "library.pincite", analyze=analyze, analyzer="words")


STORES = {"sqlite": open_sqlite}


@pytest.fixture(params=STORES)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Open the same library as often as a test likes."""
    stores: list[Store] = []

    def open_it() -> Store:
        stores.append(STORES[request.param](tmp_path))
        return stores[-1]

    yield open_it
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: Open) -> Store:
    return opened()


def keys(store: Store, uri: str) -> list[int]:
    return [passage.key for passage in store.passages_of(uri)]


# --- documents and passages


def test_a_document_comes_back_as_it_was(store: Store) -> None:
    odd = "\0 \ud800 \ud83d\ude00 e\u0301 \U0001f469\u200d\U0001f467 \u202eright"
    document, spans = make(
        "file:///a.md", [odd, "two"], metadata={"s": odd, "i": 1, "b": True, "f": 1.5, "big": 10**30}
    )
    document = replace(
        document,
        title=odd,
        blocks=(Block("heading", 0, 3, 2, odd), Block("code", 3, 9, 0, "py")),
        pages=(Page(1, "iv", 0, 30), Page(2, odd, 30, 40)),
    )
    receipt = store.put_document(document, spans, {}, "")
    found = store.document("file:///a.md")
    assert found == replace(document, version=1)
    assert [type(found.metadata[name]) for name in "sibf"] == [str, int, bool, float]
    assert (receipt.version, receipt.passages, receipt.added) == (1, 2, 2)


def test_versions_are_listed_oldest_first(store: Store) -> None:
    for texts in (["one"], ["one", "two"], ["one", "two"], ["three"]):
        document, spans = make("file:///v.md", texts)
        source = replace(document.source, content_hash="-".join(texts))
        store.put_document(replace(document, source=source, title=texts[-1]), spans, {}, "")
    found = store.versions("file:///v.md")
    assert [(each.version, each.title, each.content_hash) for each in found] == [
        (1, "one", "one"),
        (2, "two", "one-two"),
        (3, "three", "three"),
    ]
    assert all(each.added_ns > 0 for each in found)
    assert store.versions("file:///none.md") == []
    store.put_labels("file:///v.md", ["hr"])
    assert store.restricted(frozenset({"it"}), writes=False).versions("file:///v.md") == []
    assert len(store.restricted(frozenset({"hr"}), writes=False).versions("file:///v.md")) == 3


@given(
    paragraphs=st.lists(st.text(st.characters(), min_size=1, max_size=60), max_size=6),
    later=st.lists(st.text(st.characters(), min_size=1, max_size=60), max_size=6),
    context=st.text(st.characters(), max_size=10),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_passages_are_spans_of_their_version(store: Store, paragraphs, later, context) -> None:
    for number, texts in enumerate((paragraphs, later, paragraphs)):
        document, spans = make("file:///h.txt", texts, context=context if number else "")
        store.put_document(document, spans, vectors_of(document, spans), SPACE)
        newest = store.document("file:///h.txt")
        found = store.passages_of("file:///h.txt")
        assert newest.text == document.text
        assert [newest.text[p.start : p.end] for p in found] == [p.text for p in found] == texts
        assert store.passages([p.key for p in found]) == {p.key: p for p in found}
        for passage in found:
            assert passage.id == f"{document.id}@{newest.version}:{passage.start}-{passage.end}"
            assert passage.searched == searched_text(spans[0].context, passage.text)
    assert not store.unembedded(SPACE, 10)


def test_places_are_lines_pages_and_headings(store: Store) -> None:
    document, spans = make("file:///p.txt", ["one\ntwo", "three\r\nfour"], title="T")
    document = replace(document, pages=(Page(7, "vii", 0, 5), Page(8, "", 5, len(document.text))))
    store.put_document(document, spans, {}, "")
    first, second = store.passages_of("file:///p.txt")
    assert (first.line_from, first.line_to, first.page_from, first.page_to) == (1, 2, 7, 8)
    assert (second.line_from, second.line_to, second.page_from, second.page_to) == (4, 5, 8, 8)
    assert (first.heading_path, first.title, first.uri) == (("T",), "T", "file:///p.txt")


@pytest.mark.parametrize("gap", [" ", "\n", "\r\n    ", " " * 8_000, "\n" + " " * 20_000, "é\r" + "x" * 7_997])
def test_columns_count_from_the_beginning_of_the_line(store: Store, gap: str) -> None:
    text = "first" * 1599 + gap + "second"
    document, _ = make("file:///c.txt", [text])
    start = len(text) - 6
    spans = [Span(0, 4, (), "", 1), Span(start, len(text), (), "", 1)]
    store.put_document(document, spans, {}, "")
    first, second = store.passages_of("file:///c.txt")
    begun = max(text.rfind("\n"), text.rfind("\r")) + 1
    assert (first.column_from, second.column_from, second.text) == (1, start - begun + 1, "second")


def test_a_column_is_not_known_where_a_line_has_no_end(store: Store) -> None:
    document, _ = make("file:///c.txt", ["x" * 200_000])
    store.put_document(document, [Span(0, 9, (), "", 1), Span(150_000, 150_009, (), "", 1)], {}, "")
    assert [passage.column_from for passage in store.passages_of("file:///c.txt")] == [1, None]


def test_a_long_document_is_cut_anywhere(store: Store) -> None:
    paragraphs = ["é" * 7_999, "\U0001f600" * 8_001, "x" * 20_000, "y", "z" * 3]
    put(store, "file:///long.txt", paragraphs)
    assert [passage.text for passage in store.passages_of("file:///long.txt")] == paragraphs


def test_an_empty_document_is_a_document(store: Store) -> None:
    assert put(store, "file:///empty.txt", []).passages == 0
    assert store.document("file:///empty.txt").text == ""
    assert store.source("file:///empty.txt").status == "indexed"
    assert store.stats().documents == 1


def test_unchanged_passages_keep_their_keys(store: Store) -> None:
    put(store, "file:///a.md", ["one", "two", "same", "same", "five"])
    before = keys(store, "file:///a.md")
    receipt = put(store, "file:///a.md", ["zero", "one", "same", "same", "same", "five"])
    after = keys(store, "file:///a.md")
    assert (receipt.version, receipt.added) == (2, 2)
    assert [after[1], after[2], after[3], after[5]] == [before[0], before[2], before[3], before[4]]
    assert min(after[0], after[4]) > max(before), "a key that went never comes back"
    changes = store.changes(receipt.sequence - 1)
    assert changes.added.tolist() == sorted((after[0], after[4]))
    assert changes.removed.tolist() == [before[1]]
    assert store.passages(before).keys() == set(before) - {before[1]}


def test_the_same_content_again_changes_nothing(store: Store) -> None:
    put(store, "file:///a.md", ["one", "two"])
    before = keys(store, "file:///a.md")
    receipt = put(store, "file:///a.md", ["one", "two"], metadata={"tag": "new"})
    assert (receipt.version, receipt.added, keys(store, "file:///a.md")) == (1, 0, before)
    assert store.document("file:///a.md").metadata == {"tag": "new"}


def test_another_language_is_analysed_again(store: Store) -> None:
    put(store, "file:///a.md", ["Rot"], language="en")
    assert put(store, "file:///a.md", ["Rot"], language="de").added == 1
    assert store.keyword_candidates(["langde"], 5)
    assert not store.keyword_candidates(["langen"], 5)
    assert store.stats().languages == ("de",)


def test_earlier_versions_stay_readable(store: Store) -> None:
    first, _ = make("file:///a.md", ["one"], title="Old", metadata={"n": 1})
    put(store, "file:///a.md", ["one"], title="Old", metadata={"n": 1})
    put(store, "file:///a.md", ["two"], title="New")
    old = store.document("file:///a.md", 1)
    assert old == replace(first, version=1)
    assert store.document("file:///a.md").text == "two"
    for version in (0, 3, -1, 2**40):
        with pytest.raises(NotInLibrary):
            store.document("file:///a.md", version)
    with pytest.raises(NotInLibrary) as caught:
        store.document("file:///b.md")
    assert caught.value.fix


def test_what_is_removed_leaves_no_trace(store: Store) -> None:
    put(store, "file:///a.md", ["one", "two"], metadata={"tag": "x"})
    put(store, "file:///b.md", ["one"])
    gone = keys(store, "file:///a.md")
    before = store.stats().sequence
    assert store.remove("file:///a.md")
    assert not store.remove("file:///a.md")
    assert store.source("file:///a.md") is None
    assert store.passages(gone) == {}
    assert store.changes(before).removed.tolist() == gone
    assert [c.key for c in store.vector_candidates(vector_of("one"), 9, SPACE)] == keys(store, "file:///b.md")
    assert [c.key for c in store.keyword_candidates(["one", "two"], 9)] == keys(store, "file:///b.md")
    for version in (None, 1):
        with pytest.raises(NotInLibrary):
            store.document("file:///a.md", version)


def test_a_passage_id_never_names_two_texts(store: Store) -> None:
    put(store, "file:///a.md", ["one"])
    put(store, "file:///a.md", ["two"])
    store.remove("file:///a.md")
    assert put(store, "file:///a.md", ["six"]).version == 3


def test_equal_files_are_two_documents_with_one_embedding(store: Store) -> None:
    put(store, "file:///a.md", ["one"])
    put(store, "file:///b.md", ["one"])
    found = store.vector_candidates(vector_of("one"), 9, SPACE)
    assert [c.key for c in found] == sorted(keys(store, "file:///a.md") + keys(store, "file:///b.md"))
    assert store.stats().spaces == {SPACE: 1}


def test_writes_that_belong_together_are_committed_together(opened: Open) -> None:
    store, other = opened(), opened()
    put(store, "file:///a.md", ["apple"])
    before = other.stats()
    with store.together():
        put(store, "file:///b.md", ["apple"])
        put(store, "file:///b.md", ["pear"])
        with store.together():
            store.remove("file:///a.md")
        with pytest.raises(ValueError, match="passage"):
            store.put_document(*make("file:///c.md", ["x"])[:1], [Span(0, 99, (), "", 1)], {}, "")
        assert store.source("file:///a.md") is None, "this thread sees what it wrote"
        assert store.document("file:///b.md").version == 2
        assert store.collect_garbage() == 1
        for reader in (store, other):
            assert reader.stats() == before
            assert len(reader.keyword_candidates(["apple"], 9)) == 1, "searches see what is committed"
            assert not reader.keyword_candidates(["pear"], 9)
    assert [record.source.uri for record in other.sources()] == ["file:///b.md"]
    for reader in (store, other):
        assert len(reader.keyword_candidates(["pear"], 9)) == 1
        assert not reader.keyword_candidates(["apple"], 9)


def test_what_fails_together_did_not_happen(store: Store) -> None:
    put(store, "file:///a.md", ["apple"])
    before = store.stats(), store.passages_of("file:///a.md"), list(store.sources())
    with pytest.raises(KeyboardInterrupt), store.together():
        put(store, "file:///a.md", ["plum"])
        store.remove("file:///a.md")
        store.note("name", "value")
        raise KeyboardInterrupt
    assert (store.stats(), store.passages_of("file:///a.md"), list(store.sources())) == before
    assert store.note("name") == ""
    put(store, "file:///b.md", ["pear"])


# --- sources


def test_a_source_that_fails_keeps_its_last_version(store: Store) -> None:
    put(store, "file:///a.md", ["one"])
    new = Source("file:///a.md", "text/plain", "ffff", 9, 9)
    sequence = store.put_failure(new, "failed", "It is locked.", "Unlock it.")
    assert store.put_failure(new, "failed", "It is locked.", "Unlock it.") == sequence, "the same failure is no change"
    record = store.source("file:///a.md")
    assert (record.status, record.reason, record.fix, record.version) == ("failed", "It is locked.", "Unlock it.", 1)
    assert record.source.size == 3, "what is recorded is the version that is there"
    assert store.failed() == [record]
    assert store.passages_of("file:///a.md")
    store.touch(replace(record.source, modified_ns=77))
    record = store.source("file:///a.md")
    assert (record.status, record.reason, record.fix, record.source.modified_ns) == ("indexed", "", "", 77)
    assert record.checked_ns > record.source.modified_ns
    assert store.failed() == []
    assert store.document("file:///a.md").source == record.source


def test_a_source_that_was_never_readable_is_listed(store: Store) -> None:
    source = Source("file:///a.pdf", "application/pdf", "aa", 5, 6)
    store.put_failure(source, "unsupported", "Not readable yet.", "Wait.")
    record = store.source("file:///a.pdf")
    assert (record.version, record.status, record.source) == (0, "unsupported", source)
    assert store.failed() == [], "nothing of it is searched, so nothing is stale"
    assert store.stats().documents == 0
    with pytest.raises(NotInLibrary):
        store.document("file:///a.pdf")
    assert put(store, "file:///a.pdf", ["now"]).version == 1
    assert store.source("file:///a.pdf").status == "indexed"


def test_a_source_read_in_part_stays_so(store: Store) -> None:
    document, spans = make("file:///a.md", ["one"])
    store.put_document(document, spans, {}, "", "A table was not read.")
    store.put_failure(document.source, "failed", "Locked.", "")
    store.touch(document.source)
    record = store.source("file:///a.md")
    assert (record.status, record.reason) == ("partly", "A table was not read.")


def test_sources_are_listed_by_prefix_while_the_library_is_written(store: Store) -> None:
    uris = [f"file:///{folder}/{number:04}%FF.txt" for folder in ("a", "a b", "b") for number in range(20)]
    for uri in uris[::-1]:
        store.put_failure(Source(uri, "", "", 0, 0), "failed", "", "")
    assert [record.source.uri for record in store.sources()] == sorted(uris)
    assert [r.source.uri for r in store.sources("file:///a/")] == sorted(u for u in uris if u.startswith("file:///a/"))
    assert not list(store.sources("file:///c"))
    for record in store.sources("file:///a"):
        store.remove(record.source.uri)
    assert [record.source.uri for record in store.sources()] == uris[40:]


def test_notes_are_kept(opened: Open) -> None:
    store = opened()
    assert store.note("roots") == ""
    assert store.note("roots", "[\ud800]") == "[\ud800]"
    assert opened().note("roots") == "[\ud800]"


# --- vectors


def test_only_what_lacks_a_vector_is_unembedded(store: Store) -> None:
    document, spans = make("file:///a.md", ["one", "two", "two", "three"])
    vectors = vectors_of(document, spans)
    known = embedding_hash("two")
    store.put_document(document, spans, {known: vectors[known]}, SPACE)
    assert store.unembedded(SPACE, 9) == [(embedding_hash(text), text) for text in ("one", "three")]
    assert len(store.unembedded(SPACE, 1)) == 1
    assert store.known_hashes(list(vectors), SPACE) == {known}
    sequence = store.put_vectors(vectors | {embedding_hash("nobody says this"): vector_of("x")}, SPACE)
    assert sequence == store.stats().sequence
    assert store.unembedded(SPACE, 9) == []
    assert store.known_hashes([*vectors, "00" * 16], SPACE) == set(vectors)
    assert store.stats().spaces == {SPACE: 3}


def test_embedding_everything_anew_takes_each_text_once(store: Store) -> None:
    for number in range(7):
        put(store, f"file:///{number}.md", [f"text {number}", "shared", f"more {number}"])
    seen: list[str] = []
    while rest := store.unembedded("other", 4):
        seen += [text for _, text in rest]
        store.put_vectors({digest: vector_of(text, 8) for digest, text in rest}, "other")
    assert sorted(seen) == sorted([f"{word} {n}" for n in range(7) for word in ("text", "more")] + ["shared"])


def test_vector_spaces_never_mix(store: Store) -> None:
    put(store, "file:///a.md", ["one"])
    document, spans = make("file:///b.md", ["two"])
    store.put_document(document, spans, vectors_of(document, spans, 8), "space-8")
    [a], [b] = keys(store, "file:///a.md"), keys(store, "file:///b.md")
    assert [c.key for c in store.vector_candidates(vector_of("one"), 9, SPACE)] == [a]
    assert [c.key for c in store.vector_candidates(vector_of("one", 8), 9, "space-8")] == [b]
    assert store.vector_candidates(vector_of("one"), 9, "nobody's") == []
    with pytest.raises(LibraryError):
        store.vector_candidates(vector_of("one"), 9, "space-8")


def test_vector_candidates_are_exact_and_in_total_order(store: Store) -> None:
    texts = [f"text {number}" for number in range(40)]
    put(store, "file:///a.md", texts)
    question = vector_of("question")
    scores = {key: float(vector_of(t) @ question) for key, t in zip(keys(store, "file:///a.md"), texts, strict=True)}
    found = store.vector_candidates(question, 10, SPACE)
    assert [c.key for c in found] == sorted(scores, key=lambda key: (-scores[key], key))[:10]
    assert [c.score for c in found] == pytest.approx([scores[c.key] for c in found], abs=1e-6)
    assert store.vector_candidates(question, 0, SPACE) == []


def test_garbage_goes_only_when_it_is_collected(store: Store) -> None:
    put(store, "file:///a.md", ["one", "two"])
    put(store, "file:///b.md", ["two"])
    store.remove("file:///a.md")
    document, spans = make("file:///renamed.md", ["one", "two"])
    assert store.known_hashes(list(vectors_of(document, spans)), SPACE) == set(vectors_of(document, spans))
    assert store.put_document(document, spans, {}, SPACE).added == 2
    assert store.collect_garbage() == 0
    assert store.unembedded(SPACE, 9) == []
    store.remove("file:///renamed.md")
    assert store.collect_garbage() == 1
    assert store.collect_garbage() == 0
    assert store.known_hashes([embedding_hash("one"), embedding_hash("two")], SPACE) == {embedding_hash("two")}


@pytest.mark.parametrize("wrong", [np.full(DIMENSION, np.nan), np.zeros(DIMENSION + 1), np.zeros((1, DIMENSION))])
def test_a_write_that_is_refused_changes_nothing(store: Store, wrong) -> None:
    put(store, "file:///a.md", ["one"])
    before = store.stats()
    document, spans = make("file:///a.md", ["two", "three"])
    with pytest.raises(ValueError, match="vector"):
        store.put_document(document, spans, {embedding_hash("two"): wrong}, SPACE)
    for bad in (replace(spans[0], end=99), replace(spans[0], end=0), replace(spans[0], start=-1)):
        with pytest.raises(ValueError, match="passage"):
            store.put_document(document, [bad], {}, SPACE)
    with pytest.raises(ValueError, match="passage"):
        store.put_document(document, spans[::-1], {}, SPACE)
    assert store.stats() == before
    assert store.document("file:///a.md").text == "one"


# --- candidates and filters


def test_keyword_candidates_are_in_total_order(store: Store) -> None:
    put(store, "file:///a.md", ["apple pear", "apple", "apple", "plum"])
    first, second, third, _ = keys(store, "file:///a.md")
    found = store.keyword_candidates(["apple"], 9)
    assert [c.key for c in found] == [second, third, first]
    assert found[0].score == found[1].score > found[2].score
    assert store.keyword_candidates(["nothing"], 9) == []
    assert store.keyword_candidates([], 9) == []


def test_owners_are_the_documents_of_current_passages(store: Store) -> None:
    put(store, "file:///a.md", ["apple pear", "apple"])
    put(store, "file:///b.md", ["plum"])
    (one, two), (three,) = keys(store, "file:///a.md"), keys(store, "file:///b.md")
    found = store.owners([three, two, one, 10**9])
    assert set(found) == {one, two, three}
    assert found[one] == found[two] != found[three]
    assert store.owners([]) == {}
    store.remove("file:///b.md")
    assert three not in store.owners([three])


def test_a_repeated_term_counts_more(store: Store) -> None:
    put(store, "file:///a.md", ["apple", "pear", "plum"])
    once, more = store.keyword_candidates(["apple"], 9), store.keyword_candidates(["apple", "apple", "pear"], 9)
    assert more[0].key == once[0].key
    assert more[0].score == pytest.approx(2**0.75 * once[0].score, rel=1e-4)
    assert more[1].score == pytest.approx(once[0].score, rel=1e-4)


def test_a_filter_leaves_the_top_full(store: Store) -> None:
    for number in range(30):
        put(store, f"file:///{number:02}.md", ["apple", f"apple {number}"], metadata={"few": number % 10 == 0})
    where = Is("few", True)
    wanted = {key for number in (0, 10, 20) for key in keys(store, f"file:///{number:02}.md")}
    assert {c.key for c in store.keyword_candidates(["apple"], 6, where)} == wanted
    assert {c.key for c in store.vector_candidates(vector_of("apple"), 6, SPACE, where)} == wanted
    assert store.keyword_candidates(["apple"], 6, Is("few", 2)) == []
    assert store.vector_candidates(vector_of("apple"), 6, SPACE, Is("few", 2)) == []


def test_a_filter_sees_the_newest_metadata(store: Store) -> None:
    put(store, "file:///a.md", ["apple"], metadata={"access": "all"})
    where = Is("access", "all")
    assert store.keyword_candidates(["apple"], 6, where)
    put(store, "file:///a.md", ["apple"], metadata={"access": "none"})
    assert not store.keyword_candidates(["apple"], 6, where)
    assert not store.vector_candidates(vector_of("apple"), 6, SPACE, where)


HOSTILE = [
    *("", "a", "A", "b", "1", "true", "NULL", "a" * 5000),
    *("'", '"', "';--", "%", "_", "\\", "*", "?", "[", "]", "[a]", "[!a]", "[a"),
    *("\0", "a\0", "a\nb", "\ud800", "\ud83d\ude00", "\U0001f600", "é", "e\u0301", "\uffff", "\U0010ffff"),
]
NUMBERS = [
    0,
    1,
    -1,
    1.0,
    0.5,
    -0.0,
    1e308,
    float("inf"),
    float("nan"),
    2**63 - 1,
    2**63,
    2**53 + 1,
    float(2**53),
    10**400,
    -(10**30),
]
NAMES = [
    "uri",
    "path",
    "title",
    "language",
    "media_type",
    "tag",
    "n",
    "'; DROP TABLE documents; --",
    "\0",
    "\ud800",
    "value",
    "d.key",
]
VALUES = st.one_of(
    st.sampled_from(HOSTILE), st.sampled_from(NUMBERS), st.booleans(), st.integers(-2, 2), st.text(max_size=3)
)
TEXTS = st.sampled_from(HOSTILE) | st.text(st.characters(), max_size=3)
FIELDS = st.sampled_from(NAMES)
PARTS = ["*", "?", "[", "]", "!", "a", "b", "[a]", "[!a]", "[*]", "/", "file", "\0", "\ud800"]
GLOBS = st.lists(st.sampled_from(PARTS), max_size=5).map("".join)
BOUNDS = st.sampled_from(NUMBERS) | st.integers()
ENDS = st.tuples(st.none() | TEXTS, st.none() | TEXTS) | st.tuples(st.none() | BOUNDS, st.none() | BOUNDS)
LEAVES = st.one_of(
    st.builds(Is, FIELDS, VALUES),
    st.builds(In, FIELDS, st.lists(VALUES, max_size=4).map(tuple)),
    st.builds(lambda field, ends: Between(field, *ends), FIELDS, ENDS),
    st.builds(Glob, FIELDS, GLOBS | st.sampled_from(["/*", "*.md", "/[ab]/*", "/a/*", "/a/0.md", "*e*"])),
)  # fmt: skip
FILTERS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(And, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, max_size=3).map(tuple)),
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module", params=STORES)
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, dict]]:
    """A store of many hostile documents, and the fields of each by the key of its one passage."""
    store = STORES[request.param](tmp_path_factory.mktemp("filters"))
    fields = {}
    values = [*HOSTILE, *NUMBERS, True, False]
    for number, value in enumerate(values):
        uri = f"file:///{'abc'[number % 3]}/{number}.md"
        metadata = {"tag": value, NAMES[5 + number % 7]: values[-number], "title": "shadowed"}
        if number % 4 == 0:
            del metadata["tag"]
        title = value if isinstance(value, str) else ""
        put(store, uri, ["apple"], metadata=metadata, title=title, language=("", "en", "de")[number % 3])
        [passage] = store.passages_of(uri)
        own = {"uri": uri, "path": uri.removeprefix("file://"), "title": title, "media_type": "text/plain"}
        fields[passage.key] = {**metadata, **own, "language": ("", "en", "de")[number % 3]}
    yield store, fields
    store.close()


@given(where=FILTERS)
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_filters_mean_what_the_reference_says(filled, where: Filter) -> None:
    store, fields = filled
    found = {c.key for c in store.vector_candidates(vector_of("apple"), len(fields), SPACE, where)}
    assert found == {key for key, own in fields.items() if matches(where, own)}


@given(where=FILTERS)
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_searches_allow_the_same(filled, where: Filter) -> None:
    store, fields = filled
    found = {c.key for c in store.keyword_candidates(["apple"], len(fields), where)}
    assert found == {key for key, own in fields.items() if matches(where, own)}


# --- several stores, several threads


def test_what_one_wrote_the_other_finds_next(opened: Open) -> None:
    one, other = opened(), opened()
    for number in range(5):
        put(one, "file:///a.md", [f"apple{number}", "pear"])
        for reader in (other, one):
            assert len(reader.keyword_candidates([f"apple{number}"], 9)) == 1
            assert not reader.keyword_candidates([f"apple{number - 1}"], 9)
            assert reader.vector_candidates(vector_of(f"apple{number}"), 1, SPACE)[0].score == pytest.approx(
                1, abs=1e-6
            )
            assert reader.stats() == one.stats()
    other.remove("file:///a.md")
    assert not one.keyword_candidates(["pear"], 9)
    assert not one.vector_candidates(vector_of("pear"), 9, SPACE)


def test_it_is_as_it_was_after_closing(opened: Open) -> None:
    one = opened()
    put(one, "file:///a.md", ["apple", "pear"])
    stats, passages = one.stats(), one.passages_of("file:///a.md")
    one.flush()
    one.close()
    one.close()
    with pytest.raises(LibraryError):
        one.source("file:///a.md")
    other = opened()
    assert (other.stats(), other.passages_of("file:///a.md")) == (stats, passages)
    assert other.keyword_candidates(["apple"], 1)[0].key == passages[0].key
    assert all(check.ok for check in other.verify())
    other.rebuild()
    assert all(check.ok for check in other.verify())
    assert other.keyword_candidates(["apple"], 1)[0].key == passages[0].key


def test_threads_write_and_read_at_once(store: Store) -> None:
    failures: list[BaseException] = []

    def write(name: int) -> None:
        for number in range(25):
            put(store, f"file:///{name}/{number}.md", [f"apple {name} {number}", "shared"])

    def read() -> None:
        for _ in range(60):
            for record in store.sources():
                found = store.passages_of(record.source.uri)
                assert [passage.text for passage in found][1:] == ["shared"]

    def guarded(work: Callable[..., None], *arguments: int) -> None:
        try:
            work(*arguments)
        except BaseException as error:  # noqa: BLE001 - handed to the test's thread
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(write, name)) for name in range(3)]
    threads += [threading.Thread(target=guarded, args=(read,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    stats = store.stats()
    assert (stats.documents, stats.passages, stats.sequence) == (75, 150, 75)
    assert store.changes(0).added.tolist() == sorted(
        key for n in range(3) for i in range(25) for key in keys(store, f"file:///{n}/{i}.md")
    )
    assert all(check.ok for check in store.verify())
