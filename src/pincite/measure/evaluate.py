"""Ask the questions of a case set, and measure what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pincite.find.analyze import ANALYZER
from pincite.find.rerank import SECONDS, WINDOW
from pincite.find.search import rank, search
from pincite.measure.cases import load_cases
from pincite.measure.compare import Comparison, Run, intervals
from pincite.measure.corpus import index_corpus
from pincite.measure.metrics import DEPTH, question_metrics
from pincite.measure.spans import Place, span_scores
from pincite.measure.task import Task, task_of
from pincite.models.protocols import Encoder, Reranker
from pincite.store.protocol import Store
from pincite.types import Mode

CANDIDATES = 300  # passages from each retriever at first: a document has several
SPAN_DEPTH = 5  # passages that count as the evidence of the span metrics
_MOST_CANDIDATES = 4_800


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How to search."""

    mode: Mode = "hybrid"
    reranker: Reranker | None = None  # looks again at the best passages
    rerank_seconds: float = SECONDS
    span_depth: int = SPAN_DEPTH


def evaluate(
    dataset: Path,
    store: Store,
    encoder: Encoder,
    *,
    passage_pieces: int = 128,
    drafts: bool = False,
    limit: int | None = None,
    comparison: Comparison | None = None,
    **how: Any,
) -> dict[str, Any]:
    """Measure search on a case set.

    Args:
        dataset: a BEIR folder, whose rows become one document each and are scored by their best passage; or JSON lines
            that ask of the documents in the store.
        store: for a folder, a library for its corpus alone; what it lacks is indexed first.
        encoder: embeds passages and questions; keyword mode only counts pieces with it.
        passage_pieces: upper limit of a passage with its context.
        drafts: also ask cases that nobody accepted yet.
        limit: ask only so many questions, the first ones.
        comparison: with what, and what to keep.
        **how: the fields of ``How``.

    Returns:
        What ``summary`` gives of the run, and ``against`` and ``baseline`` where a comparison asks for them.

    Raises:
        UsageError: the cases or a saved run are malformed, nothing can be measured, or the store holds other documents
            than the corpus.
        ExtraMissing: the metrics library is not installed.
    """
    cases, chosen, comparison = load_cases(dataset), How(**how), comparison or Comparison()
    comparison.check()
    other = comparison.mode
    embed = chosen.mode != "keyword" or other in ("hybrid", "vector")
    question_metrics({"q": {"d": 1}}, {"q": ["d"]})  # a missing library is better known before hours of indexing
    start = time.perf_counter()
    if cases.dataset is not None:
        index_corpus(cases.dataset, store, encoder, embed=embed, passage_pieces=passage_pieces)
    indexed = {} if cases.dataset is None else {"index_seconds": time.perf_counter() - start}
    task = task_of(cases, store, drafts=drafts, limit=limit)
    run = measure_cases(task, store, encoder, chosen)
    run.facts.update(indexed)
    second = measure_cases(task, store, encoder, replace(chosen, mode=other)) if other else None
    return {**summary(run), **comparison.conclude(run, second)}


def measure_cases(task: Task, store: Store, encoder: Encoder, how: How) -> Run:
    """Ask every question of a task, and measure each.

    The run has the retrieval metrics of all questions, and ``span_recall@K``, ``span_precision@K`` and ``span_iou@K``
    of the best K passages for those whose gold spans are known.
    """
    asker = _Asker(store, encoder, how, task.named)
    rankings, evidence = {}, {}
    asker.ask("warm up")  # indexes and models load before the clock runs
    asker.seconds, asker.stopped = 0.0, 0
    for name, text in task.questions.items():
        places = asker.ask(text) if text.strip() else []
        rankings[name] = list(dict.fromkeys(place[0] for place in places))[:DEPTH]
        evidence[name] = places[: how.span_depth]
    stats = store.stats()
    facts = {
        "dataset": task.name,
        "mode": how.mode,
        "documents": stats.documents,
        "passages": stats.passages,
        "queries": len(task.questions),
        "queries_per_second": len(task.questions) / max(asker.seconds, 1e-9),
        "encoder": encoder.fingerprint,
        "analyzer": ANALYZER,
        "reranker": how.reranker.name if how.reranker else None,
        "rerank_stopped": asker.stopped,
        "unmeasured": task.problems,
    }
    figures = question_metrics(task.judgements, rankings) | _span_metrics(evidence, task.gold, how.span_depth)
    return Run(f"{task.name} {how.mode}", figures, facts)


def summary(run: Run) -> dict[str, Any]:
    """Put a run into one table: what it is of, the mean of each metric, other facts, and 95 % intervals of the means.

    ``queries_per_second`` is one after the other, until 100 documents are ranked; ``rerank_stopped`` counts questions
    for which the reranker ran out of time; ``unmeasured`` says what could not be measured, and why.
    """
    first = ("dataset", "mode", "documents", "passages", "queries")
    rest = {name: value for name, value in run.facts.items() if name not in first}
    bounds = {metric: list(bound) for metric, bound in intervals(run.figures).items()}
    return {**{name: run.facts[name] for name in first}, **run.means, **rest, "intervals": bounds}


def _span_metrics(
    evidence: Mapping[str, list[Place]], gold: Mapping[str, list[Place]], depth: int
) -> dict[str, dict[str, float]]:
    """Measure the evidence of the questions whose gold spans are known; {} when there is none."""
    scores = {name: span_scores(evidence[name], places) for name, places in gold.items()}
    if not scores:
        return {}
    kinds = ("recall", "precision", "iou")
    return {f"span_{kind}@{depth}": {name: getattr(one, kind) for name, one in scores.items()} for kind in kinds}


class _Asker:
    """Asks one question after the other."""

    def __init__(self, store: Store, encoder: Encoder, how: How, named: Callable[[str], str]) -> None:
        self.store, self.encoder, self.how, self.named = store, encoder, how, named
        self.seconds = 0.0  # that searching took
        self.stopped = 0  # questions for which the reranker ran out of time
        self._places: dict[int, Place] = {}  # of passage keys

    def ask(self, question: str) -> list[Place]:
        """Give passages, best first, with enough of them for ``DEPTH`` documents if there are so many."""
        head = self._reranked(question) if self.how.reranker else []
        candidates = CANDIDATES
        while True:
            start = time.perf_counter()
            ranking = rank(question, store=self.store, encoder=self.encoder, mode=self.how.mode, candidates=candidates)
            self.seconds += time.perf_counter() - start
            keys = list(dict.fromkeys([*head, *(candidate.key for candidate in ranking.order)]))
            places = self._placed(keys)
            candidates *= 2
            enough = len({source for source, _, _ in places}) >= DEPTH or 2 * len(ranking.order) < candidates
            if enough or candidates > _MOST_CANDIDATES:
                return places

    def _reranked(self, question: str) -> list[int]:
        """Give the keys of the best passages in the order that a search with the reranker shows."""
        start = time.perf_counter()
        hits, trace = search(
            question,
            store=self.store,
            encoder=self.encoder,
            mode=self.how.mode,
            limit=WINDOW,
            reranker=self.how.reranker,
            rerank_seconds=self.how.rerank_seconds,
        )
        self.seconds += time.perf_counter() - start
        self.stopped += any("stopped" in stage.detail for stage in trace.stages if stage.name == "rerank")
        return [hit.passage.key for hit in hits]

    def _placed(self, keys: list[int]) -> list[Place]:
        """Look up where passages stand; one that is gone is left out."""
        unknown = [key for key in keys if key not in self._places]
        for key, passage in self.store.passages(unknown).items() if unknown else ():
            self._places[key] = (self.named(passage.uri), passage.start, passage.end)
        return [self._places[key] for key in keys if key in self._places]
