"""A model behind an OpenAI-compatible endpoint, with the standard library only."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import SplitResult, urlsplit

from pincite.errors import (
    EndpointInvalid,
    EndpointUnreachable,
    GenerationError,
    GenerationTimeout,
    SchemaRefused,
    SettingError,
)
from pincite.models.endpoint import is_link_local
from pincite.models.generators.relay import Deadline, Emit, Relay
from pincite.models.generators.sse import Reply
from pincite.models.protocols import Finish, Form, GenerationOptions, Piece
from pincite.types import Message

KEY = "OPENAI_API_KEY"
ATTEMPTS = 3
_WAIT = 0.5  # seconds before the second attempt, doubled for the third, unless the endpoint names a time
_ERROR_BYTES = 2000  # of an error's body that are read
_PARALLEL = 8  # generations at a time
_REFUSALS = (400, 415, 422, 501)  # what endpoints that know no schemas answer to one
_WORDS = re.compile("[A-Za-z]+")
_SPACES = re.compile(" (?=[A-Za-z])")


class EndpointGenerator:
    """Continues a chat with a model that someone else runs.

    Passages travel in message fields only, so the endpoint's own template keeps them apart from its control tokens.

    Attributes:
        reply_form (str): "json"; "lines" once it is known that the endpoint keeps to no schema.
    """

    reply_form: Form = "json"

    def __init__(
        self, model: str, *, base_url: str, api_key: str | None = None, context_tokens: int = 8192, name: str = ""
    ) -> None:
        """Remember where the model is; nothing is sent yet.

        Args:
            model: as the endpoint names it.
            base_url: what ``/chat/completions`` is added to, usually ending in ``/v1``.
            api_key: None takes it from the environment, OPENAI_API_KEY; "" sends none.
            context_tokens: prompt and reply together.
            name: to show; the model's when empty.

        Raises:
            SettingError: the address or the key cannot be used.
        """
        self.name = name or model
        self.context_tokens = context_tokens
        self._model = model
        self._url = _checked_url(base_url)
        self._key = os.environ.get(KEY, "") if api_key is None else api_key
        if any(not "!" <= character <= "~" for character in self._key):
            raise SettingError(
                f"{KEY} holds characters that no key has.", fix="Set it again, without spaces or quotes."
            )
        self._relay = Relay(self.name, parallel=_PARALLEL)

    def count(self, text: str) -> int:
        """Estimate the tokens in the text from above.

        Each word of ASCII letters has a token for three of them, or part of three; each other ASCII character is one,
        except spaces before letters; each character beyond is one less than its UTF-8 bytes. English prose comes out
        at about 1.5 times what common vocabularies count.
        """
        words = _WORDS.findall(text)
        letters = sum(map(len, words))
        beyond = sum(len(character.encode("utf-8", "surrogatepass")) - 1 for character in text if character > "\x7f")
        others = sum(character <= "\x7f" for character in text) - letters - len(_SPACES.findall(text))
        return sum(-(-len(word) // 3) for word in words) + others + beyond

    def stream(self, messages: Sequence[Message], options: GenerationOptions) -> Iterator[Piece | Finish]:
        """Yield pieces of the reply, then one Finish; its reason is "dropped" when the reply broke off.

        A failure before any text is tried again, twice at most, while the deadline allows.

        Args:
            messages: the chat, oldest first.
            options: how to generate; the deadline counts from this call, whatever the endpoint does.

        Returns:
            An iterator; closing it closes the connection.

        Raises:
            GenerationTimeout: the deadline passed before there was any text.
            EndpointUnreachable: no connection, or only "too busy" and server errors.
            SchemaRefused: the endpoint does not take ``options.schema``.
            EndpointInvalid: an answer that is no chat completion.
        """
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "max_tokens": options.max_tokens,
            "temperature": options.temperature,
            "seed": options.seed,
            "stream": True,
        }
        if options.stop:
            body["stop"] = list(options.stop[:4])  # the most that OpenAI takes; all are looked for here anyway
        if options.schema is not None:
            wanted = {"name": "answer", "strict": True, "schema": dict(options.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        data = json.dumps(body).encode("ascii")
        prompt_tokens = sum(self.count(message.content) for message in messages)
        call = _Call(self._url, self._headers(), self._key, self._model, Deadline(options.seconds))
        call.has_schema = options.schema is not None
        work = lambda emit: call.run(data, Reply(options.max_tokens, prompt_tokens), emit)  # noqa: E731
        return self._relay.stream(work, options, prompt_tokens, call.abort)

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream", "User-Agent": "pincite"}
        return headers | ({"Authorization": f"Bearer {self._key}"} if self._key else {})


class _Call:
    """One generation: up to three requests, of which another thread may break off the current one."""

    has_schema: bool = False

    def __init__(self, url: SplitResult, headers: dict[str, str], key: str, model: str, deadline: Deadline) -> None:
        self._url, self._headers, self._key, self._model, self._deadline = url, headers, key, model, deadline
        self._aborted = threading.Event()
        self._socket: socket.socket | None = None
        self._place = f"{url.scheme}://{url.hostname}" + (f":{url.port}" if url.port else "")

    def abort(self) -> None:
        """Wake the thread that waits for the endpoint; what it then raises is not looked at."""
        self._aborted.set()
        if self._socket:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:  # it is closed already
                return

    def run(self, data: bytes, reply: Reply, emit: Emit) -> Finish:
        """Ask until there is a reply."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._ask(data, reply, emit)
            except _Again as again:
                wait = _WAIT * 2 ** (attempt - 1) if again.wait is None else again.wait
                if attempt == ATTEMPTS or not self._may_wait(wait):
                    self._deadline.left()  # once it has passed, that is what went wrong
                    raise again.error from None
                self._aborted.wait(wait)
        raise AssertionError("unreachable")

    def _may_wait(self, seconds: float) -> bool:
        try:
            left = self._deadline.left()
        except GenerationTimeout:
            return False
        return not self._aborted.is_set() and (30.0 if left is None else left) > seconds

    def _ask(self, data: bytes, reply: Reply, emit: Emit) -> Finish:
        """Make one request. What fails before any text raises; afterwards the reply is "dropped"."""
        try:
            with closing(self._open()) as connection:
                connection.connect()
                self._socket = connection.sock  # the connection lets go of it when the reply has begun
                self._check_peer(connection)
                if self._aborted.is_set():
                    return reply.finish("dropped")
                connection.request("POST", f"{self._url.path.rstrip('/')}/chat/completions", data, self._headers)
                with closing(connection.getresponse()) as response:
                    if response.status != http.HTTPStatus.OK:
                        raise self._status(response)
                    return reply.read(response, emit)
        except (EndpointInvalid, OSError, http.client.HTTPException) as error:
            if reply.shown:
                return reply.finish("dropped")
            if isinstance(error, EndpointInvalid):
                raise
            raise _Again(self._unreachable(error)) from None

    def _open(self) -> http.client.HTTPConnection:
        """Prepare the connection."""
        timeout = self._deadline.left()
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=timeout)
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=ssl.create_default_context())

    def _check_peer(self, connection: http.client.HTTPConnection) -> None:
        """Refuse link-local addresses before anything is sent: cloud machines give out secrets there."""
        if is_link_local(connection.sock.getpeername()[0]):
            raise EndpointInvalid(f"{self._place} is a link-local address.", fix="Set base_url to a model's endpoint.")

    def _status(self, response: http.client.HTTPResponse) -> GenerationError | _Again:
        """Turn a status other than 200 into an error that holds what the endpoint said, but never the key."""
        status = response.status
        said = response.read(_ERROR_BYTES).decode("utf-8", "replace")
        said = " ".join((said.replace(self._key, "***") if self._key else said).split())[:200]
        what = f"{self._place} answers {status}: {said}"
        if self.has_schema and status in _REFUSALS:
            return SchemaRefused(what, fix="Check base_url and the model's name.")
        if status in (408, 429) or status >= 500:
            error = EndpointUnreachable(what, fix="Try again later.")
            return _Again(error, _seconds(response.headers.get("Retry-After")))
        fixes = {
            401: f"Set {KEY} in the environment to a key that it takes.",
            403: f"Set {KEY} in the environment to a key that may use this model.",
            404: f"Check base_url, which usually ends in /v1, and whether the endpoint has {self._model!r}.",
        }
        return EndpointInvalid(what, fix=fixes.get(status, "Check base_url."))

    def _unreachable(self, error: Exception) -> EndpointUnreachable:
        """Say in words why there is no answer."""
        kinds: tuple[tuple[type[Exception], str, str], ...] = (
            (socket.gaierror, "has no address", "Check the host in base_url, and the network."),
            (ssl.SSLError, "has no valid TLS certificate, or speaks no TLS", "Check base_url: http or https?"),
            (ConnectionRefusedError, "refuses connections", "Start the server, or check the port in base_url."),
            (TimeoutError, "does not answer in time", "Check the network, or raise the setting answer_seconds."),
            (http.client.HTTPException, "does not speak HTTP, or broke off", "Check base_url: http or https?"),
        )
        for kind, what, fix in kinds:
            if isinstance(error, kind):
                return EndpointUnreachable(f"{self._place} {what}.", fix=fix)
        return EndpointUnreachable(
            f"{self._place} cannot be reached: {type(error).__name__}.", fix="Check the network."
        )


class _Again(Exception):
    """Nothing was shown and another attempt may help."""

    def __init__(self, error: GenerationError, wait: float | None = None) -> None:
        super().__init__()
        self.error, self.wait = error, wait


def _checked_url(base_url: str) -> SplitResult:
    """Refuse addresses that are not plain http or https; nothing of them is shown, as they may hold a password."""
    try:
        url = urlsplit(base_url)
        valid = url.scheme in ("http", "https") and url.hostname and url.port != 0
    except ValueError:
        valid = False
    if not valid or url.username or url.password or url.query or url.fragment or not base_url.isascii():
        raise SettingError("base_url is no plain http or https address.", fix="For example http://127.0.0.1:11434/v1.")
    return url


def _seconds(header: str | None) -> float | None:
    """Read Retry-After in seconds; dates and rubbish are as if it were absent."""
    return float(header) if header and header.strip().isdigit() and len(header) < 9 else None
