"""Open the library that the arguments name, and read what several commands take."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from pincite.errors import FilterError, UsageError
from pincite.serve.cli.render import Progress

if TYPE_CHECKING:
    from pincite.library import Library
    from pincite.settings import Settings
    from pincite.store.filters import Filter

QUESTION_LAST = 'Check the path, and write the question last and in quotes: pincite ask ./folder "question"'

Argument = tuple[tuple[str, ...], dict[str, Any]]

_SETTINGS = (
    *("library", "offline", "encoder", "generator", "reranker", "base_url", "adapter", "mode", "limit"),
    *("policy", "verifier", "strictness", "temperature", "seed"),
)


def settings(args: argparse.Namespace) -> Settings:
    """Load the settings with those of the arguments on top."""
    from pincite.settings import load_settings

    return load_settings({name: getattr(args, name) for name in _SETTINGS if getattr(args, name, None) is not None})


def open_library(args: argparse.Namespace) -> Library:
    """Open the library; commands with a mode search it."""
    from pincite.opening import opened

    return opened(settings(args), progress=Progress().download, searches=hasattr(args, "mode"))


def count(text: str) -> int:
    """Read an argument that is a number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def argument(form: str, meaning: str, *, many: bool = False, **how: Any) -> Argument:
    """Declare an argument: ``--switch``, ``--option METAVAR`` or ``word METAVAR``; ``many`` may be repeated."""
    name, _, metavar = form.partition(" ")
    if many:
        how |= {"action": "append", "default": []}
        meaning += "; may be repeated"
    if metavar:
        how["metavar"] = metavar
    elif "choices" not in how:
        how["action"] = "store_true"
    return tuple(name.split("/")), how | {"help": meaning}


# What more than one command takes.
_SHARED = (
    argument("--mode", "how to search (default: hybrid)", choices=("hybrid", "vector", "keyword")),
    argument(
        "--where FIELD=VALUE",
        "only documents whose field (path, title, language, media_type or metadata) fits: "
        "FIELD=VALUE, FIELD!=VALUE, FIELD>=VALUE, FIELD<=VALUE, or FIELD~GLOB; all must fit",
        many=True,
    ),
    argument("--reranker NAME", "the model that looks again at the best passages (default: none)"),
    argument("--no-refresh", "do not look for changes on disk first"),
    argument("--extract", "answer with verbatim quotes only"),
    argument("--policy", "what to do with unsupported claims (default: flag)", choices=("flag", "drop", "strict")),
    argument("--strictness X", "how sure it must be: 0 always answers, 1 never (default: 0.5)", type=float),
    argument("--verifier NAME", "a model that judges each claim too (default: none)"),
    argument("--temperature X", "how freely the model writes (default: 0)", type=float),
    argument("--seed N", "where chance starts, if the temperature is not 0", type=int),
    argument("--stream", "print events as they come: drafts, citations, verdicts"),
    argument("--generate", "let the generator answer, not quotes alone"),
    argument("-n/--limit N", "how many passages (default: 10)", type=int),
    argument("--questions N", "ask only the first N questions", type=count),
    argument("--drafts", "ask cases that nobody accepted yet, too"),
)
SEARCH = ("mode", "where", "reranker", "no-refresh")
ANSWER = ("extract", "policy", "strictness", "verifier", "temperature", "seed", "stream", *SEARCH)


def shared(*names: str) -> tuple[Argument, ...]:
    """Give options that more than one command takes."""
    return tuple(one for name in names for one in _SHARED if f"--{name}" in one[0])


def search_of(args: argparse.Namespace) -> dict[str, Any]:
    """Give what the arguments say of how to search."""
    return {"mode": args.mode, "where": filter_of(args.where), "refresh": not args.no_refresh}


def paths_and_question(words: list[str]) -> tuple[list[str], str]:
    """Take apart ``[PATH...] QUESTION``; a path behind paths, where the question should be, is a UsageError."""
    *paths, question = words
    if paths and os.path.lexists(question) and (os.sep in question or "." in question):
        raise UsageError(f"{question} is a path, and there is no question.", fix=QUESTION_LAST)
    return paths, question


def filter_of(conditions: list[str]) -> Filter | None:
    """Build a filter from ``--where`` conditions, all of which must fit; FilterError without an operator."""
    from pincite.store.filters import And

    parts = tuple(_condition(condition) for condition in conditions)
    return And(parts) if parts else None


def _condition(condition: str) -> Filter:
    """Parse one condition; the operator that comes first counts."""
    from pincite.store.filters import Between, Glob, In, Not

    places = [(condition.find(op), -len(op), op) for op in ("!=", ">=", "<=", "=", "~") if condition.find(op) > 0]
    if not places:
        raise FilterError(f"--where {condition!r} has no operator.", fix="Write for instance --where language=en.")
    operator = min(places)[2]
    field, value = condition.split(operator, 1)
    meant = _scalars(value)
    match operator:
        case "~":
            return Glob(field, value)
        case ">=":
            return Between(field, low=meant[-1])
        case "<=":
            return Between(field, high=meant[-1])
        case "!=":
            return Not(In(field, tuple(meant)))
    return In(field, tuple(meant))


def _scalars(value: str) -> list[str | int | float | bool]:
    """List what a word may mean: the text, and the number or truth value that it looks like."""
    if value.lower() in ("true", "false"):
        return [value, value.lower() == "true"]
    for kind in (int, float):
        try:
            return [value, kind(value)]
        except ValueError:
            continue
    return [value]
