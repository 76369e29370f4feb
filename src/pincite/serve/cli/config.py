"""Show the settings, where they come from and what they mean."""

from __future__ import annotations

import argparse

from pincite.errors import SettingError
from pincite.serve.cli import render
from pincite.serve.cli.opening import settings


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this setting's value")


def run(args: argparse.Namespace) -> int:
    """Show one setting or all."""
    from pincite.settings import config_path, settings_table, without_secret

    chosen = settings(args)
    rows = [row | {"value": without_secret(getattr(chosen, row["name"]))} for row in settings_table()]
    if args.name:
        rows = [row for row in rows if row["name"] == args.name]
        if not rows:
            raise SettingError(f"{args.name!r} is no setting.", fix="`pincite config` lists them.")
    if args.json:
        render.emit({"file": str(config_path()), "settings": rows})
    elif args.name:
        render.say(str(rows[0]["value"]))
    else:
        render.say(f"# {config_path()}, then PINCITE_NAME in the environment, then the command line")
        for row in rows:
            shown = f'"{row["value"]}"' if isinstance(row["value"], str) else str(row["value"]).lower()
            render.say(f"{row['name']} = {shown:<28} # {row['unit']}: {row['help']}")
    return 0
