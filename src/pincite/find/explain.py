"""At which stage of a search a passage was lost, and which terms of the question it has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pincite.find.analyze import analyze, analyze_query
from pincite.reports import Place, Why, places_of
from pincite.store.filters import Filter, matches
from pincite.store.protocol import Store
from pincite.types import Document, Hit, Mode, Passage, Scalar

if TYPE_CHECKING:
    from pincite.find.held import Held
    from pincite.find.search import Ranking

_WORD = re.compile(r"\w+")
_STEMS = 2  # of one word, in two languages; more terms are parts of it
DEEP = 10_000  # how far a passage that is no candidate is looked for


@dataclass(frozen=True, slots=True)
class Searched:
    """A search that was made, and a way to look at its candidates again."""

    question: str
    mode: Mode
    hits: tuple[Hit, ...]  # best first
    limit: int  # how many hits were asked for
    candidates: int  # how many passages each retriever proposed
    where: Filter | None
    rank: Callable[[int], Ranking]  # ranks with so many candidates from each retriever, else in the same way


def terms_of(question: str, passage: Passage, store: Store) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tell which terms of a question a passage of the store has, and which it lacks, as keyword search sees them.

    Both in the order of the question, as written in it where a word has a term of its own, else as analysed.
    """
    record = store.source(passage.uri)
    has = frozenset(analyze(passage.searched, record.language if record else ""))
    languages = (*store.stats().languages, "")
    written: dict[str, str] = {}
    for word in _WORD.findall(question):
        terms = analyze_query(word, languages)
        written |= {term: word for term in terms if len(terms) <= _STEMS and term not in written}
    asked = analyze_query(question, languages)
    matched = dict.fromkeys(written.get(term, term) for term in asked if term in has)
    lacking = dict.fromkeys(written.get(term, term) for term in asked if term not in has)
    return tuple(matched), tuple(word for word in lacking if word not in matched)


def found_or_lost(base: Why, there: Held, searched: Searched, store: Store) -> Why:
    """Say at which stage of the search a target that the library holds was lost, with places and what came before.

    "document_stale", "filtered_out", "split_across_passages", "not_a_candidate", "lost_in_fusion" or
    "lost_in_reranking". If it is among the hits, the stage stays "answered": the search is not where it was lost.
    """
    base = replace(base, version=there.version, spans=there.spans, passages=tuple(p.id for p in there.passages))
    keys = {passage.key: passage for passage in there.passages}
    hit = next((hit for hit in searched.hits if not keys.keys().isdisjoint(_keys_of([hit]))), None)
    if hit is not None and (there.whole or keys.keys() <= _keys_of(searched.hits)):
        return _with_terms(replace(base, places=places_of(hit)), hit.passage, store)
    if there.stale and not there.spans:
        reason = f"The library holds version {there.version}, which may not be the newest. {there.stale[0]}"
        return replace(base, stage="document_stale", reason=reason, fix=there.stale[1])
    document = store.document(base.uri)
    if searched.where is not None and not matches(searched.where, fields_of(document)):
        return replace(
            base,
            stage="filtered_out",
            reason="The filter does not let this document through.",
            fix="Search without it.",
        )
    base = replace(base, ahead=searched.hits)
    if not there.whole:
        return _split(base, there, searched)
    ranking = searched.rank(searched.candidates)
    best = next((candidate.key for candidate in ranking.order if candidate.key in keys), None)
    if best is None:
        return _no_candidate(base, keys, searched, store)
    base = replace(base, places=_places_in(ranking, best, searched.candidates))
    return _with_terms(_outranked(base, ranking, best, searched), keys[best], store)


def _keys_of(hits: Iterable[Hit]) -> set[int]:
    """Give the keys of the passages that hits are of, or stand for."""
    return {passage.key for hit in hits for passage in (hit.passage, *hit.also)}


def fields_of(document: Document) -> dict[str, Scalar]:
    """Give what filters look at."""
    uri = document.source.uri
    path = unquote(uri.removeprefix("file://"), errors="surrogateescape")
    own = {"uri": uri, "path": path, "title": document.title, "language": document.language}
    return {**document.metadata, **own, "media_type": document.source.media_type}


def _split(base: Why, there: Held, searched: Searched) -> Why:
    """Say across which passages the words lie, and which of these were not found."""
    found = _keys_of(searched.hits)
    absent = [passage.id for passage in there.passages if passage.key not in found]
    return replace(
        base,
        stage="split_across_passages",
        reason=f"The words lie across {len(there.passages)} passages, of which {len(absent)} were not among the "
        f"{len(searched.hits)} found: {', '.join(absent)}.",
        fix="Raise limit, or raise passage_pieces and add the document again.",
    )


def _no_candidate(base: Why, keys: Mapping[int, Passage], searched: Searched, store: Store) -> Why:
    """Look deeper, and say where the passage stands in each list."""
    depth = max(searched.candidates, min(store.stats().passages, DEEP))
    ranking = searched.rank(depth)
    lists = {stage: given for stage, given in ranking.ranks.items() if stage in ("vector", "keyword")}
    by_list = [(places[key], key) for places in lists.values() for key in keys if key in places]
    best = min(by_list)[1] if by_list else next(iter(keys))
    places = tuple(place for place in _places_in(ranking, best, depth) if place.stage in lists)
    base = _with_terms(replace(base, places=places, stage="not_a_candidate"), keys[best], store)
    shown = ", ".join(f"{_nth(place)} by {place.stage}" for place in places)
    reason = f"Each retriever proposed {searched.candidates} passages; this one stands {shown}."
    if base.lacking:
        reason += f" It lacks {', '.join(base.lacking)}."
    fix = "Ask with words that it has"
    if by_list:
        fix += f", or raise candidates to {min(by_list)[0]}"
    return replace(base, reason=reason, fix=fix + ".")


def _outranked(base: Why, ranking: Ranking, key: int, searched: Searched) -> Why:
    """Say which stage put a candidate behind the hits."""
    first = next(rank for rank, candidate in enumerate(ranking.order, start=1) if candidate.key == key)
    if first > searched.limit:
        lists = [place for place in base.places if place.stage in ("vector", "keyword") and place.rank]
        best = min(lists, key=lambda place: place.rank or 0, default=None)
        reason = f"It is {_ordinal(first)} of the candidates, and {searched.limit} go on."
        fix = f"Raise limit to {first}, or name a reranker."
        if best is not None and best.rank is not None and best.rank <= searched.limit:
            reason += f" By {best.stage} alone it is {_ordinal(best.rank)}."
            fix = f"Search with --mode {best.stage}, or raise limit to {first}."
        return replace(base, stage="lost_in_fusion", reason=reason, fix=fix)
    if any("rerank" in hit.scores for hit in searched.hits):
        reason = f"It was {_ordinal(first)} before reranking, and is not among the {len(searched.hits)} best after it."
        return replace(
            base, stage="lost_in_reranking", reason=reason, fix="Search without the reranker, or raise limit."
        )
    reason = f"It is {_ordinal(first)} of the candidates, and was no hit: the library has changed in between."
    return replace(base, stage="lost_in_fusion", reason=reason, fix="Ask again.")


def _with_terms(why: Why, passage: Passage, store: Store) -> Why:
    """Add which terms the passage has and lacks."""
    matched, lacking = terms_of(why.question, passage, store)
    return replace(why, matched=matched, lacking=lacking)


def _places_in(ranking: Ranking, key: int, depth: int) -> tuple[Place, ...]:
    """Give a passage's place in each list of a ranking."""
    places = ranking.ranks.items()
    return tuple(Place(stage, given.get(key), ranking.scores[stage].get(key), depth) for stage, given in places)


def _nth(place: Place) -> str:
    """Say a place in words."""
    return _ordinal(place.rank) if place.rank else f"beyond the {place.depth} best"


def _ordinal(number: int) -> str:
    """Write 1st, 2nd, 3rd, 4th, 11th."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
