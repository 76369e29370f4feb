"""What the library tells of its sources, of its health, and of where answers were lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from pincite.types import Hit, StaleSource, Status


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What became of one source."""

    uri: str
    status: Status
    version: int | None = None
    passages: int = 0
    embedded: int = 0  # passages that had to be embedded; the others were known
    reason: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class AddReport:
    """What became of every source of one ``add``."""

    sources: tuple[SourceReport, ...]
    seconds: float = 0.0

    @property
    def failures(self) -> tuple[SourceReport, ...]:
        """The sources that could not be taken in, or only partly."""
        return tuple(source for source in self.sources if source.status in ("failed", "partly"))

    @property
    def summary(self) -> dict[str, int]:
        """Count by status; statuses that did not occur are 0."""
        names = ("indexed", "updated", "unchanged", "removed", "partly", "failed", "unsupported", "skipped")
        return {name: sum(source.status == name for source in self.sources) for name in names}

    def __str__(self) -> str:
        counts = [f"{count} {name}" for name, count in self.summary.items() if count]
        return ", ".join(counts) or "nothing to do"


@dataclass(frozen=True, slots=True)
class Listing:
    """Which sources a list shows, and in which order; None stands for all. What is equal in it is by URI."""

    order: Literal["name", "added", "modified", "size"] = "name"
    descending: bool = False
    words: str = ""  # in the name, the title or the decoded URI, in any case
    status: str | None = None
    media_type: str | None = None
    label: str | None = None
    stale: bool | None = None  # whether an older version is searched, as the newest state cannot be read


@dataclass(frozen=True, slots=True)
class Counts:
    """How many sources there are, by what a list can be narrowed to."""

    all: int
    stale: int
    status: Mapping[str, int]
    media_type: Mapping[str, int]
    labels: Mapping[str, int]


After = tuple[str | int, str]  # where a page of a list ended: the value that orders it, and the URI


@dataclass(slots=True)
class Pace:
    """How far an ``add`` is; it changes while it runs."""

    files: int = 0  # looked at so far
    files_found: int = 0
    bytes: int = 0  # in the files looked at
    bytes_found: int = 0
    embedded: int = 0  # passages
    to_embed: int = 0  # passages of what was committed so far, those embedded included

    def find(self, sizes: Iterable[int]) -> None:
        """Count files that were found, by their bytes."""
        for size in sizes:
            self.files_found += 1
            self.bytes_found += size

    def pass_by(self, size: int) -> None:
        """Count a file that is looked at."""
        self.files += 1
        self.bytes += size

    def left(self, seconds: float) -> float | None:
        """Estimate the rest from bytes read and passages embedded so far, whichever takes longer.

        Args:
            seconds: since it began.

        Returns:
            Seconds until it is done; None while nothing tells.
        """
        share = self.bytes / self.bytes_found if self.bytes_found else 1.0
        if self.to_embed:
            share = min(share, share * self.embedded / self.to_embed)
        return seconds * (1 / share - 1) if share else None


@dataclass(frozen=True, slots=True)
class Check:
    """One line of a health report."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


# Where an answer can be lost, in the order of the flow: what people call it, and what it means.
LOSSES = {
    "document_missing": ("document missing", "The library does not hold the document."),
    "document_stale": ("document stale", "The library holds an older version of the document."),
    "text_not_extracted": ("text not extracted", "The document is there, the words are not in its text."),
    "filtered_out": ("filtered out", "A filter or path kept the document out of the search."),
    "split_across_passages": ("split across passages", "The words lie in several passages, and not all were found."),
    "not_a_candidate": ("not a candidate", "No retriever proposed the passage."),
    "lost_in_fusion": ("lost in fusion", "It was proposed, and others took the places that go on."),
    "lost_in_reranking": ("lost in reranking", "It had a place that goes on, and the reranker took it away."),
    "refused": ("refused though found", "The passage was found, and the gate said that the documents do not answer."),
    "cut_from_prompt": ("cut from the prompt", "The passage was found, and its words did not become evidence."),
    "not_used": ("in the prompt but not used", "The words were evidence, and the answer does not use them."),
    "unsupported": (
        "answer unsupported",
        "The words were evidence, and the answer claims what they do not carry.",
    ),
    "not_refused": ("not refused", "The documents do not answer the question, and there was an answer."),
}
RIGHT = {
    "refused_rightly": ("rightly refused", "The documents do not answer the question, and the answer says so."),
    "answered": ("answered", "The answer cites the words, or says what was expected."),
}
STAGES = LOSSES | RIGHT


@dataclass(frozen=True, slots=True)
class Place:
    """Where a passage stands in one stage's list."""

    stage: str  # vector, keyword, fused, rerank
    rank: int | None  # from 1; None: not among the ``depth`` best
    score: float | None
    depth: int  # how long the list was, at most

    def __str__(self) -> str:
        score = "" if self.score is None else f" ({self.score:.3f})"
        return f"{self.stage} #{self.rank}{score}" if self.rank else f"{self.stage} beyond #{self.depth}"


def places_of(hit: Hit) -> tuple[Place, ...]:
    """Give a hit's place in each list that has it."""
    return tuple(Place(stage, rank, hit.scores.get(stage), rank) for stage, rank in hit.ranks.items())


@dataclass(frozen=True, slots=True)
class Why:
    """What became of one document, or of words in it, on the way from a question to its answer."""

    question: str
    uri: str
    stage: str  # a key of STAGES
    reason: str  # in words
    fix: str = ""
    quote: str = ""
    version: int | None = None  # the one that was searched
    spans: tuple[tuple[int, int], ...] = ()  # where the words are in the canonical text of that version
    passages: tuple[str, ...] = ()  # ids of those that hold them
    places: tuple[Place, ...] = ()  # of the passage that came furthest, by stage in order
    matched: tuple[str, ...] = ()  # terms of the question that this passage has
    lacking: tuple[str, ...] = ()  # and those that it lacks
    ahead: tuple[Hit, ...] = ()  # what was found instead, best first
    nearest: str = ""  # when the words are not in the text: what comes closest
    stale: tuple[StaleSource, ...] = ()  # what the search that was looked at could not vouch for

    @property
    def found(self) -> bool:
        """Tell whether the answer uses it."""
        return self.stage in RIGHT


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One case of a ceiling report."""

    id: str
    expected: tuple[str, ...]  # answers, each right by itself
    why: Why  # of the gold that came furthest
    answer: str  # the text that was given
    evidence: tuple[str, ...]
    hits: tuple[Hit, ...]  # best first


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Where the answers to a set of cases were lost; each case is counted once."""

    name: str
    mode: str
    generator: str  # "extractive", or the model's name
    cases: tuple[Diagnosis, ...]
    left_out: int = 0  # cases that are not accepted, or hold no question

    @property
    def counts(self) -> dict[str, int]:
        """Count by stage, in the order of STAGES; they add up to the number of cases."""
        return {stage: sum(case.why.stage == stage for case in self.cases) for stage in STAGES}

    @property
    def answerable(self) -> int:
        """Count the cases that the documents answer."""
        return len(self.cases) - sum(case.why.stage in ("not_refused", "refused_rightly") for case in self.cases)
