"""Tell an answer claim by claim: the draft is checked as each of its sentences is complete; quotes stand by."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import get_args

from pincite.generate.evidence import Ranking, Sentence
from pincite.generate.relevance import coverage
from pincite.ground.claims import DraftClaim, split_claims, unknown_citations
from pincite.ground.compose import Assessed, Writer, assess, quoted, uncited
from pincite.ground.extract import best_quotes, flowing
from pincite.ground.run import Run
from pincite.ground.verify import Check
from pincite.types import CitationEvent, Event, Evidence, Verdict, VerdictEvent

_CARRIED = ("supported", "conflicting")  # verdicts on what some source says
_SURE = 0.8  # support of a claim that a small model may add to the quotes; at the threshold itself too much is invented
# Of what a quote says beyond the question; with .4, one answer in ten lacks what its quotes have, with .7 no fewer do.
_SAID = 0.5
_AHEAD = 24  # characters that must follow a sentence before it is complete: the next one's start, or citation markers
_WORDS = re.compile(r"\w+(?:[.,']\w+)*|[^\w\s.,;:!?]")
_ABSTAINS = re.compile(
    r"\b(passages?|documents?|context|text)\b.{0,40}\b(do(es)? not|don't|doesn't|cannot|no)\b.{0,40}"
    r"\b(say|answer|mention|contain|provide|information|specif\w+)",
    re.IGNORECASE,
)


class Telling:
    """Writes one answer, and tells its citations and verdicts as they come.

    Attributes:
        writer (Writer): the text so far.
        quotes_first (bool): quotes are the answer, and only surely supported claims stand behind them; else quotes
            follow the draft where it may be worse than they are; see ``_needed``.
        by_model (bool): some of it is the generator's.
        seconds (float): spent on checking claims.
    """

    writer: Writer
    quotes_first: bool
    by_model: bool
    seconds: float

    def __init__(self, run: Run, ranking: Ranking, items: Sequence[Evidence], *, quotes_first: bool = False) -> None:
        """Start with an empty text.

        Args:
            run: says how, and takes the findings.
            ranking: the sentences to quote.
            items: the evidence that the generator is given; claims are checked against it.
            quotes_first: see above.
        """
        self.writer, self.quotes_first, self.by_model, self.seconds = Writer(), quotes_first, False, 0.0
        self._run, self._ranking, self._policy = run, ranking, run.how.policy
        self._quotes = best_quotes(ranking)
        self._given = ranking.only(lambda sentence: _within(sentence, items))
        self._numbered = {item.number: item.passage.id for item in items}
        self._draft, self._at = "", 0  # what came, and where the first claim that is not told starts
        self._written = 0  # how much of the text was told
        self._verdicts: list[Verdict] = []
        self._abstained = False
        self._carried: list[Assessed] = []  # of the claims in the text, those that some source says

    def begin(self) -> Iterator[Event]:
        """Tell the quotes, if they come first."""
        if self.quotes_first:
            yield from self._quoted(self._quotes)

    def hear(self, piece: str) -> Iterator[Event]:
        """Take a piece of the draft, and tell the claims that are complete with it."""
        self._draft += piece
        rest = self._draft[self._at :]
        if len(rest) > _AHEAD and self._policy != "strict":
            yield from self._told([claim for claim in split_claims(rest) if len(rest) - claim.end >= _AHEAD])

    def end(self, draft: str) -> Iterator[Event]:
        """Tell what is left of the draft, and quotes if they are needed; the answer is complete.

        Args:
            draft: all that counts of what came; what was told already stays.

        Yields:
            CitationEvent and VerdictEvent.
        """
        yield from self._told(split_claims(draft[self._at :]))
        if self._verdicts:
            counts = {name: self._verdicts.count(name) for name in get_args(Verdict)}
            self._run.stage("verify", claims=len(self._verdicts), **counts)
        if self._abstained:
            self._run.find(
                "generator_abstained", "The model says that the passages do not answer; judge by the quotes."
            )
        if not self.quotes_first:
            yield from self._quoted(self._needed())

    def _told(self, claims: list[DraftClaim]) -> Iterator[Event]:
        """Check claims, write those that may be shown, and say of the others why not."""
        begun = time.perf_counter()
        self._at += claims[-1].end if claims else 0
        said = self._assessed([claim for claim in claims if claim.plain])
        failing = [item for item in said if item.check.verdict not in _CARRIED]
        if self._policy == "strict" and failing:
            self._run.find("draft_left_out", f"{len(failing)} of {len(said)} sentences of the draft are not supported.")
            said = failing
        for item in said:
            if self.quotes_first and (_said_by(item.claim.plain, self._quotes) or self._only_asks(item.claim.plain)):
                continue  # the quote stands there already, and the question is no answer
            if self._may_be_shown(item.check):
                self._write(item)
            else:
                problems = "; ".join(item.check.problems) or "the cited text carries it only weakly"
                self._run.find("claim_left_out", f"The model also wrote {item.claim.plain!r}: {problems}.")
        self.seconds += time.perf_counter() - begun
        yield from self._news()

    def _assessed(self, claims: list[DraftClaim]) -> list[Assessed]:
        """Check claims against the sentences that the generator was given; what says that it abstains is no claim."""
        if not claims:
            return []
        self._run.findings += unknown_citations(claims, self._numbered)
        assessed = assess(
            claims,
            self._given,
            encoder=self._run.encoder,
            terms=self._run.terms,
            question=self._run.whole,
            numbered=self._numbered,
            against=self._ranking.sentences,
            verifier=self._run.loaded_verifier(),
        )
        self._verdicts += [item.check.verdict for item in assessed]
        said = [item for item in assessed if not _ABSTAINS.search(item.claim.plain)]
        self._abstained |= len(said) < len(assessed)
        return said

    def _only_asks(self, text: str) -> bool:
        """Tell whether a sentence has no content but the question's."""
        terms = self._run.terms
        return set(terms.wanted(text)) <= set(terms.wanted(self._run.question))

    def _may_be_shown(self, check: Check) -> bool:
        """Tell whether a claim gets into the answer; beside quotes only what is surely supported earns it."""
        carried = check.verdict in _CARRIED
        return carried and check.support >= _SURE if self.quotes_first else carried or self._policy == "flag"

    def _write(self, item: Assessed) -> None:
        """Append one claim of the draft, with citations only where they carry something."""
        if not item.cited:
            self._run.findings.append(uncited(item.claim.plain))
        separator = "\n\n" if self.quotes_first and not self.by_model else item.claim.gap or " "
        self.writer.write(item.claim.plain, item, separator=separator)
        self.by_model = True
        self._carried += [item] if item.check.verdict in _CARRIED else []

    def _needed(self) -> list[Sentence]:
        """Give the quotes without which the draft may be worse than its evidence.

        All, if any of the draft is not carried, but those of which its carried claims say all; else the best one,
        unless they say half of it. What the question says does not count.
        """
        if not self._carried:
            return self._quotes
        terms, whole = self._run.terms, all(verdict in _CARRIED for verdict in self._verdicts)
        said, asked = terms.found(" ".join(item.claim.plain for item in self._carried)), terms.found(self._run.whole)
        beyond = ((quote, set(terms.wanted(quote.text)) - asked) for quote in self._quotes[: 1 if whole else None])
        return [quote for quote, says in beyond if coverage(says, said) < (_SAID if whole else 1.0)]

    def _quoted(self, quotes: Sequence[Sentence]) -> Iterator[Event]:
        """Append quotes, each on a line of its own, with what other sources say against them."""
        for index, quote in enumerate(quotes):
            item = quoted(quote, self._ranking.sentences, self._run.terms)
            self.writer.write(flowing(quote), item, separator="\n" if index else "\n\n")
        yield from self._news()

    def _news(self) -> Iterator[Event]:
        """Tell what was written since the last time."""
        citations, claims = self.writer.news()
        for citation in citations:
            yield CitationEvent(citation)
        for claim in claims:
            yield VerdictEvent(claim, self.writer.text[self._written : claim.start])
            self._written = claim.end


def _said_by(claim: str, quotes: Sequence[Sentence]) -> bool:
    """Tell whether a claim repeats a quote, or a part of one, word for word."""
    said = _WORDS.findall(claim.casefold())
    return any(f" {' '.join(said)} " in f" {' '.join(_WORDS.findall(quote.text.casefold()))} " for quote in quotes)


def _within(sentence: Sentence, items: Sequence[Evidence]) -> bool:
    """Tell whether a sentence lies in the evidence."""
    return any(
        item.passage.id == sentence.passage.id and item.start <= sentence.start and sentence.end <= item.end
        for item in items
    )
