"""Remove documents from the library; the files themselves stay."""

from __future__ import annotations

import argparse
from functools import partial

from pincite.serve.cli import render
from pincite.serve.cli.opening import argument, open_library

ARGUMENTS = (argument("targets TARGET...", "a path, a folder, a URI or a document's id", nargs="+"),)


def run(args: argparse.Namespace) -> int:
    """Remove; 2 when nothing goes by a name."""
    count = 0
    with open_library(args) as library:
        for target in args.targets:
            for report in library.remove(target).sources:
                count += 1
                render.result(args, report, partial(render.source, "removed", report.uri))
    render.result(args, {"summary": {"removed": count}}, lambda: render.say(f"{count:,} removed"))
    return 0
