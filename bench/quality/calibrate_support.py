"""Fit the support score of ground/verify.py on WiCE and SciFact, and report it against plain overlap.

    python bench/quality/calibrate_support.py DATA_FOLDER [--write]

DATA_FOLDER holds ``wice``, ``scifact-rationales`` and ``mtrag-human-eval``. A claim counts as supported only if all of
it is; an answer of MTRAG, which the fit never sees, if its raters gave its faithfulness 3.5 of 4 on average, and its
score is the mean of its sentences'. Figures are cross-validated by document or dialogue, thresholds too.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import regression
from calibrate_sufficiency import the_encoder

import pincite.ground
from pincite.generate.evidence import Sentence
from pincite.generate.relevance import Terms, coverage, encode_within
from pincite.ground import verify
from pincite.ground.cite import align
from pincite.ground.claims import split_claims
from pincite.ground.verify import features
from pincite.text import sentences
from pincite.types import Passage

NEAR = 12  # sentences of a long page that are looked at, by overlap
FAITHFUL = 3.5  # of 4
TERMS = Terms(("en",))


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rows(folder):
    """Yield (set, document, claims, sentences, label)."""
    for name in ("dev", "test"):
        for row in read(folder / f"wice/claims_{name}.jsonl"):
            yield "wice", row["article"], [row["claim"]], row["sentences"], row["label"] == "supported"
    for row in read(folder / "scifact-rationales/scifact_claims.jsonl"):
        yield "scifact", row["doc_id"], [row["claim"]], row["sentences"], row["label"] == "SUPPORTED"
    for row in read(folder / "mtrag-human-eval/human_eval.jsonl"):
        texts = [context["text"] for context in row["contexts"]]
        given = [text[start:end] for text in texts for start, end in sentences(text)]
        claims = [claim.plain for claim in split_claims(row["response"]) if claim.plain]
        ratings = row["human"]["faithfulness"]
        if given and claims:
            yield "mtrag", row["task_id"], claims, given, sum(ratings) / len(ratings) >= FAITHFUL


def aligned(claim, spans, encoder):
    wanted = TERMS.wanted(claim)
    near = sorted(spans, key=lambda s: -coverage(wanted, s.terms))[:NEAR]
    if encoder is None:
        return align(claim, near, terms=TERMS)
    vectors = encode_within(encoder, [claim, *(s.text for s in near)])
    return align(claim, near, terms=TERMS, vector=vectors[0], vectors=vectors[1:])


def measure(folder, encoder, every):
    """Give (set, group, label, features of each claim, each claim with its source and what is near)."""
    table = []
    for index, (name, group, claims, given, label) in enumerate(rows(folder)):
        if index % every:
            continue
        spans = [
            Sentence(Passage(f"p{i}", i, "", "", 1, 0, len(s), s, ""), 0, len(s), s, TERMS.found(s), 0, 0, 0)
            for i, s in enumerate(given)
            if s.strip()
        ]
        measured, given = [], []
        for claim in claims:
            found = aligned(claim, spans, encoder)
            source = "\n".join(span.text for span in found.spans)
            near = {"terms": TERMS, "cosine": found.cosine, "nearby": found.nearby}
            measured.append(features(claim, source, **near))
            given.append((claim, source, near))
        table.append((name, f"{name}/{group}", label, measured, given))
    return table


def supported(given, kind, weights):
    """Tell whether the verdict on every claim is "supported", by new weights."""
    verify.calibration = lambda: {"support": {kind: weights}}
    return all(
        verify.verify(claim, source, **{**near, "cosine": near["cosine"] if kind == "hybrid" else None}).verdict
        == "supported"
        for claim, source, near in given
    )


def means(table, scores):
    """Give the mean of the claims' scores for each row."""
    ends = np.cumsum([len(row[3]) for row in table])
    return np.array([part.mean() for part in np.split(scores, ends[:-1])])


def figures(y, score, groups):
    said = regression.tuned(y, score, groups)
    return f"{regression.balanced_accuracy(y, said):.3f} / {regression.f1(y, said):.3f}"


def predicted(table, names, claims):
    """Predict each claim by a fit that has not seen its document; those of MTRAG by one of all others."""
    fitted = [row for row in table if row[0] != "mtrag"]
    x = np.array([[row[3][0][name] for name in names] for row in fitted])
    y = np.array([row[2] for row in fitted], dtype=int)
    p = regression.out_of_fold(x, y, [row[1] for row in fitted])
    w = regression.fit(x, y, regression.balanced(y))
    return w, y, p, np.concatenate([p, regression.predict(claims[len(fitted) :], w)])


def report(table, names, kind):
    """Print balanced accuracy and F1 of each score, and give the weights."""
    claims = np.array([[row[name] for name in names] for _, _, _, measured, _ in table for row in measured])
    w, seen, p, scores = predicted(table, names, claims)
    threshold = regression.best_threshold(seen, p)
    weights = {name: round(float(value), 3) for name, value in zip([*names, "bias"], w, strict=True)}
    weights |= {"partly": round(threshold / 2, 3), "supported": round(threshold, 3)}
    compared = {"score": scores} | {n: claims[:, names.index(n)] for n in ("coverage", "cosine") if n in names}
    for source in ("wice", "scifact", "mtrag"):
        mine = [i for i, row in enumerate(table) if row[0] == source]
        y = np.array([table[i][2] for i in mine], dtype=int)
        groups = [table[i][1] for i in mine]
        line = {name: figures(y, means(table, values)[mine], groups) for name, values in compared.items()}
        said = np.array([supported(table[i][4], kind, weights) for i in mine])
        line["verdict"] = f"{regression.balanced_accuracy(y, said):.3f} / {regression.f1(y, said):.3f}"
        line["precision of supported"] = round(float(y[said].mean()), 3)
        line["all supported"] = f"0.500 / {regression.f1(y, np.ones(len(y), bool)):.3f}"
        print(kind, source, len(mine), line, flush=True)
    return weights


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    made = {}
    for kind, model in (("hybrid", the_encoder()), ("keyword", None)):
        table = measure(options.data, model, options.every)
        names = [name for name in table[0][3][0] if name != "cosine" or model is not None]
        made[kind] = report(table, names, kind)
        print(json.dumps(made[kind]), flush=True)
    if options.write:
        target = Path(pincite.ground.__file__).with_name("calibration.json")
        whole = json.loads(target.read_text(encoding="utf-8"))
        whole["support"] = made
        target.write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
