"""Choose evidence: the sentences that speak to the question, as verbatim spans within a token budget.

A small model reads better from a few sentences than from whole passages, and a person does too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pincite.find.distinct import Seen
from pincite.generate.instruction import instructions
from pincite.generate.relevance import Terms, coverage, encode_within
from pincite.generate.score import features, scores
from pincite.models.protocols import Encoder
from pincite.text import sentences as sentence_spans
from pincite.types import Evidence, EvidenceSet, Hit, Passage

_FLOOR = 0.5  # of the best score: below it, a sentence is not evidence
_ITEM_TOKENS = 8  # delimiters and number around one item of the prompt


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a hit with its relevance to the question; offsets are the document's."""

    passage: Passage
    start: int
    end: int
    text: str  # == document.text[start:end]
    terms: frozenset[str]
    score: float  # higher is better
    cosine: float  # -1 to 1; 0 without an encoder
    coverage: float  # of the question's terms, 0 to 1
    instruction: bool = False  # to a language model: no evidence; its score is 0


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The sentences of all hits against one question, best first."""

    question: str
    terms: tuple[str, ...]  # content terms of the question
    sentences: tuple[Sentence, ...]  # by (-score, passage key, start)
    vector: NDArray[np.float32] | None  # of the question: (dimension,); None without an encoder
    vectors: NDArray[np.float32] | None  # row i belongs to sentences[i]: (sentences, dimension)

    def only(self, wanted: Callable[[Sentence], bool]) -> Ranking:
        """Leave out the sentences that are not wanted."""
        kept = [i for i, sentence in enumerate(self.sentences) if wanted(sentence)]
        vectors = None if self.vectors is None else self.vectors[np.array(kept, dtype=np.int64)]
        return replace(self, sentences=tuple(self.sentences[i] for i in kept), vectors=vectors)


def choose_evidence(
    question: str,
    hits: Sequence[Hit],
    *,
    encoder: Encoder | None,
    budget_tokens: int,
    count: Callable[[str], int],
    terms: Terms | None = None,
    limit: int = 12,
) -> EvidenceSet:
    """Choose the sentences of the hits that speak to the question: ``rank_sentences``, then ``pack``."""
    ranking = rank_sentences(question, hits, encoder=encoder, terms=terms or Terms())
    return pack(ranking, budget_tokens=budget_tokens, count=count, limit=limit)


def rank_sentences(question: str, hits: Sequence[Hit], *, encoder: Encoder | None, terms: Terms) -> Ranking:
    """Score every sentence of the hits by the features of ``generate.score``; without an encoder the cosine is 0.

    A sentence that only asks or only names its topic (a heading) is halved: it is no evidence by itself. One that tells
    a language model what to do gets 0: it is no evidence at all, so it reaches neither the prompt nor an answer.
    """
    asked = tuple(terms.wanted(question))
    found = [sentence for hit in hits for sentence in _sentences(hit.passage, terms)]
    vectors = vector = None
    cosines = np.zeros(len(found), dtype=np.float32)
    if encoder is not None:
        encoded = encode_within(encoder, [question, *(sentence.text for sentence in found)])
        vector, vectors = encoded[0], encoded[1:]
        cosines = vectors @ vector
    standing = _standing(hits)
    nearness = {hit.passage.id: hit.scores.get("vector", 0.0) for hit in hits}
    measured = features(
        question,
        asked,
        found,
        cosines=cosines,
        standing=[standing[sentence.passage.id] for sentence in found],
        passages=[nearness[sentence.passage.id] for sentence in found],
        follows=[i > 0 and _follows(found[i - 1], sentence) for i, sentence in enumerate(found)],
    )
    values = scores(measured)
    scored = [
        _scored(s, float(cosine), float(value), asked) for s, cosine, value in zip(found, cosines, values, strict=True)
    ]
    order = sorted(range(len(scored)), key=lambda i: (-scored[i].score, scored[i].passage.key, scored[i].start))
    ordered = tuple(scored[i] for i in order)
    return Ranking(
        question, asked, ordered, vector, None if vectors is None else vectors[np.array(order, dtype=np.int64)]
    )


def _sentences(passage: Passage, terms: Terms) -> list[Sentence]:
    """Cut a passage into sentences without scores."""
    spans = sentence_spans(passage.text)
    texts = [passage.text[start:end] for start, end in spans]
    return [
        Sentence(passage, passage.start + start, passage.start + end, text, terms.found(text), 0, 0, 0, orders)
        for (start, end), text, orders in zip(spans, texts, instructions(texts), strict=True)
    ]


def _standing(hits: Sequence[Hit]) -> dict[str, float]:
    """Scale the hits' scores, whatever their range, to 1 for the best and 0 for the last."""
    scores = [hit.score for hit in hits]
    spread = max(scores, default=0.0) - min(scores, default=0.0)
    return {hit.passage.id: (hit.score - min(scores)) / spread if spread > 0 else 1.0 for hit in hits}


def _follows(before: Sentence, sentence: Sentence) -> bool:
    """Tell whether a sentence may lean on the one before it."""
    return before.passage.id == sentence.passage.id and not before.instruction


def _scored(sentence: Sentence, cosine: float, score: float, asked: tuple[str, ...]) -> Sentence:
    """Give a sentence its score."""
    if sentence.instruction:
        return sentence
    score *= 1.0 if is_statement(sentence.text) else 0.5
    return replace(sentence, score=score, cosine=cosine, coverage=coverage(asked, sentence.terms))


_HEADING = re.compile(r"\s*(#{1,6}\s|[=\-~*^_]{3,}\s*$)")
_WORD = re.compile(r"\w+")


def is_statement(text: str) -> bool:
    """Tell whether a sentence says something: neither a question, nor a heading or other fragment of two words."""
    if text.rstrip().endswith(("?", "？", "؟")) or _HEADING.match(text):
        return False
    return len(_WORD.findall(text)) > 2 or not text.isascii()


def pack(ranking: Ranking, *, budget_tokens: int, count: Callable[[str], int], limit: int = 12) -> EvidenceSet:
    """Keep the best sentences that fit the budget.

    Args:
        ranking: of the hits' sentences.
        budget_tokens: for all items together, with what surrounds each in the prompt.
        count: counts tokens as the generator does.
        limit: of sentences.

    Returns:
        Items by (-score, passage key, start), numbered from 1; adjacent sentences of a passage are one item, near
        duplicates count once. ``dropped`` holds relevant sentences that did not fit, best first.
    """
    chosen: list[Sentence] = []
    dropped: list[Sentence] = []
    tokens = 0
    for sentence in distinct(relevant(ranking)):
        cost = count(sentence.text) + _ITEM_TOKENS
        if len(chosen) < limit and tokens + cost <= budget_tokens:
            chosen.append(sentence)
            tokens += cost
        else:
            dropped.append(sentence)
    items = tuple(_joined(group, number) for number, group in enumerate(_merged(chosen), start=1))
    return EvidenceSet(items, tokens, tuple(_joined([sentence], 0) for sentence in dropped))


def relevant(ranking: Ranking) -> list[Sentence]:
    """Give the sentences whose score is positive and at least half of the best one's."""
    if not ranking.sentences:
        return []
    floor = _FLOOR * ranking.sentences[0].score
    return [sentence for sentence in ranking.sentences if sentence.score > 0 and sentence.score >= floor]


def distinct(sentences: Iterable[Sentence]) -> list[Sentence]:
    """Keep the first of sentences that say the same, as of near duplicates among the hits."""
    seen = Seen()
    return [sentence for sentence in sentences if seen.twin(sentence.text) is None]


def _merged(chosen: Sequence[Sentence]) -> list[list[Sentence]]:
    """Group sentences that follow each other in one passage with nothing but space between."""
    groups: list[list[Sentence]] = []
    for sentence in sorted(chosen, key=lambda s: (s.passage.key, s.start)):
        last = groups[-1][-1] if groups else None
        if last is not None and last.passage.id == sentence.passage.id and _adjoin(last, sentence):
            groups[-1].append(sentence)
        else:
            groups.append([sentence])
    return sorted(groups, key=lambda group: (-max(s.score for s in group), group[0].passage.key, group[0].start))


def _adjoin(left: Sentence, right: Sentence) -> bool:
    """Tell whether only space lies between two sentences of one passage."""
    offset = left.passage.start
    return left.passage.text[left.end - offset : right.start - offset].strip() == ""


def _joined(group: Sequence[Sentence], number: int) -> Evidence:
    """Make sentences that follow each other one item; number 0 is not in the prompt."""
    return evidence(group[0].passage, group[0].start, group[-1].end, max(s.score for s in group), number)


def evidence(passage: Passage, start: int, end: int, score: float, number: int) -> Evidence:
    """Cut a verbatim span, in document offsets, out of a passage."""
    return Evidence(number, passage, start, end, passage.text[start - passage.start : end - passage.start], score)
