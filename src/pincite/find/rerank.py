"""A second look at the best passages, question and passage together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pincite.errors import ModelError
from pincite.models.protocols import Reranker
from pincite.types import Hit

WINDOW = 50  # passages looked at again, at least
WEIGHT = 0.5  # of the reranker; the first stage keeps the rest: alone, small rerankers lose on foreign ground
SECONDS = 2.0
_BATCH = 8  # passages between two looks at the clock


def rerank(
    question: str, hits: Sequence[Hit], reranker: Reranker | None, *, weight: float = WEIGHT, seconds: float = SECONDS
) -> tuple[Hit, ...]:
    """Reorder hits by ``(1 - weight) * first stage + weight * reranker``, both scaled to 0..1 over these hits.

    Args:
        question: as asked.
        hits: best first.
        reranker: None leaves the hits as they are.
        weight: of the reranker, 0 to 1.
        seconds: deadline; when it passes, the order stays that of the first stage.

    Returns:
        The same passages by (-score, key), with ``scores["rerank"]`` where they were reranked.

    Raises:
        ModelError: the reranker gives scores that cannot be used.
    """
    if reranker is None or not hits:
        return tuple(hits)
    scores = _scores(question, [hit.passage.searched for hit in hits], reranker, time.perf_counter() + seconds)
    if len(scores) < len(hits):
        return tuple(hits)
    first = _scaled(np.array([hit.score for hit in hits]))
    mixed = (1 - weight) * first + weight * _scaled(scores)
    order = sorted(range(len(hits)), key=lambda i: (-mixed[i], hits[i].passage.key))
    return tuple(
        replace(hits[i], rank=rank, score=float(mixed[i]), scores={**hits[i].scores, "rerank": float(scores[i])})
        for rank, i in enumerate(order, start=1)
    )


def _scores(question: str, texts: Sequence[str], reranker: Reranker, deadline: float) -> NDArray[np.float64]:
    """Score the texts, fewer than all if the deadline passes."""
    batches: list[NDArray[np.float64]] = []
    for start in range(0, len(texts), _BATCH):
        if time.perf_counter() > deadline:
            break
        batch = texts[start : start + _BATCH]
        scores = np.asarray(reranker.score(question, batch), dtype=np.float64)
        if scores.shape != (len(batch),) or not np.isfinite(scores).all():
            raise ModelError(
                f"The reranker {reranker.name} does not give one finite score for each passage.",
                fix="Search without it, or use another one.",
            )
        batches.append(scores)
    return np.concatenate(batches) if batches else np.empty(0)


def _scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale to 0..1; equal values all become 0."""
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.zeros_like(values)
