"""``pincite``: parse, run one command, turn errors into one sentence and an exit code.

Exit codes: 0 done, 1 nothing found, 2 wrong use, 3 some sources failed, 4 the library or a model cannot be used,
130 interrupted.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from pincite import __version__
from pincite.errors import PathMissing, PinciteError, UsageError
from pincite.serve.cli import render
from pincite.serve.cli.opening import QUESTION_LAST, argument

_COMMANDS = (
    *("ask", "chat", "add", "search", "list", "show", "remove", "label", "check", "why", "evaluate", "cases"),
    *("ceiling", "serve", "keys", "mcp", "models", "doctor", "config"),
)
_COMMON = (
    argument("--library PATH", "the library (default: a per-user one)"),
    argument("--offline", "never touch the network"),
    argument("--json", "print JSON only"),
    argument("--timing", "say how long each stage took"),
    argument("--encoder NAME", "the embedding model"),
    argument("--generator NAME", "the instruction model, or 'none'"),
    argument("--base-url URL", "the endpoint of 'openai:MODEL'"),
    argument("--adapter PATH", "a LoRA adapter for the generator"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with these arguments, or with those of the process; give the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    render.prepare_streams()
    try:
        try:
            return _run(given)
        except PinciteError as error:
            render.error(error, as_json="--json" in given)
            return error.exit_code
        except KeyboardInterrupt:
            with suppress(KeyboardInterrupt):  # pressed twice
                render.note("\nInterrupted. What was reported as done is safe; run the same command again to go on.")
            return 130
    except render.NobodyReads:
        return 0


def _run(given: Sequence[str]) -> int:
    """Parse and run; give the exit code."""
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError as error:
        raise UsageError("The folder that you are in is gone.", fix="Change to one that is there.") from error
    args, unknown = parser().parse_known_args(given)
    if not any(word.startswith("-") for word in unknown):
        _take_later(args, unknown)
    if unknown:
        fix = f"Try: pincite {args.command} --help"
        raise UsageError(f"`pincite {args.command}` does not take {' '.join(unknown)}.", fix=fix)
    try:
        return int(_module(args.command).run(args))
    except PathMissing as error:  # or it is a question that stands first, or without quotes
        raise PathMissing(str(error), fix=QUESTION_LAST if "words" in args else error.fix) from error


def parser() -> argparse.ArgumentParser:
    """Build the parser; common options may stand before or after the command."""
    top = _Parser(
        prog="pincite",
        usage="pincite [options] COMMAND ...",
        description="Answers from your own documents, every sentence pinned to the exact place it came from.",
        epilog='Begin with: pincite ask ./folder "question". Exit codes: 0 done, 1 nothing found, 2 wrong use, '
        "3 some sources failed, 4 the library or a model cannot be used.",
    )
    top.add_argument("--version", action="version", version=f"pincite {__version__}")
    _common(top, first=True)
    commands = top.add_subparsers(dest="command", prog="pincite", metavar="COMMAND", required=True)
    for name in _COMMANDS:
        module = _module(name)
        summary = (module.__doc__ or "").splitlines()[0]
        words = [how["metavar"] for (flag, *_), how in module.ARGUMENTS if not flag.startswith("-")]
        usage = " ".join(("pincite", name, "[options]", *words))
        command = commands.add_parser(name, help=summary, description=summary, usage=usage)
        _common(command, first=False)
        for flags, how in module.ARGUMENTS:
            command.add_argument(*flags, **how)
    return top


def _take_later(args: argparse.Namespace, words: list[str]) -> None:
    """Take words that stand behind options, which argparse leaves over; those that have no place stay in the list."""
    for (name, *_), how in _module(args.command).ARGUMENTS:
        if how.get("nargs") == "?" and getattr(args, name) is None and words:
            setattr(args, name, words.pop(0))
        elif how.get("nargs") in ("*", "+"):
            getattr(args, name).extend(words)
            words.clear()


def _module(command: str) -> ModuleType:
    """Import a command: not before it is wanted, so that Ctrl-C meanwhile is an interruption like any other."""
    return import_module(f"pincite.serve.cli.{'list_' if command == 'list' else command}")


class _Parser(argparse.ArgumentParser):
    """A parser whose errors look like all our errors."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is."""
        raise UsageError(f"{message[0].upper()}{message[1:]}.", fix=f"Try: {self.prog} --help")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Name what comes near to a word that is no choice."""
        choices = list(action.choices or [value])
        if value not in choices:
            near = difflib.get_close_matches(value, choices, n=1)
            known = f"There are {', '.join(choices)}." if len(choices) < len(_COMMANDS) else ""
            fix = (f"Did you mean {near[0]}?" if near else known) + f" Try: {self.prog} --help"
            flag = action.option_strings[:1]
            said = f"{flag[0]} does not take" if flag else f"There is no {str(action.metavar).lower()}"
            raise UsageError(f"{said} {value!r}.", fix=fix.strip())


def _common(parser: argparse.ArgumentParser, *, first: bool) -> None:
    """Add what every command takes; only the first parser sets defaults, so that either place counts."""
    group = parser.add_argument_group("common options")
    for flags, how in _COMMON:
        default = argparse.SUPPRESS if not first else False if flags[0] in ("--json", "--timing") else None
        group.add_argument(*flags, **how, default=default)


if __name__ == "__main__":
    sys.exit(main())
