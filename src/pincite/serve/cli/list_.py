"""List the documents, with version, size and state."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from pincite.serve.cli import render
from pincite.serve.cli.opening import open_library


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", nargs="?", metavar="PATH", help="only what is at or below this path or URI")
    parser.add_argument("--failed", action="store_true", help="only what could not be read, wholly or partly")


def run(args: argparse.Namespace) -> int:
    """List; 1 when there is nothing to list."""
    with open_library(args) as library:
        records = [
            record
            for record in library.list(args.path)
            if not args.failed or record.status in ("failed", "partly", "unsupported")
        ]
    for record in records:
        row = asdict(record)
        row |= row.pop("source")
        del row["read_ns"]
        if args.json:
            render.emit(row)
        else:
            state = record.status if record.status != "indexed" else f"version {record.version}"
            render.say(
                f"{render.shown_path(record.source.uri)}  ({state}, {record.passages} passages{_labels(record.labels)})"
            )
            if record.reason:
                render.say(f"    {record.reason} {record.fix}".rstrip())
    if not records and not args.json:
        render.note("Nothing here. `pincite add PATH` adds documents.")
    return 0 if records else 1


def _labels(labels: tuple[str, ...]) -> str:
    """Say who sees a document, if not everyone."""
    return f", labelled {', '.join(labels)}" if labels else ""
