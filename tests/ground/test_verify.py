import pytest

from pincite.generate.relevance import Terms
from pincite.ground.verify import features, lacking, verify

SOURCE = "The Eiffel Tower was completed on 31 March 1889 in Paris and is 330 metres tall."
TERMS = Terms()


def check(claim, source=SOURCE, context="", cosine=0.9):
    return verify(claim, source, terms=TERMS, cosine=cosine, context=context)


def test_a_sentence_supports_itself():
    assert check(SOURCE).verdict == "supported"
    assert check(SOURCE.replace(" ", "\n  ")).verdict == "supported"


def test_a_faithful_rewording_has_no_problems():
    assert check("The Eiffel Tower is 330 metres tall.").problems == ()
    assert check("The Eiffel Tower in Paris was completed in March 1889.").problems == ()


@pytest.mark.parametrize(
    ("claim", "problem"),
    [
        ("The Eiffel Tower is 340 metres tall.", "the number 340 is not in the cited text"),
        ("The Eiffel Tower is 330 feet tall.", "330 is in ft here and in m in the cited text"),
        ("The Eiffel Tower was completed on 31 May 1889.", "the date 31 May 1889 is not in the cited text"),
        ("The Eiffel Tower was completed on 30 March 1889.", "the date 30 March 1889 is not in the cited text"),
        ("The Eiffel Tower was completed in March 1890.", "the date March 1890 is not in the cited text"),
        ("The Eiffel Tower in London is 330 metres tall.", "the name London is not in the cited text"),
        ("The Eiffel Tower is not 330 metres tall.", "the cited text does not deny this"),
        ("The Eiffel Tower is more than 330 metres tall.", "'more than' is not in the cited text"),
    ],
)
def test_a_changed_fact_is_named_and_not_supported(claim, problem):
    found = check(claim)
    assert problem in found.problems
    assert found.verdict != "supported"


@pytest.mark.parametrize(
    ("claim", "parts"),
    [
        (
            "The Eiffel Tower in Paris is 330 metres tall and gets painted by hand with great care.",
            ("painted by hand with great care",),
        ),
        (
            "The Eiffel Tower, a slender lattice that needs fresh paint, was completed in 1889 in Paris.",
            ("slender lattice that needs fresh paint",),
        ),
    ],
)
def test_a_part_that_is_not_carried_is_named(claim, parts):
    found = check(claim)
    assert (found.verdict, found.parts) == ("partly", parts)
    assert all(repr(part) in found.problems[0] and part in claim for part in parts)


def test_a_changed_first_word_is_found():
    source = "Paris is the capital of France."
    assert check("London is the capital of France.", source).verdict != "supported"
    assert "Berlin is not in the cited text" in check("Berlin is the capital of France.", source).problems


def test_a_denial_is_found_in_both_directions():
    source = "The drug does not reduce mortality."
    assert check("The drug reduces mortality.", source).problems == ("the cited text denies this",)
    assert check("The drug reduces mortality.", source).verdict == "unsupported"
    assert check("The drug doesn't reduce mortality.", source).problems == ()


def test_another_denial_with_a_word_in_common_does_not_carry_a_denial():
    source = "It looks at the files, so it knows what is stale. What it does not know is still only text."
    assert check("It does not know what is stale.", source).verdict == "unsupported"
    assert check("It does not know what is only text.", source).problems == ()


def test_an_opposite_is_a_contradiction():
    found = check("Sales increased in spring.", "Sales decreased in spring.")
    assert (found.verdict, found.problems) == (
        "unsupported",
        ("the cited text says 'decreased' where this says 'increased'",),
    )


def test_context_may_name_what_a_claim_is_about():
    assert (
        check("The tower of Eiffel is 330 metres tall.", "It is 330 metres tall.", context="Who was Eiffel?").problems
        == ()
    )
    problems = check("The tower of Eiffel is 330 metres tall.", "It is 330 metres tall.").problems
    assert problems and "Eiffel" in problems[0]


def test_numbers_match_across_spellings():
    assert check("It has 3,000,000 users and two offices.", "It has 3 million users in 2 offices.").problems == ()


def test_nothing_cited_supports_nothing():
    assert check("Bananas are yellow.", "").verdict == "unsupported"
    assert check("Bananas ripen in a warm autumn.", SOURCE, cosine=0.05).verdict == "unsupported"


def test_features_stay_between_0_and_1():
    row = features("Bananas 1 2 3 4 5 Alpha Beta Gamma Delta.", "Nothing.", terms=TERMS, cosine=0.3)
    assert all(0 <= value <= 1 for value in row.values())
    assert row["coverage"] == 0.0


def test_lacking_parts_are_words_of_the_claim_in_order():
    assert lacking(SOURCE, SOURCE, TERMS) == ()
    assert lacking("Green bananas (ripe ones) ripen in Paris in a warm autumn.", SOURCE, TERMS) == (
        "Green bananas (ripe ones) ripen",
        "warm autumn",
    )
