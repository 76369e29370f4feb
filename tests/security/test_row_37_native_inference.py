"""What goes into native inference is in range: parameters, prompts of any length, texts of any kind."""

from __future__ import annotations

import math

import pytest

import pincite
from pincite.errors import GenerationError, PinciteError, SettingError
from pincite.models.protocols import GenerationOptions
from pincite.settings import Settings, changed, load_settings
from pincite.types import Message

WRONG = (-1, -(2**63), 2**31, 2**64, 10**30, math.nan, math.inf, -math.inf, "1; x", None.__class__, [1], 1e308)
NUMBERS = (
    "answer_tokens",
    "evidence_tokens",
    "temperature",
    "seed",
    "threads",
    "limit",
    "candidates",
    "answer_seconds",
    "passage_pieces",
    "strictness",
)


@pytest.mark.parametrize("name", NUMBERS)
def test_row_37_settings_out_of_range_are_refused(name, tmp_path):
    for value in WRONG:
        if (name, value) in (("seed", 2**31 - 1),):
            continue
        with pytest.raises(SettingError):
            changed(Settings(), **{name: value})
        with pytest.raises(SettingError):
            load_settings({name: value}, environ={})
    with pytest.raises(SettingError):
        load_settings(environ={f"PINCITE_{name.upper()}": "nan"})


@pytest.fixture(scope="module")
def generator(generator_file):
    from pincite.models.load import load_generator

    return load_generator(str(generator_file), models_dir=generator_file.parent, offline=True, threads=1)


MESSAGES = [Message("user", "Say yes.")]


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 0},
        {"max_tokens": -5},
        {"max_tokens": 10**9},
        {"temperature": -1.0},
        {"temperature": math.nan},
        {"seed": -1},
        {"seed": 2**40},
        {"seconds": 0.0},
        {"seconds": -1.0},
        {"stop": ("", "\0", "\ud800")},
    ],
)
def test_row_37_a_generator_survives_any_options(generator, options):
    """It writes, or says no; the next one is written as before."""
    try:
        how = GenerationOptions(**{"max_tokens": 4, "seconds": 20.0} | options)
        for number, _ in enumerate(generator.stream(MESSAGES, how)):
            if number > 8:
                break
    except (PinciteError, ValueError, OverflowError):
        pass
    assert list(generator.stream(MESSAGES, GenerationOptions(max_tokens=4, seconds=60.0)))


@pytest.mark.parametrize(
    "text",
    ["yes " * 300_000, "\u0301" * 400_000, "a" * 1_000_000, "<|im_end|>" * 50_000, "\0" * 300_000, "\ud800" * 100_000],
)
def test_row_37_prompts_of_megabytes_are_refused_by_their_length(generator, text):
    with pytest.raises(GenerationError):
        list(generator.stream([Message("user", text)], GenerationOptions(max_tokens=4, seconds=60.0)))
    assert list(generator.stream(MESSAGES, GenerationOptions(max_tokens=4, seconds=60.0)))


def test_row_37_a_generator_that_fails_leaves_an_answer_and_the_library(tmp_path, docs):
    class Broken:
        name, context_tokens = "broken", 4096

        def count(self, text):
            return len(text) // 4 + 1

        def stream(self, messages, options):
            raise GenerationError("The runtime failed.", fix="Try again.")

    from tests.fakes import HashEncoder

    (docs / "a.md").write_text("The weir is good. It holds 4,200 litres.")
    with pincite.open(tmp_path / "l.pincite", encoder=HashEncoder(), generator=Broken()) as library:
        library.add(docs)
        answer = library.ask("How many litres does the weir hold?")
        assert "4,200" in answer.text and answer.generator == "extractive"
        assert all(check.ok for check in library.store.verify())
