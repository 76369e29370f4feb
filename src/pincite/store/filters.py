"""Filters as a small typed tree: never engine strings, so nothing can be injected.

A field is ``uri``, ``path`` (the decoded path of the URI), ``title``, ``language``, ``media_type``, or the name of a
metadata key. A field that a document does not have matches nothing but ``Not``. ``matches`` is the meaning of it all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pincite.errors import FilterError
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


_MAX_DEPTH = 100
_MAX_VALUES = 30_000  # SQLite binds at most 32,766 in one statement


def check(where: Filter) -> None:
    """Raise FilterError for a node, field or value of the wrong type, a range of mixed kinds, or too large a tree."""
    nodes: list[tuple[object, int]] = [(where, 1)]
    values = 0
    while nodes:
        node, depth = nodes.pop()
        if depth > _MAX_DEPTH:
            raise FilterError(f"The filter is nested more than {_MAX_DEPTH} deep.", fix="Write it flatter.")
        if isinstance(node, And | Or):
            nodes += [(part, depth + 1) for part in node.parts]
        elif isinstance(node, Not):
            nodes.append((node.part, depth + 1))
        else:
            values += _check_leaf(node)
    if values > _MAX_VALUES:
        raise FilterError(
            f"The filter holds more than {_MAX_VALUES} values.", fix="Use a range, a glob or a metadata key."
        )


def _check_leaf(node: object) -> int:
    """Check a condition on one field and count its values."""
    if not isinstance(node, Is | In | Between | Glob):
        raise FilterError(f"{node!r:.80} is not a filter.", fix="Use Is, In, Between, Glob, And, Or, Not.")
    if not isinstance(node.field, str) or not node.field:
        raise FilterError(f"A filter names the field {node.field!r:.80}.", fix="A field is a text that is not empty.")
    values = _values(node)
    for value in values:
        if not isinstance(value, str | int | float):
            raise FilterError(
                f"A filter on {node.field!r:.80} holds {value!r:.80}.",
                fix="A value is a text, a number, true or false.",
            )
    if isinstance(node, Between) and len({isinstance(value, str) for value in values}) > 1:
        raise FilterError(
            f"The range on {node.field!r:.80} goes from a text to a number.", fix="Both ends must be of one kind."
        )
    return 1 + len(values)


def _values(node: Is | In | Between | Glob) -> tuple[object, ...]:
    """Give the values that a condition compares with."""
    if isinstance(node, Is):
        return (node.value,)
    if isinstance(node, In):
        return tuple(node.values)
    if isinstance(node, Glob):
        if not isinstance(node.pattern, str):
            raise FilterError(f"The glob on {node.field!r:.80} is {node.pattern!r:.80}.", fix="A glob is a text.")
        return (node.pattern,)
    return tuple(value for value in (node.low, node.high) if value is not None)


def comparable(value: Scalar) -> str | int | float:
    """Give the value as it is compared: booleans are 1 and 0, integers beyond 64 bits are the nearest float."""
    if isinstance(value, str | float) or -(2**63) <= value < 2**63:
        return value if isinstance(value, str | float) else int(value)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def matches(where: Filter, fields: Mapping[str, Scalar]) -> bool:
    """Tell whether a document with these fields passes a checked filter: what every store must reproduce."""
    if isinstance(where, And):
        return all(matches(part, fields) for part in where.parts)
    if isinstance(where, Or):
        return any(matches(part, fields) for part in where.parts)
    if isinstance(where, Not):
        return not matches(where.part, fields)
    if where.field not in fields:
        return False
    value = comparable(fields[where.field])
    if isinstance(where, Glob):
        return isinstance(value, str) and fnmatchcase(value, where.pattern)
    if isinstance(where, Is):
        return value == comparable(where.value)
    if isinstance(where, In):
        return any(value == comparable(wanted) for wanted in where.values)
    return _between(value, where)


def _between(value: str | int | float, where: Between) -> bool:
    """Compare a value with both ends that are there; a text is never within numbers."""
    low, high = (value if end is None else comparable(end) for end in (where.low, where.high))
    if len({isinstance(part, str) for part in (low, value, high)}) > 1:
        return False
    open_end = where.low is None and where.high is None
    return open_end or low <= value <= high  # type: ignore[operator]
