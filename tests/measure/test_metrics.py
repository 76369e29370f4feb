"""Expected values are written as the formula."""

import builtins
from math import log2

import pytest

from pincite.errors import ExtraMissing
from pincite.measure.compare import Run
from pincite.measure.metrics import question_metrics


def means(judgements, rankings):
    return Run("", question_metrics(judgements, rankings)).means


def test_metrics_are_the_known_ones():
    judgements = {"q1": {"a": 2, "b": 1, "x": 0}, "q2": {"c": 1}}
    rankings = {"q1": ["x", "b", "a"], "q2": [f"n{i}" for i in range(10)] + ["c"]}
    found = means(judgements, rankings)
    ideal = 2 / log2(2) + 1 / log2(3)
    assert found == pytest.approx(
        {
            "ndcg@10": ((1 / log2(3) + 2 / log2(4)) / ideal + 0) / 2,
            "recall@10": (2 / 2 + 0 / 1) / 2,
            "recall@100": (2 / 2 + 1 / 1) / 2,
            "mrr@10": (1 / 2 + 0) / 2,
            "success@1": (0 + 0) / 2,
            "success@5": (1 + 0) / 2,
            "success@10": (1 + 0) / 2,
        }
    )


def test_a_question_without_results_counts_zero():
    assert means({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": ["a"], "q2": []})["mrr@10"] == 0.5


def test_a_missing_library_is_said_with_the_line_that_installs_it(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **named):
        if name == "ir_measures":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ExtraMissing) as caught:
        question_metrics({}, {})
    assert "pip install" in caught.value.fix
