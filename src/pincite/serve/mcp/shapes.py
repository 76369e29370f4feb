"""What the tools take and give: the fields of the JSON contract that agents need, with their schemas."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

READ_LIMIT = 20_000  # code points that one call of ``read`` gives
CHECK_LIMIT = 50_000  # code points that one call of ``check`` takes
LIST_LIMIT = 100  # documents that one call of ``list`` gives

Verdict = Literal["supported", "partly", "unsupported", "conflicting"]
Question = Annotated[str, Field(min_length=1, max_length=4_000, description="A whole question or search text.")]
Mode = Annotated[
    Literal["hybrid", "vector", "keyword"] | None,
    Field(description="How to search: by words ('keyword'), by meaning ('vector'), or both ('hybrid', the default)."),
]
Where = Annotated[
    list[str],
    Field(
        max_length=20,
        description="Only documents that fit every condition: FIELD=VALUE, FIELD!=VALUE, FIELD>=VALUE, FIELD<=VALUE or "
        "FIELD~GLOB, for instance 'path~*/contracts/*' or 'language=de'. Fields: path, uri, title, language, "
        "media_type, and names of metadata.",
    ),
]


class Arguments(BaseModel):
    """What a tool takes; an unknown name is an error."""

    model_config = ConfigDict(extra="forbid")


class Searching(Arguments):
    """Of every tool that searches."""

    mode: Mode = None
    where: Where = []


class SearchArguments(Searching):
    """Of ``search``."""

    question: Question
    limit: Annotated[int | None, Field(ge=1, le=50, description="How many passages at most (default 10).")] = None


class ReadArguments(Arguments):
    """Of ``read``."""

    target: Annotated[
        str, Field(min_length=1, description="A passage_id, a document's uri or document_id, or an absolute path.")
    ]
    version: Annotated[int | None, Field(ge=1, description="Of a document: this version, not the newest.")] = None
    start: Annotated[int, Field(ge=0, description="Of a document: the first character, from 0.")] = 0
    end: Annotated[int | None, Field(ge=0, description="Of a document: the character after the last.")] = None
    around: Annotated[
        int, Field(ge=0, le=5_000, description="Of a passage: characters of the document on either side of it.")
    ] = 0


class AskArguments(Searching):
    """Of ``ask``."""

    question: Question
    extract: Annotated[
        bool, Field(description="Answer with verbatim quotes alone, without the server's own language model.")
    ] = False


class CheckArguments(Searching):
    """Of ``check``."""

    text: Annotated[str, Field(min_length=1, max_length=CHECK_LIMIT, description="Any text, written by anyone.")]


class WhyArguments(Searching):
    """Of ``why``."""

    question: Question
    target: Annotated[
        str, Field(min_length=1, description="The document that was expected: its uri, document_id or path.")
    ]
    quote: Annotated[str, Field(max_length=4_000, description="The words in it that were expected.")] = ""


class ListArguments(Arguments):
    """Of ``list``."""

    target: Annotated[str | None, Field(description="Only what is at or below this uri or path.")] = None
    failed: Annotated[bool, Field(description="Only what could not be read, wholly or partly.")] = False
    offset: Annotated[int, Field(ge=0, description="Skip so many, as next_offset of the call before says.")] = 0


class AddArguments(Arguments):
    """Of ``add``."""

    paths: Annotated[list[str], Field(min_length=1, max_length=100, description="Absolute paths of files and folders.")]


class Result(BaseModel):
    """What a tool gives; what else stands in a shape is left out."""


class Stale(Result):
    """A source that may have changed since it was read."""

    uri: str
    version: int
    reason: str
    fix: str


class Span(Result):
    """The characters [start, end) of a version of a document."""

    uri: str
    version: int
    start: int
    end: int
    title: str


class Found(Span):
    """A passage."""

    passage_id: str
    page: int | None
    heading_path: list[str]
    text: str
    score: float


class SearchResult(Result):
    """Of ``search``."""

    hits: list[Found]
    stale: list[Stale]


class ReadResult(Span):
    """Of ``read``."""

    document_id: str
    media_type: str
    length: Annotated[int, Field(description="Characters of the whole document.")]
    page_from: int | None
    page_to: int | None
    text: Annotated[str, Field(description="Exactly the characters [start, end) of this version.")]
    next_start: Annotated[int | None, Field(description="Where to read on; null at the end of what was asked for.")]


class Quoted(Span):
    """A citation: the quote is exactly the characters [start, end) of this version of the document."""

    number: int
    passage_id: str
    quote: str
    page: int | None
    location: str


class Judged(Result):
    """A sentence with its verdict."""

    start: int
    end: int
    text: str
    verdict: Verdict
    citations: list[int]
    problems: list[str]


class Note(Result):
    """Something that the reader must know."""

    kind: str
    message: str
    fix: str


class CheckResult(Result):
    """Of ``check``."""

    claims: list[Judged]
    citations: list[Quoted]
    findings: list[Note]


class AskResult(CheckResult):
    """Of ``ask``."""

    text: str
    outcome: Literal["answered", "partial", "not_in_documents"]
    nearest: Annotated[list[Found], Field(description="When not in the documents: what came closest.")]
    stale: list[Stale]
    generator: Annotated[str, Field(description="The model that wrote the text, or 'extractive': quotes alone.")]


class WhyResult(Result):
    """Of ``why``."""

    uri: str
    stage: str
    found: bool
    reason: str
    fix: str
    passages: list[str]
    ahead: list[Found]
    nearest: str | None
    stale: list[Stale]


class Added(Result):
    """What became of one source."""

    uri: str
    status: str
    version: int | None
    passages: int
    reason: str
    fix: str


class Listed(Added):
    """A source in the catalogue."""

    document_id: str
    title: str
    language: str
    media_type: str


class ListResult(Result):
    """Of ``list``."""

    documents: list[Listed]
    total: int
    next_offset: int | None


class AddResult(Result):
    """Of ``add``: the sources that are new, changed, gone or failed; those that stayed as they are, are counted."""

    sources: list[Added]
    left_out: Annotated[int, Field(description="Sources that are not listed, for there are too many.")]
    summary: dict[str, int]


def schema(model: type[BaseModel]) -> dict[str, Any]:
    """Give a model's JSON schema."""
    return model.model_json_schema(mode="validation" if issubclass(model, Arguments) else "serialization")
