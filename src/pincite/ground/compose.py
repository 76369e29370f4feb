"""Assess claims against evidence, and write the text of an answer with its claims and citations in step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pincite.errors import ModelLimit, PinciteError
from pincite.generate.evidence import Ranking, Sentence
from pincite.generate.relevance import Terms, encode_within
from pincite.ground.cite import Alignment, align, check_citation, make_citation
from pincite.ground.claims import DraftClaim
from pincite.ground.conflict import Conflict, conflicts
from pincite.ground.verify import Check, calibrated, judged, verify
from pincite.models.protocols import Encoder, Verifier
from pincite.types import Citation, Claim, Evidence, Finding, Passage


@dataclass(frozen=True, slots=True)
class Assessed:
    """A claim with the spans that carry it and the verdict."""

    claim: DraftClaim
    alignment: Alignment
    check: Check
    conflicts: tuple[Conflict, ...] = ()  # other sources that say different

    @property
    def cited(self) -> tuple[Sentence, ...]:
        """The spans to cite, those that say different last; none for what nothing carries."""
        if self.check.verdict == "unsupported":
            return ()
        return (*self.alignment.spans, *(conflict.theirs for conflict in self.conflicts))


def assess(
    claims: Sequence[DraftClaim],
    given: Ranking,
    *,
    encoder: Encoder | None,
    terms: Terms,
    question: str = "",
    numbered: Mapping[int, str] | None = None,
    against: Sequence[Sentence] = (),
    verifier: Verifier | None = None,
) -> list[Assessed]:
    """Align each claim to sentences of the evidence, and verify it against those.

    One for each claim, in order. The question may name what a claim is about; ``numbered`` gives the passage id of a
    number that a marker in the text may use; ``against`` are sentences that may contradict these, best first; a
    verifier judges what the rules and the score have looked at.
    """
    encoded = encode_within(encoder, [claim.plain for claim in claims]) if encoder is not None else None
    assessed = []
    for index, claim in enumerate(claims):
        hinted = [numbered[number] for number in claim.hints if number in numbered] if numbered else []
        vector = None if encoded is None else encoded[index]
        found = align(claim.plain, given.sentences, terms=terms, vector=vector, vectors=given.vectors, hinted=hinted)
        source = "\n".join(span.text for span in found.spans)
        context = "\n".join([question, *(span.passage.context for span in found.spans)])
        check = verify(
            claim.plain,
            source,
            terms=terms,
            cosine=found.cosine if calibrated(encoder) else None,
            context=context,
            nearby=found.nearby,
        )
        assessed.append(_against(_judged(Assessed(claim, found, check), verifier), against, terms))
    return assessed


def _judged(item: Assessed, verifier: Verifier | None) -> Assessed:
    """Let a verifier judge a claim that has spans and is not their very words, unless it is too long for it."""
    if verifier is None or not item.alignment.spans or item.check.support >= 1.0:
        return item
    source = "\n".join(span.text for span in item.alignment.spans)
    try:
        (judgement,) = verifier.judge([(source, item.claim.plain)])
    except ModelLimit:
        return item
    return replace(item, check=judged(item.check, judgement))


def quoted(quote: Sentence, against: Sequence[Sentence], terms: Terms) -> Assessed:
    """Assess a sentence of the documents as a claim: it carries itself, and other sources may say different."""
    claim = DraftClaim(0, len(quote.text), quote.text, quote.text)
    return _against(Assessed(claim, Alignment((quote,), 1.0, 1.0), Check("supported", 1.0, ())), against, terms)


def _against(item: Assessed, against: Sequence[Sentence], terms: Terms) -> Assessed:
    """Look for what other sources say against a claim that is supported."""
    if item.check.verdict != "supported":
        return item
    contrary = tuple(conflicts(item.claim.plain, item.alignment.spans, against, terms))
    if not contrary:
        return item
    problems = tuple(conflict.problem for conflict in contrary)
    return replace(item, check=replace(item.check, verdict="conflicting", problems=problems), conflicts=contrary)


def uncited(claim: str) -> Finding:
    """Report a claim that nothing carries."""
    return Finding("claim_without_citation", f"No passage carries this claim: {claim!r}.", "Do not rely on it.")


class Writer:
    """Writes an answer claim by claim, so that offsets, claims and citation numbers always agree."""

    def __init__(self) -> None:
        """Start with an empty text."""
        self.text = ""
        self.claims: list[Claim] = []
        self._conflicts: list[Conflict] = []
        self._cited: dict[tuple[str, int, int], tuple[Citation, Passage]] = {}
        self._told = (0, 0)  # citations and claims

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The citations so far, by number."""
        return tuple(citation for citation, _ in self._cited.values())

    def write(self, text: str, item: Assessed, *, separator: str = " ") -> None:
        """Append a claim, in these words, and the numbers of the spans it cites."""
        marks = "".join(f"[{self.cite(span)}]" for span in item.cited)
        body = f"{text} {marks}" if marks else text
        before = f"{self.text}{separator}" if self.text else ""
        self.text = before + body
        self.claim(len(before), body, item)

    def claim(self, start: int, text: str, item: Assessed) -> None:
        """Add a claim that stands at a place of the text, and cite its spans."""
        numbers, check = tuple(map(self.cite, item.cited)), item.check
        self.claims.append(
            Claim(start, start + len(text), text, check.verdict, numbers, check.support, check.problems, check.parts)
        )
        self._conflicts += item.conflicts

    def news(self) -> tuple[Sequence[Citation], Sequence[Claim]]:
        """Give the citations and the claims that are new since this was asked last."""
        citations, claims = self._told
        self._told = len(self.citations), len(self.claims)
        return self.citations[citations:], self.claims[claims:]

    def cite(self, span: Sentence | Evidence) -> int:
        """Give the number of a span's citation: from 1 in order of first use, the same when it is cited again."""
        key = (span.passage.id, span.start, span.end)
        if key not in self._cited:
            citation = make_citation(len(self._cited) + 1, span.passage, span.start, span.end)
            self._cited[key] = (citation, span.passage)
        return self._cited[key][0].number

    def findings(self, text_of: Callable[[Passage], str]) -> list[Finding]:
        """Report sources that conflict, and each quote that is not in the canonical text of its version."""
        texts: dict[tuple[str, int], str] = {}
        findings = _conflict_findings(self._conflicts)
        for citation, passage in self._cited.values():
            key = (citation.uri, citation.version)
            try:
                if key not in texts:
                    texts[key] = text_of(passage)
                finding = check_citation(citation, texts[key])
            except PinciteError as error:
                finding = Finding(
                    "citation_unresolved", f"Quote {citation.number} cannot be checked: {error}", error.fix
                )
            findings += [finding] if finding else []
        return findings


def _conflict_findings(contrary: Sequence[Conflict]) -> list[Finding]:
    """Report conflicts of sources, each pair of sentences once."""
    pairs = {frozenset((conflict.ours, conflict.theirs)): conflict for conflict in reversed(contrary)}
    return [
        Finding("sources_conflict", conflict.message, "Open both places, and see which one holds.")
        for conflict in reversed(pairs.values())
    ]
