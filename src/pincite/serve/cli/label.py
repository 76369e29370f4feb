"""Say who may see documents: those whose key is granted one of their labels."""

from __future__ import annotations

import argparse
from functools import partial

from pincite.errors import UsageError
from pincite.serve.cli import render
from pincite.serve.cli.opening import argument, open_library

ARGUMENTS = (
    argument("target [TARGET]", "a path, a folder, a URI or a document's id", nargs="?"),
    argument("labels [LABEL...]", "those who hold one of these see it", nargs="*"),
    argument("--clear", "take the labels of the target away"),
)


def run(args: argparse.Namespace) -> int:
    """Label, or list what was labelled; 1 when nothing was, 2 for nothing of that name."""
    if args.target is not None and bool(args.labels) == args.clear:
        raise UsageError("There is no label, or one beside --clear.", fix="Name labels, or give --clear.")
    with open_library(args) as library:
        if args.target is not None:
            uri, labels = library.uri(args.target), sorted(set(args.labels))
            count = library.label(args.target, labels)
            state = f"labelled {', '.join(labels)}" if labels else "without labels of its own"
            said = f"{render.shown_path(uri)}: {state}, {render.counted(count, 'document')}"
            render.result(args, {"uri": uri, "labels": labels, "documents": count}, lambda: render.say(said))
            return 0
        places = library.labelled()
    for uri, names in places:
        line = f"{render.shown_path(uri)}  {', '.join(names)}"
        render.result(args, {"uri": uri, "labels": list(names)}, partial(render.say, line))
    if not places and not args.json:
        render.note("Nothing is labelled: every key sees every document.")
    return 0 if places else 1
