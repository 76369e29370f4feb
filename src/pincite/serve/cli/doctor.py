"""Say what is installed, which model runs where, whether the index is whole, and what is stale."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pincite.reports import Check
from pincite.serve.cli import render
from pincite.serve.cli.opening import argument, open_library

ARGUMENTS = (argument("--repair", "make the derived indexes anew"),)


def run(args: argparse.Namespace) -> int:
    """Check; 4 when something is wrong."""
    from pincite import manage

    with open_library(args) as library:
        if args.repair:
            library.store.rebuild()
        report = manage.doctor(library)
    render.result(args, report, lambda: _show(report["checks"]))
    return 0 if all(check.ok for check in report["checks"]) else 4


def _show(checks: Sequence[Check]) -> None:
    """Show each check, and what to do about those that failed."""
    for check in checks:
        render.say(f"{'ok  ' if check.ok else 'BAD '} {check.name:<22} {check.detail}")
        if not check.ok and check.fix:
            render.say(f"     {check.fix}")
