"""Make, list and revoke the keys of the server."""

from __future__ import annotations

import argparse
from functools import partial

from pincite.access import ROLES
from pincite.errors import UsageError
from pincite.serve.cli import render
from pincite.serve.cli.opening import argument, open_library
from pincite.serve.keys import EVERYTHING, Keys

ARGUMENTS = (
    argument("action ACTION", "what to do", choices=("add", "list", "revoke")),
    argument("name [NAME]", "whose key", nargs="?"),
    argument("--role", "what it may do (default: reader)", choices=ROLES, default="reader"),
    argument("--grant LABEL", "documents with this label, too; '*': all (default: none; of an admin: all)", many=True),
)


def run(args: argparse.Namespace) -> int:
    """Do it; 0."""
    with open_library(args) as library:  # a folder that holds keys alone would be no library
        keys = Keys(library.path)
    if args.action == "list":
        _list(keys, args)
    elif not args.name:
        raise UsageError(f"`pincite keys {args.action}` needs a name.", fix=f"Try: pincite keys {args.action} anna")
    elif args.action == "revoke":
        keys.revoke(args.name)
        render.result(args, {"revoked": args.name}, lambda: render.say(f"Revoked {args.name}."))
    else:
        everything = EVERYTHING in args.grant or (args.role == "admin" and not args.grant)
        token = keys.add(args.name, args.role, None if everything else args.grant)
        render.note("Keep this key; it cannot be shown again.")
        render.result(args, {"name": args.name, "key": token}, lambda: render.say(token))
    return 0


def _list(keys: Keys, args: argparse.Namespace) -> None:
    """Show the keys, not what opens anything."""
    for key in keys.all():
        shape = {"name": key.name, "role": key.role, "grants": key.grants, "added": key.added}
        opens = "everything" if key.grants is None else ", ".join(key.grants) or "documents without labels"
        line = f"{key.name:<20} {key.role:<8} {opens:<30} {key.added}"
        render.result(args, shape, partial(render.say, line))
    if not keys.all():
        render.note("There are no keys. `pincite keys add NAME` makes one.")
