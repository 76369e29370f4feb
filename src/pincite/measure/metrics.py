"""Retrieval metrics, by a known library: ir_measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pincite.errors import ExtraMissing

METRICS = {
    "ndcg@10": "nDCG@10",
    "recall@10": "R@10",
    "recall@100": "R@100",
    "mrr@10": "RR@10",
    "success@1": "Success@1",
    "success@5": "Success@5",
    "success@10": "Success@10",
}
DEPTH = 100  # documents that the metrics look at


def question_metrics(
    judgements: Mapping[str, Mapping[str, int]], rankings: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """Measure each judged question.

    Args:
        judgements: question -> document -> grade; above 0 is relevant.
        rankings: question -> distinct documents, best first; a question that is not there counts 0.

    Returns:
        For each of METRICS, question -> value, 0 to 1.

    Raises:
        ExtraMissing: ir_measures is not installed.
    """
    try:
        import ir_measures
    except ImportError as error:
        raise ExtraMissing("Measuring needs ir_measures.", fix="Run: pip install ir-measures") from error
    measures = {ir_measures.parse_measure(measure): name for name, measure in METRICS.items()}
    # Scores fall strictly, so that the library cannot order ties by its own rule.
    run = {
        question: {document: float(-place) for place, document in enumerate(documents)}
        for question, documents in rankings.items()
    }
    found: dict[str, dict[str, float]] = {name: dict.fromkeys(judgements, 0.0) for name in METRICS}
    for one in ir_measures.iter_calc(list(measures), {q: dict(d) for q, d in judgements.items()}, run):
        found[measures[one.measure]][one.query_id] = float(one.value)
    return found
