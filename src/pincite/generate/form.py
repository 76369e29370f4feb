"""The forms that a reply is asked for in, and their strict readers: what does not follow its form is an error.

"json": a schema that the endpoint enforces, so that no passage is cited that does not exist. "lines": each line is the
passages' numbers in brackets, a space, and one sentence. "prose": any text. All readers give the same: sentences, each
followed by the numbers of its passages in brackets. Nothing is ever repaired.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Protocol

from pincite.errors import ReplyMalformed
from pincite.models.protocols import Form

ABSTAINED = "The passages do not say."
ABSTAIN = f"If the passages do not answer, say: {ABSTAINED}"
ASKED: Mapping[Form, str] = {
    "json": (
        'Reply in JSON: {"sentences": [{"passages": [1], "text": "..."}]}, one object for each sentence, with the '
        "numbers of the passages that say it. If the passages do not answer, the list is empty."
    ),
    "lines": (
        "Write each sentence on a line of its own that begins with the number of its passage in brackets, like this:\n"
        f"[1] This is said there.\nIf the passages do not answer, write only: {ABSTAINED}"
    ),
    "prose": f"{ABSTAIN} After each sentence, give the number of its passage in brackets, like [1].",
}
_HEAD = '{"sentences":['
_LINE = re.compile(r"\[(\d{1,4}(?:, ?\d{1,4})*)\] (\S.*)")
_FIX = "Use a model that follows instructions better, or --generator none."


def schema(numbers: Collection[int]) -> dict[str, Any]:
    """Give the JSON schema of a reply that may cite these numbers, as strict modes want it: all required, none more."""
    sentence = {
        "type": "object",
        "properties": {
            "passages": {"type": "array", "items": {"type": "integer", "enum": sorted(numbers)}},
            "text": {"type": "string"},
        },
        "required": ["passages", "text"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"sentences": {"type": "array", "items": sentence}},
        "required": ["sentences"],
        "additionalProperties": False,
    }


class Reader(Protocol):
    """Turns pieces of a reply into sentences with their numbers."""

    def feed(self, piece: str) -> str:
        """Take a piece of the reply; give the sentences that are complete with it, each with its numbers and a space.

        ReplyMalformed if the reply does not follow its form.
        """
        ...

    def end(self, whole: bool) -> str:
        """Give what is left; ReplyMalformed if the reply ended by itself (whole), but not where its form allows."""
        ...


def reader(form: Form) -> Reader:
    """Make the reader of one reply."""
    readers: Mapping[Form, type[Reader]] = {"json": _Json, "lines": _Lines, "prose": _Prose}
    return readers[form]()


class _Prose:
    """Any text is in form."""

    def feed(self, piece: str) -> str:
        return piece

    def end(self, whole: bool) -> str:
        return ""


class _Lines:
    """One sentence a line; a line that broke off is given too, an unfinished number is not."""

    def __init__(self) -> None:
        self._line = ""

    def feed(self, piece: str) -> str:
        *lines, self._line = (self._line + piece).split("\n")
        return "".join(self._sentence(line) for line in lines)

    def end(self, whole: bool) -> str:
        if whole or _LINE.fullmatch(self._line.strip()):
            return self._sentence(self._line)
        return ""

    def _sentence(self, line: str) -> str:
        line = line.strip()
        if not line or line == ABSTAINED:
            return line
        found = _LINE.fullmatch(line)
        if not found:
            raise ReplyMalformed(f"The model wrote a line without its passages: {line[:60]!r}.", fix=_FIX)
        return _cited(found[2], found[1])


class _Json:
    """A JSON object, read sentence by sentence as it comes; a sentence that broke off is left out."""

    def __init__(self) -> None:
        self._text, self._at, self._given = "", 0, 0  # all that came; up to where it is read; sentences given

    def feed(self, piece: str) -> str:
        self._text += piece
        if not self._at:
            self._begin()
        given = ""
        while self._at and "}" in piece and (item := self._item()) is not None:
            given += _sentence(item)
            self._given += 1
        return given

    def end(self, whole: bool) -> str:
        if not whole:
            return ""
        try:
            reply = json.loads(self._text)
        except (ValueError, RecursionError) as error:
            raise ReplyMalformed("The model's reply is broken JSON.", fix=_FIX) from error
        if not isinstance(reply, dict) or list(reply) != ["sentences"] or len(reply["sentences"]) != self._given:
            raise ReplyMalformed("The model's reply does not follow the schema.", fix=_FIX)
        return "" if self._given else ABSTAINED

    def _begin(self) -> None:
        """Find the list; what begins differently is out of form at its first character."""
        head, bracket, _ = self._text.partition("[")
        begun = "".join(head.split()) + bracket
        if not _HEAD.startswith(begun):
            raise ReplyMalformed(f"The model's reply is not the JSON asked for: {self._text[:60]!r}.", fix=_FIX)
        self._at = len(head) + 1 if bracket else 0

    def _item(self) -> Any:
        """Read the next object of the list; None while it is not complete."""
        start = self._at + len(self._text[self._at :]) - len(self._text[self._at :].lstrip(", \t\r\n"))
        if not self._text.startswith("{", start):
            return None
        try:
            item, self._at = json.JSONDecoder().raw_decode(self._text, start)
        except (ValueError, RecursionError):
            return None  # not complete, or broken, which ``end`` tells
        return item


def _sentence(item: Any) -> str:
    """Check one object of the list."""
    if not isinstance(item, dict) or sorted(item) != ["passages", "text"]:
        raise ReplyMalformed("The model's reply does not follow the schema.", fix=_FIX)
    text, numbers = item["text"], item["passages"]
    if not isinstance(text, str) or not isinstance(numbers, list) or not all(type(n) is int for n in numbers):
        raise ReplyMalformed("The model's reply does not follow the schema.", fix=_FIX)
    return _cited(text.strip(), ", ".join(map(str, numbers))) if text.strip() else ""


def _cited(text: str, numbers: str) -> str:
    """Put the numbers where prose has them."""
    return f"{text} [{numbers}] " if numbers else f"{text} "
