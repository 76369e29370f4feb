"""Open the library that the arguments name, and read filters from them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pincite.errors import FilterError
from pincite.serve.cli.render import Progress

if TYPE_CHECKING:
    from pincite.library import Library
    from pincite.settings import Settings
    from pincite.store.filters import Filter

_NAMES = (
    *("library", "offline", "encoder", "generator", "reranker", "base_url", "adapter", "mode", "limit"),
    *("policy", "verifier", "strictness", "temperature", "seed"),
)


def overrides(args: argparse.Namespace) -> dict[str, Any]:
    """Collect the settings that the arguments set."""
    return {name: getattr(args, name) for name in _NAMES if getattr(args, name, None) is not None}


def settings(args: argparse.Namespace) -> Settings:
    """Load the settings with those of the arguments on top."""
    from pincite.settings import load_settings

    return load_settings(overrides(args))


def open_library(args: argparse.Namespace) -> Library:
    """Open the library; commands with a mode search it."""
    from pincite.opening import opened

    return opened(settings(args), progress=Progress().download, searches=hasattr(args, "mode"))


def count(text: str) -> int:
    """Read an argument that is a number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def search_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what search and ask have in common."""
    parser.add_argument("--mode", choices=("hybrid", "vector", "keyword"), help="how to search (default: hybrid)")
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="only documents whose field (path, title, language, media_type or metadata) fits: "
        "FIELD=VALUE, FIELD!=VALUE, FIELD>=VALUE, FIELD<=VALUE, or FIELD~GLOB; all of several must fit",
    )
    parser.add_argument(
        "--reranker", metavar="NAME", help="the model that looks again at the best passages (default: none)"
    )
    parser.add_argument("--no-refresh", action="store_true", help="do not look for changes on disk first")


def answer_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what ask and chat have in common."""
    parser.add_argument("--extract", action="store_true", help="answer with verbatim quotes only")
    parser.add_argument(
        "--policy",
        choices=("flag", "drop", "strict"),
        help="claims that are not supported: flag them, drop them, or give quotes alone (default: flag)",
    )
    parser.add_argument(
        "--strictness",
        type=float,
        metavar="X",
        help="how sure the documents must be: 0 answers whatever was found, 1 nothing (default: 0.5)",
    )
    verifier_argument(parser)
    parser.add_argument("--temperature", type=float, metavar="X", help="how freely the model writes (default: 0)")
    parser.add_argument("--seed", type=int, metavar="N", help="where chance starts, if the temperature is not 0")
    search_arguments(parser)


def verifier_argument(parser: argparse.ArgumentParser) -> None:
    """Add what ask, chat and check have in common."""
    parser.add_argument("--verifier", metavar="NAME", help="a model that judges each claim too (default: none)")


def filter_of(conditions: list[str]) -> Filter | None:
    """Build a filter from ``--where`` conditions.

    Args:
        conditions: each FIELD, an operator, and a value; all of them must fit.

    Returns:
        The filter, None when there are no conditions.

    Raises:
        FilterError: a condition has no operator.
    """
    from pincite.store.filters import And

    parts = tuple(_condition(condition) for condition in conditions)
    return And(parts) if parts else None


def _condition(condition: str) -> Filter:
    """Parse one condition; the operator that comes first counts."""
    from pincite.store.filters import Between, Glob, Not

    places = [(condition.find(op), -len(op), op) for op in ("!=", ">=", "<=", "=", "~") if condition.find(op) > 0]
    if not places:
        raise FilterError(f"--where {condition!r} has no operator.", fix="Write for instance --where language=en.")
    operator = min(places)[2]
    field, value = condition.split(operator, 1)
    if operator == "~":
        return Glob(field, value)
    if operator == ">=":
        return Between(field, low=_scalars(value)[-1])
    if operator == "<=":
        return Between(field, high=_scalars(value)[-1])
    return Not(_equals(field, value)) if operator == "!=" else _equals(field, value)


def _equals(field: str, value: str) -> Filter:
    """Match a value as text, and as a number or truth value if it looks like one."""
    from pincite.store.filters import In

    return In(field, tuple(_scalars(value)))


def _scalars(value: str) -> list[str | int | float | bool]:
    """List what a word may mean, the text first."""
    if value.lower() in ("true", "false"):
        return [value, value.lower() == "true"]
    for kind in (int, float):
        try:
            return [value, kind(value)]
        except ValueError:
            continue
    return [value]
