"""List, download or locate models."""

from __future__ import annotations

import argparse
from functools import partial

from pincite.errors import UsageError
from pincite.serve.cli import render
from pincite.serve.cli.opening import argument, settings

ARGUMENTS = (
    argument("action ACTION", "pull downloads and verifies, path says where", choices=("list", "pull", "path")),
    argument("names [NAME...]", "a model (default for pull: those in use)", nargs="*"),
)


def run(args: argparse.Namespace) -> int:
    """Do it."""
    from pincite import manage

    chosen = settings(args)
    if len(args.names) != {"list": 0, "path": 1}.get(args.action, len(args.names)):
        raise UsageError(f"`pincite models {args.action}` takes another number of names.", fix="Try: pincite models -h")
    if args.action == "list":
        for row in manage.models(chosen):
            line = f"{row['name']:<26} {row['kind']:<10} {row['size'] / 1e6:6.0f} MB  {row['status']}"
            render.result(args, row, partial(render.say, line))
        return 0
    for name in args.names or manage.models_in_use(chosen):
        path = manage.model_path(name, chosen, pull=args.action == "pull", progress=render.Progress().download)
        line = str(path) if args.action == "path" else f"{name}: verified, in {path}"
        render.result(args, {"name": name, "path": str(path)}, partial(render.say, line))
    return 0
