"""What a generator's prose is worth: how often the gold answer is in the answer's text, by shape of the answer.

    python bench/quality/answer_shapes.py DATA_FOLDER [--generator NAME] [--questions 60] [--work FOLDER]

xquad/en, retrieval included. "quotes": no generator; "plain": the draft as written, unchecked; "always": checked prose
and the quotes; "when_needed": prose, flagged, and quotes where none of it is supported, asked to cite. "prose": drafts
of which at least one sentence is supported, and how many of those hold the gold answer in their supported sentences.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from calibrate_sufficiency import COLLECTIONS, indexed, read, the_encoder
from gold import holds

from pincite.ground.answer import answer_events
from pincite.models.fetch import default_models_dir
from pincite.models.load import load_generator
from pincite.types import DoneEvent, TokenEvent


def answered(question, hits, library, **options):
    """Give the draft and the answer."""
    draft = ""
    read_text = lambda passage: library.document(passage.uri, passage.version).text  # noqa: E731
    for event in answer_events(
        question, hits, encoder=the_encoder(), text_of=read_text, strictness=0.0, answer_tokens=60, **options
    ):
        draft += event.text if isinstance(event, TokenEvent) else ""
        if isinstance(event, DoneEvent):
            return draft, event.answer
    raise AssertionError("no last event")


def count(tally, name, question, hits, library, golds, **options):
    draft, answer = answered(question, hits, library, **options)
    tally[f"{name}: gold in text"] += holds(answer.text, golds)
    tally[f"{name}: gold in cited quotes"] += holds(" . ".join(c.quote for c in answer.citations), golds)
    if not draft:
        return
    tally[f"{name}: gold in the draft (plain)"] += holds(draft, golds)
    quotes = {citation.quote for citation in answer.citations}
    prose = [c.text for c in answer.claims if c.verdict == "supported" and c.text.rpartition(" [")[0] not in quotes]
    tally[f"{name}: prose supported"] += bool(prose)
    tally[f"{name}: prose supported, with gold"] += bool(prose) and holds(" . ".join(prose), golds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--generator", default="smollm2-135m-instruct")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    generator = load_generator(options.generator, models_dir=default_models_dir(), offline=True)
    with tempfile.TemporaryDirectory() as folder:
        library, _ = indexed("xquad", options.data / COLLECTIONS["xquad"], options.work or Path(folder))
        rows = read(options.data / COLLECTIONS["xquad"] / "queries.jsonl")
        rows = rows[:: len(rows) // options.questions][: options.questions]
        tally = Counter()
        for number, row in enumerate(rows, 1):
            golds = [answer["text"] for answer in row["answers"]]
            hits = library.search(row["text"], limit=10, refresh=False).hits
            given = (row["text"], hits, library, golds)
            count(tally, "quotes", *given, generator=None)
            count(tally, "always, 400 tokens", *given, generator=generator, quotes="always")
            count(tally, "always, 120 tokens", *given, generator=generator, quotes="always", evidence_tokens=120)
            count(tally, "when_needed", *given, generator=generator, quotes="when_needed", evidence_tokens=120)
            if number % 10 == 0 or number == len(rows):
                print(number, {name: round(tally[name] / number, 2) for name in sorted(tally)}, flush=True)
        library.close()


if __name__ == "__main__":
    main()
