"""Which sentences are evidence: how often the gold answer is inside the first 1, 2, 3; and do neighbours help?

    python bench/quality/context.py DATA_FOLDER [--every 1] [--work FOLDER] [--save FILE]

Retrieval included: the whole collection is indexed and searched in hybrid mode. The weights of generate/score.py are
fitted on one of xquad/en and squad2-small-en and reported on the other, without the questions that are in both;
clapnq-dev, whose answers are sentences, tells how much of the answer's words the first sentences have, and is not
fitted on.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from pathlib import Path

import numpy as np
from calibrate_sufficiency import COLLECTIONS, TERMS, indexed, read, the_encoder
from gold import holds

from pincite.generate import evidence, score
from pincite.generate.relevance import coverage, encode_within
from pincite.types import searched_text

FITTED = ("xquad", "squad2")
BUDGETS = (50, 100, 200)  # words
POINTING = re.compile(r"(he|she|it|they|this|these|those|his|her|its|their|such)\b", re.IGNORECASE)


def measured(question, hits):
    """Give the sentences in the order of the text, their features, and what else is compared."""
    seen = {}

    def recorded(*given, **named):
        seen["sentences"], seen["features"] = given[2], score.features(*given, **named)
        return seen["features"]

    evidence.features = recorded
    try:
        ranking = evidence.rank_sentences(question, hits, encoder=the_encoder(), terms=TERMS)
    finally:
        evidence.features = score.features
    states = np.array([evidence.is_statement(sentence.text) for sentence in seen["sentences"]])
    covered = np.array([coverage(ranking.terms, sentence.terms) for sentence in seen["sentences"]])
    headed = [searched_text(sentence.passage.context, sentence.text) for sentence in seen["sentences"]]
    parents = encode_within(the_encoder(), headed) @ ranking.vector
    return seen["sentences"], seen["features"], np.where(states, 1.0, 0.5), np.stack([covered, parents], axis=1)


def asked_of(name, options, work):
    """Index a collection and measure the sentences of every question's hits."""
    folder = options.data / COLLECTIONS[name]
    library, _ = indexed(name, folder, work)
    rows = [row for row in read(folder / "queries.jsonl") if row["answerable"]][:: options.every]
    found = []
    for row in rows:
        golds = [answer if isinstance(answer, str) else answer["text"] for answer in row["answers"]]
        hits = library.search(row["text"], limit=10, refresh=False).hits
        sentences, features, factor, more = measured(row["text"], hits)
        inside = [holds(sentence.text, golds) for sentence in sentences]
        words = frozenset().union(*(TERMS.wanted(gold) for gold in golds)) if name == "clapnq" else frozenset()
        found.append((row["text"], sentences, features, factor, more, np.array(inside, bool), words))
    library.close()
    return found


def best(sentences, scores, most=8):
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], sentences[i].passage.key, sentences[i].start))
    chosen = evidence.distinct(sentences[i] for i in order[:most])
    places = {id(sentence): i for i, sentence in enumerate(sentences)}
    return [places[id(sentence)] for sentence in chosen]


def figures(asked, score_of):
    """Give the shares for 1, 2 and 3 sentences."""
    found = np.zeros((len(asked), 3))
    for row, (_, sentences, features, factor, more, inside, words) in enumerate(asked):
        order = best(sentences, score_of(features, more) * factor)
        for k in range(3):
            if words:
                found[row, k] = coverage(words, frozenset().union(*(sentences[i].terms for i in order[: k + 1])))
            else:
                found[row, k] = any(inside[i] for i in order[: k + 1])
    return [round(float(value), 4) for value in found.mean(axis=0)]


def weighed(weights):
    return lambda features, _: features @ np.array(list(weights.values()))


def before(features, more):
    """Give the score that was used before: 0.7 cosine + 0.3 share of terms + 0.2 standing."""
    return 0.7 * features[:, 0] + 0.3 * more[:, 0] + 0.2 * features[:, 3]


def headed(features, more):
    """Let half of the cosine be that of the sentence with its title and headings."""
    changed = features.copy()
    changed[:, 0] = (features[:, 0] + more[:, 1]) / 2
    return score.scores(changed)


def fit(asked, steps=300, l2=0.003):
    """Fit weights by the likelihood that a gold sentence comes first (softmax over a question's sentences; Adam)."""
    rows = [(x, inside) for _, _, x, _, _, inside, _ in asked if inside.any() and not inside.all()]
    longest = max(len(x) for x, _ in rows)
    x = np.zeros((len(rows), longest, len(score.WEIGHTS)))
    gold, real = np.zeros((len(rows), longest), bool), np.zeros((len(rows), longest), bool)
    for i, (features, inside) in enumerate(rows):
        x[i, : len(features)], gold[i, : len(features)], real[i, : len(features)] = features, inside, True
    w = np.zeros(x.shape[2])
    mean, square = np.zeros_like(w), np.zeros_like(w)
    for step in range(1, steps + 1):
        scores = np.where(real, x @ w, -1e9)
        chance = np.exp(scores - scores.max(axis=1, keepdims=True))
        right = np.where(gold, chance, 0)
        chance /= chance.sum(axis=1, keepdims=True)
        right /= np.maximum(right.sum(axis=1, keepdims=True), 1e-12)
        slope = l2 * w - np.einsum("ij,ijk->ik", right - chance, x).mean(axis=0)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        w -= 0.15 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return {name: round(float(value / w[0]) / 2, 3) for name, value in zip(score.WEIGHTS, w, strict=True)}


def neighbours(asked):
    """Give for each budget the share of questions whose gold answer is in what fits, with and without neighbours."""
    ways = {"sentences alone": lambda *_: (), "both neighbours": lambda i, _: (i - 1, i + 1)}
    ways["the one before, if it points back"] = lambda i, text: (i - 1,) if POINTING.match(text) else ()
    table = {}
    for way, joining in ways.items():
        found = np.zeros(len(BUDGETS))
        for _, sentences, features, factor, _, inside, _ in asked:
            order = best(sentences, features @ np.array(list(score.WEIGHTS.values())) * factor, most=24)
            for b, budget in enumerate(BUDGETS):
                found[b] += inside[packed(sentences, order, joining, budget)].any()
        table[way] = [round(float(share), 4) for share in found / len(asked)]
    return table


def packed(sentences, order, joining, budget):
    """Take sentences in order, each with what joins it, while they fit."""
    chosen = []
    for i in order:
        here = sentences[i].passage.id
        beside = [
            j for j in joining(i, sentences[i].text) if 0 <= j < len(sentences) and sentences[j].passage.id == here
        ]
        for j in (i, *beside):
            words = len(sentences[j].text.split())
            if j not in chosen and words <= budget:
                chosen.append(j)
                budget -= words
    return chosen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "context.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asked = {name: asked_of(name, options, options.work or Path(folder)) for name in COLLECTIONS}
    shared = {row[0].strip().lower() for row in asked["xquad"]} & {row[0].strip().lower() for row in asked["squad2"]}
    own = {name: [row for row in asked[name] if row[0].strip().lower() not in shared] for name in FITTED}
    fitted = {"xquad": fit(own["squad2"]), "squad2": fit(own["xquad"])}
    rows = {"before": before, "default": weighed(score.WEIGHTS), "with title and headings": headed}
    rows |= {f"without {name}": weighed(score.WEIGHTS | {name: 0.0}) for name in score.WEIGHTS}
    table = {how: {name: figures(asked[name], score_of) for name in asked} for how, score_of in rows.items()}
    table["fitted on the other"] = {name: figures(asked[name], weighed(fitted[name])) for name in FITTED}
    for how, figured in table.items():
        print(f"{how:24}", figured, flush=True)
    beside = {name: neighbours(asked[name]) for name in FITTED}
    print("fitted", fitted, "\nneighbours, by words", BUDGETS, beside)
    result = {
        "questions": {name: len(rows) for name, rows in asked.items()},
        "in both": len(shared),
        "gold inside 1, 2, 3 sentences (clapnq: share of the answer's words)": table,
        "fitted": fitted,
        f"gold inside {BUDGETS} words": beside,
    }
    options.save.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
