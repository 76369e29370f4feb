"""Say why a document, or words in it, did or did not get into the answer to a question."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from pincite.reports import STAGES, Place, Why, places_of
from pincite.serve import shapes
from pincite.serve.cli import render
from pincite.serve.cli.opening import SEARCH, argument, open_library, search_of, shared

_SHOWN = 5  # of the hits that came before

ARGUMENTS = (
    argument("question QUESTION", "the question as it was asked"),
    argument("--document D", "a path, a URI, or a document's id", required=True),
    argument("--quote TEXT", "the words that should have been found in it", default=""),
    *shared("limit", "generate", *SEARCH),
)


def run(args: argparse.Namespace) -> int:
    """Ask, and follow the document; 1 when the answer does not use it."""
    with open_library(args) as library:
        asked = {"quote": args.quote, "extract": not args.generate, "limit": args.limit} | search_of(args)
        why = library.why(args.question, args.document, **asked)
    render.result(args, shapes.why_json(why), lambda: _show(why))
    return 0 if why.found else 1


def _show(why: Why) -> None:
    """Show a diagnosis for people: the stage, then reason, places, and what came before."""
    render.warn_stale(why.stale)
    label, meaning = STAGES[why.stage]
    render.say(f"{label.upper()}: {render.shown_path(why.uri)}")
    render.say(f"  {meaning}\n  {render.nearer(why.reason)}")
    if why.fix:
        render.say(f"  To do: {why.fix}")
    if why.nearest:
        render.say(f"  Nearest text: “{render.one_line(why.nearest, 300)}”")
    if why.places:
        render.say(f"  Places: {shown_places(why.places)}")
    if why.matched or why.lacking:
        render.say("  " + shown_terms(why.matched, why.lacking))
    for hit in why.ahead[:_SHOWN]:
        render.say(f"  {hit.rank}. {render.shown_place(hit.passage.uri, hit.location)}  {shown_places(places_of(hit))}")
    if len(why.ahead) > _SHOWN:
        render.say(f"  … and {len(why.ahead) - _SHOWN} more hits")


def shown_places(places: Iterable[Place]) -> str:
    """Write what each stage gave a passage."""
    return " · ".join(map(str, places))


def shown_terms(matched: tuple[str, ...], lacking: tuple[str, ...]) -> str:
    """Write which terms of the question a passage has and lacks."""
    return f"Has: {' '.join(matched) or 'none'}" + (f" · lacks: {' '.join(lacking)}" if lacking else "")
