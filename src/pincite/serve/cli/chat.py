"""Ask question after question; follow-ups are understood from the turns before."""

from __future__ import annotations

import argparse
import importlib.util
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.errors import PinciteError, UsageError
from pincite.serve import shapes
from pincite.serve.cli import ask, render
from pincite.serve.cli.opening import answer_arguments, filter_of, open_library
from pincite.types import Answer, Citation

if TYPE_CHECKING:
    from pincite.library import Library

_AROUND = 400  # characters of context on either side of an opened quote
_HELP = """\
/open N        show quote N of the last answer in its context; /open N M: of the answer M turns ago
/sources       list what the conversation cites
/why           say how the last answer came about
/new           begin a new conversation
/save FILE.md  write the conversation as Markdown, with the quotes as footnotes
/quit          leave; so does the end of the input. Ctrl-C ends an answer, not the chat"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="paths to sync and to search alone")
    parser.add_argument("--stream", action="store_true", help="print drafts as they come; with --json: events")
    answer_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Talk until the input ends."""
    with open_library(args) as library:
        if args.paths:
            ask.bring(library, args.paths)
        chat = Chat(library, args)
        if sys.stdin.isatty() and not args.json:
            render.note(f"{library.stats().documents} documents. Ask; /help lists what else there is.")
        for line in _lines(prompt=not args.json):
            if not chat.take(line.strip()):
                break
    return 0


def _lines(*, prompt: bool) -> Iterator[str]:
    """Give what the person types, with a history of lines where the terminal has one, or the lines of a pipe."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    live = sys.stdin.isatty()
    if live and importlib.util.find_spec("readline"):
        importlib.import_module("readline")  # being imported is enough: input() then edits lines
    while True:
        try:
            line = input("\n> " if prompt else "") if live else sys.stdin.readline()
            if not live and not line:
                return
        except EOFError:
            return
        except KeyboardInterrupt:
            render.note("\n/quit leaves.")
            continue
        yield line


class Chat:
    """One conversation: what was answered, and the commands on it."""

    def __init__(self, library: Library, args: argparse.Namespace) -> None:
        """Begin with nothing said."""
        self._library, self._args = library, args
        self._answers: list[Answer] = []
        self._commands = {
            "/open": self._open,
            "/sources": self._sources,
            "/why": self._why,
            "/new": self._new,
            "/save": self._save,
            "/help": self._help,
        }

    def take(self, line: str) -> bool:
        """Take one line, a question or a command; False ends the chat. An error ends neither."""
        word, *rest = line.split() or [""]
        if word in ("/quit", "/exit"):
            return False
        try:
            if word.startswith("/") and "/" not in word[1:]:  # a path is a question
                command = self._commands.get(word.rstrip("?"))
                if command is None:
                    raise UsageError(
                        f"There is no command {word}.", fix=f"There are {', '.join(self._commands)}, /quit."
                    )
                self._say(command(rest))
            elif word:
                self._answer(line)
        except PinciteError as error:
            render.error(error, as_json=self._args.json)
        except KeyboardInterrupt:
            render.note("\nStopped; this question is not part of the conversation.")
        return True

    def _say(self, told: dict[str, Any]) -> None:
        """Show what a command tells: the text for people, the rest as JSON."""
        text = told.pop("shown")
        if self._args.json:
            render.emit(told)
        elif text:
            render.say(text)

    def _answer(self, question: str) -> None:
        """Answer, and remember what was answered."""
        args = self._args
        events = self._library.stream(
            question,
            extract=args.extract,
            mode=args.mode,
            where=filter_of(args.where),
            paths=args.paths or None,
            refresh=not args.no_refresh,
            history=[answer.turn for answer in self._answers],
        )
        answer = ask.follow(events, args)
        self._answers.append(answer)
        if args.json:
            if not args.stream:
                render.emit(shapes.answer_json(answer))
            return
        taken = understood(answer)
        if taken:
            render.note(taken)
        ask.show(answer)
        if args.timing:
            render.timing(answer.trace)

    def _last(self, back: int = 0) -> Answer:
        """Give an answer, counted from the last one."""
        if not 0 <= back < len(self._answers):
            raise UsageError("There is no such answer in this conversation.", fix="Ask something first.")
        return self._answers[-1 - back]

    def _open(self, rest: list[str]) -> dict[str, Any]:
        """Show a quote between the text before and after it, in the version that was cited."""
        if not rest or not all(word.isdecimal() for word in rest[:2]):
            raise UsageError("/open needs the number of a quote.", fix="Write for instance /open 1.")
        answer = self._last(int(rest[1]) if len(rest) > 1 else 0)
        found = [citation for citation in answer.citations if citation.number == int(rest[0])]
        if not found:
            raise UsageError(f"That answer has no quote {rest[0]}.", fix=f"It has {len(answer.citations)}.")
        [citation] = found
        text = self._library.document(citation.uri, citation.version).text
        start, end = max(0, citation.start - _AROUND), min(len(text), citation.end + _AROUND)
        before, quote, after = (
            text[start : citation.start],
            text[citation.start : citation.end],
            text[citation.end : end],
        )
        place = render.shown_place(citation.uri, citation.location)
        shown = f"{place}\n\n{'…' * (start > 0)}{before}»»{quote}««{after}{'…' * (end < len(text))}"
        opened = shapes.citation_json(citation) | {"before": before, "after": after}
        return {"shown": shown, "opened": opened}

    def _sources(self, _: list[str]) -> dict[str, Any]:
        """List the cited places, by document."""
        cited = {(c.uri, c.version, c.start, c.end): c for answer in self._answers for c in answer.citations}
        ordered = [cited[key] for key in sorted(cited)]
        lines = [f"{render.shown_place(c.uri, c.location)}: “{_line(c.quote)}”" for c in ordered]
        return {
            "shown": "\n".join(lines) or "Nothing was cited.",
            "sources": [shapes.citation_json(c) for c in ordered],
        }

    def _why(self, _: list[str]) -> dict[str, Any]:
        """Tell how the last answer came about."""
        answer = self._last()
        lines = [understood(answer) or "The question was taken as it stands."]
        lines += [f"{finding.message} {finding.fix}".rstrip() for finding in answer.findings]
        for stage in answer.trace.stages:
            detail = ", ".join(f"{name} {value}" for name, value in stage.detail.items() if value != "")
            lines.append(f"  {stage.name}: {stage.seconds * 1000:.0f} ms. {detail}")
        return {"shown": "\n".join(lines), "why": shapes.trace_json(answer.trace)}

    def _new(self, _: list[str]) -> dict[str, Any]:
        """Forget what was said."""
        self._answers.clear()
        return {"shown": "A new conversation.", "new": True}

    def _save(self, rest: list[str]) -> dict[str, Any]:
        """Write the conversation; a file that is there is not written over."""
        if not rest:
            raise UsageError("/save needs a file.", fix="Write for instance /save answers.md.")
        path = Path(" ".join(rest)).expanduser()
        try:
            with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
                file.write(markdown(self._answers))
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}.", fix="Name another file.") from error
        return {"shown": f"Saved to {path}.", "saved": str(path)}

    def _help(self, _: list[str]) -> dict[str, Any]:
        """List the commands."""
        return {"shown": _HELP, "help": _HELP.splitlines()}


def understood(answer: Answer) -> str:
    """Say in one line what was taken from the conversation; "" when nothing was."""
    for stage in answer.trace.stages:
        if stage.name == "understand":
            how = "Understood as a follow-up to" if stage.detail["depends"] else "Searched with a little of"
            return f"{how} “{_line(str(stage.detail['taken']))}”; /new begins anew."
    return ""


def markdown(answers: list[Answer]) -> str:
    """Write answers as Markdown: the question as heading, the citations as footnotes, numbered through."""
    parts: list[str] = []
    notes: list[str] = []
    for answer in answers:
        first = len(notes)
        text = "\n\n".join(_footnoted(answer, first)) if answer.claims else _escaped(answer.text)
        parts.append(f"## {_escaped(_line(answer.question, 1000))}\n\n{text}\n")
        notes += [_footnote(first, citation) for citation in answer.citations]
    return "\n".join([*parts, *notes])


def _footnoted(answer: Answer, first: int) -> Iterator[str]:
    """Give the claims with the marks of their footnotes, and a word on those that are not supported."""
    for claim in answer.claims:
        plain = claim.text.removesuffix("".join(f"[{number}]" for number in claim.citations)).rstrip()
        marks = "".join(f"[^{first + number}]" for number in claim.citations)
        verdict = "" if claim.verdict == "supported" else f" *({claim.verdict})*"
        yield _escaped(plain) + marks + verdict


def _footnote(first: int, citation: Citation) -> str:
    """Give one footnote: the quote and its place."""
    quote = _escaped(" ".join(citation.quote.split()))
    place = _escaped(render.shown_place(citation.uri, citation.location))
    span = f"version {citation.version}, characters {citation.start} to {citation.end}"
    return f"[^{first + citation.number}]: “{quote}” {place}, {span}\n"


def _escaped(text: str) -> str:
    """Keep text from being read as Markdown or HTML."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", render.visible(text))


def _line(text: str, most: int = 100) -> str:
    """Bring text into one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
