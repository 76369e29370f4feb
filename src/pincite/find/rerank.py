"""A second look at the best passages, question and passage together.

There is no default model. Asking the local generator how likely the question is given each passage would read some
8,500 tokens for 50 passages, five seconds at the 1,100 to 1,600 tokens a second measured for it: over the deadline.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pincite.errors import ModelError, ModelLimit
from pincite.models.protocols import Reranker
from pincite.types import Hit, Scalar

WINDOW = 50  # passages looked at again
WEIGHT = 0.5  # of the reranker; the first stage keeps the rest: alone, small rerankers lose on foreign ground
# 50 passages of 79 pieces cost a cross-encoder of six layers of 384 (random classifier; two cores) 0.7 s of processor
# time in bfloat16, 1.3 s in float32.
SECONDS = 2.0
_BATCH = 8  # passages between two looks at the clock, when the reranker does not say


def rerank(
    question: str,
    hits: Sequence[Hit],
    reranker: Reranker | None,
    *,
    weight: float = WEIGHT,
    window: int = WINDOW,
    seconds: float = SECONDS,
    detail: dict[str, Scalar] | None = None,
) -> tuple[Hit, ...]:
    """Reorder hits by ``(1 - weight) * first stage + weight * reranker``.

    The first stage is scaled to 0..1 over all hits, the reranker over those it looked at; to the others it gives 0, so
    that none of them comes before one that was looked at.

    Args:
        question: as asked.
        hits: best first.
        reranker: None leaves the hits as they are.
        weight: of the reranker, 0 to 1.
        window: how many of the best hits are looked at again.
        seconds: deadline; when it passes, the order stays that of the first stage. It is looked at between batches.
        detail: told how many passages were reranked ("passages"), and why none was ("stopped").

    Returns:
        The same passages by (-score, key), with ``scores["rerank"]`` and its rank where they were reranked.

    Raises:
        ModelError: the reranker cannot be used, or gives scores that cannot be used.
    """
    told: dict[str, Scalar] = {} if detail is None else detail
    told["passages"], hits = 0, list(hits)
    if reranker is None or not hits:
        return tuple(hits)
    try:
        scores = _scores(question, [hit.passage.searched for hit in hits[:window]], reranker, seconds)
    except ModelLimit as limit:
        told["stopped"] = str(limit)
        return tuple(hits)
    told["passages"] = len(scores)
    second = np.zeros(len(hits))
    second[: len(scores)] = _scaled(scores)
    mixed = (1 - weight) * _scaled(np.array([hit.score for hit in hits])) + weight * second
    for place, i in enumerate(_order(scores, hits[:window]), start=1):
        hit = hits[i]
        hits[i] = replace(hit, scores={**hit.scores, "rerank": float(scores[i])}, ranks={**hit.ranks, "rerank": place})
    best = enumerate(_order(mixed, hits), start=1)
    return tuple(replace(hits[i], rank=rank, score=float(mixed[i])) for rank, i in best)


def _order(scores: NDArray[np.float64], hits: Sequence[Hit]) -> list[int]:
    """Sort the places of hits by (-score, key)."""
    return sorted(range(len(hits)), key=lambda i: (-scores[i], hits[i].passage.key))


def _scores(question: str, texts: Sequence[str], reranker: Reranker, seconds: float) -> NDArray[np.float64]:
    """Score the texts, in batches as large as the reranker says, before the deadline passes."""
    deadline = time.perf_counter() + seconds
    size = int(getattr(reranker, "batch", _BATCH))
    batches: list[NDArray[np.float64]] = []
    for start in range(0, len(texts), size):
        if time.perf_counter() > deadline:
            raise ModelLimit(f"{start} of {len(texts)} passages were scored within {seconds:g} seconds.")
        batch = texts[start : start + size]
        scores = np.asarray(reranker.score(question, batch), dtype=np.float64)
        if scores.shape != (len(batch),) or not np.isfinite(scores).all():
            raise ModelError(
                f"The reranker {reranker.name} does not give one finite score for each passage.",
                fix="Search without it, or use another one.",
            )
        batches.append(scores)
    return np.concatenate(batches)


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale to 0..1; equal values all become 0."""
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros_like(values)
