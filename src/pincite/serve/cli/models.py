"""List, download or locate models."""

from __future__ import annotations

import argparse

from pincite.serve.cli import render
from pincite.serve.cli.opening import settings


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("list", help="the known models, and which are on this machine")
    pull = actions.add_parser("pull", help="download and verify models now")
    pull.add_argument("names", nargs="*", metavar="NAME", help="default: the models in use")
    path = actions.add_parser("path", help="where a model lies")
    path.add_argument("name", metavar="NAME")
    for action in actions.choices.values():
        action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON only")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    from pincite import manage

    chosen = settings(args)
    if args.action == "list":
        for row in manage.models(chosen):
            if args.json:
                render.emit(row)
            else:
                render.say(f"{row['name']:<26} {row['kind']:<10} {row['size'] / 1e6:6.0f} MB  {row['status']}")
        return 0
    names = [args.name] if args.action == "path" else args.names or manage.models_in_use(chosen)
    for name in names:
        path = manage.model_path(name, chosen, pull=args.action == "pull", progress=render.Progress().download)
        if args.json:
            render.emit({"name": name, "path": str(path)})
        else:
            render.say(str(path) if args.action == "path" else f"{name}: verified, in {path}")
    return 0
