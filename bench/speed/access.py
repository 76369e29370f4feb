"""What it costs to search as somebody who may not see everything. Prints JSON.

    python bench/speed/access.py [--passages 10000 100000] [--output FILE] [--keep FOLDER]

The library is that of scale.py: synthetic text and vectors in a real store. Each of its 100 folders has its own label;
a reader holds the labels of 1 to 100 of them. Compared with the owner's search, which has no filter, and with the
owner's under a filter on the same folders, which finds the same passages by other scores: with the statistics of the
whole library. "cpu_ms" is the CPU time of all threads, median over questions, each in its best of several rounds;
"first_ms" that of the first question after a change, with nothing kept in memory. "allow_list_ms" is the cost of the
vector search when turbovec is given the allow-list, and when the list is applied to what turbovec finds without it,
which the code does from a share of ``codes.MOST`` on.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))
from scale import COMMIT, DIMENSION, FINGERPRINT, World, questions

from pincite.find.analyze import ANALYZER, analyze
from pincite.find.search import search
from pincite.store.derived import codes
from pincite.store.filters import Glob, Or
from pincite.store.protocol import Store
from pincite.store.sqlite.store import SqliteStore, open_store

HELD = (1, 10, 50, 80, 90, 100)  # folders of 100
ROUNDS, QUESTIONS = 3, 40
Floats = NDArray[np.float32]


class Given:
    """Knows the vectors of the questions: no encoder takes part."""

    name, fingerprint, dimension, max_pieces = "given", FINGERPRINT, DIMENSION, 10_000

    class pieces:
        count = staticmethod(lambda text: max(1, len(text) // 5))

    def __init__(self, vectors: dict[str, Floats]) -> None:
        self.vectors = vectors

    def encode(self, texts: Sequence[str]) -> Floats:
        return np.stack([self.vectors[text] for text in texts])


def build(folder: Path, world: World, passages: int) -> tuple[SqliteStore, int]:
    """Make the library, or open it; give the number of its documents."""
    store = open_store(folder, analyze=analyze, analyzer=ANALYZER)
    number, done = store.stats().documents, store.stats().passages
    while done < passages:
        with store.together():
            since = done
            while done < min(passages, since + COMMIT):
                done += world.document(number).put(store)
                number += 1
    for part in range(100):
        store.put_labels(f"file:///library/{part:02}", [f"f{part:02}"])
    store.flush()
    return store, number


def timed(work: Callable[[], Any]) -> float:
    """Give the CPU milliseconds of all threads."""
    before = time.process_time()
    work()
    return (time.process_time() - before) * 1000


def measure(store: Store, asked: dict[str, Floats], mode: str, where: Any = None) -> float:
    """Give the median over the questions of the best round."""
    encoder: Any = Given(asked)
    best = {question: float("inf") for question in asked}
    for _ in range(ROUNDS):
        for question in asked:
            cost = timed(lambda: search(question, store=store, encoder=encoder, mode=mode, where=where))  # noqa: B023
            best[question] = min(best[question], cost)
    return round(statistics.median(best.values()), 2)


def by_allow_list(seen: Store, asked: dict[str, Floats]) -> dict[str, float]:
    """Give the cost of both ways to apply an allow-list."""
    usual = codes.MOST
    try:
        found = {}
        for name, share in (("given", 2.0), ("applied after", 0.0)):
            codes.MOST = share
            found[name] = measure(seen, asked, "vector")
    finally:
        codes.MOST = usual
    return found


def first(folder: Path, grants: frozenset[str] | None, asked: dict[str, Floats]) -> float:
    """Give the cost of the first question of a process, once the indexes are open."""
    store = open_store(folder, analyze=analyze, analyzer=ANALYZER)
    question = next(iter(asked))
    encoder: Any = Given(asked)
    search(question, store=store, encoder=encoder)  # opens the indexes
    seen: Store = store if grants is None else store.restricted(grants, writes=False)
    cost = timed(lambda: search(question, store=seen, encoder=encoder))
    store.close()
    return round(cost, 2)


def run(folder: Path, passages: int) -> dict[str, Any]:
    """Measure one size."""
    world = World()
    store, documents = build(folder, world, passages)
    asked = questions(world, documents, QUESTIONS, seed=1)
    rows: list[dict[str, Any]] = []
    owner = {mode: measure(store, asked, mode) for mode in ("hybrid", "vector", "keyword")}
    rows.append({"who": "owner", "cpu_ms": owner, "first_ms": first(folder, None, asked)})
    for held in HELD:
        grants = frozenset(f"f{part:02}" for part in range(held))
        where = Or(tuple(Glob("uri", f"file:///library/{part:02}/*") for part in range(held)))
        seen = store.restricted(grants, writes=False)
        cost = {mode: measure(seen, asked, mode) for mode in owner}
        rows.append(
            {
                "who": f"reader of {held} %",
                "cpu_ms": cost,
                "ratio": {mode: round(cost[mode] / owner[mode], 2) for mode in owner},
                "filter_cpu_ms": {mode: measure(store, asked, mode, where) for mode in owner},
                "allow_list_ms": by_allow_list(seen, asked),
                "first_ms": first(folder, grants, asked),
            }
        )
    found = {"passages": store.stats().passages, "documents": documents, "rows": rows}
    store.close()
    return found


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", nargs="+", type=int, default=[10_000, 100_000])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--keep", type=Path, help="make the libraries here, and use those that are there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        keep = args.keep or Path(temporary)
        sizes = [run(keep / f"access-{passages}", passages) for passages in args.passages]
    result = {"load_average": round(os.getloadavg()[0], 1), "questions": QUESTIONS, "sizes": sizes}
    text = json.dumps(result, indent=1)
    print(text)
    if args.output:
        args.output.write_text(text + "\n")


if __name__ == "__main__":
    main()
