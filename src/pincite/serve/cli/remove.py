"""Remove documents from the library; the files themselves stay."""

from __future__ import annotations

import argparse

from pincite.serve import shapes
from pincite.serve.cli import render
from pincite.serve.cli.opening import open_library


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("targets", nargs="+", metavar="TARGET", help="a path, a folder, a URI or a document's id")


def run(args: argparse.Namespace) -> int:
    """Remove; 2 when nothing goes by a name."""
    count = 0
    with open_library(args) as library:
        for target in args.targets:
            for report in library.remove(target).sources:
                count += 1
                if args.json:
                    render.emit(shapes.report_json(report))
                else:
                    render.note(f"removed: {render.shown_path(report.uri)}")
    if args.json:
        render.emit({"summary": {"removed": count}})
    else:
        render.say(f"{count} removed")
    return 0
