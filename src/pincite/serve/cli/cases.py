"""Draft questions from your own documents, and accept or reject them, for `evaluate`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from pincite.errors import PathMissing, UsageError
from pincite.serve.cli import render
from pincite.serve.cli.opening import argument, count, open_library

_STATUSES = {"y": "accepted", "n": "rejected"}

ARGUMENTS = (
    argument("action ACTION", "draft cases, or accept, reject and edit them", choices=("make", "review")),
    argument("file [FILE]", "where the cases are (default: cases.jsonl)", nargs="?"),
    argument("--count N", "make: how many, at most (default: 50)", type=count, default=50),
    argument("--output FILE", "the same as FILE"),
)


def run(args: argparse.Namespace) -> int:
    """Do it; 1 when there is nothing to draft or to review."""
    args.file = args.output or args.file or "cases.jsonl"
    if Path(args.file).is_dir():
        raise UsageError(f"{args.file} is a folder.", fix=f"Name a file in it: {args.file}/cases.jsonl")
    return _make(args) if args.action == "make" else _review(args)


def _make(args: argparse.Namespace) -> int:
    """Add drafts to the file, those before an interruption too; what is there stays as it is."""
    from pincite import manage

    rows = manage.case_rows(args.file)
    before = len(rows)
    with open_library(args) as library:
        try:
            manage.make_cases(library, rows, count=args.count)
        finally:
            made = len(rows) - before
            if made:
                manage.keep_case_rows(args.file, rows)
        documents = library.stats().documents
    if args.json:
        render.emit({"file": args.file, "made": made, "cases": len(rows)})
    elif made:
        said = render.counted(made, "draft")
        render.say(f"{said} added to {args.file}. Next: pincite cases review {args.file}")
    elif documents:
        render.note("No drafts were added: no further passage has a sentence that a question can be made of.")
    else:
        render.note(render.EMPTY)
    return 0 if made else 1


def _review(args: argparse.Namespace) -> int:
    """Ask about each draft; every decision is written at once, so that one can stop at any time."""
    from pincite import manage

    rows = manage.case_rows(args.file)
    if not rows:
        raise PathMissing(f"There are no cases in {args.file}.", fix="Make some: pincite cases make")
    drafts = [row for row in rows if row.get("status") == "draft"]
    for number, row in enumerate(drafts, start=1):
        render.note(f"\n{number} of {len(drafts)}: {row['question']}")
        render.note(f"    {render.shown_path(row.get('source') or '')}: “{render.one_line(row.get('quote') or '')}”")
        decision = _ask()
        if decision == "q":
            break
        if decision == "e":
            render.note("The question:")
            row["question"] = sys.stdin.readline().strip() or row["question"]
            decision = "y"
        if decision in _STATUSES:
            row["status"] = _STATUSES[decision]
            manage.keep_case_rows(args.file, rows)
    _show(args, rows)
    return 0 if drafts else 1


def _ask() -> str:
    """Read a decision; the end of the input stops."""
    while True:
        render.note("[y] accept, [n] reject, [e] edit and accept, [s] later, [q] stop")
        line = sys.stdin.readline()
        word = line.strip().lower()[:1]
        if not line:
            return "q"
        if word in ("y", "n", "e", "s", "q"):
            return word


def _show(args: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Say how many cases have which status."""
    counts = Counter(row.get("status") or "accepted" for row in rows)
    told = {status: counts[status] for status in ("accepted", "rejected", "draft")}
    said = ", ".join(f"{count} {status}" for status, count in told.items())
    render.result(args, {"file": args.file, **told}, lambda: render.say(f"{said} in {args.file}."))
