"""Span measures against the definition, written with sets of characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.measure.spans import span_scores

PLACES = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(1, 9)).map(lambda p: (p[0], p[1], p[1] + p[2])),
    max_size=6,
)


def characters(places):
    return {(source, i) for source, start, end in places for i in range(start, end)}


@given(PLACES, PLACES.filter(bool))
def test_measures_are_those_of_sets_of_characters(found, gold) -> None:
    have, want = characters(found), characters(gold)
    scores = span_scores(found, gold)
    assert scores.recall == len(have & want) / len(want)
    assert scores.precision == (len(have & want) / len(have) if have else 0)
    assert scores.iou == len(have & want) / len(have | want)


def test_the_example_of_the_definition() -> None:
    scores = span_scores([("a", 0, 10), ("a", 5, 15), ("b", 0, 5)], [("a", 10, 20)])
    assert (scores.recall, scores.precision, scores.iou) == (5 / 10, 5 / 20, 5 / 25)


def test_without_gold_there_is_no_measure() -> None:
    with pytest.raises(ValueError, match="no gold"):
        span_scores([("a", 0, 1)], [])
