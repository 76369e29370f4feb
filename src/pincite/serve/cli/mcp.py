"""Serve the library to an agent: MCP on standard input and output."""

from __future__ import annotations

import argparse
from pathlib import Path

from pincite.errors import PathMissing
from pincite.serve.cli.opening import open_library


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--read-only", action="store_true", help="offer no tool that adds documents")
    parser.add_argument(
        "--root",
        action="append",
        type=Path,
        metavar="PATH",
        help="documents may be added only at or below this path; several may be named (default: any path)",
    )


def run(args: argparse.Namespace) -> int:
    """Serve until the input ends."""
    from pincite.serve.mcp.server import serve_stdio

    for root in args.root or ():
        if not root.exists():
            raise PathMissing(f"There is no {root}.", fix="Name a folder that is there.")
    with open_library(args) as library:
        serve_stdio(library, read_only=args.read_only, roots=args.root)
    return 0
