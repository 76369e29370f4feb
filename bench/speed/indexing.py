"""Passages a second of indexing, end to end, against sentence-transformers' ``encode`` of the very same passages.

``python bench/speed/indexing.py DATASET --model FOLDER [--documents N] [--slices N] [--threads N]``

End to end: rows of a BEIR folder become documents (language, passages, embeddings), are committed, and both indexes are
on disk. The reference only encodes, with its defaults, in its own environment. They take turns slice by slice, so that
other work on the machine disturbs the ratio little; each has encoded a text before the clock runs. "Stages" are shares
of Pincite's processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pincite
from peers import THREADS, TORCH, environment, machine
from pincite.acquire.given import text_source
from pincite.build import sync
from pincite.measure.cases import Row, load_dataset
from pincite.models.encoders.openvino import OpenVinoEncoder

REFERENCE = Path(__file__).resolve().parents[1] / "peers" / "adapters" / "run_sentence_transformers.py"
Seconds = dict[str, float]


class Clock:
    """Processor seconds by stage, and what was encoded."""

    def __init__(self) -> None:
        self.stages: Counter[str] = Counter()
        self.texts: list[str] = []

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        start = time.process_time()
        yield
        self.stages[stage] += time.process_time() - start

    def timing(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function."""

        def wrapped(*arguments: Any, **options: Any) -> Any:
            with self.timed(stage):
                return function(*arguments, **options)

        return wrapped

    def encoding(self, texts: Sequence[str], encode: Callable[[Sequence[str]], Any]) -> Any:
        """Keep the texts that are encoded: the reference gets the same."""
        self.texts += texts
        with self.timed("encode"):
            return encode(texts)


def main() -> None:
    """Measure and print JSON."""
    options = arguments()
    if options.threads:
        os.environ |= dict.fromkeys(THREADS, str(options.threads))
    rows = list(load_dataset(options.dataset).documents())[: options.documents]
    size = -(-len(rows) // options.slices)
    encoder = OpenVinoEncoder(options.model, name="all-MiniLM-L6-v2", threads=options.threads)
    encoder.encode(["warm"])
    python = environment(options.environments / "sentence-transformers", TORCH)
    clock, ours, theirs = Clock(), Counter[str](), Counter[str]()
    command = [str(python), str(REFERENCE), str(options.model.resolve())]
    variables = os.environ | {"HF_HUB_OFFLINE": "1"}
    with subprocess.Popen(command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        versions = reply(process)
        for start in range(0, len(rows), size):
            before = len(clock.texts)
            ours.update(index(rows[start : start + size], encoder, clock))
            theirs.update(reply(process, clock.texts[before:]))
    print(json.dumps(summary(options, len(rows), clock, ours, theirs) | {"versions": versions}, indent=1))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="all-MiniLM-L6-v2 as sentence-transformers saves it")
    parser.add_argument("--environments", type=Path, default=Path.home() / ".cache" / "pincite-bench")
    parser.add_argument("--documents", type=int)
    parser.add_argument("--slices", type=int, default=4)
    parser.add_argument("--threads", type=int, default=0, help="of each side; 0: its default")
    return parser.parse_args()


def reply(process: subprocess.Popen[str], texts: list[str] | None = None) -> Any:
    """Send texts to the reference, if any, and wait for its answer."""
    assert process.stdin and process.stdout
    if texts is not None:
        process.stdin.write(json.dumps(texts) + "\n")
        process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        sys.exit("the reference failed")
    return json.loads(line)


def index(rows: Sequence[Row], encoder: OpenVinoEncoder, clock: Clock) -> Seconds:
    """Index rows into a new library; give seconds of clock and processor."""
    encode, chunk = encoder.encode, sync.chunk
    with tempfile.TemporaryDirectory(prefix="pincite-indexing-") as folder:
        start, spent = time.perf_counter(), time.process_time()
        with pincite.open(Path(folder) / "library.pincite", encoder=encoder, generator="none", offline=True) as library:
            build = sync.Build(library.store, lambda: encoder, 128)
            encoder.encode = lambda texts: clock.encoding(texts, encode)  # type: ignore[method-assign]
            sync.chunk = clock.timing("passages", chunk)  # type: ignore[assignment]
            describe = clock.timing("language and hash", text_source)
            sources = (describe(f"row:{row.id}", row.text or row.title, title=row.title) for row in rows)
            for _ in sync.commit((sync.prepare(source, reading, build) for source, reading in sources), build):
                pass
            encoder.encode, sync.chunk = encode, chunk  # type: ignore[method-assign]
            with clock.timed("indexes"):
                library.store.flush()
        return {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - spent}


def summary(options: argparse.Namespace, documents: int, clock: Clock, ours: Seconds, theirs: Seconds) -> Any:
    """Put both sides together."""
    passages = len(clock.texts)
    stages = dict(clock.stages)
    stages["catalogue and rest"] = ours["cpu_seconds"] - sum(stages.values())
    rates = {
        name: {
            "passages_per_second": round(passages / side["seconds"], 1),
            "passages_per_cpu_second": round(passages / side["cpu_seconds"], 1),
        }
        for name, side in (("pincite", ours), ("sentence-transformers encode", theirs))
    }
    return {
        "dataset": options.dataset.resolve().name,
        "documents": documents,
        "passages": passages,
        "threads": options.threads or "default",
        "machine": machine(),
        "load_average": round(os.getloadavg()[0], 1),
        "sides": rates,
        "ratio": {
            "clock": round(theirs["seconds"] / ours["seconds"], 3),
            "processor": round(theirs["cpu_seconds"] / ours["cpu_seconds"], 3),
        },
        "stages": {
            name: {"share": round(spent / ours["cpu_seconds"], 3), "ms_per_passage": round(1000 * spent / passages, 3)}
            for name, spent in sorted(stages.items(), key=lambda item: -item[1])
        },
    }


if __name__ == "__main__":
    main()
