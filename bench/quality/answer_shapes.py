"""What an answer is worth by its shape: how often the gold answer is in it, and is it ever worse than its evidence?

    python bench/quality/answer_shapes.py DATA_FOLDER [--generator NAME] [--questions 30] [--work FOLDER] [--out FILE]

xquad/en and the answerable part of squad2-small-en, retrieval included, a seeded sample of each, gate open. "quotes":
no generator; "default": quotes, and behind them what the draft says that is surely supported; "plain": the draft of
"default" as written, unchecked; "when_needed": what large models get: prose, flagged, and quotes behind it where it may
be worse than they are. "worse than its quotes": answers without the gold answer although the quotes have it. "flagged":
of the sentences of prose in the answer. Shares with 95 % Wilson intervals.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import defaultdict
from pathlib import Path

from calibrate_sufficiency import COLLECTIONS, indexed, read, the_encoder
from choose_and_quote import interval
from gold import holds, words

from pincite.ground.answer import answer_events
from pincite.models.fetch import default_models_dir
from pincite.models.load import load_generator
from pincite.types import DoneEvent, TokenEvent


def answered(question, hits, library, **options):
    """Give the draft and the answer."""
    draft = ""
    for event in answer_events(
        question,
        hits,
        encoder=the_encoder(),
        text_of=lambda passage: library.document(passage.uri, passage.version).text,
        strictness=0.0,
        **options,
    ):
        draft += event.text if isinstance(event, TokenEvent) else ""
        if isinstance(event, DoneEvent):
            return draft, event.answer
    raise AssertionError("no last event")


def measure(question, golds, hits, library, generator):
    """Give the figures of one question."""
    _, quotes = answered(question, hits, library, generator=None)
    inside = holds(quotes.text, golds)
    row = {"quotes: gold": inside, "quotes: words": len(quotes.text.split())}
    for name, options in (("default", {}), ("when_needed", {"quotes": "when_needed", "answer_tokens": 60})):
        draft, answer = answered(question, hits, library, generator=generator, **options)
        if name == "default":
            row |= {
                "plain: gold": holds(draft, golds),
                "plain: worse than its quotes": inside and not holds(draft, golds),
            }
        found = holds(answer.text, golds)
        quoted = {words(citation.quote) for citation in answer.citations}
        prose = [claim for claim in answer.claims if words(claim.text.partition(" [")[0]) not in quoted]
        row |= {
            f"{name}: gold": found,
            f"{name}: worse than its quotes": inside and not found,
            f"{name}: words": len(answer.text.split()),
            f"{name}: has prose": bool(prose),
            f"{name}: flagged": sum(c.verdict != "supported" for c in prose) / len(prose) if prose else 0.0,
        }
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--generator", default="smollm2-135m-instruct")
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    generator = load_generator(options.generator, models_dir=default_models_dir(), offline=True)
    rows, asked = defaultdict(list), []
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or Path(folder)
        work.mkdir(exist_ok=True)
        for name in ("xquad", "squad2"):
            library, _ = indexed(name, options.data / COLLECTIONS[name], work)
            known = [row for row in read(options.data / COLLECTIONS[name] / "queries.jsonl") if row["answerable"]]
            asked += [(name, row, library) for row in random.Random(0).sample(known, options.questions)]
        random.Random(1).shuffle(asked)
        for number, (name, row, library) in enumerate(asked, 1):
            hits = library.search(row["text"], limit=10, refresh=False).hits
            golds = [answer["text"] for answer in row["answers"]]
            rows[name].append(measure(row["text"], golds, hits, library, generator))
            if number % 10 == 0 or number == len(asked):
                both = [row for some in rows.values() for row in some]
                found = {
                    name: {"questions": len(some), **{key: interval([row[key] for row in some]) for key in some[0]}}
                    for name, some in [*rows.items(), ("both", both)]
                }
                text = json.dumps(found, indent=1)
                if options.out:
                    options.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
