"""Show a document, or a passage in its context."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from pincite.errors import UsageError
from pincite.serve.cli import render
from pincite.serve.cli.opening import open_library
from pincite.types import Document, Passage


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("target", metavar="DOCUMENT|PASSAGE", help="a path, a URI, a document's id, or a passage's id")
    parser.add_argument("--text", action="store_true", help="exactly the canonical text, nothing added")
    parser.add_argument("--version", type=int, metavar="N", help="this version instead of the newest")
    parser.add_argument("--page-image", type=Path, metavar="FILE", help="paint the passage's page, boxed, as PNG (PDF)")
    parser.add_argument("--context", type=int, default=3, metavar="N", help="lines around a passage (default: 3)")


def run(args: argparse.Namespace) -> int:
    """Show."""
    with open_library(args) as library:
        passage = None
        if "@" in args.target and ":" in args.target and "/" not in args.target:
            passage = library.passage(args.target)
        document = library.document(passage.uri if passage else args.target, args.version)
        if args.page_image:
            _write_image(args.page_image, library.page_image(args.target))
    if args.json:
        render.emit({"document": _document_json(document), "passage": _passage_json(passage)})
    elif args.text:
        text = passage.text if passage else document.text
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "surrogatepass"))
        sys.stdout.buffer.flush()
    elif passage:
        _show_passage(document, passage, args.context)
    else:
        _show_document(document)
    return 0


def _write_image(file: Path, image: bytes) -> None:
    """Write the image where it is wanted; what cannot be written is a wrong use."""
    try:
        file.write_bytes(image)
    except OSError as error:
        message = f"{file} cannot be written: {(error.strerror or str(error)).lower()}."
        raise UsageError(message, fix="Name a file in a folder that you may write to.") from error
    render.note(f"The page is in {file}.")


def _show_document(document: Document) -> None:
    """Show a document's head and text."""
    render.say(f"{document.title}\n{render.shown_path(document.source.uri)}")
    render.say(f"version {document.version}, {document.source.media_type}, id {document.id}")
    for name, value in document.metadata.items():
        render.say(f"{name}: {value}")
    render.say()
    render.say(document.text)


def _show_passage(document: Document, passage: Passage, lines: int) -> None:
    """Show a passage between marks, with the lines around it."""
    before = document.text[: passage.start].splitlines(keepends=True)[-lines - 1 :] if lines else []
    after = document.text[passage.end :].splitlines(keepends=True)[: lines + 1] if lines else []
    render.say(f"{passage.location}  (version {passage.version})\n")
    render.say("".join(before) + "⟦" + passage.text + "⟧" + "".join(after))


def _document_json(document: Document) -> dict[str, object]:
    """Shape a document."""
    return asdict(document) | {"uri": document.source.uri}


def _passage_json(passage: Passage | None) -> dict[str, object] | None:
    """Shape a passage."""
    return None if passage is None else asdict(passage) | {"location": passage.location}
