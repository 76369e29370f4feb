"""What was acknowledged is there, wholly, whenever a process dies and however many are at work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pincite.store.sqlite.faults import POINTS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
ROOT = Path(__file__).parents[2]


def run(*arguments: object, seconds: float = 300) -> Any:
    """Run one of the experiments in processes of its own."""
    command = [sys.executable, "-m", "tests.store.processes", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=seconds, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def check_kills(report: dict[str, Any], rounds: int) -> None:
    assert report["problems"] == []
    assert report["kills"] == rounds
    assert report["acknowledged"] >= rounds, "the writers were killed before they wrote"
    assert report["acknowledged"] <= report["committed"] <= report["acknowledged"] + rounds


def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    check_kills(run("kills", tmp_path / "library", 50, 1), 50)


@pytest.mark.soak
def test_kill_9_a_thousand_times(tmp_path: Path) -> None:
    check_kills(run("kills", tmp_path / "library", 1000, 2, seconds=3600), 1000)


@pytest.fixture(scope="module")
def deaths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run("faults", tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize("point", POINTS)
def test_death_at_a_point_of_the_commit(deaths: dict[str, Any], point: str) -> None:
    _, before, _, end = deaths[""]
    code, before_here, left, end_here = deaths[point]
    assert code == 137
    assert before_here == before
    if point == "after_commit":
        assert [row[0] for row in left[:3]] == ["file:///gone.md", "file:///new.md", "file:///old.md"]
        left.pop(1)
        left[-2]["space-16"] -= 3
    assert left == before, "what was not committed left a trace"
    assert end_here == end, "doing it again did not lead where it should"


def test_without_a_fault_nothing_dies(deaths: dict[str, Any]) -> None:
    code, before, left, end = deaths[""]
    assert code == 0
    assert left == end != before


def test_the_environment_names_the_point(tmp_path: Path) -> None:
    script = "from pincite.store.sqlite.faults import fault as f; f('begin'); print('on'); f('version'); print('no')"
    environment = {**os.environ, "PINCITE_FAULT": "version"}
    done = subprocess.run([sys.executable, "-uc", script], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (137, "on\n")


def check_crowd(report: dict[str, Any]) -> None:
    assert report["problems"] == []
    assert min(report["written"]) >= 3, "a writer was starved"
    assert min(report["reads"]) >= 3, "a reader was starved"


def test_two_writers_and_four_readers(tmp_path: Path) -> None:
    check_crowd(run("crowd", tmp_path / "library", 4))


@pytest.mark.soak
def test_two_writers_and_four_readers_for_a_minute(tmp_path: Path) -> None:
    check_crowd(run("crowd", tmp_path / "library", 60))
