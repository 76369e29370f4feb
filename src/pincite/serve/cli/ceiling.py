"""Say for each case of a set at which stage its answer was lost: a table, JSON, or a report to read."""

from __future__ import annotations

import argparse
from pathlib import Path

from pincite.errors import UsageError
from pincite.reports import LOSSES, STAGES, Ceiling
from pincite.serve import shapes
from pincite.serve.cli import render
from pincite.serve.cli.opening import count, filter_of, search_arguments, settings

_BAR = 40  # characters of a bar for all cases


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "cases", metavar="CASES", help="a file of JSON lines that asks of the library, or a BEIR folder"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report, one file that needs nothing else")
    parser.add_argument("--generate", action="store_true", help="let the generator answer, not quotes alone")
    parser.add_argument("--questions", type=count, metavar="N", help="ask only the first N questions")
    parser.add_argument("--drafts", action="store_true", help="ask cases that nobody accepted yet, too")
    parser.add_argument("-n", "--limit", type=int, metavar="N", help="how many passages go on (default: 10)")
    search_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Ask every case and report."""
    from pincite.manage import ceiling_report, write_report

    if args.html and not args.html.parent.is_dir():  # said before the work, not after it
        raise UsageError(f"There is no folder {args.html.parent}.", fix="Name a file in a folder that is there.")
    found = ceiling_report(
        args.cases,
        settings(args),
        extract=not args.generate,
        where=filter_of(args.where),
        refresh=not args.no_refresh,
        drafts=args.drafts,
        questions=args.questions,
        progress=render.Progress(),
    )
    if args.html:
        try:
            write_report(found, args.html)
        except OSError as error:
            message = f"{args.html} cannot be written: {(error.strerror or str(error)).lower()}."
            raise UsageError(message, fix="Name a file in a folder that you may write to.") from error
        render.note(f"The report is in {args.html}.")
    if args.json:
        render.emit(shapes.ceiling_json(found))
    else:
        _show(found)
    return 0


def _show(found: Ceiling) -> None:
    """Show the table: what each stage lost, with a bar."""
    total = max(len(found.cases), 1)
    render.say(f"{found.name}: {len(found.cases)} questions, {found.mode} search, {found.generator} answers\n")
    for stage, cases in found.counts.items():
        if cases or stage in LOSSES:
            bar = "█" * round(_BAR * cases / total)
            render.say(f"  {STAGES[stage][0]:<27} {cases:>6}  {100 * cases / total:5.1f} %  {bar}".rstrip())
    render.say(f"  {'together':<27} {len(found.cases):>6}  {100 if found.cases else 0:5.1f} %")
    if found.left_out:
        render.note(f"{found.left_out} cases were left out: not accepted, or without a question or gold.")
