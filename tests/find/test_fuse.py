"""Expected scores are written as the formula."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.find.fuse import UNREAD_WEIGHT, WEIGHT, fuse, ranked, rrf, weight_for
from pincite.types import Candidate

VECTOR = [Candidate(1, 0.9), Candidate(2, 0.5), Candidate(3, 0.4)]
KEYWORD = [Candidate(3, 8.0), Candidate(2, 4.0), Candidate(4, 2.0)]

candidate_lists = st.dictionaries(st.integers(0, 30), st.sampled_from([0.1, 0.2, 0.5, 0.9]), max_size=20).map(ranked)


def scores(candidates):
    return {candidate.key: candidate.score for candidate in candidates}


def test_convex_adds_cosine_and_share_of_the_best_keyword_score():
    assert scores(fuse(VECTOR, KEYWORD, weight=0.7)) == pytest.approx(
        {
            1: 0.7 * 0.9 + 0.3 * 0,
            2: 0.7 * 0.5 + 0.3 * 4 / 8,
            3: 0.7 * 0.4 + 0.3 * 8 / 8,
            4: 0.7 * 0 + 0.3 * 2 / 8,
        }
    )


def test_what_a_full_list_lacks_scores_as_its_last():
    assert scores(fuse(VECTOR, KEYWORD, weight=0.7, depth=3)) == pytest.approx(
        {
            1: 0.7 * 0.9 + 0.3 * 2 / 8,
            2: 0.7 * 0.5 + 0.3 * 4 / 8,
            3: 0.7 * 0.4 + 0.3 * 8 / 8,
            4: 0.7 * 0.4 + 0.3 * 2 / 8,
        }
    )


def test_a_short_list_is_complete_so_its_only_match_keeps_its_advantage():
    fused = scores(fuse(VECTOR, [Candidate(2, 5.0)], weight=0.7, depth=3))
    assert fused == pytest.approx({1: 0.7 * 0.9, 2: 0.7 * 0.5 + 0.3 * 5 / 5, 3: 0.7 * 0.4})


def test_rrf_adds_inverse_ranks_from_one():
    expected = {1: 1 / 61, 2: 1 / 62 + 1 / 62, 3: 1 / 63 + 1 / 61, 4: 1 / 63}
    assert scores(rrf(VECTOR, KEYWORD)) == pytest.approx(expected)
    assert fuse(VECTOR, KEYWORD, method="rrf") == rrf(VECTOR, KEYWORD)


@pytest.mark.parametrize("method", ["convex", "rrf"])
def test_an_empty_list_leaves_the_order_of_the_other(method):
    assert [c.key for c in fuse(VECTOR, [], method=method)] == [1, 2, 3]
    assert [c.key for c in fuse([], KEYWORD, method=method)] == [3, 2, 4]
    assert fuse([], [], method=method) == []


@given(candidate_lists, candidate_lists, st.sampled_from(["convex", "rrf"]), st.integers(0, 20))
def test_every_candidate_once_in_a_total_order(vector, keyword, method, depth):
    fused = fuse(vector, keyword, method=method, depth=depth)
    assert {c.key for c in fused} == {c.key for c in vector} | {c.key for c in keyword}
    assert len(fused) == len({c.key for c in fused})
    assert all((-a.score, a.key) < (-b.score, b.key) for a, b in pairwise(fused))


@given(candidate_lists, candidate_lists, st.randoms())
def test_the_order_of_equal_scores_does_not_depend_on_the_order_given(vector, keyword, random):
    shuffled = list(vector)
    random.shuffle(shuffled)
    assert fuse(vector, keyword) == fuse(shuffled, keyword)


def test_siblings_draw_a_passage_towards_the_mean_of_its_document():
    alone = scores(fuse(VECTOR, KEYWORD, weight=0.7))
    together = scores(fuse(VECTOR, KEYWORD, weight=0.7, owners={1: 7, 2: 8, 3: 8}, siblings=0.25))
    mean = (alone[2] + alone[3]) / 2
    assert together == pytest.approx(
        {1: alone[1], 2: 0.75 * alone[2] + 0.25 * mean, 3: 0.75 * alone[3] + 0.25 * mean, 4: alone[4]}
    )


@given(candidate_lists, candidate_lists, st.integers(1, 5))
def test_the_order_within_a_document_stays(vector, keyword, documents):
    owners = {key: key % documents for key in range(31)}
    before, after = fuse(vector, keyword), fuse(vector, keyword, owners=owners)
    assert {c.key for c in before} == {c.key for c in after}
    places = {c.key: c.score for c in after}
    for one, other in pairwise([c for c in before if owners[c.key] == 0]):
        assert places[one.key] >= places[other.key] or one.score == pytest.approx(other.score)


class Spelling:
    """Pieces of so many characters."""

    def __init__(self, letters):
        self.letters = letters

    def count(self, text):
        return max(1, round(sum(not c.isspace() for c in text) / self.letters))

    def starts(self, text):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("question", "letters", "weight"),
    [
        ("What is the size of the house in which they live?", 1.0, WEIGHT),  # English is not looked at
        ("Wer hat das Haus gebaut, das in der Stadt ist?", 2.7, UNREAD_WEIGHT),
        ("Wer hat das Haus gebaut, das in der Stadt ist?", 4.1, WEIGHT),
        ("Кто построил этот дом в городе?", 1.05, UNREAD_WEIGHT),
        ("Кто построил этот дом в городе?", 4.0, WEIGHT),
        ("谁建造了这座房子", 1.0, UNREAD_WEIGHT),
        ("谁建造了这座房子", 1.6, WEIGHT),
        ("ใครสร้างบ้านหลังนี้", 18.0, UNREAD_WEIGHT),
        ("ใครสร้างบ้านหลังนี้", 3.5, WEIGHT),
    ],
)
def test_the_weight_follows_the_language_of_the_question(question, letters, weight):
    assert weight_for(question, Spelling(letters), ["en"]) == weight


def test_a_question_without_a_plain_language_counts_as_the_library_s():
    assert weight_for("XJ-900", Spelling(1.0), ["ru", "en"]) == UNREAD_WEIGHT
    assert weight_for("XJ-900", Spelling(1.0), []) == WEIGHT
