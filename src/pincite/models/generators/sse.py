"""The reply of a chat completion: an event stream, or one JSON object from servers that do not stream."""

from __future__ import annotations

import http.client
import json
from typing import Any, Literal

from pincite.errors import EndpointInvalid
from pincite.models.generators.relay import Emit
from pincite.models.protocols import Finish

LINE = 1_000_000  # bytes that one line of the stream may have; a token is a few bytes
_PER_TOKEN = 64  # characters that a reply may have for each token asked for, and
_SPARE = 4096  # so many more; then it is ended, whatever the server sends
_FIX = "Check base_url, which usually ends in /v1."


class Reply:
    """Reads one reply.

    Attributes:
        shown (bool): some text was given out.
    """

    shown: bool = False

    def __init__(self, max_tokens: int, prompt_tokens: int) -> None:
        """Expect a reply of ``max_tokens``; the server's own figure replaces the estimate of ``prompt_tokens``."""
        self._room = max_tokens * _PER_TOKEN + _SPARE
        self._prompt_tokens, self._generated = prompt_tokens, 0
        self._reason: str | None = None
        self._half = ""

    def read(self, response: http.client.HTTPResponse, emit: Emit) -> Finish:
        """Emit the text as it comes.

        Args:
            response: with status 200.
            emit: called for each piece of text; False ends the reading.

        Returns:
            How it ended; "dropped" when the stream ended without saying so.

        Raises:
            EndpointInvalid: something that is no chat completion came, or nothing.
        """
        kind = response.headers.get_content_type()
        if kind == "text/html":
            raise EndpointInvalid("The endpoint answers with a web page.", fix=_FIX)
        if kind == "application/json":
            return self._whole(response.read(LINE + 1), emit)
        while line := response.readline(LINE + 1):
            if len(line) > LINE:
                raise EndpointInvalid("The endpoint sends a token of more than a megabyte.", fix=_FIX)
            field, _, value = line.decode("utf-8", "replace").rstrip("\r\n").partition(":")
            if field != "data":
                if line[:1] in b"{<":
                    raise EndpointInvalid("The endpoint answers with something that is no event stream.", fix=_FIX)
                continue
            if value.strip() == "[DONE]":
                return self.finish("length" if self._reason == "length" else "stop")
            if not self._event(_parsed(value), emit):
                return self.finish("length")
        if not self.shown and not self._reason:
            raise EndpointInvalid("The endpoint closed the stream before any text.", fix="Look into the server's log.")
        return self.finish("dropped" if not self._reason else "length" if self._reason == "length" else "stop")

    def finish(self, reason: Literal["stop", "length", "dropped"]) -> Finish:
        """Make the Finish from what is known."""
        return Finish(reason, self._prompt_tokens, self._generated)

    def _whole(self, data: bytes, emit: Emit) -> Finish:
        """Take a reply that did not stream."""
        if len(data) > LINE:
            raise EndpointInvalid("The endpoint's reply is more than a megabyte.", fix=_FIX)
        self._event(_parsed(data.decode("utf-8", "replace")), emit)
        return self.finish("length" if self._reason == "length" else "stop")

    def _event(self, event: dict[str, Any], emit: Emit) -> bool:
        """Take one event; False when enough came."""
        if isinstance(usage := event.get("usage"), dict):
            self._prompt_tokens = _number(usage.get("prompt_tokens"), self._prompt_tokens)
        choices = event.get("choices")
        if not isinstance(choices, list) or "error" in event:
            raise EndpointInvalid("The endpoint sends an event without choices.", fix="Look into the server's log.")
        if not choices:
            return True  # the last event, with the usage only
        choice = choices[0] if isinstance(choices[0], dict) else {}
        delta = choice.get("delta") or choice.get("message")
        text = delta.get("content") if isinstance(delta, dict) else None
        known = not choice.keys().isdisjoint(("delta", "message", "finish_reason"))
        if not isinstance(delta, dict | None) or not isinstance(text, str | None) or not known:
            raise EndpointInvalid("The endpoint sends a choice without text.", fix="Look into the server's log.")
        reason = choice.get("finish_reason")
        self._reason = reason if isinstance(reason, str) else self._reason
        return self._show(text or "", emit)

    def _show(self, text: str, emit: Emit) -> bool:
        """Emit text; halves of a character that JSON escaped as a pair are joined, also across events."""
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = text.removesuffix(self._half) if self._half else text
        if not text:
            return True
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")[: self._room]
        self._room -= len(text)
        self._generated += 1
        self.shown = True
        return emit(text) and self._room > 0


def _parsed(data: str) -> dict[str, Any]:
    """Parse a JSON object."""
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise EndpointInvalid("The endpoint sends broken JSON.", fix="Look into the server's log.") from error
    if not isinstance(event, dict):
        raise EndpointInvalid("The endpoint sends JSON that is no object.", fix="Look into the server's log.")
    return event


def _number(value: Any, default: int) -> int:
    """Take a count that is one."""
    return value if isinstance(value, int) and 0 <= value < 1 << 40 else default
