"""Make, list and revoke the keys of the server."""

from __future__ import annotations

import argparse

from pincite.access import ROLES
from pincite.serve.cli import render
from pincite.serve.cli.opening import open_library
from pincite.serve.keys import EVERYTHING, Key, Keys


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=("add", "list", "revoke"), metavar="add|list|revoke")
    parser.add_argument("name", nargs="?", metavar="NAME", help="whose key")
    parser.add_argument("--role", choices=ROLES, default="reader", help="what it may do (default: reader)")
    parser.add_argument(
        "--grant",
        action="append",
        metavar="LABEL",
        help="documents with this label, besides those without labels; '*' for all (default: none; of an admin: all)",
    )


def run(args: argparse.Namespace) -> int:
    """Do it; 0."""
    from pincite.errors import UsageError

    with open_library(args) as library:  # a folder that holds keys alone would be no library
        keys = Keys(library.path)
    if args.action != "list" and not args.name:
        raise UsageError(f"`pincite keys {args.action}` needs a name.", fix=f"Try: pincite keys {args.action} anna")
    if args.action == "list":
        _list(keys, as_json=args.json)
    elif args.action == "revoke":
        keys.revoke(args.name)
        _say({"revoked": args.name}, f"Revoked {args.name}.", as_json=args.json)
    else:
        token = keys.add(args.name, args.role, _grants(args.grant, args.role))
        render.note("Keep this key; it cannot be shown again.")
        _say({"name": args.name, "key": token}, token, as_json=args.json)
    return 0


def _grants(labels: list[str] | None, role: str) -> list[str] | None:
    """Give what was granted; None is everything."""
    if labels is None:
        return None if role == "admin" else []
    return None if EVERYTHING in labels else labels


def _list(keys: Keys, *, as_json: bool) -> None:
    """Show the keys, not what opens anything."""
    for key in keys.all():
        shape: dict[str, object] = {"name": key.name, "role": key.role, "grants": key.grants, "added": key.added}
        _say(shape, f"{key.name:<20} {key.role:<8} {_granted(key):<30} {key.added}", as_json=as_json)
    if not keys.all():
        render.note("There are no keys. `pincite keys add NAME` makes one.")


def _granted(key: Key) -> str:
    """Write what a key opens."""
    return "everything" if key.grants is None else ", ".join(key.grants) or "documents without labels"


def _say(shape: dict[str, object], text: str, *, as_json: bool) -> None:
    """Print it in the form asked for."""
    if as_json:
        render.emit(shape)
    else:
        render.say(text)
