"""How much of the gold spans the evidence holds, and how much else it holds, in characters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Place = tuple[str, int, int]
"""A source, and a half-open range of code points in its text."""


@dataclass(frozen=True, slots=True)
class SpanScores:
    """Shares of characters, 0 to 1."""

    recall: float  # of the gold, how much was retrieved
    precision: float  # of what was retrieved, how much is gold
    iou: float  # intersection over union


def span_scores(found: Iterable[Place], gold: Iterable[Place]) -> SpanScores:
    """Compare retrieved spans with gold spans, each as a set of characters.

    The measures of Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval" (Chroma, 2024), counted in
    characters as their program does. A character that is retrieved twice counts once.

    Args:
        found: what was retrieved, in any order; may overlap, may be of other sources.
        gold: what should have been; at least one character.

    Returns:
        recall = |found and gold| / |gold|, precision = |found and gold| / |found|, iou = |found and gold| /
        |found or gold|; all 0 when nothing was found.

    Raises:
        ValueError: there is no gold.
    """
    have, want = _merged(found), _merged(gold)
    retrieved, wanted = _size(have), _size(want)
    if not wanted:
        raise ValueError("there is no gold span")
    common = retrieved + wanted - _size(_merged([*have, *want]))
    union = retrieved + wanted - common
    return SpanScores(common / wanted, common / retrieved if retrieved else 0.0, common / union)


def _merged(places: Iterable[Place]) -> list[Place]:
    """Sort, and join what overlaps or touches."""
    merged: list[Place] = []
    for source, start, end in sorted(places):
        if merged and merged[-1][0] == source and start <= merged[-1][2]:
            merged[-1] = (source, merged[-1][1], max(end, merged[-1][2]))
        else:
            merged.append((source, start, end))
    return merged


def _size(merged: Iterable[Place]) -> int:
    """Count characters."""
    return sum(end - start for _, start, end in merged)
