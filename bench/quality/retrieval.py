"""Search quality on BEIR folders, by mode; and the ablation behind the fusion's constants, leave one collection out.

    python bench/quality/retrieval.py DATA_FOLDER [--sets cranfield xquad/en ...] [--libraries FOLDER] [--save FOLDER]

Prints two tables and writes them as JSON. Libraries are kept in --libraries, so that a second run indexes nothing. One
configuration for all sets. Collections in languages that the English encoder cannot read are searched by keyword only.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from pincite.find.analyze import ANALYZER, analyze
from pincite.find.fuse import WEIGHT, fuse
from pincite.find.search import rank
from pincite.measure.cases import load_dataset
from pincite.measure.corpus import row_id
from pincite.measure.evaluate import evaluate
from pincite.measure.metrics import retrieval_metrics
from pincite.models.fetch import default_models_dir
from pincite.models.load import load_encoder
from pincite.store.sqlite.store import open_store

SETS = ("beir-scifact", "cranfield", "cisi", "npl", "cosqa", "musique-100", "anthropic-docs", "xquad/en")
FOREIGN = tuple(f"xquad/{language}" for language in ("de", "ar", "hi", "ru", "zh", "th"))
MODES = ("keyword", "vector", "rrf", "hybrid")
WEIGHTS = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9)
DEPTHS = (100, 200, 300)


def measured(name, store, options, encoder):
    """Evaluate one set in every mode."""
    rows = []
    for mode in ("keyword",) if name in FOREIGN else MODES:
        search = {"mode": "hybrid", "fusion": "rrf"} if mode == "rrf" else {"mode": mode}
        row = evaluate(options.data / name, store, encoder, **search)
        rows.append({**row, "dataset": name, "mode": mode})
    return rows


def lists(name, store, options, encoder, depth):
    """Ask every question once of each retriever."""
    dataset = load_dataset(options.data / name)
    asked = {}
    for question in dataset.questions:
        found = {}
        for mode in ("vector", "keyword"):
            found[mode] = rank(question.text, store=store, encoder=encoder, mode=mode, candidates=depth).order
        asked[question.id] = found
    keys = {c.key for found in asked.values() for order in found.values() for c in order}
    owners = {key: row_id(passage.uri) for key, passage in store.passages(sorted(keys)).items()}
    return dataset.judgements, asked, owners


def fused(judgements, asked, owners, **how):
    """Give nDCG@10 for one way of merging."""
    rankings = {}
    for question, found in asked.items():
        order = fuse(found["vector"], found["keyword"], **how)
        rankings[question] = list(dict.fromkeys(owners[c.key] for c in order))[:100]
    return round(retrieval_metrics(judgements, rankings)["ndcg@10"], 4)


def ablated(name, store, options, encoder):
    """Try every weight at every depth, with and without the floor, and reciprocal ranks."""
    table = {}
    judgements, asked, owners = lists(name, store, options, encoder, max(DEPTHS))
    for depth in DEPTHS:
        cut = {question: {mode: order[:depth] for mode, order in found.items()} for question, found in asked.items()}
        given = (judgements, cut, owners)
        for weight in WEIGHTS:
            table[f"convex {weight} depth {depth}"] = fused(*given, weight=weight, depth=depth)
        table[f"convex {WEIGHT} depth {depth} missing 0"] = fused(*given, weight=WEIGHT)
        table[f"rrf depth {depth}"] = fused(*given, method="rrf")
    return table


def left_out(tables):
    """For each set, choose by the mean of the others and report on the set itself."""
    chosen = {}
    for name in tables:
        others = [table for other, table in tables.items() if other != name] or [tables[name]]
        best = max(sorted(others[0]), key=lambda how: sum(table[how] for table in others))
        chosen[name] = {"chosen by the others": best, "ndcg@10": tables[name][best]}
    return chosen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="*", default=[*SETS, *FOREIGN])
    parser.add_argument("--libraries", type=Path)
    parser.add_argument("--models", type=Path, default=default_models_dir())
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    encoder = load_encoder("all-MiniLM-L6-v2", models_dir=options.models)
    rows, tables = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.sets:
            home = (options.libraries or Path(folder)) / name.replace("/", "_")
            store = open_store(home, analyze=analyze, analyzer=ANALYZER)
            try:
                found = measured(name, store, options, encoder)
                if name not in FOREIGN:
                    tables[name] = ablated(name, store, options, encoder)
            finally:
                store.close()
            rows += found
            for row in found:
                figures = " ".join(f"{key} {row[key]:.4f}" for key in ("ndcg@10", "recall@10", "recall@100", "mrr@10"))
                print(f"{name:16} {row['mode']:8} {figures} {row['queries_per_second']:.0f} questions/s", flush=True)
    for how in tables[next(iter(tables))] if tables else ():
        figures = " ".join(f"{tables[name][how]:.4f}" for name in tables)
        print(f"{how:32} {figures} mean {sum(table[how] for table in tables.values()) / len(tables):.4f}")
    options.save.mkdir(parents=True, exist_ok=True)
    (options.save / "retrieval.json").write_text(json.dumps(rows, indent=1) + "\n")
    fusion = {"ndcg@10": tables, "leave one collection out": left_out(tables)}
    (options.save / "fusion.json").write_text(json.dumps(fusion, indent=1) + "\n")


if __name__ == "__main__":
    main()
