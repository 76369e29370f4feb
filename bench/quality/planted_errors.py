"""Plant one error in each of many true sentences, and count how many the rules of ground/verify.py name.

    python bench/quality/planted_errors.py DATA_FOLDER [--sentences 2000] [--show 3]

The cited text is the sentence itself, so alignment plays no part; the support score is given a high cosine. False
alarms are counted on the sentences themselves cut after their first clause: every word of those is true.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from pathlib import Path

from pincite.generate.relevance import Terms
from pincite.ground import facts
from pincite.ground.verify import verify
from pincite.text import sentences

AUXILIARY = r"\b(is|was|are|were|can|could|will|would|has|have|had)\b"
UNITS = (("percent", "dollars"), ("%", " km"), ("million", "billion"), ("km", "miles"), ("years", "days"))


def true_sentences(data, count, rng):
    found = []
    for name in ("xquad/en", "squad2-small-en", "clapnq-dev"):
        for line in (data / name / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
            text = json.loads(line)["text"]
            found += [text[start:end] for start, end in sentences(text)]
    found = [sentence for sentence in found if 8 <= len(sentence.split()) <= 45]
    rng.shuffle(found)
    return found[:count]


def planted(sentence, names, rng):
    """Yield (kind, sentence with one error)."""
    number = re.search(r"(?<![\w.,])\d+(?![\w.,]*\d)", sentence)
    if number:
        yield "number", sentence[: number.start()] + str(int(number[0]) + rng.randint(1, 9)) + sentence[number.end() :]
    for date in facts.dates(sentence)[:1]:
        month = rng.choice([name for name in ("January", "March", "July", "October") if name not in date.text])
        yield "date", sentence.replace(date.text, re.sub(r"[A-Z][a-z]+", month, date.text, count=1))
    if facts.names(sentence):
        old, new = rng.choice(facts.names(sentence)), rng.choice([name for name in names if name not in sentence])
        yield "name", re.sub(rf"\b{re.escape(old)}\b", new, sentence, count=1)
    verb = re.search(AUXILIARY, sentence)
    if verb:
        yield "negation added", f"{sentence[: verb.end()]} not{sentence[verb.end() :]}"
    denied = re.search(AUXILIARY + r" not\b", sentence)
    if denied:
        yield "negation removed", sentence[: denied.end() - 4] + sentence[denied.end() :]
    for old, new in UNITS:
        if re.search(rf"\d\s?{old}", sentence):
            yield "unit", re.sub(rf"(\d)\s?{old}", rf"\1 {new}", sentence, count=1)
            break


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--show", type=int, default=0, help="print so many misses of each kind")
    options = parser.parse_args()
    rng, terms = random.Random(1), Terms(("en",))
    true = true_sentences(options.data, options.sentences, rng)
    names = sorted({name for sentence in true for name in facts.names(sentence)})
    tried, caught, shown = Counter(), Counter(), Counter()
    for sentence in true:
        clause = re.split(r", | and | which ", sentence)[0] + "."
        changed = [*planted(sentence, names, rng), *([("false alarm", clause)] if len(clause.split()) >= 6 else [])]
        for kind, claim in changed:
            found = verify(claim, sentence, terms=terms, cosine=0.9)
            tried[kind] += 1
            caught[kind] += found.verdict != "supported"
            if (found.verdict == "supported") != (kind == "false alarm") and shown[kind] < options.show:
                shown[kind] += 1
                print(kind, "|", claim, "|", sentence, "|", *found.problems)
    for kind in sorted(tried):
        print(f"{kind:18} {tried[kind]:5}  not supported: {caught[kind] / tried[kind]:.3f}")


if __name__ == "__main__":
    main()
