"""Ask question after question; follow-ups are understood from the turns before."""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.errors import PinciteError, UsageError
from pincite.serve import shapes
from pincite.serve.cli import ask, render
from pincite.serve.cli.opening import ANSWER, argument, open_library, shared
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
_COMMANDS = ("open", "sources", "why", "new", "save", "help")

Told = tuple[str, dict[str, Any]]  # what a command tells: a text for people, and JSON

ARGUMENTS = (
    argument("paths [PATH...]", "paths to sync and to search alone", nargs="*"),
    *shared(*ANSWER),
)


def run(args: argparse.Namespace) -> int:
    """Talk until the input ends."""
    with open_library(args) as library:
        if args.paths:
            ask.bring(library, args.paths)
        chat = Chat(library, args)
        if sys.stdin.isatty() and not args.json:
            said = render.counted(library.stats().documents, "document")
            render.note(f"{said}. Ask; /help lists what else there is.")
        for line in _lines("" if args.json else "\n> "):
            if not chat.take(line.strip()):
                break
    return 0


def _lines(prompt: str) -> Iterator[str]:
    """Give what the person types, with a history of lines where the terminal has one, or the lines of a pipe."""
    live = sys.stdin.isatty()
    if live and importlib.util.find_spec("readline"):
        importlib.import_module("readline")  # being imported is enough: input() then edits lines
    while True:
        try:
            line = input(prompt) + "\n" if live else sys.stdin.readline()
        except EOFError:
            return
        except KeyboardInterrupt:
            render.note("\n/quit leaves.")
            continue
        if not line:
            return
        yield line


class Chat:
    """One conversation: what was answered, and the commands on it."""

    def __init__(self, library: Library, args: argparse.Namespace) -> None:
        """Begin with nothing said."""
        self._library, self._args = library, args
        self._answers: list[Answer] = []

    def take(self, line: str) -> bool:
        """Take one line, a question or a command; False ends the chat. An error ends neither."""
        word, *rest = line.split() or [""]
        if word in ("/quit", "/exit"):
            return False
        try:
            if word.startswith("/") and "/" not in word[1:]:  # a path is a question
                self._command(word.rstrip("?"), rest)
            elif word:
                self._answer(line)
        except PinciteError as error:
            render.error(error, as_json=self._args.json)
        except KeyboardInterrupt:
            render.note("\nStopped; this question is not part of the conversation.")
        return True

    def _command(self, word: str, rest: list[str]) -> None:
        """Do a command, and show what it tells."""
        if word[1:] not in _COMMANDS:
            known = ", ".join(f"/{name}" for name in (*_COMMANDS, "quit"))
            raise UsageError(f"There is no command {word}.", fix=f"There are {known}.")
        shown, told = getattr(self, f"_{word[1:]}")(rest)
        render.result(self._args, told, lambda: render.say(shown))

    def _answer(self, question: str) -> None:
        """Answer, and remember what was answered."""
        args = self._args
        answer = ask.answered(self._library, args, question, [answer.turn for answer in self._answers])
        self._answers.append(answer)
        if not args.json and understood(answer):
            render.note(understood(answer))
        ask.report(answer, args, documents=self._library.stats().documents)

    def _last(self, back: int = 0) -> Answer:
        """Give an answer, counted from the last one."""
        if back >= len(self._answers):
            raise UsageError("There is no such answer in this conversation.", fix="Ask something first.")
        return self._answers[-1 - back]

    def _open(self, rest: list[str]) -> Told:
        """Show a quote between the text before and after it, in the version that was cited."""
        if not rest or not all(word.isdecimal() for word in rest[:2]):
            raise UsageError("/open needs the number of a quote.", fix="Write for instance /open 1.")
        number, back = int(rest[0]), int(rest[1]) if len(rest) > 1 else 0
        answer = self._last(back)
        cited = next((citation for citation in answer.citations if citation.number == number), None)
        if cited is None:
            raise UsageError(f"That answer has no quote {number}.", fix=f"It has {len(answer.citations)}.")
        text = self._library.document(cited.uri, cited.version).text
        start, end = max(0, cited.start - _AROUND), min(len(text), cited.end + _AROUND)
        before, quote, after = text[start : cited.start], text[cited.start : cited.end], text[cited.end : end]
        place = render.shown_place(cited.uri, cited.location)
        shown = f"{place}\n\n{'…' * (start > 0)}{before}»»{quote}««{after}{'…' * (end < len(text))}"
        return shown, {"opened": shapes.citation_json(cited) | {"before": before, "after": after}}

    def _sources(self, _: list[str]) -> Told:
        """List the cited places, by document."""
        cited = {(c.uri, c.version, c.start, c.end): c for answer in self._answers for c in answer.citations}
        ordered = [cited[key] for key in sorted(cited)]
        lines = [f"{render.shown_place(c.uri, c.location)}: “{render.one_line(c.quote, 100)}”" for c in ordered]
        return "\n".join(lines) or "Nothing was cited.", {"sources": [shapes.citation_json(c) for c in ordered]}

    def _why(self, _: list[str]) -> Told:
        """Tell how the last answer came about."""
        answer = self._last()
        lines = [understood(answer) or "The question was taken as it stands."]
        lines += [f"{finding.message} {finding.fix}".rstrip() for finding in answer.findings]
        return "\n".join((*lines, *render.stages(answer.trace))), {"why": shapes.trace_json(answer.trace)}

    def _new(self, _: list[str]) -> Told:
        """Forget what was said."""
        self._answers.clear()
        return "A new conversation.", {"new": True}

    def _save(self, rest: list[str]) -> Told:
        """Write the conversation; a file that is there is not written over."""
        if not rest:
            raise UsageError("/save needs a file.", fix="Write for instance /save answers.md.")
        path = Path(" ".join(rest)).expanduser()
        render.save(path, markdown(self._answers).encode(errors="backslashreplace"), new=True)
        return f"Saved to {path}.", {"saved": str(path)}

    def _help(self, _: list[str]) -> Told:
        """List the commands."""
        return _HELP, {"help": _HELP.splitlines()}


def understood(answer: Answer) -> str:
    """Say in one line what was taken from the conversation; "" when nothing was."""
    for stage in answer.trace.stages:
        if stage.name == "understand":
            how = "Understood as a follow-up to" if stage.detail["depends"] else "Searched with a little of"
            return f"{how} “{render.one_line(str(stage.detail['taken']), 100)}”; /new begins anew."
    return ""


def markdown(answers: list[Answer]) -> str:
    """Write answers as Markdown: the question as heading, the citations as footnotes, numbered through."""
    parts: list[str] = []
    notes: list[str] = []
    for answer in answers:
        first = len(notes)
        text = "\n\n".join(_footnoted(answer, first)) if answer.claims else _escaped(answer.text)
        parts.append(f"## {_escaped(render.one_line(answer.question, 1000))}\n\n{text}\n")
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
    place = _escaped(render.shown_place(citation.uri, citation.location))
    span = f"version {citation.version}, characters {citation.start} to {citation.end}"
    return f"[^{first + citation.number}]: “{_escaped(render.one_line(citation.quote))}” {place}, {span}\n"


def _escaped(text: str) -> str:
    """Keep text from being read as Markdown or HTML."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", render.visible(text))
