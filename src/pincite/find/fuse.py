"""Two ranked lists become one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

from pincite.types import Candidate

Fusion = Literal["convex", "rrf"]
WEIGHT = 0.75  # of the cosine; chosen leaving one collection out: bench/quality/results/fusion.json
RRF_K = 60


def fuse(
    vector: Sequence[Candidate],
    keyword: Sequence[Candidate],
    *,
    method: Fusion = "convex",
    weight: float = WEIGHT,
    depth: int = 0,
) -> list[Candidate]:
    """Merge the candidates of both retrievers.

    "convex" is ``weight * cosine + (1 - weight) * score / best score`` (Bruch et al. 2023, arXiv:2210.11934: better
    than reciprocal ranks, and how the scores are normalised hardly matters). Reciprocal ranks forget how much better
    one passage is than the next.

    Args:
        vector: by cosine, -1 to 1, best first.
        keyword: by BM25, above 0, best first.
        method: how.
        weight: of the cosine, 0 to 1; for "convex".
        depth: how many candidates each list was asked for. A passage that a full list lacks scores at most as much as
            the list's last and is given that much; one that a shorter list lacks has nothing to score and is given 0.

    Returns:
        Every candidate once, by (-score, key). If one list is empty, the order is that of the other.
    """
    if method == "rrf":
        return rrf(vector, keyword)
    cosines = {candidate.key: candidate.score for candidate in vector}
    best = max((candidate.score for candidate in keyword), default=1.0)
    shares = {candidate.key: candidate.score / best for candidate in keyword} if best > 0 else {}
    no_cosine, no_share = _floor(cosines.values(), depth), _floor(shares.values(), depth)
    return ranked(
        Candidate(key, weight * cosines.get(key, no_cosine) + (1 - weight) * shares.get(key, no_share))
        for key in cosines.keys() | shares.keys()
    )


def rrf(*lists: Sequence[Candidate], k: int = RRF_K) -> list[Candidate]:
    """Add ``1 / (k + rank)``, ranks from 1, over the lists (Cormack et al. 2009). By (-score, key)."""
    scores: dict[int, float] = defaultdict(float)
    for candidates in lists:
        for rank, candidate in enumerate(candidates, start=1):
            scores[candidate.key] += 1 / (k + rank)
    return ranked(Candidate(key, score) for key, score in scores.items())


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Sort by (-score, key): a total order."""
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.key))


def _floor(scores: Iterable[float], depth: int) -> float:
    """Give what a passage scores that is not in the list."""
    known = list(scores)
    return min(known) if depth and len(known) >= depth else 0.0
