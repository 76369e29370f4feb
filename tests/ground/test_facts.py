from decimal import Decimal

import pytest

from pincite.ground import facts


def values(text):
    return [set(map(str, (v.normalize() for v in q.values))) for q in facts.quantities(text)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12 apples", 12),
        ("1,234,567 people", 1234567),
        ("3.5 %", "3.5"),
        ("3,5 %", "3.5"),
        ("3 million", 3_000_000),
        ("6½ sacks", "6.5"),
        ("twenty-five years", 25),
        ("the \ufb01rst \ufb01ve", 1),  # ligatures, as text out of PDFs has them
        ("\ufb01fty-\ufb01ve years", 55),
        ("two hundred", 200),
        ("the 21st century", 21),
        ("٣٤ كتاب", 34),
        ("10mg", 10),
    ],
)
def test_a_number_is_read_in_its_usual_form(text, value):
    assert Decimal(str(value)) in facts.quantities(text)[0].values


def test_a_point_may_group_or_divide():
    assert values("1.234") == [{"1.234", "1234"}]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("5 %", "%"),
        ("5 percent", "%"),
        ("5 per cent", "%"),
        ("$5 million", "$"),
        ("5 million dollars", "$"),
        ("10mg", "mg"),
        ("3 kilometres", "km"),
        ("3 apples", ""),
    ],
)
def test_a_number_has_its_unit(text, unit):
    assert facts.quantities(text)[0].unit == unit


def test_no_number_in_a_name():
    assert [q.text for q in facts.quantities("GPT4 and B2B and model x1")] == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("on 2024-05-03", (2024, 5, 3)),
        ("on 3 May 2024", (2024, 5, 3)),
        ("on the 3rd of May, 2024", (2024, 5, 3)),
        ("on May 3, 2024", (2024, 5, 3)),
        ("in September 1999", (1999, 9, None)),
        ("on Sept. 4", (None, 9, 4)),
    ],
)
def test_a_date_is_read_as_far_as_it_goes(text, parts):
    (date,) = facts.dates(text)
    assert (date.year, date.month, date.day) == parts


def test_names_are_capitalised_words_but_not_the_first_of_a_sentence():
    assert facts.names("Yesterday Marie Curie met NASA's team in Paris on Monday.") == [
        "Marie",
        "Curie",
        "NASA",
        "Paris",
    ]
    assert facts.names("Marie Curie discovered radium.") == ["Marie", "Curie"]
    assert facts.names("Cats sleep.") == []
    assert facts.opening("Cats sleep.") == "Cats"
    assert facts.opening("The cats sleep.") == ""
    assert facts.names("LoRA adapts models.") == ["LoRA"]


def test_a_possessive_is_the_name():
    assert facts.words("Calvin's home isn’t Hadrian’s") == ["calvin", "home", "isn’t", "hadrian"]


def test_a_negation_covers_its_clause():
    assert facts.negated("It doesn't need retraining, but it costs memory.") == ["need retraining"]
    assert facts.negated("There were not 12,843.5 people, in all.") == ["12,843.5 people"]
    assert facts.negated("No patient died.") == ["patient died"]
    assert facts.negated("It needs retraining.") == []


def test_quantifiers_bound_numbers_only():
    assert set(facts.quantifiers("All of the more than 20 units")) == {"all", "at least"}
    assert facts.quantifiers("The plane flew over Paris.") == {}


def test_opposites_are_found_where_neither_side_has_both():
    assert facts.opposites("Sales increased.", "Sales decreased.") == [("increased", "decreased")]
    assert facts.opposites("Sales increased.", "Sales increased, then decreased.") == []
    assert facts.opposites("Sales increased.", "Sales were counted.") == []


@pytest.mark.parametrize(
    "text",
    [
        "Am 3. Mai 1987.",
        "Le 3 mai 1987.",
        "El 3 de mayo de 1987.",
        "3 maggio 1987",
        "3 de maio de 1987",
        "op 3 mei 1987",
    ],
)
def test_dates_of_other_languages_are_read(text):
    (date,) = facts.dates(text)
    assert (date.day, date.month, date.year) == (3, 5, 1987)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("5 Stunden", "h"),
        ("5 heures", "h"),
        ("5 horas", "h"),
        ("30 Prozent", "%"),
        ("7 días", "day"),
        ("2 Jahre", "year"),
    ],
)
def test_units_of_other_languages_are_read(text, unit):
    assert [quantity.unit for quantity in facts.quantities(text)] == [unit]
