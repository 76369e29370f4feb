"""What checking costs: a five-sentence draft against the evidence of one question, and looking for conflicts.

    python bench/speed/checking.py [--rounds 20]

Ten passages of five sentences each. Milliseconds of the clock and of the processor, median of the rounds; encoding the
question's sentences belongs to finding evidence and is not counted.
"""

from __future__ import annotations

import argparse
import statistics
import time

from pincite.generate.evidence import rank_sentences
from pincite.generate.relevance import Terms
from pincite.ground.claims import split_claims
from pincite.ground.compose import assess
from pincite.ground.conflict import conflicts
from pincite.models.fetch import default_models_dir
from pincite.models.load import load_encoder
from pincite.types import Hit, Passage

SENTENCES = [
    "The Falcon bridge was opened on 3 May 1987 and is 420 metres long.",
    "It was designed by Anna Berg, who had built the northern ferry port before.",
    "About 31,000 cars cross it on a working day, and 4,000 people walk.",
    "The two towers are made of steel from the works at Malmö, which closed in 1992.",
    "Repairs of the deck cost 12.5 million euros in 2019 and did not stop the traffic.",
]
DRAFT = (
    "The Falcon bridge is 420 metres long and was opened in May 1987. Anna Berg designed it. Some 31,000 cars cross it "
    "each day. Its towers are of steel from Malmö. The repairs of 2019 cost 12.5 million euros."
)


def hits():
    texts = [
        " ".join(s.replace("Falcon", name) for s in SENTENCES) for name in ["Falcon", "Heron", "Kestrel", "Osprey"]
    ]
    texts += [text.replace("4,000", f"{n},000") for n, text in enumerate(texts * 2, 5)][:6]
    return [
        Hit(i, 1 - i / 100, Passage(f"p{i}", i, f"d{i}", f"file:///{i}", 1, 0, len(text), text, f"Bridge {i}"))
        for i, text in enumerate(texts, 1)
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    encoder = load_encoder("all-MiniLM-L6-v2", models_dir=default_models_dir(), offline=True)
    terms = Terms(("en",))
    ranking = rank_sentences("How long is the Falcon bridge?", hits(), encoder=encoder, terms=terms)
    claims = split_claims(DRAFT)
    taken = {"draft of five": [], "conflicts of three quotes": []}
    for _ in range(options.rounds + 1):
        for name in taken:
            clock, used = time.perf_counter(), time.process_time()
            if name == "draft of five":
                assess(claims, ranking, encoder=encoder, terms=terms, against=ranking.sentences)
            else:
                for quote in ranking.sentences[:3]:
                    conflicts(quote.text, [quote], ranking.sentences, terms)
            taken[name].append((time.perf_counter() - clock, time.process_time() - used))
    for name, times in taken.items():
        clock, used = (1000 * statistics.median(column) for column in zip(*times[1:], strict=True))
        print(f"{name:26} {clock:6.1f} ms, {used:6.1f} ms of the processor")


if __name__ == "__main__":
    main()
