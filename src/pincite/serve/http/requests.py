"""The bodies of requests; an unknown field is an error."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pincite.store import filters
from pincite.types import Citation, Turn

Value = str | bool | int | float
Mode = Literal["hybrid", "vector", "keyword"]
QUESTION_CHARS = 10_000
Question = Annotated[str, Field(min_length=1, max_length=QUESTION_CHARS, description="Any text.")]


class Body(BaseModel):
    """A body, or a part of one."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Is(Body):
    """The field equals the value."""

    field: str
    is_: Value = Field(alias="is")

    def filter(self) -> filters.Filter:
        """Give the filter."""
        return filters.Is(self.field, self.is_)


class In(Body):
    """The field equals one of the values."""

    field: str
    in_: list[Value] = Field(alias="in", max_length=10_000)

    def filter(self) -> filters.Filter:
        """Give the filter."""
        return filters.In(self.field, tuple(self.in_))


class Between(Body):
    """The field lies between two values, both included; either may be left out."""

    field: str
    from_: Value | None = Field(None, alias="from")
    to: Value | None = None

    def filter(self) -> filters.Filter:
        """Give the filter."""
        return filters.Between(self.field, self.from_, self.to)


class Glob(Body):
    """The field matches a glob."""

    field: str
    glob: str

    def filter(self) -> filters.Filter:
        """Give the filter."""
        return filters.Glob(self.field, self.glob)


class And(Body):
    """All parts match."""

    and_: list[Where] = Field(alias="and", max_length=1_000)

    def filter(self) -> filters.Filter:
        """Give the filter."""
        return filters.And(tuple(part.filter() for part in self.and_))


class Or(Body):
    """One of the parts matches."""

    or_: list[Where] = Field(alias="or", max_length=1_000)

    def filter(self) -> filters.Filter:
        """Give the filter."""
        return filters.Or(tuple(part.filter() for part in self.or_))


class Not(Body):
    """The part does not match."""

    not_: Where = Field(alias="not")

    def filter(self) -> filters.Filter:
        """Give the filter."""
        return filters.Not(self.not_.filter())


Where = Is | In | Glob | And | Or | Not | Between


class CitationBody(Body):
    """A citation as an answer gave it; ``location`` is derived and may be there."""

    model_config = ConfigDict(extra="forbid")

    number: int
    passage_id: str
    uri: str
    version: int
    start: int
    end: int
    quote: str
    title: str = ""
    page: int | None = None
    heading_path: list[str] = Field([], max_length=100)
    line_from: int = 1
    line_to: int = 1
    column_from: int | None = None
    location: str = ""

    def citation(self) -> Citation:
        """Give the citation."""
        fields = self.model_dump(exclude={"location", "heading_path"})
        return Citation(**fields, heading_path=tuple(self.heading_path))


class TurnBody(Body):
    """One turn of the conversation before."""

    question: str = Field(max_length=10_000)
    answer: str = Field("", max_length=100_000)
    citations: list[CitationBody] = Field([], max_length=100)

    def turn(self) -> Turn:
        """Give the turn."""
        return Turn(self.question, self.answer, tuple(c.citation() for c in self.citations))


class _Asked(Body):
    question: Question
    mode: Mode | None = None
    where: Where | None = None
    history: list[TurnBody] = Field([], max_length=50)

    def options(self) -> dict[str, Any]:
        """Give what ``Library.search`` and ``Library.stream`` have in common."""
        where = None if self.where is None else self.where.filter()
        return {"mode": self.mode, "where": where, "history": [turn.turn() for turn in self.history]}


class Search(_Asked):
    """A question to search with."""

    limit: int | None = Field(None, ge=1, le=1_000)
    explain: bool = False


class Ask(_Asked):
    """A question to answer."""

    stream: bool = False
    extract: bool = False
    policy: Literal["flag", "drop", "strict"] | None = None

    def options(self) -> dict[str, Any]:
        """Give the options of ``Library.stream``."""
        return super().options() | {"extract": self.extract, "policy": self.policy}


class Check(Body):
    """A text to check."""

    text: str = Field(max_length=200_000)
    mode: Mode | None = None
    where: Where | None = None


class Why(_Asked):
    """A question and what it should have found."""

    target: str = Field(min_length=1, max_length=10_000, description="A URI, or a document's id.")
    quote: str = Field("", max_length=10_000)
    limit: int | None = Field(None, ge=1, le=1_000)
    extract: bool = True

    def options(self) -> dict[str, Any]:
        """Give the options of ``Library.why``."""
        return super().options() | {"quote": self.quote, "limit": self.limit, "extract": self.extract}
