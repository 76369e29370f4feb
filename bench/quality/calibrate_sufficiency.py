"""Fit the gate of ground/sufficiency.py on questions that documents answer and on questions that they do not.

    python bench/quality/calibrate_sufficiency.py DATA_FOLDER [--write] [--every 4]

DATA_FOLDER holds BEIR folders with ``answerable`` in queries.jsonl. "off" questions belong to another collection;
of "adversarial" ones (SQuAD 2.0, CLAPNQ) the documents hold the topic and not the answer; the fit does not use them.
"small" restricts the search to 12 documents. Each collection is predicted by a fit that has not seen it.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import regression

import pincite
import pincite.ground
from pincite.generate.evidence import rank_sentences
from pincite.generate.relevance import Terms
from pincite.ground.sufficiency import features
from pincite.models.fetch import default_models_dir
from pincite.models.load import load_encoder

COLLECTIONS = {"xquad": "xquad/en", "squad2": "squad2-small-en", "clapnq": "clapnq-dev"}
TERMS = Terms(("en",))
FALSE_ABSTENTION, PARTLY = 0.07, 0.15  # shares of the answerable questions
USED = {"hybrid": ("cosine", "margin", "passage", "agree"), "keyword": ("sentence", "passage")}


class Remembering:
    """An encoder that encodes a text once; the same sentences come up for many questions."""

    def __init__(self, encoder):
        self.encoder, self.known = encoder, {}

    def __getattr__(self, name):
        return getattr(self.encoder, name)

    def encode(self, texts):
        new = sorted({text for text in texts if text not in self.known})
        if new:
            self.known.update(zip(new, self.encoder.encode(new), strict=True))
        return np.stack([self.known[text] for text in texts])


@cache
def the_encoder():
    return Remembering(load_encoder("all-MiniLM-L6-v2", models_dir=default_models_dir(), offline=True))


def read(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def questions(folder, every):
    rows = read(folder / "queries.jsonl")
    known = [row for row in rows if row["answerable"]][::every]
    return known, [row["text"] for row in rows if not row["answerable"]][::every]


def indexed(name, folder, work):
    source = work / name
    source.mkdir(exist_ok=True)
    for row in read(folder / "corpus.jsonl"):
        title = f"# {row['title']}\n\n" if row["title"] else ""
        (source / f"{row['_id']}.md").write_text(title + row["text"], encoding="utf-8")
    library = pincite.open(work / f"{name}.pincite", encoder=the_encoder(), generator="none", offline=True)
    report = library.add(source)
    print(name, report, flush=True)
    return library, source


def rows_of(library, asked, mode, **where):
    encoder = None if mode == "keyword" else the_encoder()
    for question in asked:
        hits = library.search(question, limit=10, mode=mode, refresh=False, **where).hits
        ranking = rank_sentences(question, hits, encoder=encoder, terms=TERMS)
        if ranking.sentences:
            yield features(hits, ranking, terms=TERMS)


def measure(data, work, every, mode, libraries, asked):
    """Yield (collection, kind, label, features)."""
    rng = random.Random(0)
    for name, (library, source) in libraries.items():
        known, adversarial = asked[name]
        others = [row["text"] for other, (rows, _) in asked.items() if other != name for row in rows]
        off = rng.sample(others, min(len(others), len(known)))
        for kind, label, texts in (
            ("all", 1, [row["text"] for row in known]),
            ("off", 0, off),
            ("adversarial", 0, adversarial),
        ):
            for row in rows_of(library, texts, mode):
                yield name, kind, label, row
        key = "passage_id" if name == "clapnq" else "paragraph_id"
        for _ in range(4):
            some = rng.sample(sorted(source.iterdir()), 12)
            inside = {path.stem for path in some}
            mine = [row["text"] for row in known if row[key] in inside][:20]
            for label, texts in ((1, mine), (0, rng.sample(others, 20))):
                for row in rows_of(library, texts, mode, paths=some):
                    yield name, "small", label, row


def report(table, mode):
    names = USED[mode]
    x = np.array([[row[3][name] for name in names] for row in table])
    y = np.array([row[2] for row in table])
    groups = np.array([row[0] for row in table])
    kinds = np.array([row[1] for row in table])
    used = kinds != "adversarial"
    p = np.zeros(len(y))
    for group in set(groups):
        train = used & (groups != group)
        p[groups == group] = regression.predict(
            x[groups == group], regression.fit(x[train], y[train], regression.balanced(y[train]))
        )
    refuse = float(np.quantile(p[used & (y == 1)], FALSE_ABSTENTION))
    said = p < refuse
    print(mode, "refuse below", round(refuse, 3), "n", len(y))
    for group in [*COLLECTIONS, None]:
        mine = np.ones(len(y), bool) if group is None else groups == group
        line = {f"false {k}": said[mine & (kinds == k) & (y == 1)].mean() for k in ("all", "small")}
        line |= {
            f"recall {k}": said[mine & (kinds == k) & (y == 0)].mean()
            for k in ("off", "small", "adversarial")
            if (mine & (kinds == k) & (y == 0)).any()
        }
        print("  ", group or "together", {k: round(float(v), 3) for k, v in line.items()})
    top = x[:, names.index("cosine" if mode == "hybrid" else "sentence")]
    bound = np.quantile(top[used & (y == 1)], FALSE_ABSTENTION)
    print(
        "   best single feature alone, recall off:", round(float((top[(kinds == "off")] < bound).mean()), 3), flush=True
    )
    w = regression.fit(x[used], y[used], regression.balanced(y[used]))
    weights = {name: round(float(value), 3) for name, value in zip([*names, "bias"], w, strict=True)}
    return weights | {"refuse": round(refuse, 3), "partial": round(float(np.quantile(p[used & (y == 1)], PARTLY)), 3)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--every", type=int, default=4)
    parser.add_argument("--save", type=Path, help="write the features there")
    parser.add_argument("--work", type=Path, help="keep the libraries there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or Path(folder)
        work.mkdir(exist_ok=True)
        libraries = {name: indexed(name, options.data / path, work) for name, path in COLLECTIONS.items()}
        asked = {name: questions(options.data / path, options.every) for name, path in COLLECTIONS.items()}
        made = {}
        for mode in ("hybrid", "keyword"):
            table = list(measure(options.data, work, options.every, mode, libraries, asked))
            if options.save:
                options.save.with_suffix(f".{mode}.json").write_text(json.dumps(table))
            made[mode] = report(table, mode)
            print(json.dumps(made[mode]))
        for library, _ in libraries.values():
            library.close()
    if options.write:
        target = Path(pincite.ground.__file__).with_name("calibration.json")
        whole = json.loads(target.read_text(encoding="utf-8"))
        whole["sufficiency"] = made
        target.write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
