"""BM25 of passages that the keyword index does not hold yet, with the formula and the statistics of the index."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from pincite.store.derived.truth import Searched

Analyze = Callable[[str, str], list[str]]  # (text, language) -> terms
Row = tuple[float, int]  # (score, key)

K1 = 1.2  # term saturation; fixed in tantivy
B = 0.75  # length normalisation; fixed in tantivy
REPEATED = 0.75  # a term that the query has n times counts n ** 0.75: docs/why/retrieval.md
DIGITS = 5  # significant ones of a score
TOKEN_BYTES = 1000  # tantivy drops tokens of 65,530 bytes and more


@dataclass(frozen=True, slots=True)
class Analysed:
    """A passage as terms."""

    key: int
    document_key: int
    tokens: tuple[str, ...]  # in order, with repeats
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What BM25 knows of a collection."""

    documents: float
    average: float  # tokens a document
    frequencies: Mapping[str, int]  # token -> documents that hold it; those that none holds may be absent


def token(term: str) -> str:
    """Write a term so that a whitespace tokenizer keeps it whole: as it is, or its hash where that could not be."""
    if term.isalnum() and len(term) <= TOKEN_BYTES // 4:
        return term  # at once: all but a few
    data = term.encode("utf-8", "surrogatepass")
    if len(data) <= TOKEN_BYTES and "\0" not in term and term.split() == [term]:
        try:
            data.decode()
        except UnicodeDecodeError:
            pass  # a lone surrogate
        else:
            return term
    return "\x01" + blake2b(data, digest_size=16).hexdigest()


def analysed(passage: Searched, analyze: Analyze) -> Analysed:
    """Turn a passage into tokens; empty terms are left out."""
    tokens = tuple(token(term) for term in analyze(passage.text, passage.language) if term)
    return Analysed(passage.key, passage.document_key, tokens, Counter(tokens))


def statistics_of(passages: Collection[Analysed]) -> Statistics:
    """Count a whole collection, for when there is no index to take the numbers from."""
    frequencies = Counter(token for passage in passages for token in passage.counts)
    average = sum(len(passage.tokens) for passage in passages) / max(1, len(passages))
    return Statistics(len(passages), average, frequencies)


def score(
    passages: Iterable[Analysed], tokens: Sequence[str], statistics: Statistics, documents: Collection[int] | None
) -> list[Row]:
    """Score passages by BM25 as tantivy does: Robertson and Zaragoza (2009) with Lucene's idf, factor k1 + 1 kept.

    Args:
        passages: to be scored.
        tokens: of the query; repeats add up.
        statistics: of the collection.
        documents: keys of the documents that may be given; None: all.

    Returns:
        (score, key) of each passage that holds a token, in the order of the passages.
    """
    weights = {
        token: times**REPEATED * (K1 + 1) * idf(statistics.frequencies.get(token, 0), statistics.documents)
        for token, times in Counter(tokens).items()
    }
    rows = []
    for passage in passages:
        if documents is not None and passage.document_key not in documents:
            continue
        norm = K1 * (1 - B + B * quantised(len(passage.tokens)) / max(statistics.average, 1e-9))
        counts = ((weight, passage.counts[token]) for token, weight in weights.items() if token in passage.counts)
        parts = [weight * count / (count + norm) for weight, count in counts]
        if parts:
            rows.append((rounded(sum(parts)), passage.key))
    return rows


def rounded(value: float) -> float:
    """Round to 5 significant digits: float32 sums in another order then give the same score, and the key decides."""
    return float(f"{value:.{DIGITS}g}")


def quantised(length: int) -> int:
    """Round a length down to what one byte can say, as Lucene's SmallFloat.intToByte4 and tantivy's fieldnorms do."""
    rest = length - 24
    if rest < 16:
        return length
    shift = rest.bit_length() - 4
    return 24 + (rest >> shift << shift)


def idf(frequency: int, documents: float) -> float:
    """Weigh a token by how few of the documents hold it."""
    return math.log1p((max(documents - frequency, 0.0) + 0.5) / (frequency + 0.5))
