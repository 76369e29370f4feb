"""Assess claims against evidence, and write the text of an answer with its claims and citations in step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pincite.errors import ModelLimit, PinciteError
from pincite.generate.evidence import Sentence
from pincite.generate.relevance import Terms, encode_within
from pincite.ground.cite import Alignment, Citations, align, check_citation
from pincite.ground.claims import DraftClaim
from pincite.ground.conflict import Conflict, conflicts
from pincite.ground.verify import Check, calibrated, judged, verify
from pincite.models.protocols import Encoder, Verifier
from pincite.types import Citation, Claim, Finding, Passage


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
    spans: Sequence[Sentence],
    vectors: NDArray[np.float32] | None,
    *,
    encoder: Encoder | None,
    terms: Terms,
    question: str = "",
    numbered: Mapping[int, str] | None = None,
    against: Sequence[Sentence] = (),
    verifier: Verifier | None = None,
) -> list[Assessed]:
    """Align each claim to the spans and verify it against those.

    Args:
        claims: in the order of the text.
        spans: sentences of the evidence.
        vectors: of the spans, (spans, dimension); None without an encoder.
        encoder: encodes the claims.
        terms: gives content terms.
        question: may name what a claim is about.
        numbered: passage id by the number that a marker in the text may use.
        against: sentences that may contradict the spans, best first.
        verifier: judges claims that the rules and the score have looked at; None trusts those.

    Returns:
        One for each claim, in the same order.
    """
    encoded = encode_within(encoder, [claim.plain for claim in claims]) if encoder is not None else None
    assessed = []
    for index, claim in enumerate(claims):
        hinted = [numbered[number] for number in claim.hints if number in numbered] if numbered else []
        vector = None if encoded is None else encoded[index]
        found = align(claim.plain, spans, terms=terms, vector=vector, vectors=vectors, hinted=hinted)
        source = "\n".join(span.text for span in found.spans)
        context = "\n".join([question, *(span.passage.context for span in found.spans)])
        check = verify(
            claim.plain,
            source,
            terms=terms,
            cosine=found.cosine,
            has_encoder=calibrated(encoder),
            context=context,
            nearby=found.nearby,
        )
        assessed.append(Assessed(claim, found, check))
    if verifier is not None:
        assessed = _judged(assessed, verifier)
    return [_against(item, against, terms) for item in assessed]


def _judged(assessed: Sequence[Assessed], verifier: Verifier) -> list[Assessed]:
    """Let a verifier judge each claim that has spans and is not their very words, but none that is too long for it."""
    told = list(assessed)
    for index, item in enumerate(assessed):
        if item.alignment.spans and item.check.support < 1.0:
            try:
                (judgement,) = verifier.judge([("\n".join(s.text for s in item.alignment.spans), item.claim.plain)])
            except ModelLimit:
                continue
            told[index] = replace(item, check=judged(item.check, judgement))
    return told


def _against(item: Assessed, against: Sequence[Sentence], terms: Terms) -> Assessed:
    """Look for what other sources say against a claim that is supported."""
    if item.check.verdict != "supported":
        return item
    contrary = conflicts(item.claim.plain, item.alignment.spans, against, terms)
    return replace(item, check=contested(item.check, contrary), conflicts=tuple(contrary))


def contested(check: Check, contrary: Sequence[Conflict]) -> Check:
    """Make a verdict "conflicting" where other sources say different."""
    if not contrary:
        return check
    return replace(check, verdict="conflicting", problems=tuple(conflict.problem for conflict in contrary))


def conflict_findings(contrary: Iterable[Conflict]) -> list[Finding]:
    """Report conflicts of sources, each pair of sentences once."""
    pairs = {frozenset((conflict.ours, conflict.theirs)): conflict for conflict in reversed(list(contrary))}
    return [
        Finding("sources_conflict", conflict.message, "Open both places, and see which one holds.")
        for conflict in reversed(pairs.values())
    ]


def uncited(claim: str) -> Finding:
    """Report a claim that nothing carries."""
    return Finding("claim_without_citation", f"No passage carries this claim: {claim!r}.", "Do not rely on it.")


class Writer:
    """Writes an answer claim by claim, so that offsets, claims and citation numbers always agree."""

    def __init__(self) -> None:
        """Start with an empty text."""
        self.text = ""
        self.claims: list[Claim] = []
        self._citations = Citations()
        self._passages: dict[int, Passage] = {}
        self._told = (0, 0)  # citations and claims

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The citations so far, by number."""
        return self._citations.all

    def write(self, text: str, spans: Sequence[Sentence], check: Check, *, separator: str = " ") -> None:
        """Append a claim and the numbers of the spans it cites."""
        numbers = [self.cite(span) for span in spans]
        body = text + (" " + "".join(f"[{number}]" for number in numbers) if numbers else "")
        start = len(self.text) + len(separator) * bool(self.text)
        self.text = f"{self.text}{separator}{body}" if self.text else body
        self.claims.append(
            Claim(
                start, len(self.text), body, check.verdict, tuple(numbers), check.support, check.problems, check.parts
            )
        )

    def news(self) -> tuple[Sequence[Citation], Sequence[Claim]]:
        """Give the citations and the claims that are new since this was asked last."""
        citations, claims = self._told
        self._told = len(self.citations), len(self.claims)
        return self.citations[citations:], self.claims[claims:]

    def cite(self, span: Sentence) -> int:
        """Give the number of a span's citation."""
        number = self._citations.cite(span.passage, span.start, span.end)
        self._passages[number] = span.passage
        return number

    def unresolved(self, text_of: Callable[[Passage], str]) -> list[Finding]:
        """Check every quote against the canonical text of its version; report each that is not there."""
        texts: dict[tuple[str, int], str] = {}
        findings = []
        for citation in self.citations:
            key = (citation.uri, citation.version)
            try:
                if key not in texts:
                    texts[key] = text_of(self._passages[citation.number])
                finding = check_citation(citation, texts[key])
            except PinciteError as error:
                finding = Finding(
                    "citation_unresolved", f"Quote {citation.number} cannot be checked: {error}", error.fix
                )
            findings += [finding] if finding else []
        return findings
