"""What the commands print: data to stdout, everything else to stderr."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import unquote

from pincite.errors import PinciteError, UsageError
from pincite.serve import shapes
from pincite.types import Citation, Finding, StaleSource, Trace

# C0 without line break and tab, DEL, C1, and the bidirectional ones that can disguise text.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

EMPTY = "The library holds no documents. `pincite add PATH` adds some."


class NobodyReads(Exception):
    """The reader of our output went away, as ``| head`` does."""


def prepare_streams() -> None:
    """Let any text through, and give a stream that was closed before the start a place where nothing arrives."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # in the order of their descriptors
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    for stream, errors in ((sys.stdin, "replace"), (sys.stdout, "backslashreplace"), (sys.stderr, "backslashreplace")):
        if hasattr(stream, "reconfigure"):  # what cannot be read or shown is replaced, never a crash
            stream.reconfigure(errors=errors)


def emit(value: Any) -> None:
    """Print one JSON value on a line of its own, at once."""
    _write(sys.stdout, shapes.to_json(value) + "\n")


def say(text: str = "") -> None:
    """Print a line for people; control characters in it are made visible, for they may come from documents."""
    _write(sys.stdout, visible(text) + "\n")


def note(text: str, end: str = "\n") -> None:
    """Print a line for people beside the data."""
    _write(sys.stderr, visible(text) + end)


def raw(data: bytes) -> None:
    """Print bytes as they are."""
    _write(sys.stdout, data)


def result(args: argparse.Namespace, shape: Any, show: Callable[[], None]) -> None:
    """Print a result in the form that was asked for: its JSON, or whatever shows it to people."""
    if args.json:
        emit(shape)
    else:
        show()


def visible(text: str) -> str:
    """Replace control characters, which could drive the terminal, by a visible sign; line breaks and tabs stay."""
    return _CONTROL.sub("\N{SYMBOL FOR SUBSTITUTE FORM TWO}", text)


def error(failure: PinciteError, *, as_json: bool) -> None:
    """Say what happened and what to do."""
    if as_json:
        emit(shapes.error_json(failure))
    note(f"pincite: {nearer(str(failure))}" + (f"\n  {failure.fix}" if failure.fix else ""))


def shown_path(uri: str) -> str:
    """Name a source for people: relative to here when it lies below."""
    return unquote(uri.removeprefix("file://")).removeprefix(_here())


def shown_place(uri: str, location: str) -> str:
    """Shorten the path in a location."""
    return location.replace(unquote(uri.removeprefix("file://")), shown_path(uri), 1)


def nearer(text: str) -> str:
    """Shorten the paths below here that a text names; they begin a word."""
    return re.sub(rf"(?<![^\s'\"“(])(file://)?{re.escape(_here())}", "", text)


def one_line(text: str, most: int | None = None) -> str:
    """Bring text into one line, of at most so many characters."""
    line = " ".join(text.split())
    return line if most is None or len(line) <= most else line[: most - 1] + "…"


def counted(number: int, noun: str) -> str:
    """Write a number of things."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def save(path: Path, data: bytes, *, new: bool = False) -> None:
    """Write a file that a person asked for; ``new`` leaves one that is there alone. UsageError if it cannot be."""
    with writing(path), path.open("xb" if new else "wb") as file:
        file.write(data)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say that a file cannot be written, if it cannot."""
    try:
        yield
    except OSError as failure:
        message = f"{path} cannot be written: {_reason(failure)}."
        raise UsageError(message, fix="Name a file that is not there yet, in a folder that is.") from failure


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
        line = f"Downloading {name}: {done / 1e6:.0f} of {total / 1e6:.0f} MB"
        if self._live:
            self.show(line, now=ended and not self._said)
        elif ended and not self._said:
            note(line)
        self._said = ended
        if ended:
            self.end()

    def count(self, verb: str, done: int, name: str) -> None:
        """Show how far a run over many sources is."""
        self.show(f"{verb} {done}: {name}")

    def show(self, text: str, *, now: bool = False) -> None:
        """Write over the line, at most ten times a second unless it must be seen now."""
        if self._live and (now or time.monotonic() - self._last >= 0.1):
            self._last = time.monotonic()
            line = visible(one_line(text))[: os.get_terminal_size(sys.stderr.fileno()).columns - 1]
            _write(sys.stderr, "\r" + line.ljust(self._width))
            self._width = len(line)

    def end(self) -> None:
        """Leave the line."""
        if self._width:
            _write(sys.stderr, "\r" + " " * self._width + "\r")
        self._width = 0


def stages(trace: Trace) -> Iterator[str]:
    """Say how long each stage took, and what went in and came out, a line for each."""
    for stage in trace.stages:
        detail = ", ".join(f"{name} {value}" for name, value in stage.detail.items() if value != "")
        yield f"  {stage.name:<14} {stage.seconds * 1000:8.0f} ms  {detail}".rstrip()


def timing(trace: Trace) -> None:
    """Say beside the data how long each stage took."""
    for line in stages(trace):
        note(line)


def quotes(citations: Iterable[Citation]) -> None:
    """Show numbered quotes with their places."""
    for citation in citations:
        say(f"  [{citation.number}] {shown_place(citation.uri, citation.location)}\n      “{one_line(citation.quote)}”")


def source(status: str, uri: str, reason: str = "", fix: str = "") -> None:
    """Say beside the data what became of a source."""
    note(f"{status}: {shown_path(uri)}" + (f": {problem(uri, reason, fix)}" if reason else ""))


def problem(uri: str, reason: str, fix: str) -> str:
    """Say what is wrong with a source, and what to do; its path is not said again."""
    return f"{reason.removeprefix(unquote(uri.removeprefix('file://')) + ': ')} {fix}".rstrip()


def note_findings(findings: Iterable[Finding]) -> None:
    """Say beside an answer or a check what to mind."""
    for finding in findings:
        note(f"Note: {finding.message} {finding.fix}".rstrip())


def warn_stale(stale: Iterable[StaleSource]) -> None:
    """Say which sources may be out of date."""
    for one in stale:
        searched = f" Version {one.version} was searched." if one.version else ""  # 0: the library itself
        source("Stale", one.uri, one.reason + searched, one.fix)


def _here() -> str:
    """Give the folder that we are in, with what stands behind it in a path below."""
    try:
        return os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118 - a Path has no such end
    except FileNotFoundError:
        return "\0"  # nothing lies below a folder that is gone


def _reason(failure: OSError) -> str:
    """Say why the operating system refused."""
    return (failure.strerror or str(failure)).lower()


def _write(stream: TextIO, data: str | bytes) -> None:
    """Write and flush, so that both streams keep their order; a stream that fails is not tried again."""
    try:
        if isinstance(data, bytes):
            stream.buffer.write(data)
        else:
            stream.write(data)
        stream.flush()
    except OSError as failure:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if stream is sys.stderr:  # notes are beside the work, and no reason to stop it
            return
        if isinstance(failure, BrokenPipeError):
            raise NobodyReads from failure
        raise UsageError(
            f"The output cannot be written: {_reason(failure)}.", fix="Send it somewhere else, or make room."
        ) from failure
