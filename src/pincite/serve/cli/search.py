"""Find the passages that bear on a question."""

from __future__ import annotations

import argparse

from pincite.serve.cli import render
from pincite.serve.cli.opening import filter_of, open_library, search_arguments
from pincite.types import SearchResult


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("words", nargs="+", metavar="[PATH...] QUESTION", help="the question last; paths restrict it")
    parser.add_argument("-n", "--limit", type=int, metavar="N", help="how many passages (default: 10)")
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
    if args.json:
        render.emit(render.search_json(result))
    else:
        _show(result)
    if args.timing:
        render.timing(result.trace)
    return 0 if result.hits else 1


def _show(result: SearchResult) -> None:
    """Show hits for people: place first, then the text."""
    render.warn_stale(result.stale)
    for hit in result:
        render.say(
            f"{hit.rank}. {render.shown_place(hit.passage.uri, hit.location)}  ({hit.score:.3f}, {hit.passage.id})"
        )
        render.say("   " + " ".join(hit.text.split())[:400] + "\n")
    if not result.hits:
        render.note("Nothing found. `pincite list` shows what the library holds.")
