import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from pincite.find.distinct import BEYOND, Looks, _words, alike, distinct
from pincite.types import Hit, Passage

LONG = (
    "Visitors may leave their coats in the hall on the ground floor, and the staff will look after them until the "
    "doors close at 18:30 in winter"
)


def hits(texts):
    passages = [Passage(f"d{i}@1:0-1", i, f"d{i}", f"file:///{i}", 1, 0, len(t), t, "") for i, t in enumerate(texts, 1)]
    return [Hit(0, 1 - passage.key / 100, passage) for passage in passages]


@pytest.mark.parametrize(
    "other",
    [
        LONG,
        LONG.upper(),
        LONG.replace(" ", "\n  ") + ".",
        LONG.replace("Visitors", "visitors") + ", please",
        LONG.replace("winter", "wintr"),
        LONG.replace("Visitors", "Because visitors"),
    ],
)
def test_long_texts_that_surely_say_the_same_are_alike(other):
    assert alike(Looks(LONG), Looks(other))
    assert alike(Looks(other), Looks(LONG))


@pytest.mark.parametrize(
    "other",
    [
        LONG.replace("18:30", "17:30"),
        LONG.replace("may leave", "may not leave"),
        LONG.replace("winter", "summer"),
        LONG.replace("the staff", "the Hilton staff"),
        LONG.replace("the staff", "the WHO staff"),
        LONG.replace("the staff", "the staff of 3"),
        LONG.replace("18:30", "-18:30"),
        LONG + "?",
        LONG[: len(LONG) // 2],
        "",
    ],
)
def test_a_number_a_name_a_negation_or_another_word_makes_them_different(other):
    assert not alike(Looks(LONG), Looks(other))
    assert not alike(Looks(other), Looks(LONG))


def test_of_a_short_text_each_word_counts():
    assert alike(Looks("The fee is 20 euros."), Looks("the fee is 20 Euros"))
    assert not alike(Looks("The fee is 20 euros."), Looks("The fee is 20 euros now."))
    assert not alike(Looks("dog bites man"), Looks("man bites dog"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I know C++.", "I know C#."),
        ("a < b", "a > b"),
        ("Keep it at -5 degrees.", "Keep it at 5 degrees."),
        ("x == y", "x != y"),
        ("5 % of it", "5 of it"),
        ("\U0001f389\U0001f389", "\U0001f622"),
        ("...", "-"),
    ],
)
def test_signs_and_symbols_count(one, other):
    assert not alike(Looks(one), Looks(other))
    assert not alike(Looks(other), Looks(one))


BASE = [letter * length for length, letter in enumerate("abcdefghijklmnopqrstuv", start=1)]


@given(st.lists(st.sets(st.sampled_from(BASE), max_size=3), max_size=10), st.integers(1, 6))
@example([set(), {BASE[-1]}, {BASE[-1], BASE[-2]}, {BASE[-3]}], 6)
def test_the_first_alike_is_found_as_by_comparing_all(lacking, limit):
    """The slow, obvious version: every text beside every one that is kept."""
    texts = [" ".join(word for word in BASE if word not in words) for words in lacking]
    kept: list[str] = []
    shared: dict[int, list[int]] = {}
    for key, text in enumerate(texts, start=1):
        twin = next((i for i, other in enumerate(kept) if alike(Looks(text), Looks(other))), None)
        if twin is not None:
            shared[twin].append(key)
        else:
            shared[len(kept)] = []
            kept.append(text)
    found = distinct(hits(texts), len(texts) or 1)
    if len(kept) == len(texts):
        assert [hit.text for hit in found] == kept
    found = distinct(hits(texts), min(limit, len(kept)) or 1)
    assert [hit.text for hit in found] == kept[:limit]
    for place, hit in enumerate(found):
        named = [passage.key for passage in hit.also]
        assert named == shared[place][: len(named)]


@given(st.text(st.characters(max_codepoint=127)))
def test_words_of_ascii_are_those_of_any_text(text):
    assert _words(text) == regex.findall(r"\w+", text.casefold())


@given(st.text(), st.text())
def test_any_texts_can_be_compared_in_either_order(one, other):
    assert alike(Looks(one), Looks(one))
    assert alike(Looks(one), Looks(other)) == alike(Looks(other), Looks(one))


def test_the_first_keeps_its_place_and_the_top_stays_full():
    found = distinct(hits(["a", "b", "a", "a", "c", "b", "d"]), 3)
    assert [(hit.rank, hit.text, [p.key for p in hit.also]) for hit in found] == [
        (1, "a", [3, 4]),
        (2, "b", [6]),
        (3, "c", []),
    ]


def test_places_that_would_stay_empty_go_to_near_duplicates():
    """A small library hides no document behind another."""
    found = distinct(hits(["a", "b", "a", "a", "b"]), 4)
    assert [(hit.rank, hit.text, hit.passage.key, [p.key for p in hit.also]) for hit in found] == [
        (1, "a", 1, []),
        (2, "b", 2, [5]),
        (3, "a", 3, []),
        (4, "a", 4, []),
    ]


def test_twins_right_after_the_last_hit_are_named_and_no_more_are_read():
    read = []

    def given_hits():
        for hit in hits(["a", "b", "b", *"cdefghijklmnop"]):
            read.append(hit.text)
            yield hit

    assert [len(hit.also) for hit in distinct(given_hits(), 2)] == [0, 1]
    assert len(read) == 2 + BEYOND
