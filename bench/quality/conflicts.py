"""Plant a copy of the best source with one thing changed: how often does the answer say that the sources conflict?

    python bench/quality/conflicts.py DATA_FOLDER [--work FOLDER] [--questions 150] [--show 3]

The copy of the whole passage, of another document, stands second among the hits; the sentence that the answer quotes
first is changed. "same": an unchanged copy, and "reworded": one whose words are in another order, are no conflict.
False alarms on the collections as they are: citations.py.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

from calibrate_sufficiency import COLLECTIONS, indexed, read, the_encoder
from planted_errors import planted

from pincite.ground import facts
from pincite.ground.answer import answer_events

NAMES = ["Anna Berg", "Tom Hill", "Lisbon", "Ottawa"]


def answered(library, question, hits):
    def read_text(passage):
        if passage.uri.endswith("#copy"):
            return "\x00" * passage.start + passage.text
        return library.document(passage.uri, passage.version).text

    *_, last = answer_events(question, hits, generator=None, encoder=the_encoder(), text_of=read_text, strictness=0.0)
    return last.answer


def copied(hits, quote, changed):
    """Give the hits with a changed copy of the quote's passage behind the first."""
    passage = next(hit.passage for hit in hits if hit.passage.id == quote.passage_id)
    text = passage.text.replace(quote.quote, changed)
    copy = replace(
        passage, id=f"{passage.id}#copy", uri=f"{passage.uri}#copy", text=text, end=passage.start + len(text), key=10**9
    )
    return (hits[0], replace(hits[0], passage=copy), *hits[1:])


def moved(sentence):
    """Say the same in another order, where a comma allows it."""
    head, comma, tail = sentence.rstrip(".").partition(", ")
    return f"{tail[:1].upper()}{tail[1:]}, {head}." if comma else sentence


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--questions", type=int, default=150, help="of each collection")
    parser.add_argument("--show", type=int, default=0, help="print so many misses of each kind")
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    rng, shown = random.Random(3), Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name, path in COLLECTIONS.items():
            library, _ = indexed(name, options.data / path, options.work or Path(folder))
            rows = [row["text"] for row in read(options.data / path / "queries.jsonl") if row["answerable"]]
            tried, found = Counter(), Counter()
            for question in rng.sample(rows, options.questions):
                hits = library.search(question, limit=10, refresh=False).hits
                citations = answered(library, question, hits).citations
                if not citations:
                    continue
                quote = citations[0]
                changes = [*planted(quote.quote, NAMES, rng), ("same", quote.quote), ("reworded", moved(quote.quote))]
                for kind, changed in changes:
                    told = answered(library, question, copied(hits, quote, changed))
                    said = any(finding.kind == "sources_conflict" for finding in told.findings)
                    tried[kind] += 1
                    found[kind] += said
                    if said == (kind in ("same", "reworded")) and shown[kind] < options.show:
                        shown[kind] += 1
                        print(kind, "|", quote.quote, "|", changed, "|", facts.names(changed))
            library.close()
            print(name, {kind: f"{found[kind]} of {tried[kind]}" for kind in sorted(tried)}, flush=True)


if __name__ == "__main__":
    main()
