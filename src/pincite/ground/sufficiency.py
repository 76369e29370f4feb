"""Decide, outside the language model, whether the documents answer the question at all.

Models of every size answer from insufficient context (Joren et al. 2024, arXiv:2411.06037); so the gate is a small
calibrated regression over what retrieval already knows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.generate.evidence import Ranking
from pincite.generate.relevance import Terms, coverage
from pincite.ground.verify import calibration, logistic
from pincite.types import Hit, Outcome

_COMPARED = 10  # sentences
_READ = 3  # hits whose passages must hold what the question names
# Words that carry a question and name nothing: a passage that answers need not have them. English.
_CARRYING = (
    "call called cause describe difference explain find get getting give given go happen happens kind know make makes "
    "making mean means need needs say says sure take takes tell type use used uses want way work works"
)
_CARRIERS = frozenset(_CARRYING.split())


@dataclass(frozen=True, slots=True)
class Sufficiency:
    """What the gate decided, and why."""

    outcome: Outcome
    score: float  # calibrated chance that the documents answer, 0 to 1
    missing: tuple[str, ...] = ()  # words of the question that no evidence holds, as written
    reasons: tuple[str, ...] = ()  # in words


def judge(
    question: str,
    hits: Sequence[Hit],
    ranking: Ranking,
    *,
    terms: Terms,
    strictness: float = 0.5,
    cosines: bool = True,
) -> Sufficiency:
    """Decide whether the hits answer the question.

    Args:
        question: as asked.
        hits: best first.
        ranking: of the hits' sentences.
        terms: gives content terms.
        strictness: 0 answers whatever was found, 0.5 is the calibrated threshold (of 100 answerable questions of
            the development sets, 7 are refused), 1 refuses everything.
        cosines: False when those of the ranking are not of the encoder that the gate is calibrated for.

    Returns:
        The outcome; "partial" when the documents hold some of what the question names, and not the rest.
    """
    if not ranking.sentences:
        return Sufficiency("not_in_documents", 0.0, (), ("the search found no passage",))
    kind = "hybrid" if ranking.vector is not None and cosines else "keyword"
    weights = calibration()["sufficiency"][kind]
    score = logistic(weights, features(hits, ranking, terms=terms))
    missing = missing_words(question, hits, terms)
    refuse = _shifted(weights["refuse"], strictness)
    if score < refuse:
        return Sufficiency("not_in_documents", score, missing, _reasons(missing, ranking))
    if missing and score < _shifted(weights["partial"], strictness):
        return Sufficiency("partial", score, missing, _reasons(missing, ranking))
    return Sufficiency("answered", score, missing)


def _shifted(threshold: float, strictness: float) -> float:
    """Move a threshold to 0 at strictness 0 and beyond 1 at strictness 1, through itself at 0.5."""
    if strictness <= 0.5:
        return threshold * 2 * strictness
    return threshold + (1.001 - threshold) * 2 * (strictness - 0.5)


def _reasons(missing: Sequence[str], ranking: Ranking) -> tuple[str, ...]:
    """Say why in words."""
    best = ranking.sentences[0]
    covered = f"the nearest sentence has {round(100 * best.coverage)} % of the question's words"
    return (f"no passage found mentions {', '.join(missing)}", covered) if missing else (covered,)


def missing_words(question: str, hits: Sequence[Hit], terms: Terms) -> tuple[str, ...]:
    """Give the question's words, as written, that name something which none of the best passages holds."""
    found = frozenset(term for hit in hits[:_READ] for term in terms.found(hit.passage.searched))
    asked = set(terms.wanted(question))
    missing = []
    for word in re.findall(r"[^\s?!,;:()\"“”«»]+", question):
        wanted = set(terms.wanted(word)) & asked
        if wanted and not found.intersection(wanted) and word.strip(".'’").lower() not in _CARRIERS:
            missing.append(word.strip(".'’"))
    return tuple(dict.fromkeys(missing))


def features(hits: Sequence[Hit], ranking: Ranking, *, terms: Terms) -> dict[str, float]:
    """Measure what retrieval knows; each is higher for answerable questions, and about 0 to 1.

    ``margin`` compares the best sentence with the mean of ten, as if a small library had more that say nothing.
    Tried, and of no more use beside these: names and numbers of the question that no passage has, the type of answer
    that it asks for, how many terms it has.
    """
    cosines = sorted((sentence.cosine for sentence in ranking.sentences), reverse=True)[:_COMPARED]
    return {
        "cosine": cosines[0],
        "margin": cosines[0] - sum(cosines) / _COMPARED,
        "sentence": max(sentence.coverage for sentence in ranking.sentences[:_COMPARED]),
        "passage": max(coverage(ranking.terms, terms.found(hit.passage.searched)) for hit in hits[:_READ]),
        "agree": _agreement(hits),
    }


def _agreement(hits: Sequence[Hit]) -> float:
    """Tell whether both searches put the same hit first: 1 yes, 0 no, 0.5 when only one ran."""
    first = [max(hits, key=lambda hit: hit.scores.get(name, -1.0)) for name in ("vector", "keyword")]
    ran = [any(name in hit.scores for hit in hits) for name in ("vector", "keyword")]
    return float(first[0] is first[1]) if all(ran) else 0.5
