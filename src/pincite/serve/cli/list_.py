"""List the documents, with version, size and state."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from functools import partial
from typing import Any

from pincite.serve.cli import render
from pincite.serve.cli.opening import argument, open_library

_FAILED = ("failed", "partly", "unsupported")

ARGUMENTS = (
    argument("path [PATH]", "only what is at or below this path or URI", nargs="?"),
    argument("--failed", "only what could not be read, wholly or partly"),
)


def run(args: argparse.Namespace) -> int:
    """List; 1 when there is nothing to list."""
    with open_library(args) as library:
        records = [one for one in library.list(args.path) if not args.failed or one.status in _FAILED]
        documents = library.stats().documents
    for record in records:
        row = asdict(record)
        row |= row.pop("source")
        del row["read_ns"]
        render.result(args, row, partial(_show, record))
    if not records:
        nothing = "Nothing failed." if args.failed else "Nothing is held from there; `pincite list` shows all."
        render.note(nothing if documents else render.EMPTY)
    return 0 if records else 1


def _show(record: Any) -> None:
    """Show a source: its path, its state, and what is wrong with it."""
    state = record.status if record.status != "indexed" else f"version {record.version}"
    labels = f", labelled {', '.join(record.labels)}" if record.labels else ""
    passages = render.counted(record.passages, "passage")
    render.say(f"{render.shown_path(record.source.uri)}  ({state}, {passages}{labels})")
    if record.reason:
        render.say(f"    {render.problem(record.source.uri, record.reason, record.fix)}")
