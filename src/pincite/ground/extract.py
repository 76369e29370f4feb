"""The extractive answer: the sentences that speak to the question best, word for word."""

from __future__ import annotations

from pincite.generate.evidence import Ranking, Sentence, distinct, is_statement, relevant

_NEAR = 0.7  # of the best score: a further quote must be nearly as good as the first


def best_quotes(ranking: Ranking, *, limit: int = 3, near: float = _NEAR) -> list[Sentence]:
    """Give the one to ``limit`` best sentences, best first, near duplicates once; questions only if they are all."""
    ranked = distinct(relevant(ranking))
    ranked = [sentence for sentence in ranked if is_statement(sentence.text)] or ranked
    floor = near * ranked[0].score if ranked else 0.0
    return [sentence for sentence in ranked if sentence.score >= floor][:limit]
