"""Say what is installed, which model runs where, whether the index is whole, and what is stale."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from pincite.serve.cli import render
from pincite.serve.cli.opening import open_library


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--repair", action="store_true", help="make the derived indexes anew")


def run(args: argparse.Namespace) -> int:
    """Check; 4 when something is wrong."""
    from pincite import manage

    with open_library(args) as library:
        if args.repair:
            library.store.rebuild()
        report = manage.doctor(library)
    if args.json:
        render.emit(report | {"checks": [asdict(check) for check in report["checks"]]})
    else:
        for check in report["checks"]:
            render.say(f"{'ok  ' if check.ok else 'BAD '} {check.name:<22} {check.detail}")
            if not check.ok and check.fix:
                render.say(f"     {check.fix}")
    return 0 if all(check.ok for check in report["checks"]) else 4
