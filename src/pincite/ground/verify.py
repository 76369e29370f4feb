"""Check a claim against the text it cites: facts by rule, then a calibrated score of how much of it is carried.

A rule that fires names what is wrong; the score only says how much of the claim's content the cited text has.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from pincite.generate.relevance import Terms, coverage
from pincite.ground import facts
from pincite.models.protocols import Encoder, Judgement
from pincite.types import Verdict

_EVEN = 0.5  # a verifier's chance from which on it says yes
_CONTRADICTED = "the cited text says the opposite, as the verifier reads it"
# In a claim: "I" where a sentence or clause begins, as numerals (World War I) do not. In a source: before any word.
_I = re.compile(
    r"(?:^|[,;:.!?\"“(]\s*|\b(?:and|that|as|so|but|then|if|because|what|when)\s+)I((?:['’]\w+|\s+[a-z]\w*))"
)
_ANY_I = re.compile(r"\bI((?:['’]\w+|\s+[a-z]\w*))")
_MINE = re.compile(r"\b(?:my|myself)\b")
_QUESTION = re.compile(r"[^.!?\n]*\?")
_CLOSE = 0.7  # share of a claim's other terms; at 0.5 verdicts on WiCE and SciFact were right 1.5 % less often
_ADDITION = 4  # content words in a row that the source does not have: then a claim adds something


@dataclass(frozen=True, slots=True)
class Check:
    """The verdict on one claim."""

    verdict: Verdict
    support: float  # calibrated chance that the cited text carries the claim, 0 to 1
    problems: tuple[str, ...]  # in words
    parts: tuple[str, ...] = ()  # of the claim, as written, whose words the cited text does not have
    faults: tuple[str, ...] = ()  # those of the problems that a rule found


@cache
def calibration() -> Mapping[str, Any]:
    """Load the committed weights; bench/quality/calibrate_support.py and calibrate_sufficiency.py make them."""
    text = files("pincite.ground").joinpath("calibration.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def calibrated(encoder: Encoder | None) -> bool:
    """Tell whether the weights know an encoder's cosines; another one's lie elsewhere, and terms alone are safer."""
    return encoder is not None and calibration()["encoder"] in encoder.name


def logistic(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    """Give 1 / (1 + exp(-(bias + sum of weight x feature))); a feature without weight counts nothing."""
    score = weights["bias"] + sum(weights.get(name, 0.0) * value for name, value in features.items())
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, score))))


def verify(
    claim: str,
    source: str,
    *,
    terms: Terms,
    cosine: float | None,
    context: str = "",
    nearby: float = 0.0,
) -> Check:
    """Check one claim.

    Args:
        claim: the sentence, without citation markers.
        source: the cited spans' text together; empty when nothing is cited.
        terms: gives content terms.
        cosine: of the claim and the nearest cited span, -1 to 1; None when there is none that the weights know.
        context: question, titles and headings: they may name what the claim is about, they prove nothing.
        nearby: share of the claim's terms in the sentences around the cited ones too; at least that in the source.

    Returns:
        "supported" when nothing is wrong and the support is enough, "partly" when only some of the claim is carried
        (``parts`` are not), "unsupported" otherwise. A contradiction is never more than unsupported.
    """
    if not source.strip():
        return Check("unsupported", 0.0, ("nothing in the evidence is near this claim",))
    if claim.split() == source.split():  # the same words, however spaced
        return Check("supported", 1.0, ())
    contradictions = tuple(_negation(claim, source, terms) + _opposite(claim, source) + _speaker(claim, source))
    missing = tuple(_dates(claim, source) + _numbers(claim, source) + _opening(claim, source, context, terms))
    if _is_close(claim, source, terms):
        missing += tuple(_repeated(claim, source) + _names(claim, source, context) + _quantifier(claim, source))
    weights = calibration()["support"]["keyword" if cosine is None else "hybrid"]
    support = logistic(weights, features(claim, source, terms=terms, cosine=cosine or 0.0, nearby=nearby))
    parts = lacking(claim, f"{source}\n{context}", terms)
    adds = any(len(terms.wanted(part)) >= _ADDITION for part in parts)
    verdict = _verdict(support, bool(contradictions), len(missing), adds, weights)
    parts = parts if verdict == "partly" else ()
    faults = contradictions + missing
    return Check(verdict, support, faults or _thin(verdict, parts), parts, faults)


def _is_close(claim: str, source: str, terms: Terms) -> bool:
    """Tell whether the source says nearly this: only then is another name an error, and not another way to say it."""
    names = terms.found(" ".join(facts.names(claim)))
    rest = [term for term in terms.wanted(claim) if term not in names]
    return not rest or coverage(rest, terms.found(source)) >= _CLOSE


def judged(check: Check, judgement: Judgement) -> Check:
    """Let a verifier's judgement stand for the score; what the rules found still counts.

    Args:
        check: by rules and score.
        judgement: on the same claim and the same cited text.

    Returns:
        "unsupported" where the verifier or a rule sees a contradiction; "supported" where the verifier does and no rule
        objects; else what the score said, but "supported" no more.
    """
    support = judgement.support
    if judgement.contradiction > _EVEN:
        return replace(check, verdict="unsupported", support=support, problems=(_CONTRADICTED, *check.problems))
    if support > _EVEN:
        return replace(check, support=support) if check.faults else Check("supported", support, ())
    verdict: Verdict = "partly" if check.verdict == "supported" else check.verdict
    parts = (judgement.parts or check.parts) if verdict == "partly" else ()
    return Check(verdict, support, check.faults or _thin(verdict, parts), parts, check.faults)


def _verdict(support: float, contradicted: bool, missing: int, adds: bool, weights: Mapping[str, float]) -> Verdict:
    """Decide from the score and what the rules found."""
    enough = support >= weights["supported"]
    if contradicted or support < weights["partly"] or (missing > 1 and not enough):
        return "unsupported"
    return "supported" if enough and not missing and not adds else "partly"


def _thin(verdict: Verdict, parts: Sequence[str]) -> tuple[str, ...]:
    """Say in words that the cited text carries too little, and which part it does not."""
    if verdict == "supported":
        return ()
    if verdict == "unsupported":
        return ("the cited text does not say this",)
    if parts:
        return (f"the cited text does not have {', '.join(map(repr, parts))}",)
    return ("the cited text has these words, but perhaps not in this connection",)


def lacking(claim: str, known: str, terms: Terms) -> tuple[str, ...]:
    """Give the parts of a claim, as written and in order, whose content words a text does not have."""
    found, asked = terms.found(known), set(terms.wanted(claim))
    runs: list[tuple[int, int]] = []
    broken = True  # the next word begins a part of its own
    for word in re.finditer(r"[^\s,;:()\"“”«»]+", claim):
        own = asked.intersection(terms.wanted(word[0]))
        if own and not own & found:
            end = word.start() + len(word[0].rstrip(".!?'’"))
            runs = [*runs, (word.start(), end)] if broken else [*runs[:-1], (runs[-1][0], end)]
            broken = False
        elif own:
            broken = True
    return tuple(claim[start:end] for start, end in runs)


def features(claim: str, source: str, *, terms: Terms, cosine: float, nearby: float = 0.0) -> dict[str, float]:
    """Measure how much of a claim a source has; all values are about 0 to 1.

    Tried, and of no more use beside these: terms weighed by their rarity, the nearest word of the source to each word
    of the claim by its vector, clauses by themselves, runs of terms in the same order, the second-best cosine.
    """
    wanted = terms.wanted(claim)
    covered = coverage(wanted, terms.found(source))
    return {
        "cosine": cosine,
        "coverage": covered,
        "nearby": max(covered, nearby),
        "numbers": min(3, len(_numbers(claim, source)) + len(_dates(claim, source))) / 3,
        "names": min(3, len(_names(claim, source, ""))) / 3,
        "opposed": float(bool(_negation(claim, source, terms) or _opposite(claim, source))),
        "length": min(40, len(wanted)) / 40,
    }


def _dates(claim: str, source: str) -> list[str]:
    """Name the claim's dates that the source does not have."""
    known = facts.dates(source)
    years = {value for quantity in facts.quantities(source) for value in quantity.values}
    return [
        f"the date {date.text} is not in the cited text"
        for date in facts.dates(claim)
        if not any(
            date.month == other.month
            and (date.day is None or date.day == other.day)
            and (date.year is None or date.year == other.year or (other.year is None and date.year in years))
            for other in known
        )
    ]


def _numbers(claim: str, source: str) -> list[str]:
    """Name the claim's numbers that the source does not have, or has in another unit."""
    known = facts.quantities(source)
    problems = []
    for quantity in facts.numbers(claim):
        same = [other for other in known if other.values & quantity.values]
        if not same:
            problems.append(f"the number {quantity.text} is not in the cited text")
        elif quantity.unit and not any(other.unit in ("", quantity.unit) for other in same):
            problems.append(f"{quantity.text} is in {quantity.unit} here and in {same[0].unit} in the cited text")
    return problems


def _repeated(claim: str, source: str) -> list[str]:
    """Name a number that the claim has more often than the source: it may stand where another one belongs."""
    mine, theirs = ([q for q in facts.quantities(text) if not q.vague] for text in (claim, source))
    if len(mine) != len(theirs):
        return []
    problems = {
        f"the number {number.text} is not as often in the cited text"
        for number in mine
        if any(other.values & number.values for other in theirs)
        and sum(bool(other.values & number.values) for other in mine)
        > sum(bool(other.values & number.values) for other in theirs)
    }
    return sorted(problems)


def _names(claim: str, source: str, context: str) -> list[str]:
    """Name the capitalised words that neither the source nor the context has."""
    text = f"{source}\n{context}"
    known = set(facts.words(text)) | facts.initials(text)
    stems = {word.rstrip("s") for word in known}
    problems = []
    for name in facts.names(claim):
        parts = facts.words(name)
        whole = facts.plain(name).replace(".", "")
        if whole not in known and not all(part in known or part.rstrip("s") in stems for part in parts):
            problems.append(f"the name {name} is not in the cited text")
    return problems


def _opening(claim: str, source: str, context: str, terms: Terms) -> list[str]:
    """Name a first word that is the only thing the source does not have: it may be a name that was changed."""
    word = facts.opening(claim)
    if not word or set(facts.words(word)) & set(facts.words(f"{source}\n{context}")):
        return []
    has, own = terms.found(f"{source}\n{context}"), terms.found(word)
    rest = [term for term in terms.wanted(claim) if term not in own]
    if own & has or not rest or coverage(rest, has) < 1.0:
        return []
    return [f"{word} is not in the cited text"]


def _negation(claim: str, source: str, terms: Terms) -> list[str]:
    """Find a negation that only one side has, over words that both sides have."""
    mine = [frozenset(terms.wanted(scope)) for scope in facts.negated(claim)]
    theirs = [frozenset(terms.wanted(scope)) for scope in facts.negated(source)]
    in_claim, in_source = terms.found(claim), terms.found(source)
    if in_claim == in_source and len(mine) != len(theirs):  # the same words, but for denials
        return ["the cited text does not deny this" if len(mine) > len(theirs) else "the cited text denies this"]
    problems = []
    if any(scope & in_source and not any(_alike(scope, other) for other in theirs) for scope in mine):
        problems.append("the cited text does not deny this")
    if any(_mostly(scope, in_claim) and not any(_alike(scope, other) for other in mine) for scope in theirs):
        problems.append("the cited text denies this")
    return problems


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two denials are of the same: more than half of the shorter one's words are in the other."""
    return 2 * len(one & other) > min(len(one), len(other))


def _mostly(scope: frozenset[str], found: frozenset[str]) -> bool:
    """Tell whether at least half of a scope was found."""
    return bool(scope) and 2 * len(scope & found) >= len(scope)


def _opposite(claim: str, source: str) -> list[str]:
    """Name words whose opposite the source uses."""
    return [
        f"the cited text says {theirs!r} where this says {mine!r}" for mine, theirs in facts.opposites(claim, source)
    ]


def _speaker(claim: str, source: str) -> list[str]:
    """Find a writer who speaks of itself where the source does not: what a model says it did is in no document."""
    told = _QUESTION.sub("", source)
    does, theirs = set(_I.findall(claim)), set(_ANY_I.findall(told))
    if does <= theirs and (theirs or not _MINE.search(claim) or _MINE.search(told)):
        return []
    return ["it speaks in the first person, and the cited text does not"]


def _quantifier(claim: str, source: str) -> list[str]:
    """Name quantifiers that the source does not have."""
    known = facts.quantifiers(source)
    return [
        f"{word!r} is not in the cited text" for kind, word in facts.quantifiers(claim).items() if kind not in known
    ]
