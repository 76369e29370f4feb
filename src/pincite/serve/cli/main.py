"""``pincite``: parse, run one command, turn errors into one sentence and an exit code.

Exit codes: 0 done, 1 nothing found, 2 wrong use, 3 some sources failed, 4 the library or a model cannot be used,
130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from pincite import __version__
from pincite.errors import PinciteError
from pincite.serve.cli import (
    add,
    ask,
    cases,
    ceiling,
    chat,
    check,
    config,
    doctor,
    evaluate,
    keys,
    label,
    list_,
    mcp,
    models,
    remove,
    render,
    search,
    serve,
    show,
    why,
)

_COMMANDS = {
    "ask": ask,
    "chat": chat,
    "add": add,
    "search": search,
    "list": list_,
    "show": show,
    "remove": remove,
    "label": label,
    "check": check,
    "why": why,
    "evaluate": evaluate,
    "cases": cases,
    "ceiling": ceiling,
    "serve": serve,
    "keys": keys,
    "mcp": mcp,
    "models": models,
    "doctor": doctor,
    "config": config,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: without the program's name; None takes those of the process.

    Returns:
        The exit code.
    """
    render.prepare_streams()
    args = parser().parse_args(arguments)
    try:
        code = int(_COMMANDS[args.command].run(args))
        sys.stdout.flush()
    except PinciteError as error:
        render.error(error, as_json=args.json)
        return error.exit_code
    except KeyboardInterrupt:
        render.note("Interrupted. What was reported as done is safe; run the same command again to go on.")
        return 130
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def parser() -> argparse.ArgumentParser:
    """Build the parser; common options may stand before or after the command."""
    top = _Parser(
        prog="pincite",
        description="Answers from your own documents, every sentence pinned to the exact place it came from.",
        epilog="Exit codes: 0 done, 1 nothing found, 2 wrong use, 3 some sources failed, "
        "4 the library or a model cannot be used.",
    )
    top.add_argument("--version", action="version", version=f"pincite {__version__}")
    _common(top, first=True)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module in _COMMANDS.items():
        summary = (module.__doc__ or "").splitlines()[0]
        command = commands.add_parser(name, help=summary, description=summary)
        _common(command, first=False)
        module.arguments(command)
    return top


class _Parser(argparse.ArgumentParser):
    """A parser whose errors look like all our errors."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is; exit with 2."""
        sys.stderr.write(f"pincite: {message}\n  Try: {self.prog} --help\n")
        sys.exit(2)


def _common(parser: argparse.ArgumentParser, *, first: bool) -> None:
    """Add what every command takes; only the first parser sets defaults, so that either place counts."""

    def default(value: object) -> object:
        return value if first else argparse.SUPPRESS

    group = parser.add_argument_group("common options")
    group.add_argument("--library", metavar="PATH", default=default(None), help="the library (default: a per-user one)")
    group.add_argument("--offline", action="store_true", default=default(None), help="never touch the network")
    group.add_argument("--json", action="store_true", default=default(False), help="print JSON only")
    group.add_argument("--timing", action="store_true", default=default(False), help="say how long each stage took")
    group.add_argument("--encoder", metavar="NAME", default=default(None), help="the embedding model")
    group.add_argument("--generator", metavar="NAME", default=default(None), help="the instruction model, or 'none'")
    group.add_argument("--base-url", metavar="URL", default=default(None), help="the endpoint of 'openai:MODEL'")
    group.add_argument("--adapter", metavar="PATH", default=default(None), help="a LoRA adapter for the generator")


if __name__ == "__main__":
    sys.exit(main())
