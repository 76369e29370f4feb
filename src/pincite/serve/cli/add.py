"""Add files and folders, or bring them up to date."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from pincite.errors import UsageError
from pincite.reports import Pace, SourceReport
from pincite.serve import shapes
from pincite.serve.cli import render
from pincite.serve.cli.opening import argument, open_library
from pincite.types import Stage, Trace

if TYPE_CHECKING:
    from pincite.library import Library

_WRONG = ("failed", "partly", "unsupported")
_CHANGED = ("indexed", "updated", "removed")
_SOON = 2.0  # seconds after which an estimate means something

ARGUMENTS = (
    argument("paths PATH...", "a file, a folder (.gitignore files are honoured), or a URL", nargs="*"),
    argument("--include GLOB", "take only files that match", many=True),
    argument("--exclude GLOB", "leave out what matches", many=True),
    argument("--label LABEL", "only keys with this grant see what is added", many=True),
    argument("--watch", "keep going and follow changes until Ctrl-C"),
    argument("--retry", "read again what failed, was not supported or was read only partly"),
    argument("--password TEXT", "opens encrypted PDFs; others can see it: prefer PINCITE_PASSWORD"),
)


def run(args: argparse.Namespace) -> int:
    """Add; 3 when a source failed, 1 when there was nothing to add."""
    if not args.paths and not args.retry:
        raise UsageError("There is no path.", fix="Name files or folders, or give --retry.")
    started = time.perf_counter()
    progress = render.Progress()
    with open_library(args) as library:
        library.password = args.password or library.password
        counts = _show(_reports(args, library, progress), progress, as_json=args.json, watching=args.watch)
    seconds = time.perf_counter() - started
    said = ", ".join(f"{count:,} {status}" for status, count in counts.items() if count)
    summary = {"summary": dict(counts) | {"seconds": round(seconds, 3)}}
    render.result(args, summary, lambda: render.say(said or "Nothing to add there."))
    if args.timing:
        render.timing(Trace((Stage("add", seconds),)))
    return 3 if counts["failed"] or counts["partly"] else 0 if counts.total() else 1


def _reports(args: argparse.Namespace, library: Library, progress: render.Progress) -> Iterator[SourceReport]:
    """Start what the arguments ask for."""
    started = time.monotonic()

    def tell(pace: Pace) -> None:
        progress.show(pace_line(pace, time.monotonic() - started))

    if args.label and args.retry:
        raise UsageError("--retry takes no labels.", fix="Give labels with pincite label.")
    if args.retry:
        return library.retrying(args.paths or None, tell=tell)
    urls = [path for path in args.paths if path.lower().startswith(("http://", "https://"))]
    paths = [path for path in args.paths if path not in urls]
    adding = library.watch if args.watch else library.adding
    fetched = chain.from_iterable(library.adding_url(url, labels=args.label) for url in urls)
    if not paths:
        return fetched
    return chain(fetched, adding(paths, include=args.include, exclude=args.exclude, labels=args.label, tell=tell))


def pace_line(pace: Pace, seconds: float) -> str:
    """Say in one line how far an add is, how fast, and about how long it will take; ``seconds`` since it began."""
    seconds = max(seconds, 1e-3)
    parts = [f"{pace.files:,} of {pace.files_found:,} files ({pace.files / seconds:,.0f}/s)"]
    if pace.to_embed:
        parts.append(f"{pace.embedded:,} of {pace.to_embed:,} passages embedded ({pace.embedded / seconds:,.0f}/s)")
    left = pace.left(seconds)
    if left is not None and seconds > _SOON:
        parts.append(f"about {left:,.0f} s left" if left < 90 else f"about {left / 60:,.0f} min left")
    return ", ".join(parts)


def _show(reports: Iterator[SourceReport], progress: render.Progress, *, as_json: bool, watching: bool) -> Counter[str]:
    """Show reports as they come; count them by status."""
    names = ("indexed", "updated", "unchanged", "removed", "partly", "failed", "unsupported", "skipped")
    counts: Counter[str] = Counter(dict.fromkeys(names, 0))
    for report in reports:
        counts[report.status] += 1
        if as_json:
            render.emit(shapes.report_json(report))
        elif report.status in (_WRONG if report.reason else ()) or (watching and report.status in _CHANGED):
            progress.end()
            render.source(report.status, report.uri, report.reason, report.fix)
    progress.end()
    return counts
