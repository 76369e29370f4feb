"""Drafts: every quote is where it says, questions are about it, and the same library gives the same drafts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pincite.build.chunk import chunk
from pincite.find.analyze import ANALYZER, analyze
from pincite.measure.cases import Row
from pincite.measure.corpus import document_of
from pincite.measure.drafts import draft_cases
from pincite.models.protocols import Finish, Piece
from pincite.store.sqlite.store import open_store
from pincite.types import Block
from tests.fakes import HashEncoder

TEXTS = {
    "loom": "A jacquard is a loom that weaves patterns by punched cards. Weavers feed it all cards by hand.",
    "ferry": "The ferry to Skellig carries 42 passengers across each morning. It was launched at Kilbaha in 1934.",
    "moss": "Sphagnum holds twenty times its dry weight of water and turns bogs acidic over centuries of growth.",
    "table": "| a | b |\n| 1 | 2 |",
    "empty": " ",
}


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "library", analyze=analyze, analyzer=ANALYZER)
    for name, text in TEXTS.items():
        document = document_of("mine", Row(name, text))
        store.put_document(document, chunk(document, HashEncoder.pieces), {}, "hash-64")
    yield store
    store.close()


def by_source(cases):
    return {case.gold[0].source.rsplit("/", 1)[1]: case for case in cases}


def test_every_quote_is_where_it_says(store):
    cases = draft_cases(store)
    assert set(by_source(cases)) == {"loom", "ferry", "moss"}
    for case in cases:
        [gold] = case.gold
        assert store.document(gold.source).text[gold.start : gold.end] == gold.quote
        assert (case.status, case.answerable) == ("draft", True)


def test_the_kinds_of_questions(store):
    assert {case.question for case in draft_cases(store)} >= {"What is a jacquard?"}
    number = next(case for case in draft_cases(store) if case.id.startswith("number"))
    assert number.question.startswith(("How many passengers: ", "Which year: "))


def test_headings_are_asked_for(store):
    row = document_of("mine", Row("rules", "# Late fees\n\nEach overdue day costs the borrower a whole quarter."))
    document = replace(row, title="Library rules", blocks=(Block("heading", 0, 11, 1, "Late fees"),))
    store.put_document(document, chunk(document, HashEncoder.pieces), {}, "hash-64")
    [case] = [case for case in draft_cases(store) if case.id.startswith("heading")]
    assert case.question == "Late fees in Library rules"
    assert case.gold[0].quote == "Each overdue day costs the borrower a whole quarter."


def test_drafts_are_always_the_same_and_known_ones_do_not_come_back(store):
    first = draft_cases(store)
    assert first == draft_cases(store)
    assert len(draft_cases(store, count=1)) == 1
    assert draft_cases(store, count=0) == []
    again = draft_cases(store, known={case.id for case in first})
    assert not {case.id for case in again} & {case.id for case in first}


class Says:
    """A generator that always asks the same."""

    name = "says"
    context_tokens = 2000

    def __init__(self, text):
        self.text = text

    def count(self, text):
        return len(text.split())

    def stream(self, messages, options):
        yield Piece(self.text)
        yield Finish("stop", 1, 1)


def generated(store, text):
    return [case for case in draft_cases(store, generator=Says(text)) if case.id.startswith("generated")]


def test_a_generated_question_is_kept_for_the_passage_that_answers_it(store):
    found = generated(store, " How much water does sphagnum hold? And so on")
    assert [case.question for case in found] == ["How much water does sphagnum hold?"]
    assert found[0].gold[0].quote.startswith("Sphagnum holds")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No question at all.",
        "What does the passage say about sphagnum water?",
        "Who is it?",
        "Which zebra painted the moon in seven colours?",
        "What " + "sphagnum " * 30 + "?",
    ],
)
def test_a_generated_question_that_its_passage_cannot_answer_is_left_out(store, text):
    assert generated(store, text) == []
