"""Filters inside the whole search, against a reference that shares no code with the product; hostile names and values.

The reference is written from the documented meaning alone: sets of documents, plain comparisons, a glob matcher of its
own. 2,000 filters here, 10,000 in the soak.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pincite
from pincite.errors import FilterError
from pincite.find.analyze import ANALYZER, analyze
from pincite.find.search import search
from pincite.serve.cli.main import main
from pincite.store.filters import And, Between, Filter, Glob, In, Is, Not, Or
from pincite.store.hashing import embedding_hash
from pincite.store.protocol import Store
from pincite.store.sqlite.store import open_store
from pincite.types import searched_text
from tests.contracts.test_store import FILTERS, HOSTILE, NAMES, NUMBERS
from tests.fakes import HashEncoder
from tests.store.documents import make

MODES = ("keyword", "vector", "hybrid")


def passes(where: Filter, fields: dict) -> bool:
    """The documented meaning, once more."""
    match where:
        case And(parts):
            return not any(not passes(part, fields) for part in parts)
        case Or(parts):
            return sum(passes(part, fields) for part in parts) > 0
        case Not(part):
            return not passes(part, fields)
        case Is(name, value):
            return name in fields and equal(fields[name], value)
        case In(name, values):
            return name in fields and any(equal(fields[name], value) for value in values)
        case Glob(name, pattern):
            return isinstance(fields.get(name), str) and fits(pattern, fields[name])
        case Between(name, low, high):
            return name in fields and all(
                end is None or (kind(end) == kind(fields[name]) and ordered(end, fields[name], sign))
                for end, sign in ((low, 1), (high, -1))
            )
    raise AssertionError(where)


def kind(value) -> type:
    return str if isinstance(value, str) else float


def stored(value):
    """Numbers of more than 64 bits are the nearest float."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return float(value) if abs(value) < 10**308 else math.inf if value > 0 else -math.inf
    return value


def equal(one, other) -> bool:
    return kind(one) == kind(other) and stored(one) == stored(other)


def ordered(low, high, sign: int) -> bool:
    return stored(low) <= stored(high) if sign > 0 else stored(low) >= stored(high)


def fits(pattern: str, text: str) -> bool:
    """Match a glob by the set of places in the text that its start can reach."""
    places, at = {0}, 0
    while at < len(pattern) and places:
        if pattern[at] == "*":
            places = set(range(min(places), len(text) + 1))
            at += 1
            continue
        allowed, at = one_of(pattern, at)
        places = {place + 1 for place in places if place < len(text) and allowed(text[place])}
    return len(text) in places


def one_of(pattern: str, at: int):
    """Read what one character of the text may be: any, a literal, or a set that is closed somewhere."""
    if pattern[at] == "?":
        return (lambda c: True), at + 1
    if pattern[at] == "[":
        first = at + 2 if pattern[at + 1 : at + 2] == "!" else at + 1
        end = pattern.find("]", first + 1)
        if end > 0:
            negated, inside = first == at + 2, pattern[first:end]
            return (lambda c: within(c, inside) != negated), end + 1
    return (lambda c, literal=pattern[at]: c == literal), at + 1


def within(c: str, inside: str) -> bool:
    """Tell whether a set holds a character; ``a-z`` is a range."""
    at = 0
    while at < len(inside):
        if inside[at + 1 : at + 2] == "-" and at + 2 < len(inside):
            if inside[at] <= c <= inside[at + 2]:
                return True
            at += 3
        else:
            if inside[at] == c:
                return True
            at += 1
    return False


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, dict[str, dict]]]:
    """A store of hostile documents, and the fields of each by its URI."""
    store = open_store(tmp_path_factory.mktemp("filters") / "library", analyze=analyze, analyzer=ANALYZER)
    encoder, fields = HashEncoder(), {}
    values = [*HOSTILE, *NUMBERS, True, False]
    for number, value in enumerate(values):
        uri = f"file:///{'abc'[number % 3]}/{number}.md"
        metadata = {"tag": value, NAMES[5 + number % 7]: values[-number], "uri": "shadowed"}
        if number % 4 == 0:
            del metadata["tag"]
        title, language = value if isinstance(value, str) else "", ("", "en", "de")[number % 3]
        document, spans = make(uri, [f"apple {number}"], metadata=metadata, title=title, language=language)
        texts = [searched_text(span.context, document.text[span.start : span.end]) for span in spans]
        vectors = dict(zip(map(embedding_hash, texts), encoder.encode(texts), strict=True))
        store.put_document(document, spans, vectors, encoder.fingerprint)
        own = {"uri": uri, "path": uri.removeprefix("file://"), "title": title, "language": language}
        fields[uri] = {**metadata, **own, "media_type": "text/plain"}
    yield store, fields
    store.close()


def check(filled, where: Filter, mode: str, few: int) -> None:
    """Find everything that passes and nothing else; and a short list is full."""
    store, fields = filled
    wanted = {uri for uri, own in fields.items() if passes(where, own)}
    how = {"store": store, "encoder": HashEncoder(), "mode": mode, "where": where}
    hits, _ = search("apple", limit=len(fields), **how)
    assert {hit.passage.uri for hit in hits} == wanted
    top, _ = search("apple", limit=few, candidates=few, **how)
    assert len(top) == min(few, len(wanted))
    assert {hit.passage.uri for hit in top} <= wanted


CASES = {"where": FILTERS, "mode": st.sampled_from(MODES), "few": st.integers(1, 5)}
SUPPRESSED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@given(**CASES)
@settings(max_examples=2_000, deadline=None, suppress_health_check=SUPPRESSED, derandomize=True)
def test_a_search_finds_what_the_filter_means(filled, where: Filter, mode: str, few: int) -> None:
    check(filled, where, mode, few)


@pytest.mark.soak
@given(**CASES)
@settings(max_examples=10_000, deadline=None, suppress_health_check=SUPPRESSED)
def test_ten_thousand_searches_find_what_the_filter_means(filled, where: Filter, mode: str, few: int) -> None:
    check(filled, where, mode, few)


@pytest.mark.parametrize("mode", MODES)
def test_the_top_is_full_when_one_in_a_hundred_passes(tmp_path, mode: str) -> None:
    """The few that pass are the worst matches, so that a filter behind the search would find none of them."""
    store = open_store(tmp_path / "library", analyze=analyze, analyzer=ANALYZER)
    encoder = HashEncoder()
    for number in range(600):
        rare = number % 100 == 0
        document, spans = make(f"file:///{number:03}.md", ["apple" + " pear" * 30 * rare], metadata={"rare": rare})
        text = searched_text(spans[0].context, document.text)
        store.put_document(document, spans, {embedding_hash(text): encoder.encode([text])[0]}, encoder.fingerprint)
    hits, _ = search("apple", store=store, encoder=encoder, mode=mode, limit=6, candidates=10, where=Is("rare", True))
    assert [hit.passage.uri for hit in sorted(hits, key=lambda hit: hit.passage.uri)] == [
        f"file:///{number}00.md" for number in range(6)
    ]
    store.close()


@pytest.mark.parametrize("wrong", ["uri = 'x'", {"uri": "x"}, ["x"], 3, Is("", 1), Is("a", None), In("a", (b"x",))])
def test_what_is_no_filter_is_an_error(filled, wrong) -> None:
    store, _ = filled
    with pytest.raises(FilterError):
        search("apple", store=store, encoder=None, mode="keyword", where=wrong)


def test_unknown_arguments_are_errors(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PINCITE_CONFIG", str(tmp_path / "none.toml"))
    with pincite.open(tmp_path / "t.pincite", encoder=HashEncoder(), generator="none") as library:
        for method in (library.search, library.ask, library.check):
            with pytest.raises(TypeError, match="filters"):
                method("apple", filters=Is("tag", "a"))
    with pytest.raises(TypeError):
        Is("tag", "a", case=False)
    assert main(["search", "apple", "--filter", "tag=a"]) == 2


def test_the_reference_itself() -> None:
    assert fits("a*c", "abbc")
    assert not fits("a*c", "abbd")
    assert fits("[!a]?", "bc")
    assert not fits("[!a]", "a")
    assert fits("[a-c]", "b")
    assert fits("[a", "[a")
    assert fits("*", "")
    assert equal(True, 1.0)
    assert not equal("1", 1)
    assert not passes(Between("x", 1, 2), {"x": float("nan")})
    assert np.isinf(stored(10**400))
