"""Fit the support score of ground/verify.py on WiCE and SciFact, and report it against plain overlap.

    python bench/quality/calibrate_support.py DATA_FOLDER [--write]

DATA_FOLDER holds ``wice/claims_*.jsonl`` and ``scifact-rationales/scifact_claims.jsonl``. A claim counts as supported
only if all of it is. Figures are cross-validated by document; thresholds are chosen on the other folds too.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import regression

import pincite.ground
from pincite.generate.evidence import Sentence
from pincite.generate.relevance import Terms, coverage, encode_within
from pincite.ground.cite import align
from pincite.ground.verify import features
from pincite.models.fetch import default_models_dir
from pincite.models.load import load_encoder
from pincite.types import Passage

NEAR = 12  # sentences of a long page that are looked at, by overlap


def rows(folder):
    for name in ("dev", "test"):
        for row in read(folder / f"wice/claims_{name}.jsonl"):
            yield "wice", row["article"], row["claim"], row["sentences"], row["label"] == "supported"
    for row in read(folder / "scifact-rationales/scifact_claims.jsonl"):
        yield "scifact", row["doc_id"], row["claim"], row["sentences"], row["label"] == "SUPPORTED"


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def aligned(claim, sentences, encoder, terms):
    wanted = terms.wanted(claim)
    spans = [
        Sentence(Passage(f"p{i}", i, "", "", 1, 0, len(s), s, ""), 0, len(s), s, terms.found(s), 0, 0, 0)
        for i, s in enumerate(sentences)
        if s.strip()
    ]
    spans = sorted(spans, key=lambda s: -coverage(wanted, s.terms))[:NEAR]
    if encoder is None:
        return align(claim, spans, terms=terms)
    vectors = encode_within(encoder, [claim, *(s.text for s in spans)])
    return align(claim, spans, terms=terms, vector=vectors[0], vectors=vectors[1:])


def measure(folder, encoder, every):
    terms = Terms(("en",))
    table = []
    for index, (name, group, claim, sentences, label) in enumerate(rows(folder)):
        if index % every:
            continue
        found = aligned(claim, sentences, encoder, terms)
        source = "\n".join(span.text for span in found.spans)
        row = features(claim, source, terms=terms, cosine=found.cosine)
        table.append((name, f"{name}/{group}", label, row, claim, source))
    return table


def report(table, names, kind):
    x = np.array([[row[3][name] for name in names] for row in table])
    y = np.array([row[2] for row in table], dtype=int)
    groups = [row[1] for row in table]
    p = regression.out_of_fold(x, y, groups)
    for source in ("wice", "scifact"):
        mine = np.array([i for i, row in enumerate(table) if row[0] == source])
        gs = [groups[i] for i in mine]
        line = {"score": p[mine], "coverage": x[mine, names.index("coverage")]}
        if "cosine" in names:
            line["cosine"] = x[mine, names.index("cosine")]
        figures = {name: regression.tuned_accuracy(y[mine], score, gs) for name, score in line.items()}
        print(kind, source, len(mine), {name: round(float(value), 3) for name, value in figures.items()})
    w = regression.fit(x, y, regression.balanced(y))
    supported = regression.best_threshold(y, p)
    weights = {name: round(float(value), 3) for name, value in zip([*names, "bias"], w, strict=True)}
    return weights | {"partly": round(supported / 2, 3), "supported": round(supported, 3)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--save", type=Path, help="write the features there")
    options = parser.parse_args()
    encoder = load_encoder("all-MiniLM-L6-v2", models_dir=default_models_dir(), offline=True, threads=0)
    made = {}
    for kind, model in (("hybrid", encoder), ("keyword", None)):
        table = measure(options.data, model, options.every)
        if options.save:
            options.save.with_suffix(f".{kind}.json").write_text(json.dumps(table))
        names = [name for name in table[0][3] if name != "cosine" or model is not None]
        made[kind] = report(table, names, kind)
        print(json.dumps(made[kind]))
    if options.write:
        target = Path(pincite.ground.__file__).with_name("calibration.json")
        whole = json.loads(target.read_text(encoding="utf-8"))
        whole["support"] = made
        target.write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
