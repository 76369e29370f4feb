"""A question becomes ranked passages. This file is the pipeline; each step is a file of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pincite.errors import EmptyQuestion, UsageError
from pincite.find.analyze import analyze_query
from pincite.find.distinct import BEYOND, distinct
from pincite.find.followup import Part, blended, joined, unit
from pincite.find.fuse import fuse, weight_for
from pincite.find.rerank import SECONDS, WINDOW, rerank
from pincite.models.protocols import Encoder, Reranker
from pincite.store.filters import Filter
from pincite.store.protocol import Store
from pincite.types import Candidate, Hit, Mode, Scalar, Stage, Trace

MOST_TERMS = 512  # of a question; the first ones count
MOST_PARTS = 8  # of a question longer than the encoder reads at once; the first ones count


@dataclass(slots=True)
class Ranking:
    """Candidates in their final order, what each retriever gave them, and what it cost."""

    order: list[Candidate] = field(default_factory=list)  # by (-score, key)
    scores: dict[str, dict[int, float]] = field(default_factory=dict)  # stage -> key -> score, each by (-score, key)
    stages: list[Stage] = field(default_factory=list)

    @property
    def ranks(self) -> dict[str, dict[int, int]]:
        """The place of each key in each stage's list: stage -> key -> rank from 1."""
        return {stage: {key: rank for rank, key in enumerate(given, start=1)} for stage, given in self.scores.items()}

    @contextmanager
    def timed(self, name: str) -> Iterator[dict[str, Scalar]]:
        """Add a stage with its time; the block fills in the detail."""
        detail: dict[str, Scalar] = {}
        start = time.perf_counter()
        yield detail
        self.stages.append(Stage(name, time.perf_counter() - start, detail))

    def record(self, stage: str, found: list[Candidate], detail: dict[str, Scalar]) -> list[Candidate]:
        """Take what a stage gave, by (-score, key), for the order so far."""
        self.order, self.scores[stage] = found, {candidate.key: candidate.score for candidate in found}
        detail["passages"] = len(found)
        return found


def search(
    question: str,
    *,
    store: Store,
    encoder: Encoder | None,
    mode: Mode = "hybrid",
    limit: int = 10,
    candidates: int = 100,
    where: Filter | None = None,
    reranker: Reranker | None = None,
    rerank_seconds: float = SECONDS,
    past: Sequence[Part] = (),
) -> tuple[tuple[Hit, ...], Trace]:
    """Find the passages that bear on a question; near duplicates are one hit, with the others in its ``also``.

    Args:
        question: any text that is not blank.
        store: what to search.
        encoder: embeds the question; keyword mode needs none.
        mode: which retrievers to ask.
        limit: how many hits to give.
        candidates: how many passages each retriever proposes; at least ``limit``.
        where: which documents may be found.
        reranker: looks again at the best.
        rerank_seconds: deadline of the reranker; then the order is that of the first stage, and the trace says so.
        past: what is taken from the conversation; see ``followup.understand``.

    Returns:
        Hits by (-score, key), with what each stage gave them ("vector": cosine, "keyword": BM25, "fused", "rerank")
        and their rank in its list, and the stages. Fewer than ``limit`` hits when there is no more. A question without
        a letter, digit or emoji has no keyword candidates.

    Raises:
        EmptyQuestion: the question is blank.
        UsageError: the mode is unknown or needs an encoder.
        FilterError: the filter is malformed.
        ModelError: the reranker cannot be used.
    """
    depth = max(candidates, limit)
    ranking = rank(question, store=store, encoder=encoder, mode=mode, candidates=depth, where=where, past=past)
    with ranking.timed("passages") as detail:
        wanted = limit if reranker is None else max(limit, WINDOW)
        hits = distinct(_read(ranking, store, wanted + BEYOND), wanted)
        detail["passages"] = len(hits)
    if reranker is not None:
        with ranking.timed("rerank") as detail:
            hits = rerank(question, hits, reranker, seconds=rerank_seconds, detail=detail)
    return hits[:limit], Trace(tuple(ranking.stages))


def rank(
    question: str,
    *,
    store: Store,
    encoder: Encoder | None,
    mode: Mode = "hybrid",
    candidates: int = 100,
    where: Filter | None = None,
    past: Sequence[Part] = (),
) -> Ranking:
    """Rank passage keys for a question: what ``search``, which tells of the arguments, does before it reads passages.

    The order is at most twice as long as ``candidates``.
    """
    if not question.strip():
        raise EmptyQuestion("The question is empty.", fix="Ask something.")
    if mode not in ("hybrid", "vector", "keyword"):
        raise UsageError(f"There is no search mode {mode!r}.", fix="Use hybrid, vector or keyword.")
    if mode != "keyword" and encoder is None:
        raise UsageError("Searching by vector needs an encoder.", fix="Give one, or search by keyword.")
    ranking = Ranking()
    languages = store.stats().languages
    vector: list[Candidate] = []
    keyword: list[Candidate] = []
    if encoder is not None and mode != "keyword":
        with ranking.timed("embed") as detail:
            asked = embed_question(question, encoder, detail)
            asked = blended(asked, past, lambda text: embed_question(text, encoder, {}))
        with ranking.timed("vector") as detail:
            found = store.vector_candidates(asked, candidates, encoder.fingerprint, where)
            vector = ranking.record("vector", found, detail)
    if mode != "vector":
        with ranking.timed("keyword") as detail:
            found = _by_keyword(question, (*languages, ""), store, candidates, where, past, detail)
            keyword = ranking.record("keyword", found, detail)
    if encoder is not None and mode == "hybrid":
        with ranking.timed("fuse") as detail:
            detail["weight"] = weight = weight_for(question, encoder.pieces, languages)
            owners = store.owners([candidate.key for candidate in (*vector, *keyword)])
            ranking.record("fused", fuse(vector, keyword, weight=weight, depth=candidates, owners=owners), detail)
    return ranking


def _by_keyword(
    question: str,
    languages: Sequence[str],
    store: Store,
    candidates: int,
    where: Filter | None,
    past: Sequence[Part],
    detail: dict[str, Scalar],
) -> list[Candidate]:
    """Analyse the question for the languages, "" for those not known, and look for passages that share its terms."""
    repeated = analyze_query(question, languages, repeats=True)
    terms = list(dict.fromkeys(repeated))
    detail["terms"] = len(terms)
    if len(terms) > MOST_TERMS:
        detail["terms_cut"] = len(terms) - MOST_TERMS
        kept = frozenset(terms[:MOST_TERMS])
        repeated = [term for term in repeated if term in kept]

    def ask(wanted: list[str]) -> list[Candidate]:
        return store.keyword_candidates(wanted, candidates, where) if wanted else []

    return joined(ask(repeated), terms, past, languages, ask, candidates)


def embed_question(question: str, encoder: Encoder, detail: dict[str, Scalar]) -> NDArray[np.float32]:
    """Embed a question of any length: (dimension,), of length 1.

    One that is longer than the encoder reads at once becomes the mean of its parts. ``detail`` then says how many
    there are ("question_parts"), and how many characters of it were left out ("question_cut").
    """
    most = encoder.max_pieces
    starts = encoder.pieces.starts(question) if len(question) > most else ()  # a piece is at least one character
    if len(starts) <= most:
        return unit(encoder.encode([question])[0])
    cuts = [int(start) for start in starts[::most]][: MOST_PARTS + 1]
    ends = [*cuts[1:], len(question)][:MOST_PARTS]
    parts = [within(question[a:b], encoder) for a, b in zip(cuts, ends, strict=False)]
    detail["question_parts"] = len(parts)
    cut = len(question[: ends[-1]]) - sum(map(len, parts)) + len(question) - ends[-1]
    if cut > cuts[0]:
        detail["question_cut"] = cut - cuts[0]
    return unit(encoder.encode(parts).mean(axis=0))


def within(text: str, encoder: Encoder) -> str:
    """Cut a text where the last piece that the encoder reads would end."""
    if len(text) <= encoder.max_pieces:  # a piece is at least one character
        return text
    starts = encoder.pieces.starts(text)
    return text if len(starts) <= encoder.max_pieces else text[: int(starts[encoder.max_pieces])]


def _read(ranking: Ranking, store: Store, size: int) -> Iterator[Hit]:
    """Read passages in order, so many at a time; one that was removed since it was found is passed over."""
    places = ranking.ranks
    for start in range(0, len(ranking.order), size):
        wanted = ranking.order[start : start + size]
        passages = store.passages([candidate.key for candidate in wanted])
        for key, score in ((candidate.key, candidate.score) for candidate in wanted if candidate.key in passages):
            scores = {stage: given[key] for stage, given in ranking.scores.items() if key in given}
            yield Hit(0, score, passages[key], scores, {stage: places[stage][key] for stage in scores})
