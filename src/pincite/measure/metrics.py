"""Retrieval metrics, by a known library: ir_measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pincite.errors import ExtraMissing

METRICS = {"ndcg@10": "nDCG@10", "recall@10": "R@10", "recall@100": "R@100", "mrr@10": "RR@10"}
DEPTH = 100  # documents that the metrics look at


def retrieval_metrics(
    judgements: Mapping[str, Mapping[str, int]], rankings: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """Average over the judged questions; one that is not ranked counts 0.

    Args:
        judgements: question -> document -> grade; above 0 is relevant.
        rankings: question -> distinct documents, best first.

    Returns:
        ``ndcg@10``, ``recall@10``, ``recall@100`` and ``mrr@10``, each 0 to 1.

    Raises:
        ExtraMissing: ir_measures is not installed.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise ExtraMissing("Measuring needs ir_measures.", fix="Run: pip install ir-measures") from error
    measures = {name: ir_measures.parse_measure(measure) for name, measure in METRICS.items()}
    # Scores fall strictly, so that the library cannot order ties by its own rule.
    run = {
        question: {document: float(-place) for place, document in enumerate(documents)}
        for question, documents in rankings.items()
    }
    found = ir_measures.calc_aggregate(list(measures.values()), {q: dict(d) for q, d in judgements.items()}, run)
    return {name: float(found[measure]) for name, measure in measures.items()}
