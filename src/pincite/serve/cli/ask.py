"""Answer a question from the documents, with citations."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pincite.serve import shapes
from pincite.serve.cli import render
from pincite.serve.cli.opening import ANSWER, argument, open_library, paths_and_question, search_of, shared
from pincite.types import Answer, DoneEvent, Stage, TokenEvent, Trace, Turn

if TYPE_CHECKING:
    from pincite.library import Library

_VERDICTS = {"partly": "Not fully supported", "unsupported": "Not supported", "conflicting": "Sources conflict"}

ARGUMENTS = (
    argument("words [PATH...] QUESTION", "the question last; paths are synced and searched alone", nargs="+"),
    *shared(*ANSWER),
)


def run(args: argparse.Namespace) -> int:
    """Answer; 1 when the documents do not hold the answer."""
    args.paths, question = paths_and_question(args.words)
    with open_library(args) as library:
        started = time.perf_counter()
        if args.paths:
            bring(library, args.paths)
            args.no_refresh = True
        synced = (Stage("sync", time.perf_counter() - started),) if args.paths else ()
        answer = answered(library, args, question)
        answer = replace(answer, trace=Trace((*synced, *answer.trace.stages)))
        report(answer, args, documents=library.stats().documents)
    return 1 if answer.outcome == "not_in_documents" else 0


def bring(library: Library, paths: list[str]) -> None:
    """Bring the named paths up to date; say what failed, on stderr."""
    progress = render.Progress()
    for count, one in enumerate(library.adding(paths), 1):
        progress.count("Looked at", count, render.shown_path(one.uri))
        if one.status in ("failed", "partly"):
            progress.end()
            render.source(one.status, one.uri, one.reason, one.fix)
    progress.end()


def answered(library: Library, args: argparse.Namespace, question: str, history: Sequence[Turn] = ()) -> Answer:
    """Ask, show events as they come if that is wanted, and give the answer at the end."""
    drafting = False
    how = search_of(args) | {"paths": args.paths or None, "extract": args.extract, "history": history}
    for event in library.stream(question, **how):
        if args.stream and args.json:
            render.emit(shapes.event_json(event))
        elif isinstance(event, TokenEvent) and (args.stream or sys.stderr.isatty()):
            render.note(event.text if drafting else f"Draft, not yet checked: {event.text}", end="")
            drafting = True
        if isinstance(event, DoneEvent):
            break
    if drafting:
        render.note("\n")
    assert isinstance(event, DoneEvent)
    return event.answer


def report(answer: Answer, args: argparse.Namespace, *, documents: int) -> None:
    """Give an answer in the form that was asked for."""
    if not args.json:
        show(answer, documents)
    elif not args.stream:
        render.emit(shapes.answer_json(answer))
    if args.timing:
        render.timing(answer.trace)


def show(answer: Answer, documents: int) -> None:
    """Show an answer for people: text, numbered quotes with their places, then what to mind."""
    render.warn_stale(answer.stale)
    render.say(answer.text + "\n" * bool(answer.citations))
    render.quotes(answer.citations)
    for claim in answer.claims:
        if claim.verdict != "supported":
            why = "; ".join(claim.problems) or "the cited text does not say so"
            render.say(f"\n  {_VERDICTS[claim.verdict]}: {claim.text!r}: {render.nearer(why)}")
    left_out = [finding for finding in answer.findings if finding.kind == "claim_left_out"]
    # Of sources that conflict, the claim says so already.
    render.note_findings(f for f in answer.findings if f not in left_out and f.kind != "sources_conflict")
    if left_out:
        said = render.counted(len(left_out), "sentence")
        render.note(f"Note: {said} of the model's draft left out, for the passages do not carry it; --json shows it.")
    if not documents:
        render.note(render.EMPTY)
    if answer.outcome == "not_in_documents" and answer.nearest:
        render.say("\nNearest passages:")
        for hit in answer.nearest[:3]:
            render.say(f"  - {render.shown_place(hit.passage.uri, hit.location)}:")
            render.say(f"    {render.one_line(hit.text, 160)}")
