"""A conversation through the library: what is searched, what the model is told, what is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import pincite
from pincite.models.protocols import Finish, GenerationOptions, Piece
from pincite.types import Message, Turn
from tests.fakes import HashEncoder

LAW = (
    "The seller of goods is liable for defects for two years after delivery.\n\n"
    "The provider of a service is liable for defects for six months after the work was accepted.\n\n"
    "Invoices are due thirty days after delivery.\n"
)
GOODS = "How long is the seller of goods liable for defects?"


class Recorder:
    """A generator that keeps what it was given."""

    name = "recorder-7b"
    context_tokens = 4096

    def __init__(self, draft: str = "It is liable for six months. [1]") -> None:
        self.draft = draft
        self.given: list[tuple[Sequence[Message], GenerationOptions]] = []

    def count(self, text: str) -> int:
        return len(text.split())

    def stream(self, messages: Sequence[Message], options: GenerationOptions) -> Iterator[Piece | Finish]:
        self.given.append((messages, options))
        yield Piece(self.draft)
        yield Finish("stop", 10, 5)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def library(tmp_path: Path, recorder: Recorder) -> Iterator[pincite.Library]:
    settings = {"strictness": 0.05, "temperature": 0.7, "seed": 3}  # the gate is calibrated for a real encoder
    with pincite.open(tmp_path / "t.pincite", encoder=HashEncoder(), generator=recorder, **settings) as opened:
        opened.add_text("note:law", LAW, title="law")
        yield opened


def test_the_model_gets_the_question_in_a_form_that_stands_alone(library: pincite.Library, recorder: Recorder) -> None:
    first = library.ask(GOODS)
    second = library.ask("What about a service?", history=[first.turn])
    asked = [messages[-1].content for messages, _ in recorder.given]
    assert asked == [GOODS, f"{GOODS} What about a service?"]
    assert second.question == "What about a service?"
    assert [stage.name for stage in first.trace.stages].count("understand") == 0
    assert [stage.detail["taken"] for stage in second.trace.stages if stage.name == "understand"] == [GOODS]


def test_the_past_is_searched_for_and_never_cited(library: pincite.Library) -> None:
    history = [Turn(GOODS, "Penguins decide that. [1]")]
    answer = library.ask("What about a service?", history=history, extract=True)
    assert "six months" in answer.text
    assert "Penguins" not in answer.text
    text = library.document("note:law").text
    assert all(text[c.start : c.end] == c.quote for c in answer.citations)


def test_a_history_without_turns_is_no_history(library: pincite.Library) -> None:
    plain = library.search("liable service", refresh=False)
    assert library.search("liable service", refresh=False, history=()).hits == plain.hits
    assert plain.whole == "liable service"
    assert library.search("liable service", refresh=False, history=[Turn(GOODS)]).hits != plain.hits


def test_temperature_and_seed_reach_the_model(library: pincite.Library, recorder: Recorder) -> None:
    library.ask(GOODS)
    [(_, options)] = recorder.given
    assert (options.temperature, options.seed) == (0.7, 3)


@pytest.mark.parametrize(("strictness", "outcome"), [(0.0, "answered"), (1.0, "not_in_documents")])
def test_strictness_decides_from_everything_to_nothing(tmp_path: Path, strictness: float, outcome: str) -> None:
    with pincite.open(
        tmp_path / "s.pincite", encoder=HashEncoder(), generator="none", strictness=strictness
    ) as library:
        library.add_text("note:law", LAW, title="law")
        assert library.ask(GOODS).outcome == outcome


def test_a_real_encoder_finds_what_the_follow_up_means(tmp_path: Path, encoder) -> None:
    with pincite.open(tmp_path / "r.pincite", encoder=encoder, generator="none") as library:
        library.add_text("note:law", LAW, title="law")
        library.add_text("note:tea", "A tea service for six is in the cupboard. The service charge is ten percent.")
        first = library.ask(GOODS)
        second = library.ask("What about a service?", history=[first.turn])
    assert "two years" in first.text
    assert second.citations[0].quote.startswith("The provider of a service is liable")
