"""Ablate the weights by which evidence is chosen: how often the gold answer is inside the first 1, 2, 3 sentences.

    python bench/quality/evidence_weights.py DATA_FOLDER [--every 3] [--work FOLDER]

Retrieval included: the whole collection is indexed and searched in hybrid mode.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import unicodedata
from pathlib import Path

from calibrate_sufficiency import COLLECTIONS, TERMS, indexed, read, the_encoder

from pincite.generate import evidence


def words(text):
    return " ".join(["", *re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()), ""])


def holds(text, golds):
    return any(words(gold) in words(text) for gold in golds)


def gold_inside(asked, cosine, standing):
    evidence.COSINE_WEIGHT, evidence.HIT_WEIGHT = cosine, standing
    found = [0, 0, 0]
    for question, hits, golds in asked:
        ranking = evidence.rank_sentences(question, hits, encoder=the_encoder(), terms=TERMS)
        best = evidence.distinct(ranking.sentences[:8])
        for k in range(3):
            found[k] += holds(" . ".join(sentence.text for sentence in best[: k + 1]), golds)
    return [round(count / len(asked), 3) for count in found]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--every", type=int, default=3)
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("xquad", "squad2"):
            library, _ = indexed(name, options.data / COLLECTIONS[name], options.work or Path(folder))
            rows = [row for row in read(options.data / COLLECTIONS[name] / "queries.jsonl") if row["answerable"]]
            asked = [
                (
                    row["text"],
                    library.search(row["text"], limit=10, refresh=False).hits,
                    [a["text"] for a in row["answers"]],
                )
                for row in rows[:: options.every]
            ]
            for cosine, standing in (
                (0.7, 0.2),
                (0.7, 0.0),
                (0.7, 0.1),
                (0.7, 0.3),
                (0.5, 0.2),
                (0.9, 0.2),
                (1.0, 0.0),
                (0.0, 0.0),
            ):
                print(
                    name,
                    len(asked),
                    f"cosine {cosine} standing {standing}",
                    *gold_inside(asked, cosine, standing),
                    flush=True,
                )
            library.close()


if __name__ == "__main__":
    main()
