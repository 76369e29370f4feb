"""The extractive answer: the sentences that speak to the question best, word for word."""

from __future__ import annotations

from collections.abc import Sequence

from pincite.generate.evidence import Ranking, Sentence, distinct, relevant

_NEAR = 0.75  # of the best score: a further quote must be nearly as good as the first


def best_quotes(ranking: Ranking, *, limit: int = 3, near: float = _NEAR) -> list[Sentence]:
    """Give the one to ``limit`` best sentences, best first, near duplicates once."""
    ranked = distinct(relevant(ranking))
    floor = near * ranked[0].score if ranked else 0.0
    return [sentence for sentence in ranked if sentence.score >= floor][:limit]


def quoted(sentences: Sequence[Sentence], numbers: Sequence[int]) -> str:
    """Write the extractive answer: each quote verbatim on a line of its own, its citation number behind it."""
    return "\n".join(f"{sentence.text} [{number}]" for sentence, number in zip(sentences, numbers, strict=True))
