"""Say for each case of a set at which stage its answer was lost: a table, JSON, or a report to read."""

from __future__ import annotations

import argparse
from pathlib import Path

from pincite.errors import UsageError
from pincite.reports import LOSSES, STAGES, Ceiling
from pincite.serve import shapes
from pincite.serve.cli import render
from pincite.serve.cli.opening import SEARCH, argument, filter_of, settings, shared

_BAR = 40  # characters of a bar for all cases

ARGUMENTS = (
    argument("cases CASES", "a file of JSON lines that asks of the library, or a BEIR folder"),
    argument("--html FILE", "write the report, one file that needs nothing else", type=Path),
    *shared("generate", "questions", "drafts", "limit", *SEARCH),
)


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
        with render.writing(args.html):
            write_report(found, args.html)
        render.note(f"The report is in {args.html}.")
    render.result(args, shapes.ceiling_json(found), lambda: _show(found))
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
        render.note(f"{render.counted(found.left_out, 'case')} left out: not accepted, or without a question or gold.")
