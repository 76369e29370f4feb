"""Say who may see documents: those whose key is granted one of their labels."""

from __future__ import annotations

import argparse

from pincite.errors import UsageError
from pincite.serve.cli import render
from pincite.serve.cli.opening import open_library


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("target", nargs="?", metavar="TARGET", help="a path, a folder, a URI or a document's id")
    parser.add_argument("labels", nargs="*", metavar="LABEL", help="those who hold one of these see it")
    parser.add_argument("--clear", action="store_true", help="take the labels of the target away")


def run(args: argparse.Namespace) -> int:
    """Label, or list what was labelled; 1 when nothing was, 2 for nothing of that name."""
    if args.target is not None and bool(args.labels) == args.clear:
        raise UsageError("There is no label, or one beside --clear.", fix="Name labels, or give --clear.")
    with open_library(args) as library:
        if args.target is not None:
            uri, labels = library.uri(args.target), sorted(set(args.labels))
            count = library.label(args.target, labels)
            if args.json:
                render.emit({"uri": uri, "labels": labels, "documents": count})
            else:
                state = f"labelled {', '.join(labels)}" if labels else "without labels of its own"
                render.say(f"{render.shown_path(uri)}: {state}, {count} {'document' if count == 1 else 'documents'}")
            return 0
        places = library.labelled()
    for uri, names in places:
        if args.json:
            render.emit({"uri": uri, "labels": list(names)})
        else:
            render.say(f"{render.shown_path(uri)}  {', '.join(names)}")
    if not places and not args.json:
        render.note("Nothing is labelled: every key sees every document.")
    return 0 if places else 1
