"""Check any text, written by anyone, against the library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pincite.generate.evidence import rank_sentences
from pincite.generate.relevance import Terms
from pincite.ground.claims import split_claims
from pincite.ground.compose import Writer, assess, uncited
from pincite.models.protocols import Encoder, Verifier
from pincite.types import Citation, Claim, Finding, Hit, Passage

_LONGEST = 2000  # characters; a sentence that has more is checked in parts, as each is compared with every fact


@dataclass(frozen=True, slots=True)
class Checked:
    """The claims of a text with their verdicts; offsets point into the text as it was given."""

    text: str
    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]
    findings: tuple[Finding, ...] = ()


def check_text(
    text: str,
    search: Callable[[str], Sequence[Hit]],
    *,
    encoder: Encoder | None,
    text_of: Callable[[Passage], str],
    languages: Sequence[str] = ("en",),
    verifier: Verifier | None = None,
) -> Checked:
    """Check each sentence of a text against the passages that a search for it finds.

    Args:
        text: any; citation markers in it are left alone, since they refer to something else.
        search: gives ranked hits for a sentence; [] when it holds no term.
        encoder: that the hits were found with; None compares by terms alone.
        text_of: gives the canonical text of the version that a passage belongs to.
        languages: of the documents, ISO 639-1.
        verifier: a model that judges each claim; None trusts rules and score.

    Returns:
        Claims in order, citations numbered by first use, and a finding for each claim that has none, for sources that
        conflict, and for each quote that does not resolve.
    """
    terms, writer = Terms(languages), Writer()
    findings: list[Finding] = []
    for claim in split_claims(text, _LONGEST):
        hits = search(claim.plain) if claim.plain else ()
        ranking = rank_sentences(claim.plain, hits, encoder=encoder, terms=terms)
        given = ranking.only(lambda sentence: not sentence.instruction)
        (item,) = assess([claim], given, encoder=encoder, terms=terms, against=given.sentences, verifier=verifier)
        writer.claim(claim.start, claim.text, item)
        findings += [] if item.cited else [uncited(claim.plain)]
    return Checked(text, tuple(writer.claims), writer.citations, (*findings, *writer.findings(text_of)))
