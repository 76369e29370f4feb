"""Search quality on BEIR folders, by mode, against public libraries; the ablations of the fusion, leave one set out.

    python bench/quality/retrieval.py DATA_FOLDER [--sets cranfield xquad/en ...] [--libraries FOLDER] [--save FOLDER]

Writes ``retrieval.json`` (each mode, and the floor) and ``fusion.json`` (each variant of the fusion). Each question is
asked once of each retriever, for 300 passages, and everything is computed from these lists. A document scores as its
best passage. Libraries are kept in --libraries, so that a second run indexes nothing. One configuration for all sets.

The floor is what public libraries give (pip install bm25s PyStemmer): 0.7 cosine of the whole document's vector, as far
as the encoder reads, by the same encoder, + 0.3 share of the best score of bm25s with its English stop words and stems.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

from pincite.find.analyze import ANALYZER, analyze
from pincite.find.fuse import SIBLINGS, WEIGHT, fuse
from pincite.find.search import embed_question, rank
from pincite.generate.relevance import encode_within
from pincite.measure.cases import load_dataset
from pincite.measure.compare import Run
from pincite.measure.corpus import index_corpus, row_id
from pincite.measure.metrics import question_metrics
from pincite.models.fetch import default_models_dir
from pincite.models.load import load_encoder
from pincite.store.sqlite.store import open_store

SETS = ("beir-scifact", "cranfield", "cisi", "npl", "cosqa", "musique-100", "anthropic-docs", "xquad/en")
FIGURES = ("ndcg@10", "recall@10", "recall@100", "mrr@10")
DEPTH = 300
FLOOR = 0.7  # weight of the cosine, as the floor is defined
GRID = (
    *((weight, siblings, DEPTH) for weight in (0.6, 0.7, 0.75, 0.8, 0.9) for siblings in (0.0, 0.2)),
    *((WEIGHT, siblings, DEPTH) for siblings in (0.1, 0.3, 0.5)),
    *((WEIGHT, SIBLINGS, depth) for depth in (100, 200)),
)
VARIANTS = {f"weight {w} siblings {s} depth {d}": (w, s, d) for w, s, d in GRID}


def lists(dataset, store, encoder):
    """Ask every question of each retriever; give the candidates, and the row and the document key of each passage."""
    asked = {}
    for question in dataset.questions:
        options = {"store": store, "encoder": encoder, "candidates": DEPTH}
        asked[question.id] = {m: rank(question.text, mode=m, **options).order for m in ("vector", "keyword")}
    keys = sorted({c.key for found in asked.values() for order in found.values() for c in order})
    rows = {key: row_id(passage.uri) for key, passage in store.passages(keys).items()}
    return asked, rows, store.owners(keys)


def documents(order, rows):
    """Turn passages into documents, each at the place of its best."""
    return list(dict.fromkeys(rows[candidate.key] for candidate in order))[:100]


def measured(judgements, rankings):
    """Round what the metrics give."""
    return {name: round(value, 4) for name, value in Run("", question_metrics(judgements, rankings)).means.items()}


def modes(dataset, asked, rows, owners):
    """Measure each mode."""
    ways = {
        "keyword": lambda found: found["keyword"],
        "vector": lambda found: found["vector"],
        "rrf": lambda found: fuse(found["vector"], found["keyword"], method="rrf"),
        "hybrid": lambda found: fuse(found["vector"], found["keyword"], depth=DEPTH, owners=owners),
    }
    return {
        name: measured(dataset.judgements, {q: documents(way(found), rows) for q, found in asked.items()})
        for name, way in ways.items()
    }


def variants(dataset, asked, rows, owners):
    """Give nDCG@10 for each variant of the fusion."""
    table = {}
    for name, (weight, siblings, depth) in VARIANTS.items():
        how = {"weight": weight, "siblings": siblings, "owners": owners, "depth": depth}
        rankings = {
            question: documents(fuse(found["vector"][:depth], found["keyword"][:depth], **how), rows)
            for question, found in asked.items()
        }
        table[name] = measured(dataset.judgements, rankings)["ndcg@10"]
    return table


def floor(dataset, encoder, cache):
    """Measure the fixed combination of whole documents, and its two halves."""
    import bm25s
    import Stemmer

    rows = list(dataset.documents())
    texts = [f"{row.title}\n{row.text}".strip() or "." for row in rows]
    if not cache.exists():
        np.save(cache, np.concatenate([encode_within(encoder, texts[i : i + 512]) for i in range(0, len(texts), 512)]))
    questions = np.stack([embed_question(question.text, encoder, {}) for question in dataset.questions])
    how = {"stopwords": "en", "stemmer": Stemmer.Stemmer("english"), "show_progress": False}
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, **how), show_progress=False)
    asked = bm25s.tokenize([question.text for question in dataset.questions], return_ids=False, **how)
    keyword = np.stack([index.get_scores(tokens) if tokens else np.zeros(len(rows)) for tokens in asked])
    keyword /= np.maximum(keyword.max(axis=1, keepdims=True), 1e-9)
    vector = questions @ np.load(cache).T
    ways = {"bm25s": keyword, "whole documents": vector, "floor": FLOOR * vector + (1 - FLOOR) * keyword}
    found = {}
    for name, scores in ways.items():
        best = np.argsort(-scores, axis=1, kind="stable")[:, :100]
        rankings = {q.id: [rows[i].id for i in row] for q, row in zip(dataset.questions, best, strict=True)}
        found[name] = measured(dataset.judgements, rankings)
    return found


def left_out(tables):
    """For each set, choose by the mean of the others and report on the set itself."""
    chosen = {}
    for name in tables:
        others = [table for other, table in tables.items() if other != name] or [tables[name]]
        best = max(sorted(others[0]), key=lambda how: sum(table[how] for table in others))
        chosen[name] = {"chosen by the others": best, "ndcg@10": tables[name][best]}
    return chosen


def means(rows):
    """Average nDCG@10 of each way over the sets, and set it against the floor."""
    ways = {
        way: round(sum(row[way]["ndcg@10"] for row in rows.values()) / len(rows), 4)
        for way in next(iter(rows.values()))
    }
    against = {name: round(row["hybrid"]["ndcg@10"] / row["floor"]["ndcg@10"], 3) for name, row in rows.items()}
    return {"ndcg@10": ways, "hybrid to floor": {**against, "mean": round(ways["hybrid"] / ways["floor"], 4)}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--libraries", type=Path)
    parser.add_argument("--models", type=Path, default=default_models_dir())
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    encoder = load_encoder("all-MiniLM-L6-v2", models_dir=options.models)
    rows, tables = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.sets:
            home = (options.libraries or Path(folder)) / name.replace("/", "_")
            dataset = load_dataset(options.data / name)
            store = open_store(home, analyze=analyze, analyzer=ANALYZER)
            try:
                index_corpus(dataset, store, encoder)
                asked, owner_rows, owners = lists(dataset, store, encoder)
            finally:
                store.close()
            cache = home.with_name(home.name + ".documents.npy")
            rows[name] = modes(dataset, asked, owner_rows, owners) | floor(dataset, encoder, cache)
            tables[name] = variants(dataset, asked, owner_rows, owners)
            print(f"{name:16}", {way: row["ndcg@10"] for way, row in rows[name].items()}, flush=True)
    report = {"analyzer": ANALYZER, "encoder": encoder.fingerprint, "weight": WEIGHT, "siblings": SIBLINGS}
    report |= {"means": means(rows), "sets": rows}
    print(report["means"])
    options.save.mkdir(parents=True, exist_ok=True)
    (options.save / "retrieval.json").write_text(json.dumps(report, indent=1) + "\n")
    table = {how: [tables[name][how] for name in tables] for how in VARIANTS}
    ablation = {how: {"sets": row, "mean": round(sum(row) / len(row), 4)} for how, row in table.items()}
    fusion = {"sets": list(tables), "leave one collection out": left_out(tables), "ndcg@10": ablation}
    text = json.dumps(fusion, indent=1)
    (options.save / "fusion.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
