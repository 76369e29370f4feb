"""Filters as SQL. All names and values are bound; the SQL holds nothing that came from outside."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import lru_cache

from pincite.store.filters import And, Between, Filter, Glob, In, Is, Not, Or, check, comparable
from pincite.store.sqlite.schema import pack, successor, unpack
from pincite.types import Scalar

COLUMNS = ("uri", "path", "title", "language", "media_type")
Bound = bytes | int | float
_LITERAL = re.compile(r"(?:[^*?\[]|\[[^!\]]\])*")  # "[x]" is how a glob writes x itself


def compile_filter(where: Filter) -> tuple[str, list[Bound]]:
    """Turn a filter into a condition on the row ``d`` of ``documents``, never NULL, and its values; or FilterError."""
    check(where)
    values: list[Bound] = []
    return _condition(where, values), values


def bound(value: Scalar) -> Bound:
    """Give the value as metadata and filters store it."""
    value = comparable(value)
    return pack(value) if isinstance(value, str) else value


def _condition(where: Filter, values: list[Bound]) -> str:
    if isinstance(where, And):
        return _joined([_condition(part, values) for part in where.parts], "AND", "1")
    if isinstance(where, Or):
        return _joined([_condition(part, values) for part in where.parts], "OR", "0")
    if isinstance(where, Not):
        return f"NOT {_condition(where.part, values)}"
    if where.field in COLUMNS:
        return f"(({_test(where, f'd.{where.field}', values)}) IS TRUE)"
    values.append(pack(where.field))
    test = _test(where, "value", values)
    return f"(d.key IN (SELECT document FROM metadata WHERE name = ? AND ({test})))"  # noqa: S608 - only "?" inside


def _joined(parts: Sequence[str], operator: str, empty: str) -> str:
    """Join as a balanced tree: SQLite limits the depth of an expression to 1,000."""
    if len(parts) < 2:
        return f"({parts[0] if parts else empty})"
    middle = len(parts) // 2
    return f"({_joined(parts[:middle], operator, empty)} {operator} {_joined(parts[middle:], operator, empty)})"


def _test(where: Is | In | Between | Glob, column: str, values: list[Bound]) -> str:
    """Compare a column. BLOBs, which are texts, are greater than all numbers and equal to none."""
    if isinstance(where, Is):
        values.append(bound(where.value))
        return f"{column} = ?"
    if isinstance(where, In):
        values += [bound(value) for value in where.values]
        return f"{column} IN ({', '.join('?' * len(where.values))})"
    if isinstance(where, Glob):
        return _glob(where.pattern, column, values)
    tests = []
    for end, operator in ((where.low, ">="), (where.high, "<=")):
        if end is not None:
            values.append(bound(end))
            tests.append(f"{column} {operator} ? AND {column} {'>=' if isinstance(end, str) else '<'} x''")
    return " AND ".join(tests) or "1"


def _glob(pattern: str, column: str, values: list[Bound]) -> str:
    """Search the range of the pattern's literal start; only what is there meets the pattern itself."""
    match = _LITERAL.match(pattern)
    literal = match[0] if match else ""
    prefix, rest = pack(re.sub(r"\[(.)\]", r"\1", literal, flags=re.DOTALL)), pattern[len(literal) :]
    if not rest:
        values.append(prefix)
        return f"{column} = ?"
    tests = []
    if prefix:
        values += [prefix, successor(prefix)]
        tests = [f"{column} >= ? AND {column} < ?"]
    if rest.strip("*"):
        values.append(pack(pattern))
        tests.append(f"glob_matches({column}, ?)")
    return " AND ".join(tests) or f"{column} >= x''"


def glob_matches(value: object, pattern: bytes) -> bool:
    """Match one stored value; SQL calls it. Numbers match no glob."""
    return isinstance(value, bytes) and _pattern(pattern).match(unpack(value)) is not None


@lru_cache(maxsize=64)
def _pattern(pattern: bytes) -> re.Pattern[str]:
    return re.compile(translate(unpack(pattern)))
