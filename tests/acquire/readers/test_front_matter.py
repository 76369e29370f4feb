"""The front matter that people write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.acquire.readers.front_matter import front_matter


def values(body: str) -> dict:
    return front_matter(["---", *body.split("\n"), "---"])[1]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("title: A plain title", "A plain title"),
        ('title: "Quoted: with colon"', "Quoted: with colon"),
        ("title: 'single'", "single"),
        ("title: 12", 12),
        ("title: -3.5", -3.5),
        ("title: 007", 7),
        ("title: 1e5", "1e5"),
        ("title: 2024-01-31", "2024-01-31"),
        ("title: true", True),
        ("title: False", False),
        ("title: null", "null"),
        ("title: [a, 'b c', \"d\"]", "a, b c, d"),
        ("title:\n  - a\n  - b c", "a, b c"),
        ("title:\n- a\n- 'b'", "a, b"),
        ("title: value # comment", "value"),
        ("title: C#", "C#"),
        ("title: a: b", "a: b"),
        ("title: |\n  one\n  two", "one two"),
        ("title: >-\n  one\n  two", "one two"),
        ("title: one\n  two", "one two"),
        ("title: http://x.org/#a", "http://x.org/#a"),
        ("title: {a: 1}", "{a: 1}"),
    ],
)
def test_values(body, wanted):
    found = values(body)["title"]
    assert found == wanted
    assert type(found) is type(wanted)


def test_several_keys_and_what_is_nested():
    body = "title: T\n# comment\nempty:\nnested:\n  deep: 1\n  other: 2\nallowed-tools: x\nlast: 2"
    assert values(body) == {"title": "T", "allowed-tools": "x", "last": 2}


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [""],
        ["# Title"],
        ["---", "no end", "key: 1"],
        ["---", "just text between rules", "---"],
        [" ---", "a: 1", "---"],
        ["---", "---"],
        ["---"],
    ],
)
def test_there_is_none(lines):
    assert front_matter(lines) == (0, {})


def test_it_ends_at_three_dots_too_and_lines_are_counted():
    assert front_matter(["---", "a: 1", "...", "b: 2"]) == (3, {"a": 1})


@given(st.lists(st.text(alphabet=" -:#'\"[]|>ab1\t", max_size=12), max_size=12))
def test_any_lines_give_scalars(lines):
    taken, found = front_matter(["---", *lines, "---"])
    assert 0 <= taken <= len(lines) + 2
    assert all(type(value) in (str, int, float, bool) for value in found.values())


def test_tags_construct_nothing():
    assert values("title: !!python/object/apply:os.system ['true']")["title"].startswith("!!python")


def test_toml_as_hugo_writes_it():
    lines = [
        "+++",
        'title = "A: b"',
        "draft = true",
        "date = 2024-05-06",
        'tags = ["a", "b"]',
        "n = 1",
        f"big = {10**40}",
    ]
    wanted = {"title": "A: b", "draft": True, "date": "2024-05-06", "tags": "a, b", "n": 1, "big": str(10**40)}
    assert front_matter([*lines, "[x]", "y = 1", "+++", "Text"]) == (10, wanted)
    assert front_matter(["+++", "no toml", "+++"]) == (0, {})
    assert front_matter(["+++", "a = 1"]) == (0, {})
