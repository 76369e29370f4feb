"""One frozen dataclass for each arrow of the flow, and nothing else.

Offsets are Unicode code points in the canonical text of one version of a document, half open: ``[start, end)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from pincite.place import location

Scalar = str | int | float | bool
Metadata = Mapping[str, Scalar]
Mode = Literal["hybrid", "vector", "keyword"]
Status = Literal["indexed", "unchanged", "updated", "removed", "partly", "failed", "unsupported", "skipped"]
Verdict = Literal["supported", "partly", "unsupported", "conflicting"]
Outcome = Literal["answered", "partial", "not_in_documents"]
BlockKind = Literal["heading", "paragraph", "list", "table", "code", "front_matter", "furniture"]


# --- acquire: a path becomes a source, a source becomes a document


@dataclass(frozen=True, slots=True)
class Source:
    """Where bytes came from, and which bytes they were."""

    uri: str  # file URI, percent encoded; the identity of the document
    media_type: str
    content_hash: str  # hex, BLAKE2b-128 of the bytes
    modified_ns: int  # of the last change of content or status, nanoseconds since the epoch
    size: int  # bytes
    read_ns: int = field(default=0, compare=False)  # when reading began; 0: not known


@dataclass(frozen=True, slots=True)
class Block:
    """A structural span of the canonical text. Blocks are sorted by start and do not overlap."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0  # headings: 1 is the outermost; otherwise 0
    label: str = ""  # headings: the heading's own text without markup; code: the language


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a paginated format as a span of the canonical text."""

    number: int  # from 1
    label: str  # as printed ("iv"), or ""
    start: int
    end: int
    places: str = ""  # the reader's own notes on where on the page the text stands; see acquire/readers/pdf_boxes.py


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader makes of bytes: canonical text and its structure."""

    text: str
    title: str
    blocks: tuple[Block, ...] = ()
    pages: tuple[Page, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    language: str = ""  # ISO 639-1, "" when unknown
    warnings: tuple[str, ...] = ()  # what was not read as it should be; non-empty makes the status "partly"


@dataclass(frozen=True, slots=True)
class Document:
    """One version of one source, as text."""

    id: str  # 12 hex digits, from the URI
    source: Source
    version: int  # from 1, grows by one with each change of content
    text: str
    title: str
    blocks: tuple[Block, ...] = ()
    pages: tuple[Page, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    language: str = ""


# --- build: a document becomes passages


@dataclass(frozen=True, slots=True)
class Span:
    """A passage as the chunker cuts it, before it belongs to a stored document."""

    start: int
    end: int
    heading_path: tuple[str, ...]
    context: str  # title > headings, shortened to its budget: searched and embedded, never cited
    pieces: int  # word pieces of context and text together


@dataclass(frozen=True, slots=True)
class Passage:
    """A citable span: ``document.text[start:end] == text``, always."""

    id: str  # "document@version:start-end"
    key: int  # the store's number for it, stable while its text stays the same
    document_id: str
    uri: str
    version: int
    start: int
    end: int
    text: str
    title: str
    heading_path: tuple[str, ...] = ()
    context: str = ""
    page_from: int | None = None
    page_to: int | None = None
    line_from: int = 1
    line_to: int = 1
    column_from: int | None = None  # from 1; None: not known

    @property
    def searched(self) -> str:
        """What is embedded and keyword-indexed: the context, then the text."""
        return searched_text(self.context, self.text)

    @property
    def location(self) -> str:
        """The place in words, for people."""
        lines = (self.line_from, self.line_to)
        return location(self.uri, self.heading_path, self.page_from, lines, self.column_from)


# --- find: a question becomes ranked passages


@dataclass(frozen=True, slots=True)
class Turn:
    """A past turn of a conversation: what was asked and what was said."""

    question: str
    answer: str = ""  # "" when the documents did not answer
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage key with one retriever's score; higher is better. Lists are sorted by (-score, key)."""

    key: int
    score: float


@dataclass(frozen=True, slots=True)
class Hit:
    """A ranked passage."""

    rank: int  # from 1
    score: float
    passage: Passage
    scores: Mapping[str, float] = field(default_factory=dict)  # what each stage gave it
    ranks: Mapping[str, int] = field(default_factory=dict)  # its place in each stage's list, from 1
    also: tuple[Passage, ...] = ()  # near duplicates that it stands for, best first

    @property
    def text(self) -> str:
        """The passage's text."""
        return self.passage.text

    @property
    def location(self) -> str:
        """The passage's place, in words."""
        return self.passage.location


@dataclass(frozen=True, slots=True)
class StaleSource:
    """A source whose stored version may not be what is on disk now."""

    uri: str
    version: int
    reason: str
    fix: str


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the way, with its cost and what went in and came out."""

    name: str
    seconds: float
    detail: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """The stages in the order they ran."""

    stages: tuple[Stage, ...] = ()

    @property
    def seconds(self) -> float:
        """Time of all stages together."""
        return sum(stage.seconds for stage in self.stages)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found, and what it could not vouch for. Iterates over its hits."""

    question: str
    mode: Mode
    hits: tuple[Hit, ...]
    stale: tuple[StaleSource, ...] = ()
    trace: Trace = Trace()
    whole: str = ""  # the question in a form that stands alone, if the conversation was asked too

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)


# --- generate: passages become text


@dataclass(frozen=True, slots=True)
class Evidence:
    """A verbatim span of one passage that travels to the generator; numbered from 1 in prompt order."""

    number: int
    passage: Passage
    start: int  # in the document, as everywhere
    end: int
    text: str  # == document.text[start:end]
    score: float  # relevance to the question, higher is better


@dataclass(frozen=True, slots=True)
class EvidenceSet:
    """What fits the budget, and how much did not."""

    items: tuple[Evidence, ...]
    tokens: int
    dropped: tuple[Evidence, ...] = ()  # relevant, but over the budget


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


# --- ground: text becomes a checked answer


@dataclass(frozen=True, slots=True)
class Citation:
    """A numbered quote with its exact place. ``text of that version[start:end] == quote``, or there is a finding."""

    number: int
    passage_id: str
    uri: str
    version: int
    start: int
    end: int
    quote: str
    title: str = ""
    page: int | None = None
    heading_path: tuple[str, ...] = ()
    line_from: int = 1
    line_to: int = 1
    column_from: int | None = None

    @property
    def location(self) -> str:
        """The place in words, for people."""
        return location(self.uri, self.heading_path, self.page, (self.line_from, self.line_to), self.column_from)


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of an answer with its verdict; offsets point into the answer's text."""

    start: int
    end: int
    text: str
    verdict: Verdict
    citations: tuple[int, ...] = ()
    support: float = 0.0  # 0 to 1
    problems: tuple[str, ...] = ()  # what the cited text does not carry, or what another source says, in words
    parts: tuple[str, ...] = ()  # of a claim that is partly supported: the words that the cited text does not have


@dataclass(frozen=True, slots=True)
class Finding:
    """Something the reader must know: it is reported, never hidden."""

    kind: str  # snake_case, stable
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A checked answer."""

    question: str
    text: str
    outcome: Outcome
    claims: tuple[Claim, ...] = ()
    citations: tuple[Citation, ...] = ()
    findings: tuple[Finding, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    dropped: tuple[Evidence, ...] = ()  # relevant, but over the budget of the evidence
    nearest: tuple[Hit, ...] = ()  # when not in the documents: what came closest
    stale: tuple[StaleSource, ...] = ()
    generator: str = ""  # name of the model that wrote the text, or "extractive"
    trace: Trace = Trace()

    @property
    def turn(self) -> Turn:
        """What a conversation keeps of it; nothing was said when the documents did not answer."""
        said = self.text if self.outcome != "not_in_documents" else ""
        return Turn(self.question, said, self.citations)

    @property
    def unsupported(self) -> tuple[Claim, ...]:
        """The claims that the cited text does not carry."""
        return tuple(claim for claim in self.claims if claim.verdict == "unsupported")


@dataclass(frozen=True, slots=True)
class TokenEvent:
    """A piece of the draft as the generator writes it; unchecked until its verdict comes."""

    text: str


@dataclass(frozen=True, slots=True)
class CitationEvent:
    """A citation of the answer."""

    citation: Citation


@dataclass(frozen=True, slots=True)
class VerdictEvent:
    """The verdict on one claim. What claims and gaps say in their order is the text of the answer so far."""

    claim: Claim
    gap: str = ""  # the space between it and the claim before


@dataclass(frozen=True, slots=True)
class DoneEvent:
    """The whole answer; always the last event."""

    answer: Answer


Event = TokenEvent | CitationEvent | VerdictEvent | DoneEvent


def searched_text(context: str, text: str) -> str:
    """Join a passage's context and text as they are embedded and indexed."""
    return f"{context}\n{text}" if context else text
