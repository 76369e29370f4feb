"""Rerankers are interpolated with the first stage, never trusted alone."""

import numpy as np
import pytest

from pincite.errors import ModelError
from pincite.find import rerank as module
from pincite.find.rerank import rerank
from pincite.types import Hit, Passage


def hit(key, score):
    passage = Passage(f"d@1:{key}-{key + 1}", key, "d", "file:///d", 1, key, key + 1, f"text {key}", "t")
    return Hit(key, score, passage, {"fused": score})


HITS = [hit(1, 0.9), hit(2, 0.8), hit(3, 0.1)]


class Given:
    name = "given"

    def __init__(self, scores):
        self.scores = dict(scores)

    def score(self, question, texts):
        return np.array([self.scores[text] for text in texts], dtype=np.float32)


def test_without_a_reranker_nothing_changes():
    assert rerank("q", HITS, None) == tuple(HITS)


def test_scores_are_interpolated_after_scaling():
    reranker = Given({"text 1": -4.0, "text 2": 0.0, "text 3": 4.0})
    found = rerank("q", HITS, reranker, weight=0.5)
    first = {1: 1.0, 2: (0.8 - 0.1) / (0.9 - 0.1), 3: 0.0}
    second = {1: 0.0, 2: 4 / 8, 3: 1.0}
    expected = {key: 0.5 * first[key] + 0.5 * second[key] for key in first}
    assert {h.passage.key: h.score for h in found} == pytest.approx(expected)
    assert [h.passage.key for h in found] == [2, 1, 3]
    assert [h.rank for h in found] == [1, 2, 3]
    assert found[0].scores == {"fused": 0.8, "rerank": 0.0}


def test_ties_are_broken_by_key():
    assert [h.passage.key for h in rerank("q", HITS[::-1], Given({f"text {i}": 1.0 for i in (1, 2, 3)}), weight=1)] == [
        1,
        2,
        3,
    ]


def test_when_time_runs_out_the_first_stage_stands(monkeypatch):
    monkeypatch.setattr(module, "_BATCH", 1)
    reranker = Given({"text 1": 0.0, "text 2": 1.0, "text 3": 2.0})
    assert rerank("q", HITS, reranker, seconds=-1) == tuple(HITS)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_scores_that_are_no_numbers_are_refused(bad):
    with pytest.raises(ModelError) as caught:
        rerank("q", HITS, Given({"text 1": bad, "text 2": 1.0, "text 3": 2.0}))
    assert caught.value.fix
