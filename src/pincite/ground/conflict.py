"""Find where two sources say different things about the same: one number, date, name or negation apart.

Precision comes before recall: a reader who is told of conflicts that are none stops looking. So both sentences must
say nearly the same but for one thing, and sentences that name different subjects or different years beside a
different value are two facts, not a conflict. Misses and false alarms: bench/quality/conflicts.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import regex

from pincite.generate.evidence import Sentence, distinct, is_statement
from pincite.generate.relevance import Terms
from pincite.ground import facts

_SAME = 0.8  # of the content terms that both have, of those of the shorter sentence
_LIKE = 0.55  # and of those of the longer one
_COPY = 0.85  # of the longer one, where a name or a denial makes the difference
_LEAST = 3  # content terms that both have
_MOST = 3  # conflicting sources that are shown for a claim
_VERB = regex.compile(r"\b(?:is|are|was|were|be|been|has|have|had|will|can|may|must|by|\p{Ll}{3,}ed)\b")
_NUMBER_AND_WORD = regex.compile(r"\S+(?:\s(?:\p{L}+|%))?")
_DIGITS = regex.compile(r"\d+")
_YEAR = regex.compile(r"1\d{3}|20\d{2}")


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two sentences of different sources that cannot both be true, and the words in which they differ."""

    ours: Sentence
    theirs: Sentence
    we_say: str
    they_say: str

    @property
    def problem(self) -> str:
        """The difference in words, beside the claim."""
        return f"{self.theirs.passage.location} says {self.they_say!r} where this says {self.we_say!r}"

    @property
    def message(self) -> str:
        """The difference in words, by itself."""
        return (
            f"Sources conflict: {self.ours.passage.location} says {self.we_say!r}, "
            f"{self.theirs.passage.location} says {self.they_say!r}."
        )


def conflicts(claim: str, spans: Sequence[Sentence], sentences: Sequence[Sentence], terms: Terms) -> list[Conflict]:
    """Find what other sources say against a claim.

    Args:
        claim: its text; only differences in words that it has itself count.
        spans: what it cites.
        sentences: all that the search found, best first.
        terms: gives content terms.

    Returns:
        At most three, in the order of ``sentences``; sources that say the same against it count once.
    """
    said = set(facts.words(claim))
    found: dict[Sentence, Conflict] = {}
    for ours in spans:
        for theirs in sentences:
            if theirs.passage.uri == ours.passage.uri or theirs in found or not is_statement(theirs.text):
                continue
            differing = difference(ours, theirs, terms)
            if differing and (not differing[0] or said.issuperset(facts.words(differing[0]))):
                we_say, they_say = differing  # "" where one side only lacks a denial
                found[theirs] = Conflict(ours, theirs, we_say or "this", they_say or "the opposite")
    return [found[theirs] for theirs in distinct(found)][:_MOST]


def difference(one: Sentence, other: Sentence, terms: Terms) -> tuple[str, str] | None:
    """Give the words in which two sentences contradict each other, None where they do not."""
    if 2 * len(one.terms & other.terms) < min(len(one.terms), len(other.terms)):
        return None  # most pairs end here
    mine, yours = _frame(one.text, terms), _frame(other.text, terms)
    shared = mine & yours
    if len(shared) < _LEAST:
        return None
    if len(shared) < _SAME * min(len(mine), len(yours)):
        return _name(one.text, other.text)
    likeness = len(shared) / max(len(mine), len(yours))
    values = _values(one.text, other.text, likeness >= _COPY)
    if values is not None:
        return values if likeness >= _LIKE and _same_subject(one.text, other.text) else None
    if likeness < _COPY or _DIGITS.findall(one.text) != _DIGITS.findall(other.text):
        return None
    opposite = next(iter(facts.opposites(one.text, other.text)), None)
    return _denial(one.text, other.text, terms) or opposite or _name(one.text, other.text)


def _frame(text: str, terms: Terms) -> frozenset[str]:
    """Give the content terms but those of numbers and dates."""
    dated = [(date.start, date.end) for date in facts.dates(text)]
    for start, end in reversed(dated):
        text = text[:start] + text[end:]
    numbers = {facts.plain(number.text) for number in facts.quantities(text) if not number.vague}
    return frozenset(
        term for term in terms.wanted(text) if term not in numbers and not any(char.isdigit() for char in term)
    )


def _values(one: str, other: str, copies: bool) -> tuple[str, str] | None:
    """Give the one number or date on each side that the other side does not have; None unless it is one and one."""
    mine, yours = facts.dates(one), facts.dates(other)
    lone = [date for date in mine if not any(_agree(date, known) for known in yours)]
    lone_other = [date for date in yours if not any(_agree(date, known) for known in mine)]
    numbers, others = facts.numbers(one), facts.numbers(other)
    if copies and len(numbers) == len(others):  # then each has its counterpart, and a number may come twice
        odd = [(a, b) for a, b in zip(numbers, others, strict=True) if not _equal(a, b)]
    else:
        alone = [number for number in numbers if not any(_equal(number, known) for known in others)]
        alone_other = [number for number in others if not any(_equal(number, known) for known in numbers)]
        if len(alone) != len(alone_other):
            return None
        odd = list(zip(alone, alone_other, strict=True))
    if len(lone) == len(lone_other) == 1 and not odd:
        return lone[0].text, lone_other[0].text
    if len(odd) == 1 and not lone and not lone_other and (copies or _comparable(*odd[0])):
        return _with_unit(one, odd[0][0]), _with_unit(other, odd[0][1])
    return None


def _equal(one: facts.Quantity, other: facts.Quantity) -> bool:
    """Tell whether two numbers may be the same, in the same unit where both have one."""
    return bool(one.values & other.values) and (one.unit == other.unit or not (one.unit and other.unit))


def _agree(one: facts.Date, other: facts.Date) -> bool:
    """Tell whether two dates may be the same, each as far as it is given."""
    pairs = ((one.month, other.month), (one.day, other.day), (one.year, other.year))
    return all(mine is None or yours is None or mine == yours for mine, yours in pairs)


def _comparable(one: facts.Quantity, other: facts.Quantity) -> bool:
    """Tell whether two numbers measure the same: the same unit, and both years or neither."""
    years = [bool(_YEAR.fullmatch(number.text)) and not number.unit for number in (one, other)]
    return one.unit == other.unit and years[0] == years[1]


def _with_unit(text: str, number: facts.Quantity) -> str:
    """Give a number with the word after it, as written."""
    found = _NUMBER_AND_WORD.match(text, number.start)
    return found[0].rstrip(".,;:)") if found else number.text


def _same_subject(one: str, other: str) -> bool:
    """Tell whether not both sentences have a name, or a first word, that the other does not have."""
    alone = [
        {word for name in (*facts.names(text), facts.opening(text)) for word in facts.words(name)}
        - set(facts.words(against))
        for text, against in ((one, other), (other, one))
    ]
    return not (alone[0] and alone[1])


def _denial(one: str, other: str, terms: Terms) -> tuple[str, str] | None:
    """Give what only one side denies."""
    mine, yours = facts.negated(one), facts.negated(other)
    if len(mine) == len(yours):
        return None
    scope = (mine or yours)[0]
    bare = frozenset(terms.wanted(scope))
    if not bare or not bare <= terms.found(other if mine else one):
        return None
    return (f"not {scope}", "") if len(mine) > len(yours) else ("", f"not {scope}")


def _name(one: str, other: str) -> tuple[str, str] | None:
    """Give the one name that differs, behind the verb; before it, it is the subject, and there are two facts."""
    mine, yours = one.split(), other.split()
    changes = [
        change for change in SequenceMatcher(None, mine, yours, autojunk=False).get_opcodes() if change[0] != "equal"
    ]
    if len(changes) != 1 or changes[0][0] != "replace":
        return None
    _, start, end, first, last = changes[0]
    if not _VERB.search(" ".join(mine[:start])):
        return None
    ours, theirs = " ".join(mine[start:end]).strip(".,;:"), " ".join(yours[first:last]).strip(".,;:")
    pure = all(all(word[:1].isupper() for word in text.split()) for text in (ours, theirs))
    return (ours, theirs) if pure and ours != theirs else None
