"""Check a claim against the text it cites: facts by rule, then a calibrated score of how much of it is carried.

A rule that fires names what is wrong; the score only says how much of the claim's content the cited text has.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pincite.generate.relevance import Terms, coverage
from pincite.ground import facts
from pincite.models.protocols import Encoder
from pincite.types import Verdict


@dataclass(frozen=True, slots=True)
class Check:
    """The verdict on one claim."""

    verdict: Verdict
    support: float  # calibrated chance that the cited text carries the claim, 0 to 1
    problems: tuple[str, ...]  # in words


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


def verify(claim: str, source: str, *, terms: Terms, cosine: float, has_encoder: bool, context: str = "") -> Check:
    """Check one claim.

    Args:
        claim: the sentence, without citation markers.
        source: the cited spans' text together; empty when nothing is cited.
        terms: gives content terms.
        cosine: of the claim and the nearest cited span, -1 to 1.
        has_encoder: False when ``cosine`` means nothing.
        context: question, titles and headings: they may name what the claim is about, they prove nothing.

    Returns:
        "supported" when nothing is wrong and the support is enough, "partly" when only some of the claim is carried,
        "unsupported" otherwise. A contradiction is never more than unsupported.
    """
    if not source.strip():
        return Check("unsupported", 0.0, ("nothing in the evidence is near this claim",))
    if _squeezed(claim) == _squeezed(source):
        return Check("supported", 1.0, ())
    contradictions = tuple(_negation(claim, source, terms) + _opposite(claim, source))
    missing = tuple(
        _dates(claim, source)
        + _numbers(claim, source)
        + _names(claim, source, context)
        + _opening(claim, source, context, terms)
        + _quantifier(claim, source)
    )
    weights = calibration()["support"]["hybrid" if has_encoder else "keyword"]
    support = logistic(weights, features(claim, source, terms=terms, cosine=cosine))
    problems = contradictions + missing
    return Check(
        _verdict(support, bool(contradictions), len(missing), weights), support, problems or _thin(support, weights)
    )


def _squeezed(text: str) -> str:
    """Fold runs of space."""
    return " ".join(text.split())


def _verdict(support: float, contradicted: bool, missing: int, weights: Mapping[str, float]) -> Verdict:
    """Decide from the score and what the rules found."""
    if contradicted or support < weights["partly"]:
        return "unsupported"
    if missing or support < weights["supported"]:
        return "unsupported" if missing > 1 else "partly"
    return "supported"


def _thin(support: float, weights: Mapping[str, float]) -> tuple[str, ...]:
    """Say in words that the cited text carries too little."""
    if support >= weights["supported"]:
        return ()
    return (
        "the cited text carries only part of this claim"
        if support >= weights["partly"]
        else "the cited text does not say this",
    )


def features(claim: str, source: str, *, terms: Terms, cosine: float) -> dict[str, float]:
    """Measure how much of a claim a source has; all values are about 0 to 1."""
    wanted = terms.wanted(claim)
    return {
        "cosine": cosine,
        "coverage": coverage(wanted, terms.found(source)),
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
    dated = facts.dates(claim)
    problems = []
    for quantity in facts.quantities(claim):
        in_date = any(date.start <= quantity.start < date.end for date in dated)
        if in_date or quantity.vague:
            continue
        same = [other for other in known if other.values & quantity.values]
        if not same:
            problems.append(f"the number {quantity.text} is not in the cited text")
        elif quantity.unit and not any(other.unit in ("", quantity.unit) for other in same):
            problems.append(f"{quantity.text} is in {quantity.unit} here and in {same[0].unit} in the cited text")
    return problems


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
    problems = []
    if any(scope & in_source and not any(scope & other for other in theirs) for scope in mine):
        problems.append("the cited text does not deny this")
    if any(_mostly(scope, in_claim) and not any(scope & other for other in mine) for scope in theirs):
        problems.append("the cited text denies this")
    return problems


def _mostly(scope: frozenset[str], found: frozenset[str]) -> bool:
    """Tell whether at least half of a scope was found."""
    return bool(scope) and 2 * len(scope & found) >= len(scope)


def _opposite(claim: str, source: str) -> list[str]:
    """Name words whose opposite the source uses."""
    return [
        f"the cited text says {theirs!r} where this says {mine!r}" for mine, theirs in facts.opposites(claim, source)
    ]


def _quantifier(claim: str, source: str) -> list[str]:
    """Name quantifiers that the source does not have."""
    known = facts.quantifiers(source)
    return [
        f"{word!r} is not in the cited text" for kind, word in facts.quantifiers(claim).items() if kind not in known
    ]
