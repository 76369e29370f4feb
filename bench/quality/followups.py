"""Follow-up questions on MTRAG-UN: search with the conversation against the last turn alone and all turns joined.

    python bench/quality/followups.py MTRAG_UN_FOLDER [--work FOLDER] [--models FOLDER] [--save FILE]

The folder is a BEIR folder whose tasks.jsonl holds the dialogues. One configuration for all; "left out": the weights
that are best on three domains, measured on the fourth. The pool is small (the reference passages of all tasks), so
figures are far above those that are published for the whole corpora, and only differences count.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from calibrate_sufficiency import TERMS, Remembering

from pincite.find import followup
from pincite.find.analyze import ANALYZER, analyze
from pincite.find.search import rank, search
from pincite.generate.evidence import distinct, rank_sentences
from pincite.generate.relevance import coverage
from pincite.measure.cases import load_dataset
from pincite.measure.corpus import index_corpus, row_id
from pincite.measure.metrics import question_metrics
from pincite.models.fetch import default_models_dir
from pincite.models.load import load_encoder
from pincite.store.sqlite.store import open_store
from pincite.types import Turn

CANDIDATES = 100
LANGUAGES = ("en",)
GRID = [
    {"PREVIOUS": previous, "ANSWER_VECTOR": vector, "ANSWER_TERMS": terms, "ALONE": alone}
    for previous in (0.3, 0.4, 0.5)
    for vector, terms in ((0.0, 0.0), (0.1, 0.2), (0.2, 0.2))
    for alone in (0.3, 0.5, 1.0)
]
ABLATIONS = {
    "without the answer": {"ANSWER_VECTOR": 0.0, "ANSWER_TERMS": 0.0},
    "answer's vector only": {"ANSWER_TERMS": 0.0},
    "answer's terms only": {"ANSWER_VECTOR": 0.0},
    "one turn": {"TURNS": 1},
    "five turns": {"TURNS": 5},
    "all questions depend (ALONE 1)": {"ALONE": 1.0},
    "questions that stand alone take nothing (ALONE 0)": {"ALONE": 0.0},
    "FEW 0: only pointing words tell": {"FEW": 0},
    "FEW 6": {"FEW": 6},
    "16 terms of the answer": {"ANSWER_MOST": 16},
    "128 terms of the answer": {"ANSWER_MOST": 128},
    "PREVIOUS 0.2": {"PREVIOUS": 0.2},
    "PREVIOUS 0.6": {"PREVIOUS": 0.6},
}


def tasks_of(folder, judged):
    """Read the judged dialogues."""
    for line in (folder / "tasks.jsonl").read_text(encoding="utf-8").splitlines():
        task = json.loads(line)
        if task["task_id"] not in judged:
            continue
        said = task["dialogue"]
        pairs = zip(said[:-1:2], said[1:-1:2], strict=True)
        history = [Turn(asked["text"], answered["text"]) for asked, answered in pairs]
        yield task["task_id"], task["domain"], said[-1]["text"], history


def conversation(question, history):
    return question, followup.understand(question, history, LANGUAGES).past


def joined_turns(last):
    """Make one text of the last turns of the person."""

    def asked(question, history):
        return "\n".join([*(turn.question for turn in history), question][-last:]), ()

    return asked


class Bench:
    """Ranks the questions of one store in many ways."""

    def __init__(self, store, encoder, dataset, tasks):
        self.store, self.encoder, self.judgements, self.tasks = store, encoder, dataset.judgements, tasks
        self.keys = {}

    def ndcg(self, how, **constants):
        """Give nDCG@10 of each question, with other constants for once."""
        before = {name: getattr(followup, name) for name in constants}
        try:
            for name, value in constants.items():
                setattr(followup, name, value)
            rankings = {task: self.ranked(*how(question, history)) for task, _, question, history in self.tasks}
        finally:
            for name, value in before.items():
                setattr(followup, name, value)
        found = question_metrics(self.judgements, rankings)["ndcg@10"]
        return np.array([found[task] for task, *_ in self.tasks])

    def ranked(self, text, past):
        order = rank(text, store=self.store, encoder=self.encoder, candidates=CANDIDATES, past=past).order
        new = [candidate.key for candidate in order if candidate.key not in self.keys]
        self.keys.update((key, row_id(passage.uri)) for key, passage in self.store.passages(new).items())
        return list(dict.fromkeys(self.keys[candidate.key] for candidate in order))[:100]


def left_out(bench, domains, groups):
    """Choose constants on the other domains, report on each domain."""
    tables = {json.dumps(row): bench.ndcg(conversation, **row) for row in GRID}
    scores, chosen = np.zeros(len(domains)), {}
    for group in groups:
        best = max(tables, key=lambda row: tables[row][domains != group].mean())
        scores[domains == group] = tables[best][domains == group]
        chosen[group] = json.loads(best)
    return scores, chosen, {row: round(float(table.mean()), 4) for row, table in tables.items()}


def evidence(bench, folder):
    """Give the share of the reference answer's new words in the first 1 and 3 sentences, by what they are ranked for.

    New words are neither in the question and the turn before nor in the last answer; only questions that depend count.
    """
    targets = {task["task_id"]: task["target"] for task in map(json.loads, (folder / "tasks.jsonl").open())}
    found = {"the question's own words": [], "with the turn before in front": []}
    for task, _, question, history in bench.tasks:
        form = followup.understand(question, history, LANGUAGES)
        if not form.depends or not form.past:
            continue
        new = set(TERMS.wanted(targets[task])) - set(TERMS.wanted(form.whole)) - TERMS.found(history[-1].answer)
        hits, _ = search(question, store=bench.store, encoder=bench.encoder, past=form.past)
        for shares, text in zip(found.values(), (question, form.whole), strict=True):
            best = distinct(rank_sentences(text, hits, encoder=bench.encoder, terms=TERMS).sentences[:12])
            shares.append([coverage(new, frozenset().union(*(s.terms for s in best[:k]))) for k in (1, 3)])
    return {name: [len(rows), *(round(float(x), 4) for x in np.mean(rows, axis=0))] for name, rows in found.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--models", type=Path, default=default_models_dir())
    parser.add_argument("--save", type=Path, default=Path(__file__).parent / "results" / "followups.json")
    options = parser.parse_args()
    encoder = Remembering(load_encoder("all-MiniLM-L6-v2", models_dir=options.models))
    dataset = load_dataset(options.data)
    with tempfile.TemporaryDirectory() as folder:
        store = open_store((options.work or Path(folder)) / "followups", analyze=analyze, analyzer=ANALYZER)
        index_corpus(dataset, store, encoder.encoder)
        tasks = list(tasks_of(options.data, dataset.judgements))
        bench = Bench(store, encoder, dataset, tasks)
        domains = np.array([domain for _, domain, *_ in tasks])
        later = np.array([bool(history) for *_, history in tasks])
        groups = sorted(set(domains))
        rows = {}

        def row(name, scores):
            figures = {"all": scores.mean(), "after the first turn": scores[later].mean()}
            figures |= {group: scores[domains == group].mean() for group in groups}
            rows[name] = {key: round(float(value), 4) for key, value in figures.items()}
            print(f"{name:52} {rows[name]}", flush=True)
            return scores

        last = row("last turn alone", bench.ndcg(joined_turns(1)))
        every = row("all turns joined", bench.ndcg(joined_turns(99)))
        two = row("last two turns joined", bench.ndcg(joined_turns(2)))
        mine = row("conversation", bench.ndcg(conversation))
        chosen_out, chosen, grid = left_out(bench, domains, groups)
        row("conversation, each domain left out", chosen_out)
        for name, constants in ABLATIONS.items():
            row(name, bench.ndcg(conversation, **constants))
        chosen_by = evidence(bench, options.data)
        store.close()
    gains = {}
    for name, other in (("last turn alone", last), ("all turns joined", every), ("last two turns joined", two)):
        rng = np.random.default_rng(0)
        drawn = rng.integers(0, len(mine), (10_000, len(mine)))
        low, high = np.quantile((chosen_out - other)[drawn].mean(axis=1), (0.025, 0.975))
        gains[name] = [round(float(value), 4) for value in ((chosen_out - other).mean(), low, high)]
    print("gain of the left-out figure over, with 95 % interval:", gains)
    print("evidence: questions, new words of the answer in 1 and 3 sentences", chosen_by)
    result = {"questions": len(tasks), "ndcg@10": rows, "chosen": chosen, "gain": gains, "grid": grid}
    result["evidence: questions, share in 1 and 3 sentences"] = chosen_by
    options.save.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
