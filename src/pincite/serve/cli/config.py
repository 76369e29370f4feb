"""Show the settings, where they come from and what they mean."""

from __future__ import annotations

import argparse
from typing import Any

from pincite.errors import SettingError
from pincite.serve.cli import render
from pincite.serve.cli.opening import argument, settings

ARGUMENTS = (argument("name [NAME]", "only this setting's value", nargs="?"),)


def run(args: argparse.Namespace) -> int:
    """Show one setting or all."""
    from pincite.settings import config_path, settings_table, without_secret

    chosen = settings(args)
    rows = [row | {"value": without_secret(getattr(chosen, row["name"]))} for row in settings_table()]
    if args.name:
        rows = [row for row in rows if row["name"] == args.name]
        if not rows:
            raise SettingError(f"{args.name!r} is no setting.", fix="`pincite config` lists them.")
    file = str(config_path())
    render.result(args, {"file": file, "settings": rows}, lambda: _show(file, rows, alone=bool(args.name)))
    return 0


def _show(file: str, rows: list[dict[str, Any]], *, alone: bool) -> None:
    """Show one value, or all as a configuration file that explains itself."""
    if alone:
        render.say(str(rows[0]["value"]))
        return
    render.say(f"# {file}, then PINCITE_NAME in the environment, then the command line")
    for row in rows:
        shown = f'"{row["value"]}"' if isinstance(row["value"], str) else str(row["value"]).lower()
        line = f"{row['name']} = {shown}"
        render.say(f"{line:<40} # {row['unit']}: {row['help']}")
