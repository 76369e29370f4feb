"""What the commands print: data to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pincite.errors import PinciteError
from pincite.serve import shapes
from pincite.types import Finding, StaleSource, Trace


def prepare_streams() -> None:
    """Let any text through: what the terminal cannot show is shown as an escape, never as a crash."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def emit(value: Any) -> None:
    """Print one JSON value on a line of its own, at once."""
    print(shapes.to_json(value), flush=True)


def say(text: str = "") -> None:
    """Print a line for people; control characters in it are made visible, for they may come from documents."""
    print(visible(text))


def note(text: str) -> None:
    """Print a line for people beside the data."""
    print(visible(text), file=sys.stderr, flush=True)


def visible(text: str) -> str:
    """Replace control characters, which could drive the terminal, by a visible sign; line breaks and tabs stay."""
    return "".join(c if c in "\n\t" or not _is_control(c) else "\N{SYMBOL FOR SUBSTITUTE FORM TWO}" for c in text)


def error(failure: PinciteError, *, as_json: bool) -> None:
    """Say what happened and what to do."""
    if as_json:
        emit(shapes.error_json(failure))
    note(f"pincite: {failure}" + (f"\n  {failure.fix}" if failure.fix else ""))


def shown_path(uri: str) -> str:
    """Name a source for people: relative to here when it lies below."""
    if not uri.startswith("file://"):
        return unquote(uri)
    path = Path(unquote(uri.removeprefix("file://")))
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def shown_place(uri: str, location: str) -> str:
    """Shorten the path in a location."""
    return location.replace(unquote(uri.removeprefix("file://")), shown_path(uri), 1)


def nearer(text: str) -> str:
    """Shorten the paths below here that a text names."""
    return text.replace(f"{Path.cwd()}{os.sep}", "")


class Progress:
    """One line on stderr that is written over, if a person watches; silent otherwise."""

    def __init__(self) -> None:
        """Start."""
        self._live = sys.stderr.isatty()
        self._width = 0
        self._last = 0.0
        self._said = False  # that the present download has ended: more than one call may say so

    def download(self, name: str, done: int, total: int) -> None:
        """Show a download: its name and bytes; when nobody watches, one line at the end."""
        ended = done >= total > 0
        share = f"{done * 100 // total:3d} %" if total else ""
        self._show(
            f"Downloading {name}: {done / 1e6:.0f} of {total / 1e6:.0f} MB {share}", force=ended and not self._said
        )
        self._said = ended
        if ended:
            self.end()

    def count(self, verb: str, done: int, name: str) -> None:
        """Show how far a run over many sources is."""
        self._show(f"{verb} {done}: {name}")

    def show(self, text: str) -> None:
        """Show any line."""
        self._show(text)

    def end(self) -> None:
        """Leave the line."""
        if self._live and self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
        self._width = 0

    def _show(self, text: str, *, force: bool = False) -> None:
        """Write over the line, at most ten times a second."""
        if not self._live:
            if force:
                note(text)
            return
        now = time.monotonic()
        if now - self._last < 0.1 and not force:
            return
        self._last = now
        columns = os.get_terminal_size(sys.stderr.fileno()).columns - 1
        line = visible(text).replace("\n", " ")[:columns]
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()
        self._width = len(line)


def timing(trace: Trace) -> None:
    """Say how long each stage took."""
    for stage in trace.stages:
        detail = ", ".join(f"{name} {value}" for name, value in stage.detail.items())
        note(f"  {stage.name:<12} {stage.seconds * 1000:8.0f} ms  {detail}")


def note_findings(findings: Iterable[Finding]) -> None:
    """Say beside an answer or a check what to mind."""
    for finding in findings:
        note(f"Note: {finding.message} {finding.fix}".rstrip())


def warn_stale(stale: tuple[StaleSource, ...]) -> None:
    """Say which sources may be out of date."""
    for source in stale:
        searched = f" Version {source.version} was searched." if source.version else ""  # 0: the library itself
        note(f"Stale: {shown_path(source.uri)}: {source.reason}{searched} {source.fix}")


def _is_control(c: str) -> bool:
    """Tell control characters: C0, DEL, C1 and the bidirectional ones that can disguise text."""
    return c < " " or "\x7f" <= c <= "\x9f" or "\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069"
