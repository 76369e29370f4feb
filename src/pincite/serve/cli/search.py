"""Find the passages that bear on a question."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from pincite.reports import places_of
from pincite.serve import shapes
from pincite.serve.cli import render
from pincite.serve.cli.opening import filter_of, open_library, search_arguments
from pincite.serve.cli.why import shown_places, shown_terms
from pincite.types import SearchResult


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("words", nargs="+", metavar="[PATH...] QUESTION", help="the question last; paths restrict it")
    parser.add_argument("-n", "--limit", type=int, metavar="N", help="how many passages (default: 10)")
    parser.add_argument("--explain", action="store_true", help="say what each stage of the search gave each passage")
    search_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Search; 1 when nothing was found."""
    *paths, question = args.words
    with open_library(args) as library:
        result = library.search(
            question,
            limit=args.limit,
            mode=args.mode,
            where=filter_of(args.where),
            paths=paths or None,
            refresh=not args.no_refresh,
        )
        shaped = shapes.search_json(result, library if args.explain else None)
    if args.json:
        render.emit(shaped)
    else:
        _show(result, shaped["hits"])
    if args.timing:
        render.timing(result.trace)
    return 0 if result.hits else 1


def _show(result: SearchResult, shaped: Sequence[Mapping[str, Any]]) -> None:
    """Show hits for people: place first, what the stages gave it if that is wanted, then the text."""
    render.warn_stale(result.stale)
    for hit, shape in zip(result, shaped, strict=True):
        render.say(
            f"{hit.rank}. {render.shown_place(hit.passage.uri, hit.location)}  ({hit.score:.3f}, {hit.passage.id})"
        )
        if "matched" in shape:
            render.say(f"   {shown_places(places_of(hit))}\n   {shown_terms(shape['matched'], shape['lacking'])}")
        render.say("   " + " ".join(hit.text.split())[:400])
        for passage in hit.also:
            render.say(f"   also in {render.shown_place(passage.uri, passage.location)}  ({passage.id})")
        render.say()
    if not result.hits:
        render.note("Nothing found. `pincite list` shows what the library holds.")
