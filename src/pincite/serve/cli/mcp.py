"""Serve the library to an agent: MCP on standard input and output."""

from __future__ import annotations

import argparse
from pathlib import Path

from pincite.errors import PathMissing
from pincite.serve.cli.opening import argument, open_library

ARGUMENTS = (
    argument("--read-only", "offer no tool that adds documents"),
    argument("--root PATH", "let only what is at or below it be added (default: any path)", many=True, type=Path),
)


def run(args: argparse.Namespace) -> int:
    """Serve until the input ends."""
    from pincite.serve.mcp.server import serve_stdio

    for root in args.root:
        if not root.exists():
            raise PathMissing(f"There is no {root}.", fix="Name a folder that is there.")
    with open_library(args) as library:
        serve_stdio(library, read_only=args.read_only, roots=args.root or None)
    return 0
