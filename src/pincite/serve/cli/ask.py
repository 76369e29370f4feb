"""Answer a question from the documents, with citations."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

from pincite.serve import shapes
from pincite.serve.cli import render
from pincite.serve.cli.opening import answer_arguments, filter_of, open_library
from pincite.types import Answer, DoneEvent, Stage, TokenEvent, Trace

_VERDICTS = {"partly": "Not fully supported", "unsupported": "Not supported", "conflicting": "Sources conflict"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "words", nargs="+", metavar="[PATH...] QUESTION", help="the question last; paths are synced and searched alone"
    )
    parser.add_argument("--stream", action="store_true", help="print events as they come: drafts, citations, verdicts")
    answer_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Answer; 1 when the documents do not hold the answer."""
    *paths, question = args.words
    with open_library(args) as library:
        started = time.perf_counter()
        if paths:
            bring(library, paths)
        synced = Stage("sync", time.perf_counter() - started)
        events = library.stream(
            question,
            extract=args.extract,
            policy=args.policy,
            mode=args.mode,
            where=filter_of(args.where),
            paths=paths or None,
            refresh=not args.no_refresh and not paths,
        )
        answer = follow(events, args)
    if paths:
        answer = replace(answer, trace=Trace((synced, *answer.trace.stages)))
    if args.json and not args.stream:
        render.emit(shapes.answer_json(answer))
    elif not args.json:
        show(answer)
    if args.timing:
        render.timing(answer.trace)
    return 1 if answer.outcome == "not_in_documents" else 0


def show(answer: Answer) -> None:
    """Show an answer for people: text, numbered quotes with their places, then what to mind."""
    render.warn_stale(answer.stale)
    render.say(answer.text)
    if answer.citations:
        render.say()
    for citation in answer.citations:
        render.say(f"  [{citation.number}] {render.shown_place(citation.uri, citation.location)}")
        render.say(f"      “{' '.join(citation.quote.split())}”")
    for claim in answer.claims:
        if claim.verdict != "supported":
            why = "; ".join(claim.problems) or "the cited text does not say so"
            render.say(f"\n  {_VERDICTS[claim.verdict]}: {claim.text!r}: {render.nearer(why)}")
    _notes(answer)
    if answer.outcome == "not_in_documents" and answer.nearest:
        render.say("\nNearest passages:")
        for hit in answer.nearest[:3]:
            render.say(f"  - {render.shown_place(hit.passage.uri, hit.location)}:")
            render.say(f"    {' '.join(hit.text.split())[:160]}")


def _notes(answer: Answer) -> None:
    """Say beside the answer what to mind."""
    left_out = [finding for finding in answer.findings if finding.kind == "claim_left_out"]
    # Of sources that conflict, the claim says so already.
    render.note_findings(f for f in answer.findings if f not in left_out and f.kind != "sources_conflict")
    if left_out:
        count = f"{len(left_out)} sentence{'s' if len(left_out) > 1 else ''}"
        render.note(f"Note: {count} of the model's draft left out, for the passages do not carry it; --json shows it.")
    if answer.outcome == "not_in_documents" and not answer.nearest:
        render.note("`pincite list` shows what the library holds, `pincite add PATH` adds to it.")


def bring(library: object, paths: list[str]) -> None:
    """Bring the named paths up to date; say what failed, on stderr."""
    from pincite.library import Library

    assert isinstance(library, Library)
    progress = render.Progress()
    for count, report in enumerate(library.adding(paths), 1):
        progress.count("Looked at", count, render.shown_path(report.uri))
        if report.status in ("failed", "partly"):
            progress.end()
            render.note(f"{report.status}: {render.shown_path(report.uri)}: {report.reason} {report.fix}".rstrip())
    progress.end()


def follow(events: object, args: argparse.Namespace) -> Answer:
    """Show events as they come, if asked to, and give the answer at the end."""
    draft = False
    for event in events:  # type: ignore[attr-defined]
        if args.stream and args.json:
            render.emit(shapes.event_json(event))
        elif isinstance(event, TokenEvent) and (args.stream or sys.stderr.isatty()):
            if not draft:
                sys.stderr.write("Draft, not yet checked: ")
            draft = True
            sys.stderr.write(render.visible(event.text))
            sys.stderr.flush()
        if isinstance(event, DoneEvent):
            if draft:
                sys.stderr.write("\n\n")
            return event.answer
    raise AssertionError("the stream ended without its last event")
