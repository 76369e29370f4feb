"""The bodies of requests; an unknown field is an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

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


class In(Body):
    """The field equals one of the values."""

    field: str
    in_: list[Value] = Field(alias="in", max_length=10_000)


class Between(Body):
    """The field lies between two values, both included; either may be left out."""

    field: str
    from_: Value | None = Field(None, alias="from")
    to: Value | None = None


class Glob(Body):
    """The field matches a glob."""

    field: str
    glob: str


class And(Body):
    """All parts match."""

    and_: list[Where] = Field(alias="and", max_length=1_000)


class Or(Body):
    """One of the parts matches."""

    or_: list[Where] = Field(alias="or", max_length=1_000)


class Not(Body):
    """The part does not match."""

    not_: Where = Field(alias="not")


Where = Is | In | Glob | And | Or | Not | Between


def filter_of(where: Where | None) -> filters.Filter | None:
    """Give the filter; None for none."""
    return None if where is None else _filter(where)


def _filter(where: Where) -> filters.Filter:
    match where:
        case Is():
            return filters.Is(where.field, where.is_)
        case In():
            return filters.In(where.field, tuple(where.in_))
        case Between():
            return filters.Between(where.field, where.from_, where.to)
        case Glob():
            return filters.Glob(where.field, where.glob)
        case And():
            return filters.And(tuple(map(_filter, where.and_)))
        case Or():
            return filters.Or(tuple(map(_filter, where.or_)))
        case Not():
            return filters.Not(_filter(where.not_))


@dataclass(frozen=True, slots=True)
class CitationBody(Citation):
    """A citation as an answer gave it."""

    __pydantic_config__ = ConfigDict(extra="forbid")


def _without_location(given: Any) -> Any:
    """Leave out what is derived."""
    return {name: given[name] for name in given if name != "location"} if isinstance(given, dict) else given


class TurnBody(Body):
    """One turn of the conversation before."""

    question: str = Field(max_length=10_000)
    answer: str = Field("", max_length=100_000)
    citations: list[Annotated[CitationBody, BeforeValidator(_without_location)]] = Field([], max_length=100)

    def turn(self) -> Turn:
        """Give the turn."""
        return Turn(self.question, self.answer, tuple(self.citations))


class _Asked(Body):
    question: Question
    mode: Mode | None = None
    where: Where | None = None
    history: list[TurnBody] = Field([], max_length=50)

    def options(self) -> dict[str, Any]:
        """Give what ``Library.search`` and ``Library.stream`` have in common."""
        return {"mode": self.mode, "where": filter_of(self.where), "history": [turn.turn() for turn in self.history]}


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
