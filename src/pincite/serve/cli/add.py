"""Add files and folders, or bring them up to date."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator

from pincite.reports import SourceReport
from pincite.serve.cli import render
from pincite.serve.cli.opening import open_library


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file or folder; .gitignore files are honoured")
    parser.add_argument("--include", action="append", default=[], metavar="GLOB", help="take only files that match")
    parser.add_argument("--exclude", action="append", default=[], metavar="GLOB", help="leave out what matches")
    parser.add_argument("--watch", action="store_true", help="keep going and follow changes until Ctrl-C")


def run(args: argparse.Namespace) -> int:
    """Add; 3 when a source failed, 1 when there was nothing to add."""
    started = time.perf_counter()
    with open_library(args) as library:
        globs = {"include": args.include, "exclude": args.exclude}
        source = library.watch(args.paths, **globs) if args.watch else library.adding(args.paths, **globs)
        counts = _show(source, as_json=args.json, watching=args.watch)
    seconds = time.perf_counter() - started
    if args.json:
        render.emit({"summary": dict(counts) | {"seconds": round(seconds, 3)}})
    else:
        said = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
        render.say(said or "Nothing to add there.")
        if args.timing:
            render.note(f"  add          {seconds * 1000:8.0f} ms")
    return 3 if counts["failed"] or counts["partly"] else 0 if counts.total() else 1


def _show(reports: Iterator[SourceReport], *, as_json: bool, watching: bool) -> Counter[str]:
    """Show reports as they come; count them by status."""
    names = ("indexed", "updated", "unchanged", "removed", "partly", "failed", "unsupported", "skipped")
    counts: Counter[str] = Counter(dict.fromkeys(names, 0))
    progress = render.Progress()
    for report in reports:
        counts[report.status] += 1
        if as_json:
            render.emit(render.report_json(report))
        elif report.reason and report.status in ("failed", "partly", "unsupported"):
            progress.end()
            render.note(f"{report.status}: {render.shown_path(report.uri)}: {report.reason} {report.fix}".rstrip())
        elif watching and report.status in ("indexed", "updated", "removed"):
            render.note(f"{report.status}: {render.shown_path(report.uri)}")
        else:
            progress.count("Added", counts.total(), render.shown_path(report.uri))
    progress.end()
    return counts
