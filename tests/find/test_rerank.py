"""Rerankers are interpolated with the first stage, never trusted alone."""

import time
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.errors import ModelError, ModelLimit
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
    assert [h.ranks for h in found] == [{"rerank": 2}, {"rerank": 3}, {"rerank": 1}]


def test_ties_are_broken_by_key():
    assert [h.passage.key for h in rerank("q", HITS[::-1], Given({f"text {i}": 1.0 for i in (1, 2, 3)}), weight=1)] == [
        1,
        2,
        3,
    ]


class Slow(Given):
    """Takes a tenth of a second for a passage, and one passage at a time."""

    batch = 1

    def score(self, question, texts):
        time.sleep(0.1)
        return super().score(question, texts)


def test_when_time_runs_out_the_first_stage_stands_and_the_trace_says_why():
    scores, detail = {"text 1": 0.0, "text 2": 1.0, "text 3": 2.0}, {}
    assert rerank("q", HITS, Slow(scores), seconds=0.05, detail=detail) == tuple(HITS)
    assert detail == {"passages": 0, "stopped": "1 of 3 passages were scored within 0.05 seconds."}
    assert [h.passage.key for h in rerank("q", HITS, Slow(scores), seconds=60, weight=1, detail=detail)] == [3, 2, 1]
    assert detail["passages"] == 3


def test_when_the_reranker_gives_up_the_first_stage_stands():
    class Limited(Given):
        def score(self, question, texts):
            raise ModelLimit("too long")

    detail = {}
    assert rerank("q", HITS, Limited({}), detail=detail) == tuple(HITS)
    assert detail == {"passages": 0, "stopped": "too long"}


def test_the_reranker_says_how_many_it_takes_at_once():
    class Counting(Given):
        batch = 2
        sizes: ClassVar[list[int]] = []

        def score(self, question, texts):
            self.sizes.append(len(texts))
            return super().score(question, texts)

    rerank("q", HITS, Counting({f"text {i}": 1.0 for i in (1, 2, 3)}))
    assert Counting.sizes == [2, 1]


@given(
    firsts=st.lists(st.floats(-5, 5, width=16), min_size=1, max_size=12),
    seconds=st.lists(st.floats(-5, 5, width=16), min_size=12, max_size=12),
    window=st.integers(1, 12),
    weight=st.floats(0, 1, width=16),
)
def test_hits_outside_the_window_stay_below_and_nothing_is_lost(firsts, seconds, window, weight):
    hits = [hit(key, score) for key, score in enumerate(sorted(firsts, reverse=True), start=1)]
    reranker = Given({f"text {key}": score for key, score in enumerate(seconds, start=1)})
    found = rerank("q", hits, reranker, window=window, weight=weight)
    assert sorted(h.passage.key for h in found) == [h.passage.key for h in hits]
    assert [(-h.score, h.passage.key) for h in found] == sorted((-h.score, h.passage.key) for h in found)
    looked = ["rerank" in h.scores for h in found]
    assert looked == [True] * min(window, len(hits)) + [False] * (len(hits) - min(window, len(hits)))
    assert all(0 <= h.score <= 1 for h in found)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_scores_that_are_no_numbers_are_refused(bad):
    with pytest.raises(ModelError) as caught:
        rerank("q", HITS, Given({"text 1": bad, "text 2": 1.0, "text 3": 2.0}))
    assert caught.value.fix
