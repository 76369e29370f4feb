"""Filters as SQL: what comes from outside is bound, trees have limits, globs use the index. Meaning: the contract."""

from __future__ import annotations

import pytest

from pincite.errors import FilterError
from pincite.store.filters import And, Between, Glob, In, Is, Not, Or, check
from pincite.store.sqlite.where import compile_filter, glob_matches

EVIL = "x'; DROP TABLE documents; --"


@pytest.mark.parametrize(
    "where", [Is(EVIL, EVIL), In(EVIL, (EVIL,)), Between(EVIL, EVIL), Glob(EVIL, EVIL + "*"), Is("uri", EVIL)]
)
def test_nothing_from_outside_stands_in_the_sql(where) -> None:
    sql, values = compile_filter(where)
    assert "DROP" not in sql
    assert sql.count("?") == len(values)
    assert EVIL.encode() in values


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "uri = 'x'",
        {"uri": "x"},
        Is("", 1),
        Is(7, 1),
        Is("a", None),
        Is("a", b"x"),
        Is("a", ["x"]),
        In("a", ("x", None)),
        Between("a", 1, "x"),
        Between("a", "x", True),
        Glob("a", 7),
        And((Is("a", 1), "b")),
        Not(None),
    ],
    ids=repr,
)
def test_what_is_no_filter_is_refused(wrong) -> None:
    with pytest.raises(FilterError) as caught:
        compile_filter(wrong)
    assert caught.value.fix


def test_the_size_of_a_filter_has_limits() -> None:
    deep = Is("a", 1)
    for _ in range(99):
        deep = Not(And((deep,)) if _ % 2 else deep)
    with pytest.raises(FilterError, match="deep"):
        check(deep)
    with pytest.raises(FilterError, match="values"):
        check(In("a", tuple(range(30_001))))


def test_a_filter_within_the_limits_is_no_trouble_for_sqlite() -> None:
    import apsw

    from pincite.store.sqlite.schema import SCHEMA

    connection = apsw.Connection(":memory:")
    connection.execute(SCHEMA)
    connection.create_scalar_function("glob_matches", glob_matches, 2)
    deep = Or(tuple(Glob("tag", f"*{number}") for number in range(9)))
    for number in range(98):
        deep = Not(deep) if number % 2 else And((deep, Is("tag", number), Is("uri", "x")))
    for where in (deep, Or(tuple(Is("path", str(number)) for number in range(9000))), In("a", tuple(range(29_000)))):
        condition, values = compile_filter(where)
        assert connection.execute(f"SELECT d.key FROM documents d WHERE {condition}", values).fetchall() == []


@pytest.mark.parametrize(
    ("pattern", "calls", "bound"),
    [
        ("/docs/*", False, [b"/docs/", b"/docs0"]),
        ("/a [[]1]/*", False, [b"/a [1]/", b"/a [1]0"]),
        ("/docs/*.md", True, [b"/docs/", b"/docs0", b"/docs/*.md"]),
        ("exactly", False, [b"exactly"]),
        ("*", False, []),
        ("*.md", True, [b"*.md"]),
        ("[ab]c", True, [b"[ab]c"]),
    ],
)
def test_the_literal_start_of_a_glob_is_a_range(pattern: str, calls: bool, bound: list[bytes]) -> None:
    sql, values = compile_filter(Glob("path", pattern))
    assert ("glob_matches" in sql) == calls
    assert values == bound
