"""Intervals and differences: known distributions, edges, and what a baseline lets pass."""

from __future__ import annotations

import json
from math import sqrt

import numpy as np
import pytest

from pincite.errors import PathMissing, UsageError
from pincite.measure.compare import Comparison, Run, differences, intervals, load_run, save_run, worse


def run(values, name="now", metric="ndcg@10", dataset="d"):
    return Run(name, {metric: {f"q{i}": float(v) for i, v in enumerate(values)}}, {"dataset": dataset})


def test_an_interval_is_about_two_standard_errors() -> None:
    values = np.random.default_rng(3).random(400)
    [(low, high)] = intervals(run(values).figures).values()
    error = values.std() / sqrt(400)
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.2 * error)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.2 * error)


def test_intervals_are_the_same_each_time_and_whatever_the_order_of_questions() -> None:
    figures = run([0, 1, 0.5, 0.25]).figures
    turned = {metric: dict(reversed(values.items())) for metric, values in figures.items()}
    assert intervals(figures) == intervals(turned) == intervals(figures)


def test_one_question_has_no_spread_and_none_no_interval() -> None:
    assert intervals({"a": {"q": 0.25}, "b": {}}) == {"a": (0.25, 0.25)}


def test_pairs_show_what_means_hide() -> None:
    base = np.random.default_rng(5).random(60)
    [one] = differences(run(base + 0.02), run(base))
    assert one.verdict == "better"
    assert one.difference == pytest.approx(0.02)
    assert (one.low, one.high) == (pytest.approx(0.02), pytest.approx(0.02))
    [back] = differences(run(base), run(base + 0.02))
    assert back.verdict == "worse"


def test_equal_runs_and_noise_show_no_difference() -> None:
    noise = np.random.default_rng(7).normal(0, 0.3, 80)
    noise -= noise.mean() - 0.01
    [same] = differences(run([0.5] * 9), run([0.5] * 9))
    [noisy] = differences(run(noise), run(np.zeros(80)))
    assert (same.p, same.verdict, same.low, same.high) == (1.0, "no difference shown", 0, 0)
    assert noisy.verdict == "no difference shown"
    assert noisy.low < 0 < noisy.high


def test_p_is_rarely_small_where_there_is_no_difference() -> None:
    generator = np.random.default_rng(11)
    found = [differences(run(generator.normal(0, 1, 40)), run(np.zeros(40)))[0].p for _ in range(50)]
    assert sum(p < 0.05 for p in found) <= 8
    assert sum(p < 0.5 for p in found) >= 16


def test_only_shared_questions_and_metrics_count() -> None:
    one = Run("a", {"x": {"q1": 1.0, "q2": 0.0}, "y": {"q1": 1.0}}, {})
    other = Run("b", {"x": {"q2": 1.0, "q3": 1.0}}, {})
    [found] = differences(one, other)
    assert (found.metric, found.questions, found.difference) == ("x", 1, -1.0)
    with pytest.raises(UsageError, match="share no question"):
        differences(one, Run("c", {"x": {"q9": 1.0}}, {}))


def test_a_baseline_fails_on_a_shown_fall_a_large_fall_or_a_lost_question() -> None:
    before = run([1, 0] * 20)
    assert worse(before, before) == []
    assert worse(run([1, 0] * 19 + [1, 1]), before) == []
    assert "fell by 0.0250" in worse(run([1, 0] * 19 + [0, 0]), before)[0]  # one of 40: not shown, but over 0.02
    assert worse(run([1, 0] * 19 + [0, 0]), before, tolerance=0.025) == []
    [shown] = worse(run(np.array([1, 0] * 20) - 0.01), before)
    assert shown.startswith("ndcg@10 fell by 0.0100 (p 0.000")
    assert "1 questions of the baseline were not measured, such as 'q39'" in worse(run([1, 0] * 19 + [1]), before)[-1]


def test_a_saved_run_comes_back_and_anything_else_is_refused(tmp_path) -> None:
    before = run([1, 0.5])
    save_run(before, tmp_path / "run.json")
    assert load_run(tmp_path / "run.json") == before
    for text in ("{", "[]", "{}", json.dumps({"pincite_run": 1, "name": "x", "figures": {"a": 3}, "facts": {}})):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(UsageError, match="not a saved run"):
            load_run(tmp_path / "bad.json")
    with pytest.raises(PathMissing):
        load_run(tmp_path / "absent.json")
    with pytest.raises(UsageError, match="cannot be written"):
        save_run(before, tmp_path / "no" / "run.json")


def test_runs_over_other_cases_are_not_compared(tmp_path) -> None:
    save_run(run([1]), tmp_path / "run.json")
    with pytest.raises(UsageError, match="other cases"):
        Comparison(against=str(tmp_path / "run.json")).conclude(run([1], dataset="other"), None)
    with pytest.raises(PathMissing):
        Comparison(baseline=tmp_path / "absent.json").check()
    assert Comparison(against="keyword").mode == "keyword"
    assert Comparison(against="run.json").mode is None
