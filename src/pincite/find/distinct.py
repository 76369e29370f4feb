"""Near duplicates: texts that say the same. Among hits they share one place: the first has it, and the others' too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from operator import itemgetter

import regex

from pincite.find.stopwords import NEGATIONS, STOP_WORDS
from pincite.types import Hit, Passage

BEYOND = 5  # hits looked at after the last that is kept: near duplicates of it stand there
SHARE = 0.9  # of the distinct words of two near duplicates that both have
_FEWEST = 12  # words in a near duplicate: among fewer, each one counts
_CLOSE = 0.85  # likeness of two spellings of a word: a slip, not another word
_WORD = regex.compile(r"\w+")
_ASCII_WORDS = "".join(chr(c).lower() if chr(c).isalnum() or c == ord("_") else " " for c in range(128))
# Beside words: numbers with their signs, symbols (C++, a < b, €, emoji), and C#, 5 %, a/b, !=, a question.
_MARK = regex.compile(r"[-–]?\d+(?:[.,]\d+)*|\p{S}|[#%&/@\\?]|!(?==)")
_TELLING = NEGATIONS | {"t"}  # of "don't"


class Looks:
    """What a text is compared by."""

    __slots__ = ("text", "words")

    def __init__(self, text: str) -> None:
        """Take the words without case; the rest is looked at only when these are alike."""
        self.text = text
        self.words = frozenset(_words(text))

    @property
    def few(self) -> list[str]:
        """The longest words, so many that two near duplicates have one of them in common.

        If two sets share ``SHARE`` of their union, the first floor((1 - SHARE) * size) + 1 of both in one order do, too
        (prefix filtering: Chaudhuri et al. 2006); one more, for rounding. Long words, as few texts have the same.
        """
        longest_first = sorted(sorted(self.words), key=len, reverse=True)  # the sort is stable: a total order
        return longest_first[: int((1 - SHARE) * len(self.words)) + 2]


def _words(text: str) -> list[str]:
    """Give the words without case, in order; splitting what is ASCII is five times as quick as matching."""
    return text.translate(_ASCII_WORDS).split() if text.isascii() else _WORD.findall(text.casefold())


class Seen:
    """Texts so far, and which of them a new one is a near duplicate of."""

    def __init__(self) -> None:
        """Start with none."""
        self._kept: list[Looks] = []
        self._having: dict[str, list[int]] = defaultdict(list)  # word -> those kept that have it among their few

    def twin(self, text: str, *, keep: bool = True) -> int | None:
        """Give the number, from 0, of the first text kept that this one is alike; None, and it is kept, if none is."""
        looks = Looks(text)
        few = looks.few or [text]
        near = sorted({index for word in few for index in self._having.get(word, ())})
        found = next((index for index in near if alike(looks, self._kept[index])), None)
        if found is None and keep:
            for word in few:
                self._having[word].append(len(self._kept))
            self._kept.append(looks)
        return found


def distinct(hits: Iterable[Hit], limit: int) -> tuple[Hit, ...]:
    """Let the first of near duplicates stand for the others, which are in its ``also``, where there is other to show.

    Args:
        hits: best first.
        limit: how many to keep, at least 1.

    Returns:
        At most ``limit`` hits in their order, ranked from 1. Places that would stay empty go to near duplicates, the
        best first: these are hits of their own, and in no ``also``.
    """
    seen, beyond = Seen(), 0
    kept: list[tuple[int, Hit]] = []
    also: list[list[tuple[int, Hit]]] = []
    for place, hit in enumerate(hits):
        full = len(kept) == limit
        twin = seen.twin(hit.passage.text, keep=not full)
        if twin is not None:
            also[twin].append((place, hit))
        elif not full:
            kept.append((place, hit))
            also.append([])
        beyond += len(kept) == limit
        if beyond > BEYOND:
            break
    free = dict(sorted((twin for others in also for twin in others), key=itemgetter(0))[: limit - len(kept)])
    shown: dict[int, tuple[Hit, tuple[Passage, ...]]] = {place: (hit, ()) for place, hit in free.items()}
    for (place, hit), others in zip(kept, also, strict=True):
        shown[place] = hit, tuple(other.passage for at, other in others if at not in free)
    best = (shown[place] for place in sorted(shown))
    return tuple(replace(hit, rank=rank, also=twins) for rank, (hit, twins) in enumerate(best, start=1))


def alike(one: Looks, other: Looks) -> bool:
    """Tell whether two texts surely say the same: the same words, or long texts that differ in little.

    A number, its sign, a symbol, a name (a word with a capital), a negation or another word in its place makes them
    different; a word that only one of them has, or that is spelled in another way, does not.
    """
    if not one.words or not other.words:
        return one.text == other.text
    shortest, longest = sorted((len(one.words), len(other.words)))
    if shortest < SHARE * longest:
        return False
    common = one.words & other.words
    if len(common) < SHARE * (shortest + longest - len(common)) or _MARK.findall(one.text) != _MARK.findall(other.text):
        return False
    if longest < _FEWEST:
        return _words(one.text) == _words(other.text)
    if any(_tells(word, looks.text) for looks in (one, other) for word in looks.words - common):
        return False
    fewer, more = sorted((one.words - common, other.words - common), key=len)
    return all(get_close_matches(word, more, 1, _CLOSE) for word in fewer)


def _tells(word: str, text: str) -> bool:
    """Tell whether a word that only one text has changes what it says: a negation, or a name."""
    if word in _TELLING:
        return True
    written = _WORD.findall(text)
    opens = word in STOP_WORDS["en"] and word.capitalize() in written  # "Because of this," is no name
    return word not in written and not opens
