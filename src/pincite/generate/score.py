"""Score sentences against a question: what tells that a sentence holds the answer."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pincite.generate.evidence import Sentence

# Fitted on one collection, measured on the other: bench/quality/context.py, results/context.json.
WEIGHTS = {
    "cosine": 0.5,  # of question and sentence
    "rare": 0.4,  # share of the question's terms that the sentence has, by their rarity
    "near": 0.3,  # the same for the sentence with the one before it, for "it" and "they" point back
    "standing": 0.2,  # of the passage among the hits: 1 for the best, 0 for the last
    "passage": 0.2,  # cosine of question and passage
    "kind": 0.2,  # 1 if the sentence has the kind of thing that is asked for: a date, a number, a name
}
_ASKED = (
    ("date", re.compile(r"\b(when|what (year|date|month|day|century|decade)|which (year|month|day|century|decade))\b")),
    ("number", re.compile(r"\bhow (many|much|old|long|far|tall|large|big|high|often|fast|deep)\b")),
    ("number", re.compile(r"\bwhat (percent|percentage|number|amount|population|proportion)\b")),
    ("name", re.compile(r"\b(who|whose|whom|where)\b")),
    ("name", re.compile(r"\b(what|which) (city|country|state|place|region|town|continent|river)\b")),
)
_DATE = re.compile(
    r"\b\d{3,4}s?\b|\b\d{1,2}(st|nd|rd|th) centur"
    r"|\b(January|February|March|April|May|June|July|August|September|October|November|December)\b"
)
_NUMBER = re.compile(r"\d[\d.,]*")
_NUMERAL = re.compile(
    r"\b(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|billion|half|"
    r"third|quarter|percent|once|twice)\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]+\b")


def features(
    question: str,
    asked: Sequence[str],
    sentences: Sequence[Sentence],
    *,
    cosines: NDArray[np.float32],
    standing: Sequence[float],
    passages: Sequence[float],
    follows: Sequence[bool],
) -> NDArray[np.float64]:
    """Measure every sentence.

    Args:
        question: any text.
        asked: its distinct terms.
        sentences: in the order of their passages and in the order of the text.
        cosines: of the question and each sentence; zeros without an encoder.
        standing: of each sentence's passage.
        passages: cosine of each sentence's passage; 0 where it is not known.
        follows: whether a sentence has the one before it in the list before it in the text.

    Returns:
        A row for each sentence, a column for each of ``WEIGHTS``: cosines from -1 to 1, all others from 0 to 1.
    """
    rarity, kind, words = _rarity(asked, sentences), kind_asked(question), words_of(question)
    whole = sum(rarity.values()) or 1.0
    rows = []
    for index, sentence in enumerate(sentences):
        before = sentences[index - 1].terms if follows[index] else frozenset()
        rare = sum(value for term, value in rarity.items() if term in sentence.terms)
        near = sum(value for term, value in rarity.items() if term in sentence.terms or term in before)
        kind_there = has_kind(kind, words, sentence.text)
        rows.append((cosines[index], rare / whole, near / whole, standing[index], passages[index], kind_there))
    return np.array(rows, dtype=np.float64).reshape(len(sentences), len(WEIGHTS))


def scores(measured: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weigh the columns of ``features``: (sentences,)."""
    weighed: NDArray[np.float64] = measured @ np.array(list(WEIGHTS.values()))
    return weighed


def kind_asked(question: str) -> str:
    """Tell what an English question asks for: "date", "number", "name", or "" when its words do not say."""
    lowered = question.lower()
    return next((kind for kind, pattern in _ASKED if pattern.search(lowered)), "")


def words_of(text: str) -> frozenset[str]:
    """Give the words and numbers of a text in small letters."""
    return frozenset(re.findall(r"\w(?:[\w.,]*\w)?", text.lower()))


def has_kind(kind: str, words: frozenset[str], text: str) -> bool:
    """Tell whether a text has something of that kind that is not among the question's own words."""
    if kind == "date":
        return bool(_DATE.search(text))
    if kind == "number":
        return bool(_NUMERAL.search(text)) or _has_new(_NUMBER, words, text)
    return kind == "name" and _has_new(_NAME, words, text)


def _has_new(pattern: re.Pattern[str], words: frozenset[str], text: str) -> bool:
    """Tell whether a text has a match that is not among the words."""
    return any(match[0].rstrip(".,").lower() not in words for match in pattern.finditer(text))


def _rarity(asked: Sequence[str], sentences: Sequence[Sentence]) -> dict[str, float]:
    """Weigh each term by how few of the sentences have it: the inverse document frequency of BM25."""
    count = len(sentences)
    having = {term: sum(term in sentence.terms for sentence in sentences) for term in asked}
    return {term: math.log(1 + (count - n + 0.5) / (n + 0.5)) for term, n in having.items()}
