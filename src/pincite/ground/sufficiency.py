"""Decide, outside the language model, whether the documents answer the question at all.

Models of every size answer from insufficient context (Joren et al. 2024, arXiv:2411.06037); so the gate is a small
calibrated regression over what retrieval already knows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from pincite.generate.evidence import Ranking, Sentence
from pincite.generate.relevance import Terms, coverage
from pincite.ground import facts
from pincite.ground.verify import calibration, logistic
from pincite.types import Hit, Outcome

_READ = 3  # hits whose passages must hold what the question names


@dataclass(frozen=True, slots=True)
class Sufficiency:
    """What the gate decided, and why."""

    outcome: Outcome
    score: float  # calibrated chance that the documents answer, 0 to 1
    missing: tuple[str, ...] = ()  # words of the question that no evidence holds, as written
    reasons: tuple[str, ...] = ()  # in words


def judge(
    question: str, hits: Sequence[Hit], ranking: Ranking, *, terms: Terms, strictness: float = 0.5
) -> Sufficiency:
    """Decide whether the hits answer the question.

    Args:
        question: as asked.
        hits: best first.
        ranking: of the hits' sentences.
        terms: gives content terms.
        strictness: 0 answers whatever was found, 0.5 is the calibrated threshold (at most one in ten answerable
            questions is refused on the development sets), 1 refuses everything.

    Returns:
        The outcome; "partial" when the documents hold some of what the question names, and not the rest.
    """
    if not ranking.sentences:
        return Sufficiency("not_in_documents", 0.0, (), ("the search found no passage",))
    kind = "hybrid" if ranking.vector is not None else "keyword"
    weights = calibration()["sufficiency"][kind]
    score = logistic(weights, features(question, hits, ranking, terms=terms))
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
    """Give the question's content words, as written, that none of the best passages holds."""
    found = frozenset(term for hit in hits[:_READ] for term in terms.found(hit.passage.searched))
    asked = set(terms.wanted(question))
    missing = []
    for word in re.findall(r"[^\s?!,;:()\"“”«»]+", question):
        wanted = set(terms.wanted(word)) & asked
        if wanted and not found.intersection(wanted):
            missing.append(word.strip(".'’"))
    return tuple(dict.fromkeys(missing))


def features(question: str, hits: Sequence[Hit], ranking: Ranking, *, terms: Terms) -> dict[str, float]:
    """Measure what retrieval knows; each about 0 to 1."""
    best = ranking.sentences[:10]
    read = [terms.found(hit.passage.searched) for hit in hits[:_READ]]
    union = frozenset().union(*read)
    cosines = sorted((sentence.cosine for sentence in ranking.sentences), reverse=True)
    return {
        "cosine": cosines[0],
        "margin": cosines[0] - sum(cosines[:10]) / len(cosines[:10]),
        "sentence": max(sentence.coverage for sentence in best),
        "passage": max((coverage(ranking.terms, found) for found in read), default=0.0),
        "union": coverage(ranking.terms, union),
        "unnamed": _unnamed(question, hits),
        "agree": _agreement(hits),
        "type": answer_type_present(question, best[:3]),
        "asked": min(10, len(ranking.terms)) / 10,
    }


def _unnamed(question: str, hits: Sequence[Hit]) -> float:
    """Give the share of the question's names and numbers that the best passages do not hold; 0 when it has none."""
    known = {word for hit in hits[:_READ] for word in facts.words(hit.passage.searched)}
    stems = {word.rstrip("s") for word in known}
    wanted = [part for name in facts.names(question) for part in facts.words(name)] + re.findall(r"\d+", question)
    return sum(part not in known and part.rstrip("s") not in stems for part in wanted) / len(wanted) if wanted else 0.0


def _agreement(hits: Sequence[Hit]) -> float:
    """Tell whether both searches put the same hit first: 1 yes, 0 no, 0.5 when only one ran."""
    first = [max(hits, key=lambda hit: hit.scores.get(name, -1.0)) for name in ("vector", "keyword")]
    ran = [any(name in hit.scores for hit in hits) for name in ("vector", "keyword")]
    return float(first[0] is first[1]) if all(ran) else 0.5


_TYPES = [
    (re.compile(r"\b(when|what year|which year|what date|what day|what month|what century)\b", re.I), "date"),
    (
        re.compile(
            r"\b(how (many|much|long|old|far|tall|high|large|big|often|fast)|what (percentage|number|amount))\b", re.I
        ),
        "number",
    ),
    (re.compile(r"\b(who|whom|whose|where|which (country|city|state|person|company))\b", re.I), "name"),
]


def answer_type_present(question: str, best: Sequence[Sentence]) -> float:
    """Tell whether the best sentences hold what the question asks for: 1 yes, 0 no, 0.5 when any text may answer.

    A name or number that the question itself gives does not count.
    """
    kind = next((name for pattern, name in _TYPES if pattern.search(question)), "")
    if not kind:
        return 0.5
    given = set(facts.words(question))
    for sentence in islice(best, 3):
        if kind == "name":
            new = [name for name in facts.names(sentence.text) if not set(facts.words(name)) <= given]
        else:
            new = [q.text for q in facts.quantities(sentence.text) if q.text not in given]
        if new:
            return 1.0
    return 0.0
