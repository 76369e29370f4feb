"""A follow-up question is searched together with what it leaves unsaid: the turns before it, at lower weights.

No model rewrites the question, so nothing is invented: the past only adds to its vector and to its keyword scores.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pincite.find.analyze import analyze_query
from pincite.find.fuse import ranked
from pincite.types import Candidate, Scalar, Stage, Turn

# Chosen leaving one domain of MTRAG-UN out, on a wide plateau: bench/quality/results/followups.json
PREVIOUS = 0.4  # weight of the person's last turn beside 1 for the question; the turn before has its square
ANSWER_VECTOR, ANSWER_TERMS = 0.1, 0.2  # weights of the last answer
ALONE = 0.5  # factor on all of these for a question that seems to stand alone: it may turn to another topic
TURNS = 2  # of the person that count; those before hardly ever matter
FEW = 3  # content terms; a question with no more hardly stands alone
ANSWER_MOST = 32  # terms of the last answer; the first ones count

# Words that point back, or that join a question to the last one. English; in other languages few terms tell.
_POINTING = re.compile(
    r"\b(it|its|they|them|their|this|that|these|those|he|she|his|her|him|there|ones?|same|such|others?|another|else|"
    r"more|former|latter|above|mentioned|so|also|too|then)\b"
    r"|^\W*(and|or|but|what about|how about|why|how come|really|ok|okay|yes|no)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\s*\[\d+\]")  # of a citation in an answer


@dataclass(frozen=True, slots=True)
class Part:
    """A text of the past with its weights; the question's own are 1."""

    text: str
    vector: float  # of its embedding
    terms: float  # of the BM25 scores for its terms


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question and what is taken from the conversation to understand it."""

    question: str
    depends: bool = False  # whether it seems to need the past
    past: tuple[Part, ...] = ()  # the newest first; the last answer, if any, at the end
    before: str = ""  # the person's turn before

    @property
    def whole(self) -> str:
        """The question in a form that stands alone: after the turn before it, if it depends on that."""
        return f"{self.before} {self.question}" if self.depends else self.question

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What the trace says: nothing when nothing is taken."""
        detail: dict[str, Scalar] = {"depends": self.depends, "taken": self.before, "parts": len(self.past)}
        return (Stage("understand", 0.0, detail),) if self.past else ()


def understand(question: str, history: Sequence[Turn], languages: Sequence[str] = ()) -> FollowUp:
    """Decide what a question takes from the conversation.

    Args:
        question: as asked.
        history: the turns before it, oldest first.
        languages: of the documents, ISO 639-1.

    Returns:
        The question with the last two turns and the last answer; without a past when there is no history.
    """
    turns = [turn for turn in history if turn.question.strip()][-TURNS:][::-1]
    if not turns:
        return FollowUp(question)
    depends = depends_on_past(question, languages)
    factor = 1.0 if depends else ALONE
    weights = [factor * PREVIOUS**age for age in range(1, TURNS + 1)]
    past = [Part(turn.question, weight, weight) for turn, weight in zip(turns, weights, strict=False)]
    answer = _said(turns[0])
    if answer:
        past.append(Part(answer, factor * ANSWER_VECTOR, factor * ANSWER_TERMS))
    return FollowUp(question, depends, tuple(past), turns[0].question)


def depends_on_past(question: str, languages: Sequence[str] = ()) -> bool:
    """Tell whether a question seems to need the turns before it: it points back, or it says little by itself."""
    return bool(_POINTING.search(question)) or len(analyze_query(question, (*languages, ""))) <= FEW


def blended(
    vector: NDArray[np.float32], past: Sequence[Part], embed: Callable[[str], NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Add the vectors of the past, as ``embed`` gives them, to the question's: (dimension,), all of length 1."""
    if not past:
        return vector
    total = vector + sum(np.float32(part.vector) * embed(part.text) for part in past)
    return unit(total)


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Bring a vector to length 1; zeros stay zeros."""
    return (vector / max(float(np.linalg.norm(vector)), 1e-12)).astype(np.float32)


def joined(
    found: list[Candidate],
    terms: Sequence[str],
    past: Sequence[Part],
    languages: Sequence[str],
    ask: Callable[[list[str]], list[Candidate]],
    limit: int,
) -> list[Candidate]:
    """Add the weighted scores for those terms of the past that the question lacks; ``ask`` finds candidates by terms.

    The past is analysed for the languages; a term counts in the first part that has it. The result is the ``limit``
    best by (-score, key), or ``found``, the question's own, when there is no past.
    """
    if not past:
        return found
    scores: dict[int, float] = defaultdict(float)
    for candidate in found:
        scores[candidate.key] += candidate.score
    seen = set(terms)
    for part in past:
        new = [term for term in analyze_query(part.text, languages) if term not in seen][:ANSWER_MOST]
        seen.update(new)
        for candidate in ask(new) if new else ():
            scores[candidate.key] += part.terms * candidate.score
    return ranked(scores)[:limit]


def _said(turn: Turn) -> str:
    """Give what a turn's answer said, without the numbers of its citations."""
    return _NUMBER.sub("", turn.answer).strip()
