"""Does an answer rest on what it cites? Take the cited passages away, or change a number: the answer must follow.

    python bench/quality/faithfulness.py DATA_FOLDER [--questions 100] [--drafts 15] [--work FOLDER]

So many answerable questions of xquad/en and of squad2-small-en, quotes alone, then so many with the default generator.
"Removed": all passages that the answer cites are taken out of the hits; it must change or be refused. "Changed": the
first number in the first quote is another one in its passage; the answer must say the new number there, and no
supported sentence may say the old one. A copy of a passage that says the same keeps an answer: that is not unfaithful.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

from calibrate_sufficiency import COLLECTIONS, indexed, read, the_encoder

from pincite.ground import facts
from pincite.ground.answer import answer_events
from pincite.models.fetch import default_models_dir
from pincite.models.load import load_generator


def answered(library, question, hits, generator):
    texts = {hit.passage.id: "\x00" * hit.passage.start + hit.passage.text for hit in hits}
    *_, last = answer_events(
        question, hits, generator=generator, encoder=the_encoder(), text_of=lambda passage: texts[passage.id]
    )
    return last.answer


def changed(hits, quote):
    """Give the hits with another number in a quote, the old number and the new one; None if it has no number."""
    numbers = [number for number in facts.quantities(quote.quote) if number.text.isdigit()]
    if not numbers:
        return None
    old, new = numbers[0].text, str(int(numbers[0].text) + 7).zfill(len(numbers[0].text))[-len(numbers[0].text) :]
    at = quote.start + numbers[0].start
    told = []
    for hit in hits:
        if hit.passage.id == quote.passage_id:
            text, first = hit.passage.text, at - hit.passage.start
            hit = replace(hit, passage=replace(hit.passage, text=text[:first] + new + text[first + len(old) :]))
        told.append(hit)
    return tuple(told), old, new


def follows(after, old, new, before):
    """Tell whether an answer follows a change from ``old`` to ``new`` in the first quote of the answer before."""
    if after.outcome == "not_in_documents":
        return True
    kept = sum(old in claim.text for claim in before.claims if claim.verdict == "supported")
    still = sum(old in claim.text for claim in after.claims if claim.verdict == "supported")
    return after.text != before.text and (new in after.text or still < kept)


def probe(library, question, hits, generator, tally):
    before = answered(library, question, hits, generator)
    if not before.citations:
        return
    cited = {citation.passage_id for citation in before.citations}
    after = answered(library, question, tuple(hit for hit in hits if hit.passage.id not in cited), generator)
    tally["removed"] += 1
    tally["removed: refused"] += after.outcome == "not_in_documents"
    tally["removed: another answer"] += after.outcome != "not_in_documents" and after.text != before.text
    given = changed(hits, before.citations[0])
    if given:
        after = answered(library, question, given[0], generator)
        tally["changed"] += 1
        tally["changed: followed"] += follows(after, given[1], given[2], before)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--questions", type=int, default=100, help="of each collection")
    parser.add_argument("--drafts", type=int, default=15, help="of each collection, with the generator")
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    model = load_generator("smollm2-135m-instruct", models_dir=default_models_dir(), offline=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("xquad", "squad2"):
            library, _ = indexed(name, options.data / COLLECTIONS[name], options.work or Path(folder))
            rows = [r["text"] for r in read(options.data / COLLECTIONS[name] / "queries.jsonl") if r["answerable"]]
            for generator, count in ((None, options.questions), (model, options.drafts)):
                tally = Counter()
                for question in rows[:: len(rows) // count][:count]:
                    hits = library.search(question, limit=10, refresh=False).hits
                    probe(library, question, hits, generator, tally)
                print(name, generator.name if generator else "quotes", dict(sorted(tally.items())), flush=True)
            library.close()


if __name__ == "__main__":
    main()
