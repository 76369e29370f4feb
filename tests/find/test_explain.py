"""Filters mean here what they mean in the store; each loss in a search has its stage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import pincite
from pincite.find.explain import fields_of, found_or_lost
from pincite.find.held import Held, Target, held
from pincite.reports import Place, Why
from pincite.store.filters import Between, Filter, Glob, In, Is, Not, matches
from tests.fakes import HashEncoder

NOTES = {f"note{i}.md": f"Note {i}: the river delta carries sediment number{i}.\n" for i in range(12)}


@pytest.fixture
def library(tmp_path: Path):
    folder = tmp_path / "a folder äß"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(f"---\nyear: {2000 + int(name[4:-3])}\n---\n{text}")
    with pincite.open(tmp_path / "t.pincite", encoder=HashEncoder(), generator="none", limit=3) as opened:
        opened.add(folder)
        opened.add_text("note:äß#1", "A text that is no file.", title="Title", metadata={"kind": "memo"})
        yield opened


@pytest.mark.parametrize(
    "where",
    [
        Is("year", 2003),
        Between("year", low=2009),
        Glob("path", "*äß/note1*.md"),
        Glob("path", "*1"),
        In("year", (2001, 2002)),
        Not(Is("media_type", "text/markdown")),
        Is("kind", "memo"),
        Is("title", "Title"),
        Glob("uri", "file://*"),
    ],
)
def test_a_filter_means_here_what_it_means_in_the_store(library: pincite.Library, where: Filter) -> None:
    everything = library.list()
    allowed = {hit.passage.uri for hit in library.search("note text delta", limit=100, where=where)}
    here = {r.source.uri for r in everything if matches(where, fields_of(library.document(r.source.uri)))}
    assert here == allowed
    assert 0 < len(here) < len(everything)


def lost(library: pincite.Library, note: int, **options) -> Why:
    [record] = [r for r in library.list() if r.source.uri.endswith(f"/note{note}.md")]
    base = Why("river delta sediment number4", record.source.uri, "answered", "")
    there = held(Target(record.source.uri), library.store, base)
    assert isinstance(there, Held)
    asked = library.asked(base.question, refresh=False, **options)
    return found_or_lost(base, there, asked.searched, library.store)


def test_what_is_among_the_hits_is_not_lost_in_the_search(library: pincite.Library) -> None:
    found = lost(library, 4)
    assert found.stage == "answered"
    assert [place.stage for place in found.places] == ["vector", "keyword", "fused"]
    assert found.places[1] == Place("keyword", 1, found.places[1].score, 1)
    assert found.matched == ("river", "delta", "sediment", "number4")


def test_a_candidate_behind_the_hits_was_outranked(library: pincite.Library) -> None:
    hits = library.search("river delta sediment number4", limit=3).hits
    last = next(i for i in range(12) if not any(h.passage.uri.endswith(f"/note{i}.md") for h in hits))
    found = lost(library, last)
    assert found.stage == "lost_in_fusion"
    assert found.ahead == hits
    assert found.lacking == ("number4",)
    fused = next(place for place in found.places if place.stage == "fused")
    assert fused.rank is not None
    assert fused.rank > 3
    assert f"raise limit to {fused.rank}" in found.fix.lower()
    assert lost(library, last, limit=fused.rank).stage == "answered"  # the advice holds


def test_what_nobody_proposed_is_looked_for_deeper(library: pincite.Library) -> None:
    library.settings = replace(library.settings, candidates=1)
    hits = library.search("river delta sediment number4", limit=1).hits
    last = next(i for i in range(12) if not any(h.passage.uri.endswith(f"/note{i}.md") for h in hits))
    found = lost(library, last, limit=1, mode="keyword")
    assert found.stage == "not_a_candidate"
    [place] = found.places
    assert place.rank is not None
    assert place.rank > 1
    assert f"raise candidates to {place.rank}" in found.fix
    assert "It lacks number4." in found.reason


def test_terms_are_told_as_the_question_writes_them(library: pincite.Library) -> None:
    hit = library.search("delta sediment", limit=1).hits[0]
    matched, lacking = library.terms("Which Deltas carried C++ sediments, 北京大学 and studies?", hit.passage)
    assert matched == ("Deltas", "carried", "sediments")
    assert lacking == ("c++", "北京", "京大", "大学", "studies")
