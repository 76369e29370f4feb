"""How is a small model best asked for one sentence from the best quote, with the quote in a message of its own?

    python bench/quality/prompt_layout.py DATA_FOLDER [--questions 100] [--work FOLDER] [--out FILE]

xquad/en, retrieval included, a seeded sample: a layout is chosen on its first half and reported on the second. Of each:
gold answer in the draft; a claim of it is shown behind the quotes (and with the gold answer); CPU seconds without reuse
of a prefix. Shares have 95 % Wilson intervals. Layouts are changes of what ``build_prompt`` gives; "shipped" is none.
"one message" alone puts the quote and the question together; it is no candidate.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from calibrate_sufficiency import COLLECTIONS, TERMS, indexed, read, the_encoder
from choose_and_quote import Model, interval
from gold import holds

from pincite.generate.evidence import pack, rank_sentences
from pincite.generate.prompt import BRIEF, build_prompt
from pincite.ground.run import Run
from pincite.ground.telling import Telling
from pincite.types import Message

TUNED = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"  # what the model's own template says
TASK = "Answer in one short sentence. Use only the passage."
TOKENS = 30


def layouts(system, passage, heard, question):
    """Give the messages of each layout."""
    say = lambda text: Message("user", text)  # noqa: E731
    task_last = say(f"{question.content}\n{TASK}")
    return {
        "shipped": [system, passage, heard, question],
        "no turn between": [system, passage, question],
        "shorter system": [Message("system", "Answer briefly."), passage, heard, question],
        "task behind the question too": [system, passage, heard, task_last],
        "task behind the question alone": [Message("system", TUNED), passage, heard, task_last],
        "question first": [system, question, Message("assistant", "Which passage shall I use?"), passage],
        "question first and last": [system, question, Message("assistant", "Which passage?"), passage, heard, question],
        "one message": [system, say(f"{passage.content}\n\nQuestion: {question.content}")],
    }


def shown(draft, run, ranking, items):
    """Give what the product would show of a draft behind its quotes."""
    telling = Telling(run, ranking, items, quotes_first=True)
    list(telling.begin())
    quotes = len(telling.writer.text)
    list(telling.end(draft))
    return telling.writer.text[quotes:]


def measure(model, question, golds, hits):
    """Give the figures of one question for each layout."""
    ranking = rank_sentences(question, hits, encoder=the_encoder(), terms=TERMS)
    row = {}
    for count in (1, 4):
        items = pack(ranking, budget_tokens=400, count=model.count, limit=count).items
        messages = build_prompt(question, items, generator=model, answer_tokens=TOKENS, policy=BRIEF).messages
        asked = layouts(*messages) if count == 1 else {"four sentences": messages}
        for name, turns in asked.items():
            mark = time.process_time()
            draft, _ = model.free(turns, TOKENS)
            row[f"{name}: CPU s"] = time.process_time() - mark
            said = shown(draft, Run(question, hits, the_encoder(), TERMS), ranking, items)
            row[f"{name}: gold"] = holds(draft, golds)
            row[f"{name}: shown"] = bool(said)
            row[f"{name}: gold shown"] = holds(said, golds)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    model, rows = Model(), defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or Path(folder)
        work.mkdir(exist_ok=True)
        library, _ = indexed("xquad", options.data / COLLECTIONS["xquad"], work)
        known = [row for row in read(options.data / COLLECTIONS["xquad"] / "queries.jsonl") if row["answerable"]]
        for number, row in enumerate(random.Random(7).sample(known, options.questions), 1):
            hits = library.search(row["text"], limit=10, refresh=False).hits
            half = "chosen on" if number <= options.questions // 2 else "reported"
            rows[half].append(measure(model, row["text"], [answer["text"] for answer in row["answers"]], hits))
            if number % 10 == 0:
                found = {
                    name: {"questions": len(some), **{key: interval([row[key] for row in some]) for key in some[0]}}
                    for name, some in rows.items()
                }
                text = json.dumps(found, indent=1)
                if options.out:
                    options.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
