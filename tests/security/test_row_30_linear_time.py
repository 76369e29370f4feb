"""Every function that takes a text takes time in proportion to its length, whatever the text repeats.

The functions are found by their signatures, so that a new one is tested, or named here with its reason. Twenty thousand
characters tell a square from a line; lines of 10 MB are in tests/acquire/test_read.py and tests/build/test_chunk.py.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType

import pytest

from pincite.errors import EmptyQuestion
from pincite.ground.check import check_text
from pincite.text import sentences

PACKAGES = ("pincite.text", "pincite.build", "pincite.find", "pincite.generate", "pincite.ground", "pincite.measure")
READING = ("pincite.acquire", "pincite.store.filters", "pincite.store.hashing", "pincite.models.generators.sse")
# What never sees a whole text, and who sees to that.
BOUNDED = {
    "pincite.build.cut._before": "gets patterns of ours",
    "pincite.build.cut._after": "gets patterns of ours",
    "pincite.ground.claims._numbers": "gets a marker, whose parts are bounded by its pattern",
    "pincite.ground.facts": "gets sentences of the evidence, and claims of at most 2,000 characters",
    "pincite.ground.verify": "as above",
    "pincite.ground.conflict": "as above",
    "pincite.acquire.readers.sheets._column": "runs in the child, which has 10 s",
    "pincite.acquire.wire.from_json": "RecursionError is expected by its caller",
}
SHAPES = (
    "a",
    "(",
    "\n",
    "a@",
    " ",
    ".",
    "#",
    "<",
    "> ",
    "1,",
    "- ",
    "|",
    "```\n",
    "\u05d0\u202e",
    "\u0301",
    '"',
    "[1] ",
    "](",
    "&",
    "\\",
    "{",
    "not ",
    "Aa Bb ",
    "\r",
    "a\n=\n",
    "1. x\n",
    "語",
    "a, ",
    "<a ",
    "<!--",
    "%",
    "1 May 2020 ",
    "ab-",
    "\u200d\U0001f468",
)
FEW = ("a", "(", "\n", " ", "[1] ", "<a ", "Aa Bb ", "1,", "語")
SMALL = 20_000


def modules() -> Iterator[ModuleType]:
    for name in (*PACKAGES, *READING):
        module = importlib.import_module(name)
        yield module
        for found in pkgutil.walk_packages(getattr(module, "__path__", []), f"{name}."):
            try:
                yield importlib.import_module(found.name)
            except ImportError:
                continue  # an extra that is not here


def functions() -> Iterator[tuple[str, Callable[[str], object]]]:
    """Find what takes a text, or a document's bytes as a reader does, and nothing else that it must have."""
    for module in modules():
        for name, function in vars(module).items():
            whole = f"{module.__name__}.{name}"
            if inspect.isfunction(function) and function.__module__ == module.__name__ and not is_bounded(whole):
                needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
                kinds = [str(p.annotation) for p in needed if p.kind is p.POSITIONAL_OR_KEYWORD]
                if len(kinds) == len(needed) and kinds and set(kinds) == {"str"}:
                    yield whole, partial(with_more, function, len(kinds) - 1)
                elif kinds == ["bytes", "str", "str"] and len(kinds) == len(needed):
                    yield whole, lambda text, f=function: f(text.encode("utf-8", "replace"), "a.x", "text/plain")


def with_more(function: Callable[..., object], more: int, text: str) -> object:
    return function(text, *["a"] * more)


def is_bounded(name: str) -> bool:
    return any(name == known or name.startswith(f"{known}.") for known in BOUNDED)


def seconds(function: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    try:
        result = function(text)
        if inspect.isgenerator(result):
            for _ in result:
                continue
    except Exception:  # noqa: BLE001 - what is refused is refused in good time, too
        return time.process_time() - started
    return time.process_time() - started


def is_square(function: Callable[[str], object], unit: str) -> bool:
    """Compare a text with one of twice its length; three times before it counts, as the machine does other things."""
    once, twice = (unit * (size // len(unit) + 1) for size in (SMALL, 2 * SMALL))
    for _ in range(3):
        short, long = seconds(function, once), seconds(function, twice)
        if long < 0.1 or long < 2.5 * short + 0.05:
            return False
    return True


def test_row_30_functions_of_texts_are_linear():
    found = dict(functions())
    assert len(found) > 80
    assert [(name, unit) for name, function in found.items() for unit in FEW if is_square(function, unit)] == []


@pytest.mark.soak
def test_row_30_functions_of_texts_are_linear_in_every_shape():
    assert [(name, unit) for name, function in functions() for unit in SHAPES if is_square(function, unit)] == []


@pytest.mark.parametrize("unit", ["not ", "1 May 2020 ", "Aa Bb ", "[1] ", " [1, ", "a", "5 km, "])
def test_row_30_a_check_takes_time_in_proportion(unit):
    def check(text: str) -> object:
        return check_text(text, lambda _claim: [], encoder=None, text_of=lambda _passage: "")

    assert not is_square(check, unit)
    assert not is_square(lambda text: list(sentences(text)), unit)


@pytest.mark.parametrize("unit", ["weir ", "語", "1 May 2020 "])
def test_row_30_a_question_takes_time_in_proportion(library, unit):
    library.add_text("note:1", "The weir of May 2020 is good. It holds 4,200 litres.")

    def ask(text: str) -> object:
        try:
            return library.ask(text, extract=True, refresh=False)
        except EmptyQuestion:
            return None

    assert not is_square(ask, unit)
