"""Do passages hold the gold spans, and little else? Pincite's chunker against LangChain's and semantic-text-splitter.

    python bench/quality/spans.py DATA_FOLDER [--sets chunking-evaluation legalbench-rag/privacy_qa] [--save FILE]

DATA_FOLDER holds BEIR folders with spans.jsonl. Every splitter cuts the same texts at the same mean size in word pieces
(the size of Pincite's passages at each of its --limits); the same encoder embeds the pieces, the nearest by cosine are
retrieved, and characters are compared with the gold spans: recall, precision and intersection over union, as Chroma's
chunking evaluation does. First the same number of pieces, then the same number of characters (the last one is cut).
Pincite embeds a passage with its title and headings, as the product does; "bare" is without them. The peers work in
an environment of their own, made on first use. Differences are paired bootstraps over the questions.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "speed"))
from peers import environment, machine
from pincite.build.chunk import chunk
from pincite.measure.cases import load_cases
from pincite.measure.compare import Run, differences, intervals
from pincite.measure.corpus import document_of
from pincite.measure.spans import span_scores
from pincite.models.fetch import default_models_dir, ensure
from pincite.models.load import load_encoder
from pincite.types import searched_text

SETS = ("chunking-evaluation", "legalbench-rag/privacy_qa")
PACKAGES = ("langchain-text-splitters==1.1.3", "semantic-text-splitter==0.33.1", "tokenizers==0.23.3")
ADAPTER = Path(__file__).resolve().parents[1] / "peers" / "adapters" / "run_splitters.py"
KINDS = ("recall", "precision", "iou")
OURS = "Pincite"


def ours(dataset, encoder, limit, *, bare=False):
    """Cut with Pincite: (source, start, end, what is embedded) of each passage."""
    made = []
    for row in dataset.documents():
        document = document_of(dataset.name, row)
        for span in chunk(document, encoder.pieces, limit=limit):
            text = document.text[span.start : span.end]
            made.append((row.id, span.start, span.end, text if bare else searched_text(span.context, text)))
    return made


def theirs(dataset, encoder_folder, targets, options):
    """Cut with the peers: {(splitter, target, limit): pieces as of ``ours``}."""
    python = environment(options.environments / "splitters", PACKAGES)
    texts = {row.id: document_of(dataset.name, row).text for row in dataset.documents()}
    with tempfile.TemporaryDirectory() as folder:
        job, report = Path(folder) / "job.json", Path(folder) / "report.json"
        tokenizer = str(encoder_folder / "tokenizer.json")
        asked = {"texts": texts, "tokenizer": tokenizer, "targets": targets, "report": str(report)}
        job.write_text(json.dumps(asked))
        subprocess.run([str(python), str(ADAPTER), str(job)], check=True)
        rows = json.loads(report.read_text())
    return {
        (row["splitter"], row["target"], row["limit"]): [
            (name, start, end, texts[name][start:end]) for name, found in row["spans"].items() for start, end in found
        ]
        for row in rows
    }


class Vectors:
    """Embeds each text once, and keeps it in a file."""

    def __init__(self, encoder, folder):
        self.encoder, self.known = encoder, {}
        self.file = folder / "vectors.npz" if folder else None
        if self.file and self.file.exists():
            with np.load(self.file, allow_pickle=False) as saved:
                self.known = dict(zip(saved["names"].tolist(), saved["rows"], strict=True))

    def of(self, texts):
        names = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest() for text in texts]
        lacking = {name: text for name, text in zip(names, texts, strict=True) if name not in self.known}
        if lacking:
            self.known.update(zip(lacking, self.encoder.encode(list(lacking.values())), strict=True))
            if self.file:
                np.savez(self.file, names=np.array(list(self.known)), rows=np.stack(list(self.known.values())))
        return np.stack([self.known[name] for name in names])


def within(pieces, characters):
    """Take pieces in order until so many characters are spent; the last one is cut."""
    taken = []
    for source, start, end, _ in pieces:
        end = min(end, start + characters)
        taken.append((source, start, end))
        characters -= end - start
        if characters <= 0:
            break
    return taken


def measured(name, pieces, cases, vectors, options):
    """Retrieve for every question, and compare with its gold: a run."""
    questions = [case for case in cases.cases if any(gold.start is not None for gold in case.gold)]
    nearness = vectors.of([case.question for case in questions]) @ vectors.of([text for *_, text in pieces]).T
    figures = {}
    for case, row in zip(questions, nearness, strict=True):
        best = [pieces[i] for i in np.lexsort((np.arange(len(row)), -row))[:200]]
        gold = [(one.source, one.start, one.end) for one in case.gold if one.start is not None]
        found = {f"k={options.k}": [piece[:3] for piece in best[: options.k]]}
        found |= {f"{budget} characters": within(best, budget) for budget in options.characters}
        for depth, places in found.items():
            scores = span_scores(places, gold)
            for kind in KINDS:
                figures.setdefault(f"{kind} {depth}", {})[case.id] = getattr(scores, kind)
    return Run(name, figures)


def row_of(run, pieces, encoder, facts, best):
    """Make a row of the table: means, intervals, and the difference of Pincite from it."""
    sizes = [encoder.pieces.count(text) for *_, text in pieces]
    row = {"splitter": run.name, **facts, "chunks": len(pieces), "mean pieces": round(float(np.mean(sizes)), 1)}
    row |= {metric: round(mean, 4) for metric, mean in run.means.items()}
    row["intervals"] = {metric: [round(x, 4) for x in bounds] for metric, bounds in intervals(run.figures).items()}
    if best is not run:
        row["Pincite less this"] = {
            one.metric: [round(one.difference, 4), round(one.p, 4), one.verdict] for one in differences(best, run)
        }
    return row


def compared(name, encoder, encoder_folder, vectors, options):
    """Measure one set at every size."""
    cases = load_cases(options.data / name)
    dataset = cases.dataset
    own = {limit: ours(dataset, encoder, limit) for limit in options.limits}
    bare = {limit: ours(dataset, encoder, limit, bare=True) for limit in options.limits}
    means = {limit: mean_pieces(bare[limit], encoder) for limit in options.limits}
    peers = theirs(dataset, encoder_folder, sorted(means.values()), options)
    rows = []
    for limit in options.limits:
        best = measured(OURS, own[limit], cases, vectors, options)
        some = [(best, own[limit], {"limit": limit})]
        some.append((measured(f"{OURS} bare", bare[limit], cases, vectors, options), bare[limit], {"limit": limit}))
        for (splitter, target, its), pieces in peers.items():
            if target == means[limit]:
                some.append((measured(splitter, pieces, cases, vectors, options), pieces, {"limit": its}))
        rows += [{"dataset": name, "size": limit, **row_of(*one[:2], encoder, one[2], best)} for one in some]
    return rows


def mean_pieces(pieces, encoder):
    return sum(encoder.pieces.count(text) for *_, text in pieces) / len(pieces)


def show(rows):
    """Print the tables."""
    metrics = [metric for metric in rows[0] if metric.split(" ")[0] in KINDS]
    for row in rows:
        figures = "  ".join(f"{metric} {row[metric]:.3f}" for metric in metrics)
        head = f"{row['dataset']:27}{row['splitter']:24} limit {row['limit']:3} mean {row['mean pieces']:5}"
        print(f"{head}  {figures}")
        for metric, (difference, p, verdict) in row.get("Pincite less this", {}).items():
            if verdict == "worse" or metric.startswith("iou"):
                print(f"{'':32}Pincite {difference:+.4f} {metric} (p {p:.4f}): {verdict}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--limits", nargs="*", type=int, default=[128, 254])
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--characters", nargs="*", type=int, default=[2000])
    parser.add_argument("--models", type=Path, default=default_models_dir())
    parser.add_argument("--environments", type=Path, default=Path.home() / ".cache" / "pincite-bench")
    parser.add_argument("--cache", type=Path, help="a folder that keeps embeddings for the next run")
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "spans.json")
    options = parser.parse_args()
    encoder_folder = ensure("all-MiniLM-L6-v2", models_dir=options.models)
    encoder = load_encoder("all-MiniLM-L6-v2", models_dir=options.models)
    vectors = Vectors(encoder, options.cache)
    rows = [row for name in options.sets for row in compared(name, encoder, encoder_folder, vectors, options)]
    show(rows)
    options.save.parent.mkdir(parents=True, exist_ok=True)
    options.save.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
