"""What an unchanged folder costs: a second ``add``, and the look at the disk before each search. Prints JSON.

    python bench/speed/unchanged.py [--files 1000] [--refresh 1000 10000] [--output FILE]

``add`` runs with the real encoder over files of about 200 words, twice: "ratio" is the second's time over the first's,
"new" what the second added to the library, which must be nothing. ``--refresh`` measures ``Library.refresh`` on
unchanged folders of so many small files (made with a stand-in for the encoder, which a refresh does not call): the best
and the median of several, and the same for one folder of a library that holds them all.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import pincite
from pincite.library import Library

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.fakes import HashEncoder

WORDS = (
    "river stone cloud engine paper window market garden signal harbour winter letter bridge copper forest "
    "of the and a to in is that it for with as on by was at from be this which"
)
SETTLED_SECONDS = 2.5  # a file that changed less than two seconds before it was read is read again
FOLDERS = 50


def make(folder: Path, files: int, words: int) -> None:
    """Write text files, in folders of folders."""
    rng, known = np.random.default_rng(0), WORDS.split()
    for number in range(files):
        path = folder / f"{number % FOLDERS:02}" / f"{number:06}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Note {number}\n\n" + " ".join(rng.choice(known, words)) + f" {number}.\n")


def rows(library: Library) -> dict[str, int]:
    """Count what is in the library."""
    stats = library.stats()
    return {
        "sequence": stats.sequence,
        "documents": stats.documents,
        "passages": stats.passages,
        "vectors": sum(stats.spaces.values()),
    }


def timed(work: Any) -> tuple[dict[str, float], Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}, result


def add_twice(folder: Path, files: int) -> dict[str, Any]:
    """Add a folder, and again."""
    make(folder / "texts", files, 200)
    time.sleep(SETTLED_SECONDS)
    with pincite.open(folder / "library") as library:
        library.models.encoder().encode(["warm"])
        first, _ = timed(lambda: library.add(folder / "texts"))
        before = rows(library)
        seconds = [timed(lambda: library.add(folder / "texts")) for _ in range(5)]
        after = rows(library)
    assert all(report.summary["unchanged"] == files for _, report in seconds)
    second = {name: statistics.median(times[name] for times, _ in seconds) for name in first}
    return {
        "files": files,
        "passages": after["passages"],
        "first": _rounded(first),
        "second": _rounded(second),
        "ratio": {name: round(second[name] / first[name], 5) for name in first},
        "new": {name: after[name] - before[name] for name in after},
    }


def refreshes(folder: Path, files: int, rounds: int) -> dict[str, Any]:
    """Look at an unchanged folder again and again."""
    make(folder / "texts", files, 20)
    time.sleep(SETTLED_SECONDS)
    with pincite.open(folder / "library", encoder=HashEncoder()) as library:
        library.add(folder / "texts")
        one = folder / "texts" / "07"
        found: dict[str, Any] = {"files": files}
        for name, paths in {"all": None, f"one folder of {FOLDERS}": [one]}.items():
            measured = [timed(lambda paths=paths: library.refresh(paths))[0] for _ in range(rounds)]
            for kind, label in (("wall_s", "wall_ms"), ("cpu_s", "cpu_ms")):
                times = [1000 * times[kind] for times in measured]
                found.setdefault(name, {})[label] = {
                    "best": round(min(times), 2),
                    "median": round(statistics.median(times), 2),
                }
        found["us_cpu_a_file"] = round(1000 * found["all"]["cpu_ms"]["median"] / files, 1)
    return found


def _rounded(times: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--refresh", type=int, nargs="*", default=[1000, 10_000])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    report: dict[str, Any] = {}
    if options.files:
        with tempfile.TemporaryDirectory() as folder:
            report["add"] = add_twice(Path(folder), options.files)
    for files in options.refresh:
        with tempfile.TemporaryDirectory() as folder:
            report.setdefault("refresh", []).append(refreshes(Path(folder), files, options.rounds))
    report["load_average"] = [round(load, 1) for load in os.getloadavg()]
    if options.output:
        options.output.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
