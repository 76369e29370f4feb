"""Check any text, sentence by sentence, against the documents."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pincite.errors import PathMissing, UsageError
from pincite.serve import shapes
from pincite.serve.cli import render
from pincite.serve.cli.opening import SEARCH, argument, open_library, search_of, shared
from pincite.types import Citation, Claim, Finding

ARGUMENTS = (
    argument("file FILE", "the text to check, UTF-8; '-' reads standard input"),
    *shared("verifier", *SEARCH),
)


def run(args: argparse.Namespace) -> int:
    """Check; 1 when a claim is not supported."""
    text = _read(args.file)
    with open_library(args) as library:
        checked = library.check(text, **search_of(args))
        documents = library.stats().documents
    if args.json:
        render.emit(shapes.check_json(text, checked))
    else:
        _show(checked.claims, checked.citations, checked.findings)
        if not checked.claims:
            render.note(f"{args.file} has no sentence to check.")
        elif not documents:
            render.note("The library holds no documents to check against; `pincite add PATH` adds some.")
    return 0 if all(claim.verdict == "supported" for claim in checked.claims) else 1


def _show(claims: Sequence[Claim], citations: Sequence[Citation], findings: Sequence[Finding]) -> None:
    """Show a check for people: each sentence with its verdict, the quotes with their places, then what to mind."""
    for claim in claims:
        numbers = "".join(f" [{number}]" for number in claim.citations)
        render.say(f"{claim.verdict:<12}{render.one_line(claim.text)}{numbers}")
        for problem in claim.problems:
            render.say(f"            {render.nearer(problem)}")
    render.quotes(citations)
    render.note_findings(f for f in findings if f.kind != "sources_conflict")  # their claims say so already


def _read(name: str) -> str:
    """Read the text to check."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except FileNotFoundError as error:
        raise PathMissing(f"There is no {name}.", fix="Check the path.") from error
    except IsADirectoryError as error:
        raise UsageError(f"{name} is a folder.", fix="Name the file whose text is to be checked.") from error
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}.", fix="Check its permissions.") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{name} is not UTF-8 text.",
            fix="Save it as UTF-8; of a document that the library holds: pincite show FILE --text | pincite check -",
        ) from error
