"""Filters as a small typed tree: never engine strings, so nothing can be injected.

A field is ``uri``, ``path`` (the decoded path of the URI), ``title``, ``language``, ``media_type``, or the name of a
metadata key. A field that a document does not have matches nothing but ``Not``.
"""

from __future__ import annotations

from dataclasses import dataclass

from pincite.types import Scalar


@dataclass(frozen=True, slots=True)
class Is:
    """The field equals the value; a string never equals a number."""

    field: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class In:
    """The field equals one of the values."""

    field: str
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """``low <= field <= high``; either end may be open. Strings compare by code point, numbers as numbers."""

    field: str
    low: Scalar | None = None
    high: Scalar | None = None


@dataclass(frozen=True, slots=True)
class Glob:
    """The field, a string, matches a glob: ``*`` any characters, ``?`` one, ``[...]`` a set; case counts."""

    field: str
    pattern: str


@dataclass(frozen=True, slots=True)
class And:
    """All of the parts match; an empty list matches everything."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One of the parts matches; an empty list matches nothing."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not match."""

    part: Filter


Filter = Is | In | Between | Glob | And | Or | Not
