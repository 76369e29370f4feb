"""Where answers are lost on SQuAD 2.0 and CLAPNQ, and whether a planted fault is named.

    python bench/quality/ceiling.py DATA_FOLDER [--generator NAME] [--questions N] [--html FOLDER] [--out FILE]

DATA_FOLDER holds squad2-small-en and clapnq-dev. Every case of both goes to one stage (``pincite ceiling``); the counts
must add up. Answers are quotes unless a generator is named. Then 30 faults (tests/planted.py) are planted, one at a
time, into a library of the SQuAD paragraphs that answers: the questions are taken in the order of the file, those that
are not answered without a fault, or are answered in spite of it, are passed over, and nothing is chosen by its
diagnosis.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from calibrate_sufficiency import read, the_encoder

import pincite
from pincite.measure.cases import load_cases
from pincite.measure.ceiling import ceiling, why
from pincite.measure.corpus import index_corpus, row_uri
from pincite.measure.report import report_html
from pincite.reports import LOSSES, STAGES
from pincite.text import sentences
from tests.planted import FAULTS, Known, World

COLLECTIONS = ("squad2-small-en", "clapnq-dev")
RESULTS = Path(__file__).parent / "results" / "ceiling.json"


def measured(folder, work, options):
    """Send each case of a collection to its stage."""
    loaded = load_cases(folder)
    every = max(1, len(loaded.cases) // options.questions) if options.questions else 1
    settings = {"encoder": the_encoder(), "generator": options.generator, "offline": True}
    with pincite.open(work / f"{folder.name}.pincite", **settings) as library:
        index_corpus(loaded.dataset, library.store, the_encoder())
        started = time.perf_counter()
        found = ceiling(
            folder.name,
            loaded.cases[::every],
            ask=lambda question: library.asked(question, extract=options.generator == "none", refresh=False),
            store=library.store,
            uri_of=lambda source: row_uri(loaded.dataset.name, source),
            generator="extractive" if options.generator == "none" else options.generator,
        )
    assert sum(found.counts.values()) == len(found.cases)
    if options.html:
        options.html.mkdir(exist_ok=True)
        (options.html / f"{folder.name}.html").write_text(report_html(found), encoding="utf-8")
    print(f"\n{folder.name}: {len(found.cases)} questions, {found.answerable} with an answer", flush=True)
    for stage, count in found.counts.items():
        print(f"  {STAGES[stage][0]:<27} {count:>5} {100 * count / len(found.cases):5.1f} %", flush=True)
    share = 100 * sum(found.counts.values()) / len(found.cases)
    print(
        f"  {'together':<27} {len(found.cases):>5} {share:5.1f} %  in {time.perf_counter() - started:.0f} s", flush=True
    )
    return {"questions": len(found.cases), "answerable": found.answerable, "left_out": found.left_out} | found.counts


def known(folder):
    """Give the paragraphs as notes, and for each third answerable question the sentence that answers it."""
    rows = read(folder / "corpus.jsonl")
    notes = {f"{row['_id']}.md": f"# {row['title']}\n\n{row['text']}\n" for row in rows}
    texts = {row["_id"]: row["text"] for row in rows}
    cases = []
    for row in [row for row in read(folder / "queries.jsonl") if row["answerable"] and row["answers"]][::3]:
        text, place = texts[row["paragraph_id"]], row["answers"][0]["answer_start"]
        start, end = next(span for span in sentences(text) if span[0] <= place < span[1])
        cases.append(Known(f"{row['paragraph_id']}.md", row["text"], text[start:end]))
    return notes, cases


def planted(folder, work):
    """Plant each fault with the next question on which it takes effect, and compare the stage that is named."""
    notes, cases = known(folder)
    world = World(work / "notes", work / "planted.pincite", the_encoder(), notes, limit=10)
    world.make()
    rows, passed_over, following = [], {"not answered": 0, "no effect": 0}, iter(cases)
    for name, stage, fault in FAULTS:
        while True:
            case = next(following)
            with world.open() as library:
                answer = library.asked(case.question, refresh=False).answer
                if not any(case.quote in citation.quote for citation in answer.citations):
                    passed_over["not answered"] += 1
                    continue
            with fault(world, case) as (asked, target, library):
                if any(case.quote in citation.quote for citation in asked.answer.citations):
                    passed_over["no effect"] += 1
                    continue
                found = why(target, asked, library.store)
            break
        rows.append({"fault": name, "planted": stage, "named": found.stage})
        print(f"  {name:<34} {stage:<22} {found.stage:<22} {'' if found.stage == stage else found.reason}", flush=True)
    right = sum(row["planted"] == row["named"] for row in rows)
    print(f"  named: {right} of {len(rows)}; passed over: {passed_over}", flush=True)
    return {"named": right, "faults": len(rows), "passed_over": passed_over, "rows": rows}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--generator", default="none")
    parser.add_argument("--questions", type=int, default=0, help="about so many of each collection; 0: all")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--html", type=Path, help="write the reports; they hold the collections' texts")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or Path(folder)
        results = {name: measured(options.data / name, work, options) for name in COLLECTIONS}
        with tempfile.TemporaryDirectory() as fresh:
            results["planted"] = planted(options.data / COLLECTIONS[0], Path(fresh))
    results["stages"] = list(LOSSES)
    options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
