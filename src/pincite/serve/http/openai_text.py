"""An answer as one text for chat clients: claims as they are checked, marks, annotations, and quotes as footnotes.

No word of a draft is in it before it was checked: what comes are whole sentences with their verdict.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from pincite.serve import shapes
from pincite.types import Answer, Citation, CitationEvent, Claim, DoneEvent, Event, VerdictEvent

NOT_ANSWERED = "These documents do not answer this question."  # how such an answer begins
_MARKS = {
    "partly": " (only partly supported by the documents)",
    "unsupported": " (not supported by the documents)",
    "conflicting": " (sources conflict)",
}
_ADDED = re.compile("|".join(map(re.escape, _MARKS.values())))
_FENCED = re.compile(r"^([`~]{3,}) (?=\[\d+\])", re.MULTILINE)  # what closes a quote of code stands alone on its line
_SOURCES = "\n\nSources:\n\n"
_NOTED = ("partly_in_documents", "generation_failed", "generator_unavailable", "draft_incomplete")


@dataclass(frozen=True, slots=True)
class Piece:
    """What an event adds."""

    text: str = ""
    annotations: tuple[dict[str, Any], ...] = ()


class Spoken:
    """Writes one answer; after its last event, ``answer`` is there.

    Attributes:
        text (str): so far.
        annotations (list[dict[str, Any]]): so far.
        answer (Answer | None): the whole one.
        stopped (bool): one of the texts came at which it had to end.
    """

    text: str
    annotations: list[dict[str, Any]]
    answer: Answer | None
    stopped: bool

    def __init__(self, *, footnotes: bool, stops: Sequence[str] = ()) -> None:
        """Start with an empty text; it will end before any of ``stops``."""
        self.text, self.annotations, self.answer, self.stopped = "", [], None, False
        self._footnotes, self._stops = footnotes, stops
        self._citations: dict[int, Citation] = {}
        self._claims: list[Claim] = []  # with their places in our text

    def hear(self, event: Event) -> Piece:
        """Take an event, and give what it adds."""
        if isinstance(event, CitationEvent):
            self._citations[event.citation.number] = event.citation
        elif isinstance(event, VerdictEvent):
            return self._claim(event.claim, event.gap)
        elif isinstance(event, DoneEvent):
            self.answer = event.answer
            return self._add(self._end(event.answer))
        return Piece()

    def _claim(self, claim: Claim, gap: str) -> Piece:
        """Write a claim with its mark; its annotations span its words and its numbers."""
        start = len(self.text) + len(gap)
        piece = self._add(gap + _FENCED.sub(r"\1\n", claim.text) + _MARKS.get(claim.verdict, ""))
        end = min(start + len(claim.text), len(self.text))
        if start >= end:
            return piece
        self._claims.append(replace(claim, start=start, end=end))
        made = tuple(
            _annotation(len(self.annotations) + index, self._citations[number], claim, start, end)
            for index, number in enumerate(claim.citations)
        )
        self.annotations += made
        return Piece(piece.text, made)

    def _add(self, text: str) -> Piece:
        """Append a text, or as much of it as stands before a text at which the answer ends."""
        if self.stopped:
            return Piece()
        whole = self.text + text
        for stop in self._stops:
            place = whole.find(stop, max(0, len(self.text) - len(stop) + 1))
            if place >= 0:
                whole, self.stopped = whole[: max(place, len(self.text))], True
        added = whole[len(self.text) :]
        self.text = whole
        return Piece(added)

    def _end(self, answer: Answer) -> str:
        """Write what stands below: that the documents do not answer, what to mind, and the quotes."""
        text = "" if answer.claims else answer.text
        if not self._footnotes:
            return text
        notes = [f"{f.message} {f.fix}".rstrip() for f in answer.findings if f.kind in _NOTED]
        notes += [f"{name_of(s.uri)} may be out of date: {s.reason} {s.fix}".rstrip() for s in answer.stale]
        text += "".join(f"\n\nNote: {note}" for note in notes)
        return text + (_SOURCES + "\n\n".join(map(_footnote, answer.citations)) if answer.citations else "")

    def more(self) -> dict[str, Any]:
        """Shape what OpenAI's form has no place for."""
        if self.answer is None:
            return {}
        shape = shapes.answer_json(replace(self.answer, claims=tuple(self._claims)))
        return {name: shape[name] for name in ("outcome", "claims", "findings", "stale", "generator")}

    def finish(self) -> str:
        """Say why it ends: "length" when the draft was cut off, else "stop"."""
        cut = self.answer is not None and any(f.kind == "draft_incomplete" for f in self.answer.findings)
        return "length" if cut and not self.stopped else "stop"

    def usage(self) -> dict[str, Any]:
        """Count what the generator read and wrote, in its own tokens; none of it when the answer is quotes alone."""
        read = wrote = reused = 0
        for stage in self.answer.trace.stages if self.answer else ():
            if stage.name == "draft":
                read += int(stage.detail.get("prompt_tokens", 0))
                wrote += int(stage.detail.get("generated_tokens", 0))
                reused += int(stage.detail.get("reused_tokens", 0))
        return {
            "prompt_tokens": read,
            "completion_tokens": wrote,
            "total_tokens": read + wrote,
            "prompt_tokens_details": {"cached_tokens": reused},
        }


def spoken(text: str) -> str:
    """Give what an earlier answer of ours said, without marks and footnotes; "" when it said that nothing is there."""
    said = _ADDED.sub("", text.partition(_SOURCES)[0].partition("\n\nNote: ")[0]).strip()
    return "" if said.startswith(NOT_ANSWERED) else said


def name_of(uri: str) -> str:
    """Name a source by the last part of its URI."""
    return PurePosixPath(unquote(urlsplit(uri).path)).name or uri


def _annotation(index: int, citation: Citation, claim: Claim, start: int, end: int) -> dict[str, Any]:
    """Shape a citation of a claim whose place in the text is given.

    The address names the place in the document as RFC 5147 does: clients take two quotes of one address for one.
    """
    url = citation.uri if "#" in citation.uri else f"{citation.uri}#char={citation.start},{citation.end}"
    place = {"start_index": start, "end_index": end, "title": citation.title or name_of(citation.uri)}
    return {
        "type": "url_citation",
        "index": index,
        "url_citation": place | {"url": url},
        "pincite": shapes.citation_json(citation) | {"verdict": claim.verdict},
    }


def _footnote(citation: Citation) -> str:
    """Write a quote with its place, folders left out."""
    folder = unquote(citation.uri.removeprefix("file://")).rpartition("/")[0] + "/"
    place = citation.location.removeprefix(folder)
    title = f"{citation.title}, " if citation.title and not place.startswith(citation.title) else ""
    return f"[{citation.number}] {title}{place}: “{' '.join(citation.quote.split())}”"
