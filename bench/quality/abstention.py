"""Abstention at the default strictness: how often "not in these documents" is said, and how often rightly.

    python bench/quality/abstention.py DATA_FOLDER [--work FOLDER] [--every 1]

Questions that the documents answer; "off": of another collection; "adversarial": the documents hold the topic and not
the answer (SQuAD 2.0, CLAPNQ, MTRAG-UN). MTRAG-UN is asked with the turns before; the gate was not fitted on it, and on
no adversarial question. That it was fitted on others of these: calibrate_sufficiency.py leaves each collection out.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from pathlib import Path

from calibrate_sufficiency import indexed, read, the_encoder

import pincite
from pincite.types import Turn

SETS = {"squad2": "squad2-small-en", "clapnq": "clapnq-dev", "mtrag": "mtrag-un"}
OTHER = "xquad/en"  # where questions that are off the documents come from


def kind_of(row):
    """Name the kind of a question."""
    named = row.get("answerability", "ANSWERABLE" if row["answerable"] else "UNANSWERABLE")
    return {"ANSWERABLE": "answerable", "UNANSWERABLE": "adversarial"}.get(named, named.lower())


def outcomes(library, rows, every):
    """Count the outcomes of each kind of question."""
    told = {}
    for row in rows[::every]:
        turns = [Turn(text) for text in row.get("all_user_turns", [row["text"]])[:-1]]
        answer = library.ask(row["text"], history=turns, extract=True, refresh=False)
        told.setdefault(kind_of(row), Counter())[answer.outcome] += 1
    return told


def shares(counts):
    return {outcome: round(count / counts.total(), 3) for outcome, count in sorted(counts.items())} | {
        "n": counts.total()
    }


def report(name, told):
    """Print shares, and precision and recall of refusing, with the answerable questions as the others."""
    for kind, counts in sorted(told.items()):
        print(name, kind, shares(counts))
    kept = told["answerable"]["not_in_documents"]
    for kind in ("off", "adversarial"):
        refused = told[kind]["not_in_documents"]
        share = kept / told["answerable"].total()  # as if there were as many answerable questions
        recall = refused / told[kind].total()
        print(name, kind, f"recall {recall:.3f} precision (as many of each) {recall / (recall + share or 1):.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    off = [row["text"] for row in read(options.data / OTHER / "queries.jsonl")]
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or Path(folder)
        for name, path in SETS.items():
            indexed(name, options.data / path, work)[0].close()
            with pincite.open(
                work / f"{name}.pincite", encoder=the_encoder(), generator="none", offline=True
            ) as library:
                rows = read(options.data / path / "queries.jsonl")
                told = outcomes(library, rows, options.every)
                some = random.Random(0).sample(off, 300)[:: options.every]
                told["off"] = Counter(library.ask(text, extract=True, refresh=False).outcome for text in some)
            report(name, told)


if __name__ == "__main__":
    main()
