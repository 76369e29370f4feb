"""Peak memory while indexing, by the amount of text. Prints JSON.

    python bench/speed/memory.py [--megabytes 50 200] [--largest 20] [--output FILE]

Files of plain text, Markdown, HTML, CSV and JSON lines, most of them of some kilobytes and a few of up to ``--largest``
megabytes, are made in a folder and added through ``Library.add``, in a process of its own. Passages are cut by the real
encoder's word pieces; its network is left out: each text gets a unit vector of 384 numbers drawn by its hash, so that
the store holds what it would hold, sooner. The network itself takes a constant amount, about 100 MB, which
``encoder_mb`` of the result measures.

"anonymous" memory is what no file can give back (RssAnon); "resident" includes files that are mapped or were read by
SQLite. "course" is the anonymous memory at twenty points in time, each the peak since the last.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pincite
from pincite.models.fetch import default_models_dir
from pincite.models.load import load_encoder
from pincite.models.pieces import WordPieces

MODEL, DIMENSION = "all-MiniLM-L6-v2", 384


class TableEncoder:
    """Real word pieces, and vectors out of a table."""

    name, fingerprint, dimension, max_pieces = "table", "table-384", DIMENSION, 254

    def __init__(self, tokenizer: Path) -> None:
        self.pieces = WordPieces(tokenizer)
        self.table = np.random.default_rng(0).standard_normal((2048, DIMENSION), np.float32)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        codes = np.array([zlib.crc32(text.encode("utf-8", "surrogatepass")) for text in texts], np.int64)
        rows = self.table[codes % 2048] + self.table[codes // 2048 % 2048]
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Writer:
    """Makes files of any size."""

    def __init__(self, vocabulary: Path) -> None:
        self.rng = np.random.default_rng(0)
        known = vocabulary.read_text(encoding="utf-8").split("\n")
        words = [word for word in known if word.isascii() and word.isalpha()]  # the frequent ones come first
        words += [f"{word}{end}" for word in words[2000:12000] for end in ("ish", "ward")]  # some of two pieces
        self.words = np.array(words, dtype=object)
        weights = 1 / (np.arange(len(words)) + 2.7)
        self.cumulated = np.cumsum(weights / weights.sum())

    def sentences(self, size: int) -> list[str]:
        """Make about ``size`` characters."""
        drawn = np.searchsorted(self.cumulated[:-1], self.rng.random(max(12, size // 6)))
        parts = np.split(self.words[drawn], np.arange(12, len(drawn), 12))
        return [" ".join(part).capitalize() + "." for part in parts]

    def paragraphs(self, size: int) -> list[str]:
        found = self.sentences(size)
        return [" ".join(found[start : start + 6]) for start in range(0, len(found), 6)]

    def file(self, kind: str, size: int) -> str:
        paragraphs = self.paragraphs(size)
        if kind == "md":
            parts = [f"## {part[:30]}\n\n{part}" if turn % 5 == 0 else part for turn, part in enumerate(paragraphs)]
            return f"# {paragraphs[0][:40]}\n\n" + "\n\n".join(parts) + "\n"
        if kind == "html":
            body = "\n".join(f"<p>{part}</p>" for part in paragraphs)
            head = f"<head><title>{paragraphs[0][:40]}</title></head>"
            return f"<!doctype html><html>{head}<body><main>{body}</main></body></html>"
        if kind == "csv":
            return "number,text\n" + "\n".join(f"{turn},{part}" for turn, part in enumerate(paragraphs))
        if kind == "jsonl":
            return "\n".join(json.dumps({"number": turn, "text": part}) for turn, part in enumerate(paragraphs))
        return "\n\n".join(paragraphs)


def make(folder: Path, megabytes: float, largest: float, models: Path) -> int:
    """Fill a folder with that much text; give the number of files. One file has the largest size."""
    writer, left, number = Writer(models / MODEL / "vocab.txt"), megabytes * 1e6, 0
    kinds = ("txt", "md", "md", "html", "txt", "csv", "jsonl")
    while left > 0:
        size = largest * 1e6 if number == 3 else min(largest * 1e6, writer.rng.lognormal(10, 1.6))
        kind = "txt" if number == 3 else kinds[number % len(kinds)]
        path = folder / f"{number % 40:02}" / f"{number:06}.{kind}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(writer.file(kind, int(min(size, max(left, 1000)))))
        left -= path.stat().st_size
        number += 1
    return number


class Watch:
    """Samples this process's memory beside the work, in MB."""

    def __init__(self) -> None:
        self.samples: list[tuple[float, float]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @staticmethod
    def now(*fields: str) -> float:
        lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return sum(int(lines[name].split()[0]) for name in fields) / 1024

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            self.samples.append((time.perf_counter(), self.now("RssAnon", "RssShmem")))

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def course(self, points: int = 20) -> Iterator[int]:
        for part in np.array_split(np.array([memory for _, memory in self.samples]), points):
            yield round(float(part.max(initial=0)))


def index(folder: Path, library: Path, models: Path) -> dict[str, Any]:
    """Add a folder and look at the memory meanwhile."""
    encoder = TableEncoder(models / MODEL / "tokenizer.json")
    before = Watch.now("RssAnon", "RssShmem")
    started, cpu = time.perf_counter(), time.process_time()
    with Watch() as watch, pincite.open(library, encoder=encoder) as opened:
        report = opened.add(folder)
        seconds = time.perf_counter() - started, time.process_time() - cpu
        stats = opened.stats()
    return {
        "files": dict(report.summary),
        "passages": stats.passages,
        "wall_s": round(seconds[0], 1),
        "cpu_s": round(seconds[1], 1),
        "before_mb": round(before),
        "anonymous_peak_mb": round(max(memory for _, memory in watch.samples)),
        "resident_peak_mb": round(Watch.now("VmHWM")),
        "course_mb": list(watch.course()),
        "library_mb": round(sum(path.stat().st_size for path in library.rglob("*") if path.is_file()) / 1e6),
        "load_average": [round(load, 1) for load in os.getloadavg()],
    }


def network(models: Path) -> dict[str, Any]:
    """Measure what the real encoder adds when it encodes a batch."""
    load_encoder(MODEL, models_dir=models)  # imports
    before = Watch.now("RssAnon", "RssShmem")
    encoder = load_encoder(MODEL, models_dir=models)
    with Watch() as watch:
        encoder.encode(["word " * 120] * 64 + ["a short one"] * 64)
    return {"encoder_mb": round(max(memory for _, memory in watch.samples) - before)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, nargs="+", default=[50, 200])
    parser.add_argument("--largest", type=float, default=20, help="megabytes of the largest file")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--index", type=Path, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--network", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    models = Path(os.environ.get("PINCITE_MODELS") or default_models_dir())
    if options.index:
        print(json.dumps(index(*options.index, models)))
    elif options.network:
        print(json.dumps(network(models)))
    else:
        report: dict[str, Any] = {"largest_mb": options.largest, **_process("--network"), "results": []}
        for megabytes in options.megabytes:
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary) / "texts"
                folder.mkdir()
                make(folder, megabytes, options.largest, models)
                made = _process("--index", str(folder), str(Path(temporary) / "library"))
            report["results"].append({"megabytes": megabytes, **made})
            print(json.dumps(report["results"][-1]), file=sys.stderr)
            if options.output:
                options.output.write_text(json.dumps(report, indent=1) + "\n")
        print(json.dumps(report, indent=1))


def _process(*arguments: str) -> dict[str, Any]:
    """Run a part in a process of its own."""
    done = subprocess.run([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
