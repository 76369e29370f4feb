"""Find the passages that bear on a question."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from pincite.reports import places_of
from pincite.serve import shapes
from pincite.serve.cli import render
from pincite.serve.cli.opening import SEARCH, argument, open_library, paths_and_question, search_of, shared
from pincite.serve.cli.why import shown_places, shown_terms
from pincite.types import SearchResult

ARGUMENTS = (
    argument("words [PATH...] QUESTION", "the question last; paths restrict it", nargs="+"),
    argument("--explain", "say what each stage of the search gave each passage"),
    *shared("limit", *SEARCH),
)


def run(args: argparse.Namespace) -> int:
    """Search; 1 when nothing was found."""
    paths, question = paths_and_question(args.words)
    with open_library(args) as library:
        result = library.search(question, limit=args.limit, paths=paths or None, **search_of(args))
        shaped = shapes.search_json(result, library if args.explain else None)
        documents = library.stats().documents
    render.result(args, shaped, lambda: _show(result, shaped["hits"], documents))
    if args.timing:
        render.timing(result.trace)
    return 0 if result.hits else 1


def _show(result: SearchResult, shaped: Sequence[Mapping[str, Any]], documents: int) -> None:
    """Show hits for people: place first, what the stages gave it if that is wanted, then the text."""
    render.warn_stale(result.stale)
    for hit, shape in zip(result, shaped, strict=True):
        render.say(
            f"{hit.rank}. {render.shown_place(hit.passage.uri, hit.location)}  ({hit.score:.3f}, {hit.passage.id})"
        )
        if "matched" in shape:
            render.say(f"   {shown_places(places_of(hit))}\n   {shown_terms(shape['matched'], shape['lacking'])}")
        render.say(f"   {render.one_line(hit.text, 400)}")
        for passage in hit.also:
            render.say(f"   also in {render.shown_place(passage.uri, passage.location)}  ({passage.id})")
        render.say()
    if not result.hits:
        render.note("Nothing found. `pincite list` shows what the library holds." if documents else render.EMPTY)
