"""Tie a claim to the exact spans that carry it, and check that every quote is where it says."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pincite.generate.evidence import Sentence
from pincite.generate.relevance import Terms, coverage
from pincite.ground import facts
from pincite.text import line_of, line_starts
from pincite.types import Citation, Finding, Passage

_COSINE_WEIGHT = 0.5  # lexical overlap and meaning count alike; without an encoder only overlap counts
_HINT = 0.1  # what a marker in the text adds for the passage it names: it breaks ties, it proves nothing
_GAIN = 0.15  # of the claim's terms that a further span must add to be cited too
_FACT = 0.15  # what it counts more if it adds a number or a name of the claim's
_SPANS = 4  # a fact of the claim often stands in another sentence; a fifth span changed no verdict for the better
_AROUND = 12


@dataclass(frozen=True, slots=True)
class Alignment:
    """The spans that carry a claim best, best first; none when nothing is near."""

    spans: tuple[Sentence, ...]
    cosine: float  # of the claim and the nearest span, -1 to 1; 0 without an encoder
    nearby: float  # share of the claim's terms in the dozen sentences that have most of them, cited or not, 0 to 1


def align(
    claim: str,
    spans: Sequence[Sentence],
    *,
    terms: Terms,
    vector: NDArray[np.float32] | None = None,
    vectors: NDArray[np.float32] | None = None,
    hinted: Collection[str] = (),
) -> Alignment:
    """Find the one to four spans that carry a claim.

    Args:
        claim: its text without markers.
        spans: sentences of the evidence.
        terms: gives content terms.
        vector: of the claim, (dimension,); None without an encoder.
        vectors: of the spans, (spans, dimension).
        hinted: ids of passages that the claim's own markers name.

    Returns:
        Best span first; a further one only when it carries terms that the others do not, numbers and names
        first. Ties go to the earlier span in the order given.
    """
    wanted = frozenset(terms.wanted(claim))
    if not spans:
        return Alignment((), 0.0, 0.0)
    cosines = vectors @ vector if vectors is not None and vector is not None else None
    overlaps = np.array([coverage(wanted, span.terms) for span in spans])
    scores = overlaps if cosines is None else _COSINE_WEIGHT * cosines + (1 - _COSINE_WEIGHT) * overlaps
    scores = scores + [_HINT * (span.passage.id in hinted) for span in spans]
    best = int(np.argmax(scores))
    near = 0.0 if cosines is None else float(cosines[best])
    if overlaps[best] == 0 and near < 0.3:
        return Alignment((), near, 0.0)
    around = [spans[i].terms for i in np.argsort(-overlaps, kind="stable")[:_AROUND]]
    chosen = [spans[best]]
    covered = spans[best].terms
    hard = wanted & terms.found(" ".join(facts.hard(claim)))
    while len(chosen) < _SPANS and wanted:
        gains = np.array([_gain(span.terms, covered, wanted, hard) for span in spans])
        following = int(np.argmax(gains + 1e-3 * scores))
        if gains[following] < _GAIN:
            break
        chosen.append(spans[following])
        covered |= spans[following].terms
    return Alignment(tuple(chosen), near, coverage(wanted, frozenset().union(*around)))


def _gain(terms: frozenset[str], covered: frozenset[str], wanted: frozenset[str], hard: frozenset[str]) -> float:
    """Give what a span adds to those chosen, as a share of the claim; a fact counts if more of the claim is there."""
    new = (terms - covered) & wanted
    return len(new) / len(wanted) + _FACT * bool(new & hard and len(terms & wanted) > 1)


def make_citation(number: int, passage: Passage, start: int, end: int) -> Citation:
    """Cite a span, in document offsets, of a passage."""
    first, last = start - passage.start, end - passage.start
    lines = line_starts(passage.text)
    line = line_of(lines, first)
    column = first - int(lines[line - 1]) + 1 if line > 1 else passage.column_from and passage.column_from + first
    return Citation(
        number=number,
        passage_id=passage.id,
        uri=passage.uri,
        version=passage.version,
        start=start,
        end=end,
        quote=passage.text[first:last],
        title=passage.title,
        page=passage.page_from,
        heading_path=passage.heading_path,
        line_from=passage.line_from + line - 1,
        line_to=passage.line_from + line_of(lines, max(first, last - 1)) - 1,
        column_from=column,
    )


def check_citation(citation: Citation, text: str) -> Finding | None:
    """Compare a quote with the canonical text of the version it cites; None when they are equal."""
    if text[citation.start : citation.end] == citation.quote and citation.quote:
        return None
    return Finding(
        "citation_unresolved",
        f"Quote {citation.number} is not at {citation.uri} version {citation.version}, "
        f"characters {citation.start} to {citation.end}.",
        "Do not rely on that quote; run `pincite doctor` and add the document again.",
    )
