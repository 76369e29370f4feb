"""BM25 over the documents that a reader may see, as if there were no others: in candidates, statistics and scores.

The index scores with the statistics of all that it holds, so that a score would tell of hidden documents. Here the
postings of each term are taken out of the index once, and scored anew with what is counted over the shown part.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pincite.store.derived.beside import K1, REPEATED, Analysed, B, Row, idf, quantised, rounded
from pincite.store.derived.exact import among
from pincite.store.derived.segments import Segments

Keys = NDArray[np.int64]

KEPT = 2_000_000  # postings held in memory, 8 bytes each
TIE = 2e-5  # relative: two scores that are closer may be equal once they are rounded to 5 digits


@dataclass(frozen=True, slots=True)
class Part:
    """Passages, shape (n,) each; those of an index ascend by key."""

    keys: Keys
    documents: Keys
    lengths: Keys  # tokens

    def scored_lengths(self) -> NDArray[np.float64]:
        """Give the lengths as BM25 sees them: rounded down to what one byte says."""
        known, places = np.unique(self.lengths, return_inverse=True)
        return np.array([quantised(int(length)) for length in known], dtype=np.float64)[places]


class Postings:
    """The postings of one state of an index, taken out as they are needed."""

    def __init__(self, segments: Segments | None) -> None:
        """Take out nothing yet; None: there is no index."""
        self._segments = segments
        self.searcher = None if segments is None else segments.searcher
        self._part: Part | None = None
        self._norm_lengths: NDArray[np.float64] = np.empty(0)
        self._taken: OrderedDict[str, tuple[NDArray[np.int32], NDArray[np.int32]]] = OrderedDict()
        self._held = 0
        self._lock = threading.Lock()

    def part(self) -> tuple[Part, NDArray[np.float64]]:
        """Give all passages of the index, and their lengths as BM25 sees them."""
        with self._lock:
            if self._part is None:
                columns = (
                    (np.empty(0, np.int64),) * 3 if self._segments is None else self._segments.columns(self.searcher)
                )
                self._part = Part(*columns)
                self._norm_lengths = self._part.scored_lengths()
            return self._part, self._norm_lengths

    def of(self, token: str) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Give the places in ``part`` of the passages that hold a token, and how often they do: (m,) each."""
        part, lengths = self.part()
        with self._lock:
            found = self._taken.pop(token, None)
            if found is None:
                found = self._take(token, part, lengths)
                self._held += len(found[0])
            self._taken[token] = found
            while self._held > KEPT and len(self._taken) > 1:
                self._held -= len(self._taken.popitem(last=False)[1][0])
        return found

    def _take(
        self, token: str, part: Part, lengths: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Work the counts out of the index's scores: it gives a score for each passage, and only there is the count."""
        statistics = None if self._segments is None else self._segments.statistics([token], self.searcher)
        if self._segments is None or statistics is None:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        keys, scores = self._segments.scores(self.searcher, token, statistics.frequencies[token])
        places = np.searchsorted(part.keys, keys)
        share = scores / ((K1 + 1) * idf(statistics.frequencies[token], statistics.documents))  # count / (count + norm)
        norms = K1 * (1 - B + B * lengths[places] / statistics.average)
        return places.astype(np.int32), np.rint(norms * share / (1 - share)).astype(np.int32)


def search_shown(
    postings: Postings,
    tokens: Sequence[str],
    limit: int,
    *,
    shown: Keys,
    documents: Keys,
    beside: Sequence[Analysed],
    skip: frozenset[int],
) -> list[Row]:
    """Score the shown passages with the statistics of the shown passages.

    Args:
        postings: of the index.
        tokens: of the query, sorted; repeats add up.
        limit: how many to give, at least 1; more are given that may tie.
        shown: keys of the documents that there are for the reader, ascending.
        documents: keys of those that may be given, ascending.
        beside: passages that the index does not hold yet.
        skip: keys of passages of the index that do not count.

    Returns:
        (score, key), in any order; a score is rounded to 5 significant digits.
    """
    part, lengths = postings.part()
    fresh = _part_of(beside, shown)
    inside = among(shown, part.documents)
    if skip:
        inside &= ~np.isin(part.keys, np.fromiter(skip, np.int64, len(skip)))
    known = {passage.key: passage for passage in beside}
    count = int(inside.sum()) + len(fresh.keys)
    average = (int(part.lengths[inside].sum()) + int(fresh.lengths.sum())) / max(1, count)
    both = np.concatenate([lengths, fresh.scored_lengths()])
    norms = K1 * (1 - B + B * both / max(average, 1e-9))
    scores = np.zeros(len(both))
    for token, times in Counter(tokens).items():
        places, counts = postings.of(token)
        of_fresh = np.array([known[key].counts.get(token, 0) for key in fresh.keys.tolist()], dtype=np.int32)
        holding = np.flatnonzero(of_fresh)
        kept = inside[places]
        at = np.concatenate([places[kept], len(lengths) + holding])
        often = np.concatenate([counts[kept], of_fresh[holding]])
        weight = times**REPEATED * (K1 + 1) * idf(len(at), count)
        scores[at] += weight * often / (often + norms[at])
    allowed = among(documents, np.concatenate([part.documents, fresh.documents]))
    return _best(np.concatenate([part.keys, fresh.keys]), np.where(allowed, scores, 0.0), limit)


def _part_of(passages: Sequence[Analysed], shown: Keys) -> Part:
    """Lay out those of the passages that are shown."""
    rows = [(passage.key, passage.document_key, len(passage.tokens)) for passage in passages]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return Part(*table[among(shown, table[:, 1])].T)


def _best(keys: Keys, scores: NDArray[np.float64], limit: int) -> list[Row]:
    """Give the best, with all that tie with the last of them."""
    found = np.flatnonzero(scores)
    if len(found) > limit:
        cut = np.partition(scores[found], len(found) - limit)[len(found) - limit]
        found = found[scores[found] >= cut * (1 - TIE)]
    return [(rounded(value), key) for value, key in zip(scores[found].tolist(), keys[found].tolist(), strict=True)]
