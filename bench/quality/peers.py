"""Search quality of txtai, Haystack and LlamaIndex, hybrid as their documentation shows it, beside that of Pincite.

    python bench/quality/peers.py DATA_FOLDER --model FOLDER [--sets ...] [--vectors FOLDER] [--environments FOLDER]

Each works in an environment of its own, as in bench/speed/peers.py, and asks for 10 documents. So that the sets can be
measured in minutes, all take the vectors of whole documents, as far as the encoder reads, and of questions from one
table, computed once with the same encoder (bfloat16 where the processor has it); what a system cuts otherwise, as
LlamaIndex does with documents of more than 1,024 tokens, it encodes itself. Pincite's figures are those that
bench/quality/retrieval.py wrote. What was found is kept beside the vectors after each set, and not measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np

BENCH = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(BENCH / "speed"), str(BENCH / "peers" / "adapters")]
from harness import joined  # noqa: E402
from retrieval import SETS  # noqa: E402
from shared_vectors import VARIABLE, key  # noqa: E402

from peers import PEERS, environment, run  # noqa: E402
from pincite.find.search import embed_question  # noqa: E402
from pincite.generate.relevance import encode_within  # noqa: E402
from pincite.measure.cases import load_dataset  # noqa: E402
from pincite.measure.compare import Run  # noqa: E402
from pincite.measure.metrics import question_metrics  # noqa: E402
from pincite.models.encoders.openvino import OpenVinoEncoder  # noqa: E402

RESULTS = Path(__file__).parent / "results"


def table(dataset, model, cache):
    """Write the vectors of all documents and questions, unless they are there."""
    if cache.exists():
        return
    encoder = OpenVinoEncoder(model, name="all-MiniLM-L6-v2")
    texts = [joined(row.title, row.text) for row in dataset.documents()]
    questions = [question.text for question in dataset.questions]
    vectors = [encode_within(encoder, texts[i : i + 512]) for i in range(0, len(texts), 512)]
    vectors.append(np.stack([embed_question(question, encoder, {}) for question in questions]))
    np.savez(cache, keys=[key(text) for text in [*texts, *questions]], vectors=np.concatenate(vectors))


def report(found, ours):
    """Put the systems side by side."""
    rows = {name: {**found[name], "pincite": ours["sets"][name]["hybrid"]["ndcg@10"]} for name in SETS if name in found}
    systems = [*PEERS, "pincite"]
    means = {system: round(sum(row[system] for row in rows.values()) / len(rows), 4) for system in systems}
    return {"measure": "ndcg@10", "packages": {n: list(p) for n, p in PEERS.items()}, "sets": rows, "mean": means}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="all-MiniLM-L6-v2 as sentence-transformers saves it")
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--vectors", type=Path, default=Path.home() / ".cache" / "pincite-bench" / "vectors")
    parser.add_argument("--environments", type=Path, default=Path.home() / ".cache" / "pincite-bench")
    parser.add_argument("--save", type=Path, default=RESULTS / "peers.json")
    options = parser.parse_args()
    options.threads, options.limit_documents = 0, None
    options.vectors.mkdir(parents=True, exist_ok=True)
    kept = options.vectors / "found.json"
    found = json.loads(kept.read_text()) if kept.exists() else {}
    for name in (name for name in options.sets if name not in found):
        options.dataset = options.data / name
        dataset = load_dataset(options.dataset)
        cache = options.vectors / f"{name.replace('/', '_')}.npz"
        table(dataset, options.model, cache)
        os.environ[VARIABLE] = str(cache)
        questions = {question.id: question.text for question in dataset.questions}
        found[name] = {}
        for peer, packages in PEERS.items():
            done = run(peer, environment(options.environments / peer, packages), questions, options)
            rankings = done["ways"]["hybrid"]["rankings"]
            found[name][peer] = round(Run("", question_metrics(dataset.judgements, rankings)).means["ndcg@10"], 4)
            print(name, peer, found[name][peer], flush=True)
        kept.write_text(json.dumps(found))
    ours = json.loads((RESULTS / "retrieval.json").read_text())
    options.save.write_text(json.dumps(report(found, ours), indent=1) + "\n")


if __name__ == "__main__":
    main()
