"""What every contestant does alike: read the job, index the corpus, ask each question, write one JSON object.

Standard library only: this file runs in each contestant's own environment, as ``python run_NAME.py JOB.json``.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

Row = tuple[str, str, str]  # id, title, text
Index = Callable[[list[Row], dict[str, Any]], Any]  # rows and job -> what is asked
Ask = Callable[[Any, str], list[str]]  # what index gave, question -> ids of documents, best first

DEPTH = 10  # documents a question asks for
WARM = 10  # questions asked before the clock runs


def compete(index: Index, asks: dict[str, Ask], packages: list[str]) -> None:
    """Run one contestant.

    Args:
        index: makes an index of all rows, ready to be asked.
        asks: ways to ask, by name; each is timed on all questions.
        packages: whose versions are reported.
    """
    job = json.loads(Path(sys.argv[1]).read_text())
    rows = [(row["_id"], row.get("title") or "", row["text"]) for row in _lines(job["corpus"])][: job["documents"]]
    start, spent = time.perf_counter(), time.process_time()
    asked = index(rows, job)
    report = {
        "documents": len(rows),
        "index_seconds": time.perf_counter() - start,
        "index_cpu_seconds": time.process_time() - spent,
        "ways": {name: _timed(asked, ask, job["questions"]) for name, ask in asks.items()},
        "peak_rss_mb": _peak_rss_mb(),
        "versions": {package: version(package) for package in packages},
        "load_average": round(os.getloadavg()[0], 1),
    }
    Path(job["report"]).write_text(json.dumps(report))


def joined(title: str, text: str) -> str:
    """Give title and text as one string, for systems that know no titles; never empty."""
    return f"{title}\n{text}".strip() or "."


def _timed(asked: Any, ask: Ask, questions: dict[str, str]) -> dict[str, Any]:
    """Ask all questions one by one: seconds of each, CPU seconds of all, and what was found."""
    for text in list(questions.values())[:WARM]:
        ask(asked, text)
    seconds: list[float] = []
    rankings: dict[str, list[str]] = {}
    spent = time.process_time()
    for name, text in questions.items():
        start = time.perf_counter()
        found = ask(asked, text)
        seconds.append(time.perf_counter() - start)
        rankings[name] = found[:DEPTH]
    return {"seconds": seconds, "cpu_seconds": time.process_time() - spent, "rankings": rankings}


def _peak_rss_mb() -> float:
    """Give the most memory that this process had resident, in MB; the system counts in kB, on macOS in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6, 1)


def _lines(path: str) -> list[dict[str, Any]]:
    with Path(path).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]
