"""Show a document, or a passage in its context."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from pincite.serve.cli import render
from pincite.serve.cli.opening import argument, open_library
from pincite.types import Document, Passage

ARGUMENTS = (
    argument("target DOCUMENT|PASSAGE", "a path, a URI, a document's id, or a passage's id"),
    argument("--text", "exactly the canonical text, nothing added"),
    argument("--version N", "this version instead of the newest", type=int),
    argument("--page-image FILE", "paint the passage's page, boxed, as PNG (PDF)", type=Path),
    argument("--context N", "lines around a passage (default: 3)", type=int, default=3),
)


def run(args: argparse.Namespace) -> int:
    """Show."""
    with open_library(args) as library:
        passage = None
        if "@" in args.target and ":" in args.target and "/" not in args.target:
            passage = library.passage(args.target)
        document = library.document(passage.uri if passage else args.target, args.version)
        if args.page_image:
            render.save(args.page_image, library.page_image(args.target))
            render.note(f"The page is in {args.page_image}.")
    if args.text and not args.json:
        render.raw((passage or document).text.encode("utf-8", "surrogatepass"))
        return 0
    shape = {
        "document": asdict(document) | {"uri": document.source.uri},
        "passage": passage and asdict(passage) | {"location": passage.location},
    }
    render.result(args, shape, lambda: _show(document, passage, max(0, args.context)))
    return 0


def _show(document: Document, passage: Passage | None, lines: int) -> None:
    """Show a passage between marks with the lines around it, or a document's head and text."""
    if passage:
        before = document.text[: passage.start].splitlines(keepends=True)[-lines - 1 :] if lines else []
        after = document.text[passage.end :].splitlines(keepends=True)[: lines + 1] if lines else []
        render.say(f"{render.shown_place(passage.uri, passage.location)}  (version {passage.version})\n")
        render.say("".join(before) + "⟦" + passage.text + "⟧" + "".join(after))
        return
    render.say(f"{document.title}\n{render.shown_path(document.source.uri)}")
    render.say(f"version {document.version}, {document.source.media_type}, id {document.id}")
    for name, value in document.metadata.items():
        render.say(f"{name}: {value}")
    render.say(f"\n{document.text}")
