"""Who sees what: a reader cannot tell, by any method of the library, whether documents hidden from him exist."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pincite.access import OWNER, Principal, labels_of
from pincite.errors import AccessDenied, NotInLibrary, UsageError
from pincite.library import Library
from pincite.store.hashing import source_id
from pincite.types import Turn
from tests.access_worlds import LABELS, WORDS, World, documents, library_of, plain, told, worlds
from tests.fakes import HashEncoder

CASES = 10_000
USERS = (
    Principal("open", "reader", frozenset()),
    Principal("hr", "editor", frozenset({"hr"})),
    Principal("both", "admin", frozenset({"board", "lab"})),
)
Call = Callable[[Library], Any]


def questions(rng: random.Random, world: World) -> str:
    """Ask with common words, and sometimes with those of one document, hidden or not."""
    words = rng.choices(WORDS, k=rng.randint(1, 5))
    if rng.random() < 0.4:
        words += rng.choice(world.made).text.split()[: rng.randint(1, 6)]
    if rng.random() < 0.2:
        words.append(rng.choice(world.made).canary)
    return " ".join(words)


def reading_calls(rng: random.Random, world: World) -> Iterator[tuple[str, Call]]:
    """Give calls of every method that reads, each of a document or question chosen at random."""
    made = rng.choice(world.made)
    name = rng.choice((made.uri, source_id(made.uri), made.uri.rpartition("/")[0]))
    passage = f"{source_id(made.uri)}@1:0-{rng.choice((len(made.text), 10))}"
    question, mode = questions(rng, world), rng.choice(("hybrid", "hybrid", "vector", "keyword"))
    past = [Turn(questions(rng, world), made.text)] if rng.random() < 0.3 else []
    limit, version = rng.choice((1, 3, 10)), rng.choice((1, 2))
    yield "search", lambda library: library.search(question, mode=mode, limit=limit, history=past)
    yield "document", lambda library: library.document(name)
    yield "version", lambda library: library.document(made.uri, version)
    yield "passage", lambda library: library.passage(passage)
    yield "page_image", lambda library: library.page_image(passage)
    yield "list", lambda library: library.list(name)
    yield "uri", lambda library: library.uri(name)
    yield "all", lambda library: library.list()
    yield "stats", lambda library: library.stats()
    yield "notes", lambda library: [library.store.note(note) for note in ("roots", "readers")]
    yield "failed", lambda library: library.store.failed()
    if rng.random() < 0.25:
        yield "ask", lambda library: library.ask(question, extract=True, mode=mode, history=past)
        yield "why", lambda library: library.why(question, made.uri, quote=made.text[:20], mode=mode)
        yield "check", lambda library: library.check(made.text, mode=mode)
        yield "terms", lambda library: [library.terms(question, p) for p in library.store.passages_of(made.uri)]
        yield "refresh", lambda library: library.refresh().sources


def test_ten_thousand_calls_tell_nothing_of_hidden_documents(tmp_path: Path) -> None:
    cases = hidden = 0
    for seed in range(1_000):
        for world in worlds(tmp_path, seed, USERS, count=14):
            rng = random.Random(seed)
            hidden += bool(world.hidden)
            for _ in range(12):
                for name, call in reading_calls(rng, world):
                    real, ideal = (told(lambda: call(seen)) for seen in (world.real, world.ideal))  # noqa: B023
                    assert real == ideal, (seed, world.principal.name, name)
                    cases += 1
        if cases >= CASES:
            break
    assert cases >= CASES
    assert hidden > 10, "there must be something to hide"
