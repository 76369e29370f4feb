"""Search in other languages: by keyword against BM25 over white space and bm25s as it comes; hybrid with an English
encoder, by the weight that it gives to the cosine.

    python bench/quality/languages.py DATA_FOLDER [--libraries FOLDER] [--save FILE]      (pip install bm25s)

DATA_FOLDER holds xquad/de, ar, hi, ru, zh, th (BEIR folders). Prints and writes nDCG@10. "followed" is what search does
by itself: it looks at each question's language. The weight of the cosine of questions that the encoder does not read
is chosen leaving one language out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

from pincite.find.analyze import ANALYZER, analyze
from pincite.find.fuse import fuse, weight_for
from pincite.find.search import rank
from pincite.measure.cases import load_dataset
from pincite.measure.compare import Run
from pincite.measure.corpus import index_corpus, row_id
from pincite.measure.metrics import question_metrics
from pincite.models.fetch import default_models_dir
from pincite.models.load import load_encoder
from pincite.store.sqlite.store import open_store

LANGUAGES = ("de", "ar", "hi", "ru", "zh", "th")
WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.75)
DEPTH = 100


def ndcg(dataset, rankings):
    return round(Run("", question_metrics(dataset.judgements, rankings)).means["ndcg@10"], 4)


def ours(dataset, store, encoder):
    """Ask every question once of each retriever; give nDCG@10 by way of ranking."""
    languages = store.stats().languages
    rankings = {way: {} for way in ("keyword", "vector", *map(str, WEIGHTS), "followed")}
    rows = {}
    for question in dataset.questions:
        options = {"store": store, "encoder": encoder, "candidates": DEPTH}
        keyword, vector = (rank(question.text, mode=m, **options).order for m in ("keyword", "vector"))
        keys = [c.key for c in (*keyword, *vector)]
        rows.update({key: row_id(p.uri) for key, p in store.passages([k for k in keys if k not in rows]).items()})
        owners = store.owners(keys)
        weights = {str(weight): weight for weight in WEIGHTS}
        weights["followed"] = weight_for(question.text, encoder.pieces, languages)
        orders = {"keyword": keyword, "vector": vector}
        for way, weight in weights.items():
            orders[way] = fuse(vector, keyword, weight=weight, depth=DEPTH, owners=owners)
        for way, order in orders.items():
            rankings[way][question.id] = list(dict.fromkeys(rows[c.key] for c in order))[:100]
    return {way: ndcg(dataset, found) for way, found in rankings.items()}


def others(dataset):
    """Rank whole documents by bm25s: over its own tokens, and over what stands between white space."""
    import bm25s

    rows = list(dataset.documents())
    texts = [f"{row.title}\n{row.text}" for row in rows]
    questions = [question.text for question in dataset.questions]
    quiet = {"show_progress": False}
    ways = {
        "white space": [[text.lower().split() for text in given] for given in (texts, questions)],
        "bm25s": [bm25s.tokenize(given, return_ids=False, **quiet) for given in (texts, questions)],
    }
    found = {}
    for way, (corpus, asked) in ways.items():
        index = bm25s.BM25()
        index.index(corpus, **quiet)
        rankings = {}
        for question, tokens in zip(dataset.questions, asked, strict=True):
            scores = index.get_scores(tokens) if tokens else np.zeros(len(rows))
            best = [i for i in np.argsort(-scores, kind="stable")[:100] if scores[i] > 0]
            rankings[question.id] = [rows[i].id for i in best]
        found[way] = ndcg(dataset, rankings)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--libraries", type=Path)
    parser.add_argument("--models", type=Path, default=default_models_dir())
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "languages.json")
    options = parser.parse_args()
    encoder = load_encoder("all-MiniLM-L6-v2", models_dir=options.models)
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        for language in LANGUAGES:
            dataset = load_dataset(options.data / "xquad" / language)
            store = open_store(
                (options.libraries or Path(folder)) / f"xquad_{language}", analyze=analyze, analyzer=ANALYZER
            )
            try:
                index_corpus(dataset, store, encoder)
                table[language] = others(dataset) | ours(dataset, store, encoder)
            finally:
                store.close()
            print(language, table[language], flush=True)
    chosen = {}
    for language in LANGUAGES:
        means = {w: sum(table[other][str(w)] for other in LANGUAGES if other != language) for w in WEIGHTS}
        weight = max(WEIGHTS, key=lambda w: means[w])
        chosen[language] = {"chosen by the others": weight, "ndcg@10": table[language][str(weight)]}
    report = {"analyzer": ANALYZER, "encoder": encoder.name, "ndcg@10": table, "leave one language out": chosen}
    options.save.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
