"""Index a data set, ask its questions, and measure what was found."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from pincite.find.analyze import ANALYZER
from pincite.find.fuse import WEIGHT, Fusion
from pincite.find.search import rank
from pincite.measure.cases import Dataset, load_dataset
from pincite.measure.corpus import Progress, index_corpus, row_id
from pincite.measure.metrics import DEPTH, retrieval_metrics
from pincite.models.protocols import Encoder
from pincite.store.protocol import Store
from pincite.types import Mode

CANDIDATES = 300  # passages from each retriever at first: a document has several
_MOST_CANDIDATES = 4_800


def evaluate(
    dataset: Path,
    store: Store,
    encoder: Encoder,
    *,
    mode: Mode = "hybrid",
    passage_pieces: int = 128,
    fusion: Fusion = "convex",
    weight: float = WEIGHT,
    progress: Progress | None = None,
) -> dict[str, str | int | float]:
    """Measure search on a BEIR folder: a row is one document, scored by its best passage; only judged questions count.

    Args:
        dataset: the folder.
        store: a library for this corpus alone; what it lacks is indexed first.
        encoder: embeds passages and questions; keyword mode only counts pieces with it.
        mode: how to search.
        passage_pieces: upper limit of a passage with its context.
        fusion: how hybrid mode merges.
        weight: of the cosine, for the convex fusion.
        progress: called with (what, done, in all; 0: not known).

    Returns:
        dataset, mode, documents, passages, queries, ndcg@10, recall@10, recall@100, mrr@10, queries_per_second (one
        after the other, until 100 documents are ranked), index_seconds, encoder, analyzer.

    Raises:
        UsageError: the folder is not a BEIR data set, or the store holds other documents.
        ExtraMissing: the metrics library is not installed.
    """
    cases = load_dataset(dataset)
    retrieval_metrics({"q": {"d": 1}}, {"q": ["d"]})  # a missing library is better known before hours of indexing
    start = time.perf_counter()
    embed = mode != "keyword"
    rows = index_corpus(cases, store, encoder, embed=embed, passage_pieces=passage_pieces, progress=progress)
    indexed = time.perf_counter() - start
    rankings, seconds = _rankings(cases, store, encoder=encoder, mode=mode, fusion=fusion, weight=weight)
    return {
        "dataset": cases.name,
        "mode": mode,
        "documents": rows,
        "passages": store.stats().passages,
        "queries": len(cases.questions),
        **retrieval_metrics(cases.judgements, rankings),
        "queries_per_second": len(cases.questions) / max(seconds, 1e-9),
        "index_seconds": indexed,
        "encoder": encoder.fingerprint,
        "analyzer": ANALYZER,
    }


def _rankings(cases: Dataset, store: Store, **how: Any) -> tuple[dict[str, list[str]], float]:
    """Ask every question: the best documents of each, and the seconds that searching took."""
    how["store"] = store
    rank("warm up", **how)  # indexes and models load before the clock runs
    owners: dict[int, str] = {}  # passage key -> row
    rankings: dict[str, list[str]] = {}
    seconds = 0.0
    for question in cases.questions:
        documents: list[str] = []
        candidates = CANDIDATES
        while question.text.strip() and candidates <= _MOST_CANDIDATES:
            start = time.perf_counter()
            ranking = rank(question.text, candidates=candidates, **how)
            seconds += time.perf_counter() - start
            keys = [candidate.key for candidate in ranking.order]
            documents = _documents(keys, store, owners)
            if len(documents) >= DEPTH or len(keys) < candidates:
                break
            candidates *= 2
        rankings[question.id] = documents[:DEPTH]
    return rankings, seconds


def _documents(keys: list[int], store: Store, owners: dict[int, str]) -> list[str]:
    """Turn passages, best first, into documents by their best passage."""
    unknown = [key for key in keys if key not in owners]
    if unknown:
        owners.update({key: row_id(passage.uri) for key, passage in store.passages(unknown).items()})
    return list(dict.fromkeys(owners[key] for key in keys if key in owners))
