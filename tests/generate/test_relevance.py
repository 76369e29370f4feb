import numpy as np
import pytest

from pincite.generate.relevance import Terms, coverage, encode_within


def test_words_that_only_ask_are_no_content():
    terms = Terms()
    assert terms.wanted("What is the name of the cache?") == terms.wanted("cache")
    assert terms.wanted("How many caches are used?") == terms.wanted("caches")


def test_a_question_of_asking_words_keeps_them():
    assert Terms().wanted("What is it?")


def test_inflections_meet():
    terms = Terms()
    assert coverage(terms.wanted("caching tokens"), terms.found("The token is cached.")) == 1.0


def test_every_language_of_the_documents_is_read():
    terms = Terms(("en", "de"))
    assert coverage(terms.wanted("Häuser"), terms.found("Das Haus.")) > 0


def test_nothing_wanted_is_not_covered():
    assert coverage([], frozenset("a")) == 0.0


@pytest.mark.parametrize("text", ["word " * 1000, "a" * 5000, "", "\ud800\x00", "汉" * 900])
def test_text_of_any_length_is_encoded(text, encoder):
    (vector,) = encode_within(encoder, [text])
    assert vector.shape == (encoder.dimension,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-3)


def test_no_texts_make_no_rows(encoder):
    assert encode_within(encoder, []).shape == (0, encoder.dimension)
