"""Hybrid search, freshness, cold start and memory at 10,000 to 1,000,000 passages. Prints JSON.

    python bench/speed/scale.py [--passages 10000 100000] [--output FILE] [--keep FOLDER]

The library is made through the real store; only its content is synthetic: documents of 20 to 50 passages, each of 40 to
60 words drawn by Zipf's law from 100,000 (the most frequent are English stop words, and a fifth come from the
document's own topic); unit vectors of 384 dimensions, clustered by topic and document, instead of the encoder's. A
question takes stop words and some words of one passage; the real encoder embeds it, at its real cost, and a vector near
that passage's takes the place of its result. Each stage (build, serve, cold) is a process of its own.

Wall times on a machine that is busy with other work say little, so each query is timed in several rounds: "wall_ms" is
over the best round of each query, "wall_ms_every_round" over all of them, "cpu_ms" the CPU time of all threads in the
best round, which other work disturbs least. The load average is part of the result.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.acquire.uri import document_id
from pincite.find.analyze import ANALYZER, analyze
from pincite.find.search import search
from pincite.find.stopwords import STOP_WORDS
from pincite.models.fetch import default_models_dir
from pincite.models.load import load_encoder
from pincite.store.filters import Filter, Glob, Is
from pincite.store.hashing import embedding_hash
from pincite.store.sqlite.store import SqliteStore, open_store
from pincite.types import Document, Source, Span, searched_text

DIMENSION, WORDS, TOPICS = 384, 100_000, 500
LIMIT, CANDIDATES, RECALL_AT = 10, 100, 50
FINGERPRINT = "synthetic-384"
COMMIT = 4096  # passages a transaction, while building
Floats = NDArray[np.float32]


def unit(vectors: Floats) -> Floats:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


class World:
    """Everything synthetic, made again from its seed whenever it is needed."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.stops = sorted(word for word in STOP_WORDS["en"] if word.isalpha())
        syllables = [a + b for a in "bcdfghjklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "is", "ol")]
        picks = rng.integers(len(syllables), size=(2 * WORDS, 4)).tolist()
        made = {"".join(syllables[i] for i in pick[: 2 + turn % 3]) for turn, pick in enumerate(picks)}
        self.words = np.array([*self.stops, *sorted(made, key=lambda word: (len(word), word))][:WORDS], dtype=object)
        weights = 1 / (np.arange(WORDS) + 2.7) ** 1.07
        self.cumulated = np.cumsum(weights / weights.sum())
        self.centres = unit(rng.normal(size=(TOPICS, DIMENSION)))

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        return np.minimum(np.searchsorted(self.cumulated, rng.random(count)), WORDS - 1)

    def document(self, number: int, edition: int = 0, *, whole: bool = False) -> Made:
        """Make a document; another edition of it has other first words, in its first passage or in all of them."""
        rng = np.random.default_rng([1, number])
        topic = number % TOPICS
        own = np.random.default_rng([2, topic]).integers(len(self.stops), WORDS, 300)
        title = " ".join(self.words[own[:3]]).title()
        sizes = rng.integers(40, 61, rng.integers(20, 51))
        drawn = np.where(rng.random(sizes.sum()) < 0.2, rng.choice(own, sizes.sum()), self.draw(rng, sizes.sum()))
        parts = np.split(self.words[drawn], np.cumsum(sizes)[:-1])
        texts = [" ".join(part).capitalize() + "." for part in parts]
        if edition:
            changed = range(len(texts) if whole else 1)
            texts[: len(changed)] = [f"Edition zyx{number}q{edition}p{part}. {texts[part]}" for part in changed]
        place = unit(self.centres[topic] + rng.normal(size=DIMENSION) * 0.8 / np.sqrt(DIMENSION))
        vectors = unit(place + rng.standard_normal((len(sizes), DIMENSION), np.float32) * 0.9 / np.sqrt(DIMENSION))
        return Made(number, topic, title, texts, vectors, edition)


@dataclass(slots=True)
class Made:
    """A synthetic document."""

    number: int
    topic: int
    title: str
    texts: list[str]
    vectors: Floats
    edition: int = 0

    def put(self, store: SqliteStore) -> int:
        """Store it; give the number of passages that are new."""
        text = "\n\n".join(self.texts)
        spans, start = [], 0
        for part in self.texts:
            spans.append(Span(start, start + len(part), (self.title,), self.title, 70))
            start += len(part) + 2
        hashes = [embedding_hash(searched_text(self.title, part)) for part in self.texts]
        uri = f"file:///library/{self.number % 100:02}/{self.number:06}.txt"
        source = Source(uri, "text/plain", f"{self.number}-{self.edition}", 1 + self.edition, len(text))
        metadata = {"percent": self.number % 100, "tenth": self.number % 10}
        document = Document(document_id(uri), source, 0, text, self.title, metadata=metadata, language="en")
        vectors = dict(zip(hashes, self.vectors, strict=True))
        return store.put_document(document, spans, vectors, FINGERPRINT).added


class QuestionEncoder:
    """The real encoder at work, and a vector of the synthetic space as its result."""

    fingerprint, dimension = FINGERPRINT, DIMENSION

    def __init__(self, vectors: dict[str, Floats]) -> None:
        models = Path(os.environ.get("PINCITE_MODELS") or default_models_dir())
        self.real = load_encoder("all-MiniLM-L6-v2", models_dir=models)
        self.name, self.max_pieces, self.pieces = self.real.name, self.real.max_pieces, self.real.pieces
        self.vectors = vectors

    def encode(self, texts: Sequence[str]) -> Floats:
        self.real.encode(texts)
        return np.stack([self.vectors[text] for text in texts])


def questions(world: World, documents: int, count: int, seed: int) -> dict[str, Floats]:
    """Make questions, each with its vector: three to six words of a passage among stop words."""
    rng = np.random.default_rng([3, seed])
    stops = set(world.stops)
    made: dict[str, Floats] = {}
    while len(made) < count:
        document = world.document(int(rng.integers(documents)))
        row = int(rng.integers(len(document.texts)))
        words = [word for word in document.texts[row].lower().rstrip(".").split() if word not in stops]
        chosen = rng.choice(words, min(len(words), int(rng.integers(3, 7))), replace=False)
        vector = document.vectors[row] + rng.normal(size=DIMENSION) * 0.9 / np.sqrt(DIMENSION)
        made[f"what is the {' and '.join(chosen)} of it?"] = unit(vector)
    return made


def open_library(folder: Path) -> SqliteStore:
    return open_store(folder / "library", analyze=analyze, analyzer=ANALYZER)


def size(folder: Path) -> tuple[int, int]:
    """Give the number of documents and of passages."""
    documents, rows = (folder / "size").read_text().split()
    return int(documents), int(rows)


# --- measuring


class Memory:
    """The peak of anonymous memory, which no file can give back, sampled beside the work; in MB."""

    def __init__(self) -> None:
        self.peak, self._stop = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @staticmethod
    def now() -> float:
        lines = Path("/proc/self/status").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        return sum(int(fields[name].split()[0]) for name in ("RssAnon", "RssShmem")) / 1024

    def _watch(self) -> None:
        while not self._stop.wait(0.01):
            self.peak = max(self.peak, self.now())

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.peak = round(max(self.peak, self.now()))


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Give wall and CPU milliseconds, and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return 1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - cpu), result


def spread(values: Sequence[float]) -> dict[str, float]:
    p50, p95, worst = np.percentile(values, (50, 95, 100)).tolist()
    return {"p50": round(p50, 2), "p95": round(p95, 2), "max": round(worst, 2)}


def measure(store: SqliteStore, encoder: QuestionEncoder, asked: Sequence[str], rounds: int, **options: Any) -> Any:
    """Ask each question in several rounds; its best one counts."""
    search(asked[0], store=store, encoder=encoder, limit=LIMIT, candidates=CANDIDATES, **options)
    wall: list[list[float]] = [[] for _ in asked]
    cpu: list[list[float]] = [[] for _ in asked]
    stages: dict[str, list[float]] = defaultdict(list)
    found = 0
    for _ in range(rounds):
        for place, question in enumerate(asked):
            took, used, (hits, trace) = timed(
                lambda question=question: search(
                    question, store=store, encoder=encoder, limit=LIMIT, candidates=CANDIDATES, **options
                )
            )
            wall[place].append(took)
            cpu[place].append(used)
            found += len(hits)
            for stage in trace.stages:
                stages[stage.name].append(1000 * stage.seconds)
    return {
        "questions": len(asked),
        "hits": round(found / rounds / len(asked), 1),
        "wall_ms": spread([min(times) for times in wall]),
        "wall_ms_every_round": spread([took for times in wall for took in times]),
        "cpu_ms": spread([min(times) for times in cpu]),
        "stage_wall_ms_p50": {name: round(float(np.median(times)), 2) for name, times in stages.items()},
    }


def recall(store: SqliteStore, vectors: Floats, asked: dict[str, Floats]) -> float:
    """Compare the vector candidates with exact search over all vectors. Row i of the file is passage i + 1."""
    queries = np.stack(list(asked.values()))
    best: list[list[tuple[float, int]]] = [[] for _ in queries]
    for start in range(0, len(vectors), 50_000):
        scores = queries @ np.asarray(vectors[start : start + 50_000]).T
        near = np.argpartition(-scores, min(RECALL_AT, scores.shape[1] - 1), axis=1)[:, :RECALL_AT]
        for place, columns in enumerate(near):
            best[place] += [(-float(scores[place, column]), start + int(column) + 1) for column in columns]
    hits = 0
    for vector, candidates in zip(queries, best, strict=True):
        wanted = {key for _, key in sorted(candidates)[:RECALL_AT]}
        found = store.vector_candidates(vector, RECALL_AT, FINGERPRINT)
        hits += len(wanted & {candidate.key for candidate in found})
    return round(hits / (RECALL_AT * len(queries)), 4)


def freshness(store: SqliteStore, world: World, documents: int, changes: int, *, whole: bool) -> dict[str, Any]:
    """Change the first passage of a document, or all; the next search, by keyword and by vector, must find it."""
    committed, seen, cpu = [], [], []
    first = store.stats().sequence + 1  # so that no edition was there before, however often this is run
    for turn in range(first, first + changes):
        made = world.document((turn * 7919) % documents, edition=turn, whole=whole)
        made.vectors[0] = unit(np.random.default_rng([4, turn]).normal(size=DIMENSION))
        question = f"zyx{made.number}q{turn}p0"
        encoder = QuestionVector(made.vectors[0])
        put, put_cpu, added = timed(lambda made=made: made.put(store))
        assert added == (len(made.texts) if whole else 1), added
        took, used, (hits, _) = timed(
            lambda question=question, encoder=encoder: search(question, store=store, encoder=encoder, limit=1)
        )
        assert question in hits[0].text, (question, hits)
        assert {"vector", "keyword"} <= set(hits[0].scores), hits
        committed.append(put)
        seen.append(took)
        cpu.append(put_cpu + used)
    return {
        "changes": changes,
        "commit_wall_ms": spread(committed),
        "next_search_wall_ms": spread(seen),
        "both_cpu_ms": spread(cpu),
    }


class QuestionVector:
    """An encoder of one question that costs nothing."""

    name, fingerprint, dimension, max_pieces, pieces = "one", FINGERPRINT, DIMENSION, 254, None

    def __init__(self, vector: Floats) -> None:
        self.vector = vector

    def encode(self, texts: Sequence[str]) -> Floats:
        return self.vector[None]


# --- the stages


def build(folder: Path, passages: int, _: argparse.Namespace) -> dict[str, Any]:
    """Make the library and, beside it, a file of its vectors."""
    world, documents, rows = World(), 0, 0
    vectors = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, (passages + 50, DIMENSION))
    started, cpu = time.perf_counter(), time.process_time()
    with Memory() as memory:
        store = open_library(folder)
        for batch in batches(world, passages):
            with store.together():
                for made in batch:
                    made.put(store)
                    vectors[rows : rows + len(made.texts)] = made.vectors
                    rows, documents = rows + len(made.texts), documents + 1
        put_seconds = time.process_time() - cpu
        flush_wall, flush_cpu, _ = timed(store.flush)
        stats = store.stats()
        store.close()
    (folder / "size").write_text(f"{documents} {rows}")
    files = [path for path in (folder / "library").rglob("*") if path.is_file()]
    assert stats.passages == rows, (stats.passages, rows)
    return {
        "documents": documents,
        "passages": rows,
        "wall_s": round(time.perf_counter() - started, 1),
        "documents_cpu_s": round(put_seconds, 1),
        "indexes_cpu_s": round(flush_cpu / 1000, 1),
        "indexes_wall_s": round(flush_wall / 1000, 1),
        "anonymous_memory_peak_mb": memory.peak,
        "disk_mb": round(sum(path.stat().st_size for path in files) / 1e6),
    }


def batches(world: World, passages: int) -> Iterator[list[Made]]:
    """Make documents until there are enough passages."""
    batch: list[Made] = []
    number = held = total = 0
    while total < passages:
        made = world.document(number)
        batch.append(made)
        number, held, total = number + 1, held + len(made.texts), total + len(made.texts)
        if held >= COMMIT or total >= passages:
            yield batch
            batch, held = [], 0


def serve(folder: Path, passages: int, options: argparse.Namespace) -> dict[str, Any]:
    """Measure a warm process."""
    world, (documents, _) = World(), size(folder)
    asked = questions(world, documents, options.questions, seed=1)
    frequent = questions(world, documents, 20, seed=2)
    names = list(frequent)
    for place, name in enumerate(names):  # the most frequent words that are no stop words: the longest lists of all
        first = len(world.stops) + place
        frequent["which " + " ".join(world.words[first : first + 8])] = frequent.pop(name)
    encoder = QuestionEncoder(asked | frequent)
    filters: dict[str, Filter] = {
        "filter: metadata, 1 %": Is("percent", 7),
        "filter: metadata, 10 %": Is("tenth", 7),
        "filter: folder, 1 %": Glob("path", "/library/07/*"),
        "filter: folder, everything": Glob("path", "/library/*"),
    }
    result: dict[str, Any] = {}
    with Memory() as memory:
        store = open_library(folder)
        measure(store, encoder, list(asked)[:5], 1)
        result["hybrid"] = measure(store, encoder, list(asked), options.rounds)
        for mode in ("vector", "keyword"):
            result[mode] = measure(store, encoder, list(asked)[: options.some], options.rounds, mode=mode)
        result["hybrid, 8 frequent words"] = measure(store, encoder, list(frequent), options.rounds)
        for name, where in filters.items():
            first, first_cpu, _ = timed(
                lambda where=where: search(next(iter(asked)), store=store, encoder=encoder, where=where)
            )
            result[name] = measure(store, encoder, list(asked)[: options.some], options.rounds, where=where)
            result[name]["first_cpu_ms"] = round(first_cpu, 1)
        for name, whole in (("one passage changed", False), ("one document rewritten", True)):
            result[name] = freshness(store, world, documents, options.changes, whole=whole)
        result["anonymous_memory_now_mb"] = round(memory.now())
    result["anonymous_memory_peak_mb"] = memory.peak
    result["load_average"] = [round(load, 1) for load in os.getloadavg()]
    store.close()
    return result


def exact(folder: Path, passages: int, options: argparse.Namespace) -> dict[str, Any]:
    """Measure recall; before anything is changed, so that rows and passages match."""
    world, (documents, rows) = World(), size(folder)
    store = open_library(folder)
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")[:rows]
    asked = questions(world, documents, options.questions, seed=1)
    return {"questions": len(asked), "limit": RECALL_AT, "recall": recall(store, vectors, asked)}


def cold(folder: Path, passages: int, options: argparse.Namespace) -> dict[str, Any]:
    """Measure the first search of a process, from the opening of the library."""
    world, (documents, _) = World(), size(folder)
    asked = questions(world, documents, 1, seed=5)
    question = next(iter(asked))
    encoder = QuestionEncoder(asked)
    encoder.encode([question])  # loading the model is the same at any size, and measured elsewhere
    with Memory() as memory:
        opened, opened_cpu, store = timed(lambda: open_library(folder))
        took, used, (_, trace) = timed(lambda: search(question, store=store, encoder=encoder))
    stages = {stage.name: round(1000 * stage.seconds, 1) for stage in trace.stages}
    return {
        "open_wall_ms": round(opened, 1),
        "first_search_wall_ms": round(took, 1),
        "cpu_ms": round(opened_cpu + used, 1),
        "stage_wall_ms": stages,
        "anonymous_memory_peak_mb": memory.peak,
        "load_average": [round(load, 1) for load in os.getloadavg()],
    }


STAGES = {"build": build, "exact": exact, "cold": cold, "serve": serve}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--questions", type=int, default=120)
    parser.add_argument("--some", type=int, default=40, help="questions of the variants")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--changes", type=int, default=20)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--keep", type=Path, help="a folder for the libraries; those that are there are not made again")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage:
        print(json.dumps(STAGES[options.stage](options.folder, options.passages[0], options)))
        return
    results = []
    for passages in options.passages:
        with tempfile.TemporaryDirectory() as temporary:
            folder = (options.keep or Path(temporary)) / str(passages)
            results.append({"passages": passages, **run(folder, passages, options)})
            report = json.dumps({"cores": os.cpu_count(), "results": results}, indent=1)
            if options.output:
                options.output.write_text(report + "\n")
    print(report)


def run(folder: Path, passages: int, options: argparse.Namespace) -> dict[str, Any]:
    """Run the stages, each in a process of its own."""
    stages = [stage for stage in options.stages if stage != "build" or not (folder / "size").exists()]
    if "build" in stages:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    given = ["--questions", options.questions, "--some", options.some, "--rounds", options.rounds]
    given += ["--changes", options.changes, "--passages", passages, "--folder", folder]
    made = {}
    for stage in stages:
        command = [sys.executable, __file__, "--stage", stage, *map(str, given)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        made[stage] = json.loads(done.stdout)
        print(stage, json.dumps(made[stage]), file=sys.stderr)
    return made


if __name__ == "__main__":
    main()
