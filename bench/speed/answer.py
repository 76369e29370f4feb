"""Time of an answer by stage, against the model alone with the same prompt, in a warm process.

    python bench/speed/answer.py DATASET [--questions 20] [--generator NAME] [--work FOLDER] [--out FILE]

DATASET is a BEIR folder; its whole corpus is a library. Each question is asked twice in turns: through ``Library.ask``,
and by giving the generator alone the messages that the answer gave it. "overhead" is all that is not the model: the
time of the whole answer over that of the model alone, less 1, in each question, its median. CPU seconds of the process
stand beside the clock: on a busy machine they are disturbed least. "stages" are medians of the trace, in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import pincite
from pincite.models.fetch import default_models_dir
from pincite.models.load import load_encoder, load_generator


class Recording:
    """Passes everything on, and keeps what the generator was last asked."""

    def __init__(self, generator):
        self.generator, self.asked = generator, None
        self.name, self.context_tokens, self.count = generator.name, generator.context_tokens, generator.count

    def stream(self, messages, options):
        self.asked = (messages, options)
        return self.generator.stream(messages, options)


def timed(work):
    """Give the seconds by the clock and of the processor, and the result."""
    clock, cpu = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - clock, time.process_time() - cpu, result


def indexed(dataset, work, encoder, generator):
    """Make a library of the corpus, unless it is there."""
    source = work / "corpus"
    source.mkdir(parents=True, exist_ok=True)
    for line in (dataset / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        title = f"# {row['title']}\n\n" if row.get("title") else ""
        (source / f"{row['_id']}.md").write_text(title + row["text"], encoding="utf-8")
    library = pincite.open(work / "library.pincite", encoder=encoder, generator=generator, offline=True)
    library.add(source)
    return library


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--generator", default="smollm2-135m-instruct")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    encoder = load_encoder("all-MiniLM-L6-v2", models_dir=default_models_dir(), offline=True)
    model = Recording(load_generator(options.generator, models_dir=default_models_dir(), offline=True))
    rows = [json.loads(line) for line in (options.dataset / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    rows = random.Random(0).sample([row for row in rows if row.get("answerable", True)], options.questions + 2)
    stages, ratios, seconds = defaultdict(list), defaultdict(list), defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        library = indexed(options.dataset, options.work or Path(folder), encoder, model)
        for number, row in enumerate(rows):
            model.asked = None
            clock, cpu, answer = timed(lambda row=row: library.ask(row["text"], refresh=False))
            if model.asked is None or number < 2:  # the first two only warm up
                continue
            alone, alone_cpu, _ = timed(lambda: list(model.generator.stream(*model.asked)))
            for stage in answer.trace.stages:
                stages[stage.name].append(1000 * stage.seconds)
            for name, value in (("answer", clock), ("answer CPU", cpu), ("model", alone), ("model CPU", alone_cpu)):
                seconds[name].append(value)
            ratios["clock"].append(clock / alone - 1)
            ratios["CPU"].append(cpu / alone_cpu - 1)
            ratios["stages"].append(
                sum(s.seconds for s in answer.trace.stages if s.name != "draft")
                / next(s.seconds for s in answer.trace.stages if s.name == "draft")
            )
        library.close()
    median = lambda values, digits: {k: round(statistics.median(v), digits) for k, v in values.items()}  # noqa: E731
    found = {
        "generator": options.generator,
        "questions": len(ratios["clock"]),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
        "overhead": median(ratios, 3),
        "seconds": median(seconds, 3),
        "stages": median(stages, 2),
    }
    text = json.dumps(found, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
