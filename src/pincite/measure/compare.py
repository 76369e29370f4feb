"""Figures for each question become means with intervals, and differences from another run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from pincite.errors import PathMissing, UsageError
from pincite.measure.cases import write_whole
from pincite.types import Mode

RESAMPLES = 5_000
SHOWN = 0.05  # a difference with a smaller p is shown
TOLERANCE = 0.02  # by how much a mean may fall against a baseline before that counts, shown or not
_SEED = 20_240_229
_BLOCK = 4_000_000  # numbers held at once

Figures = Mapping[str, Mapping[str, float]]
"""Metric -> question -> value, 0 to 1. Metrics may cover different questions."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one way to search gave, question by question."""

    name: str
    figures: dict[str, dict[str, float]]
    facts: dict[str, Any] = field(default_factory=dict)  # mode, encoder, reranker and the like

    @property
    def means(self) -> dict[str, float]:
        """The mean of each metric over its questions."""
        return {metric: sum(values.values()) / len(values) for metric, values in self.figures.items() if values}


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric's mean less that of another run, over the questions of both."""

    metric: str
    difference: float
    low: float  # 95 % interval
    high: float
    p: float  # two-sided
    questions: int

    @property
    def verdict(self) -> str:
        """Say what is shown: "better", "worse", or "no difference shown"."""
        if self.p >= SHOWN:
            return "no difference shown"
        return "better" if self.difference > 0 else "worse"


def intervals(figures: Figures) -> dict[str, tuple[float, float]]:
    """Give the 95 % interval of each metric's mean.

    Args:
        figures: metrics without questions are left out.

    Returns:
        The 2.5th and 97.5th percentile of the mean over ``RESAMPLES`` bootstrap samples of the questions; the same
        each time.
    """
    found = {metric: _bounds(means) for metric, _, means in _resampled(figures)}
    return {metric: found[metric] for metric in figures if metric in found}


def differences(run: Run, other: Run) -> list[Difference]:
    """Compare a run with another by the paired bootstrap: each metric that both have, over the questions of both.

    With d the mean differences of ``RESAMPLES`` samples of questions, p = 2 min(#(d <= 0) + 1, #(d >= 0) + 1) /
    (``RESAMPLES`` + 1), at most 1, so that p < .05 where the interval leaves out 0. UsageError if none is shared.
    """
    paired: dict[str, dict[str, float]] = {}
    for metric in run.figures:
        mine, theirs = run.figures[metric], other.figures.get(metric, {})
        paired[metric] = {question: mine[question] - theirs[question] for question in mine if question in theirs}
    found = {}
    for metric, values, means in _resampled(paired):
        tail = min(int((means <= 0).sum()), int((means >= 0).sum())) + 1
        p = min(1.0, 2 * tail / (RESAMPLES + 1))
        found[metric] = Difference(metric, float(values.mean()), *_bounds(means), p, len(values))
    if not found:
        raise UsageError(f"{run.name} and {other.name} share no question.", fix="Compare runs over the same cases.")
    return [found[metric] for metric in run.figures if metric in found]


def worse(run: Run, baseline: Run, tolerance: float = TOLERANCE) -> list[str]:
    """Say what got worse against a baseline; UsageError if the runs share no question.

    One sentence for each metric whose mean fell by more than the tolerance, or shown by p < .05; and one if questions
    that the baseline measured were not measured now.
    """
    problems = []
    for one in differences(run, baseline):
        if one.verdict == "worse" or one.difference < -tolerance - 1e-12:
            problems.append(f"{one.metric} fell by {-one.difference:.4f} (p {one.p:.3f}).")
    lost = {question for values in baseline.figures.values() for question in values}
    lost -= {question for values in run.figures.values() for question in values}
    if lost:
        problems.append(f"{len(lost)} questions of the baseline were not measured, such as {min(lost)!r:.80}.")
    return problems


@dataclass(frozen=True, slots=True)
class Comparison:
    """With what a run is compared, and where it is kept."""

    against: str = ""  # a saved run, or a mode
    baseline: Path | None = None  # a saved run that the new one must not fall behind
    update_baseline: bool = False  # write the baseline instead
    save: Path | None = None
    tolerance: float = TOLERANCE

    @property
    def mode(self) -> Mode | None:
        """The mode to compare with, None when it is no mode."""
        return cast(Mode, self.against) if self.against in get_args(Mode) else None

    def check(self) -> None:
        """Read the saved runs: better before hours of measuring than after. PathMissing or UsageError if one fails."""
        if self.against and not self.mode:
            load_run(Path(self.against))
        if self.baseline and not self.update_baseline:
            load_run(self.baseline)

    def conclude(self, run: Run, second: Run | None) -> dict[str, Any]:
        """Compare a run with what it is to be compared with, and write what is to be kept.

        Args:
            run: as measured.
            second: the same questions in the mode that ``against`` names, if it names one.

        Returns:
            "against": {"name", "differences": {metric: {"difference", "low", "high", "p", "questions", "verdict"}}} and
            "baseline": {"file", "updated", "worse": sentences}, each only if asked for.

        Raises:
            UsageError: a saved run is of other cases, or a file cannot be written.
        """
        told: dict[str, Any] = {}
        other = second or (_same_cases(run, load_run(Path(self.against))) if self.against else None)
        if other:
            rows = {one.metric: one for one in differences(run, other)}
            table = {m: {**asdict(one), "verdict": one.verdict} for m, one in rows.items()}
            told["against"] = {"name": other.name, "differences": table}
        if self.baseline:
            fallen = []
            if not self.update_baseline:
                fallen = worse(run, _same_cases(run, load_run(self.baseline)), self.tolerance)
            told["baseline"] = {"file": str(self.baseline), "updated": self.update_baseline, "worse": fallen}
        for path in (self.save, self.baseline if self.update_baseline else None):
            if path:
                save_run(run, path)
        return told


def _same_cases(run: Run, other: Run) -> Run:
    """Give the other run if it is of the same case set."""
    if run.facts.get("dataset") != other.facts.get("dataset"):
        raise UsageError(
            f"The saved run {other.name} is of other cases than {run.name}.", fix="Compare runs over the same cases."
        )
    return other


def save_run(run: Run, path: Path) -> None:
    """Write a run as JSON, for ``load_run``; UsageError if the file cannot be written."""
    write_whole(path, json.dumps({"pincite_run": 1, **asdict(run)}, indent=1, sort_keys=True) + "\n")


def load_run(path: Path) -> Run:
    """Read what ``save_run`` wrote; PathMissing if there is no such file, UsageError if it is no saved run."""
    if not path.is_file():
        raise PathMissing(f"There is no run {path}.", fix="Make one with --save, or name a mode.")
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        figures = {str(m): {str(q): float(v) for q, v in values.items()} for m, values in row["figures"].items()}
        if row["pincite_run"] != 1 or not isinstance(row["facts"], dict):
            raise ValueError
        return Run(str(row["name"]), figures, row["facts"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is not a saved run.", fix="Make one with --save.") from error


def _bounds(means: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)


def _resampled(figures: Figures) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    """Give each metric with its values and the means of samples of them; those over the same questions share them."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for metric, by_question in figures.items():
        if by_question:
            groups.setdefault(tuple(sorted(by_question)), []).append(metric)
    for questions, metrics in groups.items():
        values = np.array([[figures[metric][q] for metric in metrics] for q in questions], dtype=np.float64)
        yield from zip(metrics, values.T, _means(values).T, strict=True)


def _means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Draw samples of the rows, with replacement, and give their means: (RESAMPLES, metrics)."""
    generator = np.random.default_rng(_SEED)
    rows = len(values)
    block = max(1, _BLOCK // rows)
    parts = []
    for start in range(0, RESAMPLES, block):
        size = min(block, RESAMPLES - start)
        counts = generator.multinomial(rows, np.full(rows, 1 / rows), size=size)
        parts.append(counts @ values / rows)
    return np.concatenate(parts)
