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
from pincite.find.explain import placed
from pincite.find.followup import Part, blended, joined
from pincite.find.fuse import WEIGHT, Fusion, fuse, weight_for
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
    scores: dict[str, dict[int, float]] = field(default_factory=dict)  # stage -> key -> score
    stages: list[Stage] = field(default_factory=list)

    @contextmanager
    def timed(self, name: str) -> Iterator[dict[str, Scalar]]:
        """Add a stage with its time; the block fills in the detail."""
        detail: dict[str, Scalar] = {}
        start = time.perf_counter()
        yield detail
        self.stages.append(Stage(name, time.perf_counter() - start, detail))


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
    return placed(hits, ranking.scores)[:limit], Trace(tuple(ranking.stages))


def rank(
    question: str,
    *,
    store: Store,
    encoder: Encoder | None,
    mode: Mode = "hybrid",
    candidates: int = 100,
    where: Filter | None = None,
    fusion: Fusion = "convex",
    weight: float | None = None,
    past: Sequence[Part] = (),
) -> Ranking:
    """Rank passage keys for a question: what ``search`` does before it looks at passages.

    Args:
        question: any text that is not blank.
        store: what to search.
        encoder: embeds the question; keyword mode needs none.
        mode: which retrievers to ask.
        candidates: how many passages each retriever proposes.
        where: which documents may be found.
        fusion: how hybrid mode merges.
        weight: of the cosine, 0 to 1, for the convex fusion; None follows the question's language.
        past: what is taken from the conversation.

    Returns:
        The order, at most twice as long as ``candidates``, and how it came about.

    Raises:
        EmptyQuestion: the question is blank.
        UsageError: the mode is unknown or needs an encoder, or the filter is malformed.
    """
    if not question.strip():
        raise EmptyQuestion("The question is empty.", fix="Ask something.")
    if mode not in ("hybrid", "vector", "keyword"):
        raise UsageError(f"There is no search mode {mode!r}.", fix="Use hybrid, vector or keyword.")
    ranking = Ranking()
    vector = _vector_candidates(question, ranking, store, encoder, candidates, where, past) if mode != "keyword" else []
    keyword = _keyword_candidates(question, ranking, store, candidates, where, past) if mode != "vector" else []
    if mode == "hybrid":
        with ranking.timed("fuse") as detail:
            if weight is None and encoder is not None:
                weight = weight_for(question, encoder.pieces, store.stats().languages)
            ranking.order = _fused(vector, keyword, store, fusion, weight, candidates)
            ranking.scores["fused"] = {candidate.key: candidate.score for candidate in ranking.order}
            detail |= {"passages": len(ranking.order), "weight": weight or 0.0}
    else:
        ranking.order = vector or keyword
    return ranking


def _fused(
    vector: list[Candidate], keyword: list[Candidate], store: Store, method: Fusion, weight: float | None, depth: int
) -> list[Candidate]:
    """Merge the candidates, each among those of its document."""
    if method == "rrf":
        return fuse(vector, keyword, method=method)
    owners = store.owners([candidate.key for candidate in (*vector, *keyword)])
    return fuse(vector, keyword, weight=WEIGHT if weight is None else weight, depth=depth, owners=owners)


def _vector_candidates(
    question: str,
    ranking: Ranking,
    store: Store,
    encoder: Encoder | None,
    candidates: int,
    where: Filter | None,
    past: Sequence[Part],
) -> list[Candidate]:
    """Embed the question and look for near passages."""
    if encoder is None:
        raise UsageError("Searching by vector needs an encoder.", fix="Give one, or search by keyword.")
    with ranking.timed("embed") as detail:
        vector = blended(
            embed_question(question, encoder, detail), past, lambda text: embed_question(text, encoder, {})
        )
    with ranking.timed("vector") as detail:
        found = store.vector_candidates(vector, candidates, encoder.fingerprint, where)
        detail["passages"] = len(found)
    ranking.scores["vector"] = {candidate.key: candidate.score for candidate in found}
    return found


def _keyword_candidates(
    question: str, ranking: Ranking, store: Store, candidates: int, where: Filter | None, past: Sequence[Part]
) -> list[Candidate]:
    """Analyse the question for the languages of the documents and look for passages that share its terms."""
    with ranking.timed("keyword") as detail:
        languages = (*store.stats().languages, "")  # "": documents whose language is not known
        repeated = analyze_query(question, languages, repeats=True)
        terms = list(dict.fromkeys(repeated))
        detail["terms"] = len(terms)
        if len(terms) > MOST_TERMS:
            detail["terms_cut"] = len(terms) - MOST_TERMS
            kept = frozenset(terms[:MOST_TERMS])
            repeated = [term for term in repeated if term in kept]
        found = store.keyword_candidates(repeated, candidates, where) if terms else []
        found = joined(
            found, terms, past, languages, lambda more: store.keyword_candidates(more, candidates, where), candidates
        )
        detail["passages"] = len(found)
    ranking.scores["keyword"] = {candidate.key: candidate.score for candidate in found}
    return found


def embed_question(question: str, encoder: Encoder, detail: dict[str, Scalar]) -> NDArray[np.float32]:
    """Embed a question of any length: (dimension,), of length 1.

    One that is longer than the encoder reads at once becomes the mean of its parts. ``detail`` then says how many
    there are ("question_parts"), and how many characters of it were left out ("question_cut").
    """
    most = encoder.max_pieces
    if len(question) <= most:  # a piece is at least one character
        return _row(encoder.encode([question])[0])
    starts = encoder.pieces.starts(question)
    if len(starts) <= most:
        return _row(encoder.encode([question])[0])
    cuts = [int(start) for start in starts[::most]][: MOST_PARTS + 1]
    ends = [*cuts[1:], len(question)][:MOST_PARTS]
    parts = [_fitting(question[a:b], encoder) for a, b in zip(cuts, ends, strict=False)]
    detail["question_parts"] = len(parts)
    cut = len(question[: ends[-1]]) - sum(map(len, parts)) + len(question) - ends[-1]
    if cut > cuts[0]:
        detail["question_cut"] = cut - cuts[0]
    return _row(encoder.encode(parts).mean(axis=0))


def _fitting(part: str, encoder: Encoder) -> str:
    """Shorten a part that has more pieces on its own than it had within the question."""
    starts = encoder.pieces.starts(part)
    return part if len(starts) <= encoder.max_pieces else part[: int(starts[encoder.max_pieces])]


def _row(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Bring a vector to length 1."""
    return (vector / max(float(np.linalg.norm(vector)), 1e-12)).astype(np.float32)


def _read(ranking: Ranking, store: Store, size: int) -> Iterator[Hit]:
    """Read passages in order, so many at a time; one that was removed since it was found is passed over."""
    for start in range(0, len(ranking.order), size):
        wanted = ranking.order[start : start + size]
        passages = store.passages([candidate.key for candidate in wanted])
        for key, score in ((candidate.key, candidate.score) for candidate in wanted if candidate.key in passages):
            scores = {stage: given[key] for stage, given in ranking.scores.items() if key in given}
            yield Hit(0, score, passages[key], scores)
