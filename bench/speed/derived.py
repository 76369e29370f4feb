"""Speed, recall and memory of the derived indexes on synthetic passages. Prints JSON.

    python bench/speed/derived.py [--rows 10000 100000 1000000] [--only vectors|keywords] [--vectors FILE.npy]

Times are CPU milliseconds of the process per query (all threads), so that a busy machine disturbs them little. The
vectors are hard on purpose: unit vectors of 384 dimensions, 300 clusters under full-rank noise, queries off the rows;
``--vectors`` takes real ones. Passages have 100 words drawn from 50,000 by Zipf's law; a question has 8 words.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from pincite.store.derived.exact import ExactIndex
from pincite.store.derived.keywords import KeywordIndex
from pincite.store.derived.truth import Searched
from pincite.store.derived.vectors import VectorIndex
from pincite.store.protocol import Changes

DIMENSION, QUERIES, LIMIT = 384, 50, 50
NONE = np.empty(0, np.int64)


class MappedTruth:
    """Keys 1 to n; vectors in a mapped file, so that the memory measured is the index's; texts made when asked for."""

    identity = "bench"

    def __init__(self, vectors, rows):
        self.rows, self.vectors_of = rows, vectors
        self.extra = 0
        self.words = np.array([f"w{number}" for number in range(50_000)])
        shares = 1 / np.arange(1, 50_001)
        self.shares = np.cumsum(shares / shares.sum())

    def sequence(self):
        return 1 + self.extra

    def changes(self, since):
        first = 1 if since < 1 else self.rows + since
        return Changes(self.sequence(), np.arange(first, self.rows + self.extra + 1), NONE)

    def vector_changes(self, since, fingerprint):
        return Changes(1, np.arange(1, self.rows + 1) if since < 1 else NONE, NONE)

    def vectors(self, keys, fingerprint):
        return keys, np.asarray(self.vectors_of[keys - 1])

    def vector_batches(self, fingerprint, rows=8192):
        for start in range(1, self.rows + 1, rows):
            yield self.vectors(np.arange(start, min(start + rows, self.rows + 1)), fingerprint)

    def text(self, key, words=100):
        draws = np.searchsorted(self.shares, np.random.default_rng(key).random(words))
        return " ".join(self.words[np.minimum(draws, 49_999)])

    def searched(self, keys):
        for key in keys.tolist():
            yield Searched(key, key // 10, "en", self.text(key))

    def passage_keys(self):
        return np.arange(1, self.rows + self.extra + 1)


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def hard_vectors(path, rows):
    rng = np.random.default_rng(0)
    centres = unit(rng.normal(size=(300, DIMENSION)))
    vectors = np.memmap(path, np.float32, "w+", shape=(rows, DIMENSION))
    for start in range(0, rows, 20_000):
        count = min(20_000, rows - start)
        noise = rng.standard_normal((count, DIMENSION), np.float32) / np.sqrt(DIMENSION)
        vectors[start : start + count] = unit(0.55 * centres[rng.integers(300, size=count)] + noise)
    vectors.flush()
    picked = np.sort(rng.integers(rows, size=QUERIES))
    queries = unit(vectors[picked] + 0.8 * rng.normal(size=(QUERIES, DIMENSION)) / np.sqrt(DIMENSION))
    return np.memmap(path, np.float32, "r", shape=(rows, DIMENSION)), queries


def resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1]) - int(Path("/proc/self/statm").read_text().split()[2])
    return pages * resource.getpagesize() / 1e6


def cpu_ms(work, items):
    work(items[0])
    start = time.process_time()
    results = [work(item) for item in items]
    return round(1000 * (time.process_time() - start) / len(items), 3), results


def exact(vectors, query, allow=None, chunk=50_000):
    """Search without holding all vectors, for the truth to compare with."""
    found = []
    for start in range(0, len(vectors), chunk):
        index = ExactIndex(DIMENSION)
        part = vectors[start : start + chunk]
        index.add(np.arange(start + 1, start + 1 + len(part)), np.asarray(part))
        found += index.search(query, LIMIT, allow)
    return {candidate.key for candidate in sorted(found, key=lambda c: (-c.score, c.key))[:LIMIT]}


def numpy_ms(vectors, queries):
    rows = np.array(vectors)

    def search(query):
        scores = rows @ query
        best = np.argpartition(-scores, LIMIT)[:LIMIT]
        return best[np.argsort(-scores[best])]

    return cpu_ms(search, queries)[0]


def bench_vectors(rows, folder, source):
    if source:
        real = np.load(source)
        vectors, queries = real[: rows - QUERIES], real[rows - QUERIES : rows]
    else:
        vectors, queries = hard_vectors(folder / "vectors.f32", rows)
    truth = MappedTruth(vectors, len(vectors))
    allows = {"all": None, "1 %": np.arange(1, rows + 1, 100), "10 %": np.arange(1, rows + 1, 10)}
    near = np.argsort(-(np.asarray(vectors[:200_000]) @ queries[0]))[: max(1000, rows // 20)] + 1
    allows["5 % that correlate"] = np.sort(near)
    before, start = resident(), time.process_time()
    index = VectorIndex(folder, truth, fingerprint="bench", dimension=DIMENSION)
    built = time.process_time() - start
    result = {"rows": rows, "build_cpu_s": round(built, 2), "engine": index._engine.name, "limit": LIMIT}
    index.search(queries[0], LIMIT)
    result["memory_mb"] = round(resident() - before)
    for name, allow in allows.items():
        ms, found = cpu_ms(lambda query, allow=allow: index.search(query, LIMIT, allow), queries)
        sample = range(0, QUERIES, 2 if rows <= 100_000 else 10)
        wanted = {i: exact(vectors, queries[i], allow) for i in sample}
        hits = sum(len(wanted[i] & {candidate.key for candidate in found[i]}) for i in sample)
        result[name] = {"cpu_ms": ms, "recall@50": round(hits / sum(map(len, wanted.values())), 4)}
    start = time.process_time()
    index.save()
    result["save_cpu_s"] = round(time.process_time() - start, 2)
    result["file_mb"] = round(sum(p.stat().st_size for p in folder.glob("vectors-*")) / 1e6)
    index.close()
    start = time.process_time()
    VectorIndex(folder, truth, fingerprint="bench", dimension=DIMENSION).search(queries[0], LIMIT)
    result["open_and_search_cpu_s"] = round(time.process_time() - start, 3)
    if rows <= 100_000:
        result["numpy_float32_cpu_ms"] = numpy_ms(vectors, queries)
    return result


def bench_keywords(rows, folder):
    truth = MappedTruth(None, rows)
    questions = [truth.text(10**9 + number, 8).split() for number in range(QUERIES)]

    def make():
        return KeywordIndex(folder, truth, analyze=lambda text, language: text.split(), analyzer="split")

    before, start = resident(), time.process_time()
    index = make()
    index.save()
    result = {"rows": rows, "build_cpu_s_with_made_texts": round(time.process_time() - start, 1)}
    result["memory_mb"] = round(resident() - before)
    result["files_mb"] = round(sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6, 1)
    filters = {"all": None, "1 % of documents": np.arange(0, rows // 10, 100), "10 %": np.arange(0, rows // 10, 10)}
    for name, documents in filters.items():
        ms, _ = cpu_ms(lambda terms, documents=documents: index.search(terms, LIMIT, documents), questions)
        result[name] = {"cpu_ms": ms}
    truth.extra = 60
    result["60 passages beside"] = {"cpu_ms": cpu_ms(lambda terms: index.search(terms, LIMIT), questions)[0]}
    start = time.process_time()
    index.save()
    result["commit_60_cpu_ms"] = round(1000 * (time.process_time() - start), 1)
    index.close()
    start = time.process_time()
    index = make()
    index.search(questions[0], LIMIT)
    result["open_and_search_cpu_s"] = round(time.process_time() - start, 3)
    index.close()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--only", choices=["vectors", "keywords"])
    parser.add_argument("--vectors", help="a .npy file of real unit vectors, shape (n, 384)")
    options = parser.parse_args()
    results = {"vectors": [], "keywords": []}
    for rows in options.rows:
        for kind in results if options.only is None else [options.only]:
            with tempfile.TemporaryDirectory() as folder:
                made = (
                    bench_vectors(rows, Path(folder), options.vectors)
                    if kind == "vectors"
                    else bench_keywords(rows, Path(folder))
                )
            results[kind].append(made)
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
