"""Every way an endpoint can fail, from a loopback server that does just that."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from contextlib import contextmanager

import pytest

from pincite.errors import (
    EndpointInvalid,
    EndpointUnreachable,
    GenerationError,
    GenerationTimeout,
    SchemaRefused,
    SettingError,
)
from pincite.models.generators import endpoint
from pincite.models.generators.endpoint import EndpointGenerator
from pincite.models.protocols import Finish, GenerationOptions, Generator, Piece
from pincite.types import Message

CANARY = "sk-CANARY0123456789"
ASK = [Message("system", "Answer."), Message("user", "What? <|im_end|> \ud800 日本")]


class Server:
    """Answers each connection with the next of its scripts, and keeps the requests."""

    def __init__(self, *scripts):
        self.requests, self.hung_up, self._scripts = [], threading.Event(), list(scripts)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while self._scripts:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                data = b""
                while b"\r\n\r\n" not in data:
                    data += (more := connection.recv(65536))
                    if not more or data[:1] == b"\x16":  # it speaks TLS
                        break
                else:
                    self._answer(connection, data)

    def _answer(self, connection, data):
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
        while len(body) < length:
            body += connection.recv(65536)
        self.requests.append((head.decode(), json.loads(body)))
        try:
            self._scripts.pop(0)(connection)
        except OSError:
            self.hung_up.set()

    def close(self):
        self._socket.close()


@contextmanager
def serving(*scripts):
    server = Server(*scripts)
    try:
        yield server
    finally:
        server.close()


def http_reply(body=b"", status=200, kind="text/event-stream", extra=""):
    body = body if isinstance(body, bytes) else body.encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nConnection: close\r\n{extra}\r\n"
    return lambda connection: connection.sendall(head.encode() + body)


def delta(text, finish=None):
    return "data: " + json.dumps({"choices": [{"delta": {"content": text}, "finish_reason": finish}]}) + "\n\n"


def sends(*parts, pause=0.0):
    def script(connection):
        http_reply()(connection)
        for part in parts:
            connection.sendall(part if isinstance(part, bytes) else part.encode())
            time.sleep(pause)

    return script


DONE = "data: [DONE]\n\n"
GOOD = sends(delta("A KV"), delta(" cache."), delta("", "stop"), DONE)


def ask(url, key=CANARY, messages=ASK, **options):
    options.setdefault("seconds", 20.0)
    return list(EndpointGenerator("m", base_url=url, api_key=key).stream(messages, GenerationOptions(**options)))


def text(events):
    return "".join(event.text for event in events if isinstance(event, Piece))


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(endpoint, "_WAIT", 0.01)


def test_a_reply_streams_and_the_request_keeps_roles_apart():
    with serving(GOOD) as server:
        events = ask(server.url, max_tokens=7, stop=("\n\n",))
    assert [event.text for event in events[:-1]] == ["A KV", " cache."]
    assert events[-1].reason == "stop"
    head, body = server.requests[0]
    assert head.startswith("POST /v1/chat/completions HTTP/1.1")
    assert f"Authorization: Bearer {CANARY}" in head
    assert body["messages"] == [{"role": "system", "content": "Answer."}, {"role": "user", "content": ASK[1].content}]
    assert (body["model"], body["max_tokens"], body["temperature"], body["stream"]) == ("m", 7, 0.0, True)


SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


def test_a_schema_travels_as_strict_response_format():
    with serving(GOOD, GOOD) as server:
        ask(server.url, schema=SCHEMA)
        ask(server.url)
    wanted = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}
    assert server.requests[0][1]["response_format"] == wanted
    assert "response_format" not in server.requests[1][1]


@pytest.mark.parametrize("status", [400, 415, 422, 501])
def test_a_refused_schema_is_told_apart_and_not_tried_again(status):
    refusal = http_reply("response_format is not supported", status, "text/plain")
    with serving(refusal, refusal) as server:
        with pytest.raises(SchemaRefused, match="not supported"):
            ask(server.url, schema=SCHEMA)
        assert len(server.requests) == 1
    with serving(*[refusal] * 3) as server, pytest.raises(GenerationError) as caught:
        ask(server.url)
    assert not isinstance(caught.value, SchemaRefused)


def test_it_is_a_generator_and_counts_from_above(generator_file):
    from pincite.models.generators.vocabulary import Vocabulary

    generator = EndpointGenerator("m", base_url="http://127.0.0.1:1/v1")
    assert isinstance(generator, Generator)
    exact = Vocabulary(generator_file)
    for sample in (
        "A KV cache stores the keys and values of earlier tokens.",
        "x = 3.14 * y[0]",
        "naïve Straße",
        "日本語",
        "",
    ):
        assert exact.count(sample) <= generator.count(sample) <= 3 * exact.count(sample)


def test_lengths_and_servers_that_do_not_stream_are_understood():
    whole = {
        "choices": [{"message": {"role": "assistant", "content": "Whole."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5},
    }
    with serving(sends(delta("cut", "length"), DONE), http_reply(json.dumps(whole), kind="application/json")) as server:
        assert ask(server.url)[-1].reason == "length"
        events = ask(server.url)
    assert events == [Piece("Whole."), Finish("stop", 5, 1)]


def test_a_stream_that_ends_with_a_finish_reason_but_no_done_is_complete():
    with serving(sends(": ping\n\n", "event: x\n", delta("All.", "stop"))) as server:
        events = ask(server.url)
    assert (text(events), events[-1].reason) == ("All.", "stop")


def test_characters_are_never_split():
    raw = ('data: {"choices":[{"delta":{"content":"日本👩é"}}]}\n\n' + DONE).encode()
    with serving(sends(*(raw[at : at + 1] for at in range(len(raw))))) as server:
        assert text(ask(server.url)) == "日本👩é"
    halves = [
        'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n',
        'data: {"choices":[{"delta":{"content":"\\ude00b"}}]}\n\n',
    ]
    with serving(sends(*halves, DONE)) as server:
        pieces = [event.text for event in ask(server.url)[:-1]]
    assert pieces == ["a", "😀b"]


def test_invalid_utf8_becomes_a_replacement_character():
    with serving(sends(b'data: {"choices":[{"delta":{"content":"a\xff', b'\xe6\x97b"}}]}\n\n', DONE)) as server:
        events = ask(server.url)
    assert text(events).replace("\ufffd", "") == "ab"
    assert events[-1].reason == "stop"


@pytest.mark.parametrize("count", [1, 2, 17])
def test_a_drop_in_the_middle_keeps_the_text_and_says_so(count):
    with serving(sends(*[delta(f"t{number} ") for number in range(count)])) as server:
        events = ask(server.url)
    assert text(events) == "".join(f"t{number} " for number in range(count))
    assert events[-1].reason == "dropped"
    assert len(server.requests) == 1  # never again once text was shown


@pytest.mark.parametrize(
    "rubbish",
    [
        "data: {broken\n\n",
        'data: {"error": {"message": "overloaded"}}\n\n',
        'data: {"choices": "none"}\n\n',
        'data: {"choices": [{"delta": {"content": 7}}]}\n\n',
        'data: {"choices": [{"delta": "text"}]}\n\n',
        'data: {"choices": [7]}\n\n',
        "data: []\n\n",
        "data: " + "[" * 100_000 + "\n\n",
    ],
)
def test_rubbish_is_an_error_before_any_text_and_a_drop_after(rubbish):
    with serving(sends(rubbish), sends(delta("Some."), rubbish, delta("never"))) as server:
        with pytest.raises(EndpointInvalid) as caught:
            ask(server.url)
        assert caught.value.fix
        events = ask(server.url)
    assert (text(events), events[-1].reason) == ("Some.", "dropped")


@pytest.mark.parametrize(
    ("script", "match"),
    [
        (http_reply("<html>login</html>", kind="text/html"), "web page"),
        (http_reply("<!doctype html>", kind="text/plain"), "no event stream"),
        (http_reply("{broken", kind="application/json"), "broken JSON"),
        (http_reply('{"choices": [{}]}', kind="application/json"), "without text"),
        (http_reply("no such model", 404, "text/plain"), "404: no such model"),
        (http_reply("moved", 302, extra="Location: http://169.254.169.254/\r\n"), "302"),
    ],
)
def test_an_answer_that_is_no_chat_completion_is_named(script, match):
    with serving(script) as server:
        with pytest.raises(EndpointInvalid, match=match) as caught:
            ask(server.url)
        assert len(server.requests) == 1
    assert caught.value.fix


def test_busy_and_failing_servers_are_asked_again():
    with serving(http_reply("slow down", 429, extra="Retry-After: 0\r\n"), http_reply("oops", 500), GOOD) as server:
        assert text(ask(server.url)) == "A KV cache."
    with serving(sends(), GOOD) as server, pytest.raises(EndpointInvalid, match="before any text"):
        ask(server.url)
    with serving(*[http_reply("oops", 500)] * 4) as server:
        with pytest.raises(EndpointUnreachable, match="500: oops"):
            ask(server.url)
        assert len(server.requests) == endpoint.ATTEMPTS


def test_it_does_not_wait_longer_than_the_deadline_allows():
    begun = time.monotonic()
    later = http_reply("later", 429, extra="Retry-After: 3600\r\n")
    with serving(later) as server, pytest.raises(EndpointUnreachable, match="429"):
        ask(server.url, seconds=5.0)
    assert time.monotonic() - begun < 4


def drips(*parts):
    def script(connection):
        for part in parts:
            for at in range(len(part)):
                connection.sendall(part[at : at + 1].encode())
                time.sleep(0.1)

    return script


@pytest.mark.parametrize(
    "script",
    [
        lambda connection: (time.sleep(1.5), drips("x" * 100)(connection)),
        drips("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX: " + "x" * 1000),
        lambda connection: (http_reply()(connection), drips("data: " + "x" * 1000)(connection)),
    ],
    ids=["silence", "dripping header", "dripping line"],
)
def test_the_deadline_holds_whatever_the_server_does(script):
    begun = time.monotonic()
    with serving(script) as server:
        with pytest.raises(GenerationTimeout) as caught:
            ask(server.url, seconds=1.0)
        ended = time.monotonic()
        assert server.hung_up.wait(5)
    assert 0.9 <= ended - begun <= 2.0
    assert caught.value.fix


def test_a_deadline_after_some_text_ends_the_reply_and_the_connection():
    def script(connection):
        http_reply()(connection)
        while True:
            connection.sendall(delta("x").encode())
            time.sleep(0.05)

    with serving(script) as server:
        events = ask(server.url, seconds=1.0)
        assert (set(text(events)), events[-1].reason) == ({"x"}, "deadline")
        assert server.hung_up.wait(5)


def test_closing_the_iterator_closes_the_connection():
    def script(connection):
        http_reply()(connection)
        for _ in range(1000):
            connection.sendall(delta("x").encode())
            time.sleep(0.01)

    with serving(script) as server:
        stream = EndpointGenerator("m", base_url=server.url).stream(ASK, GenerationOptions())
        assert next(stream) == Piece("x")
        stream.close()
        assert server.hung_up.wait(5)


def test_a_token_of_ten_megabytes_is_bounded():
    huge = 'data: {"choices":[{"delta":{"content":"' + "x" * 10_000_000
    with serving(sends(huge), sends(delta("Some."), huge)) as server:
        with pytest.raises(EndpointInvalid, match="megabyte"):
            ask(server.url)
        assert ask(server.url)[-1].reason == "dropped"


def test_a_server_that_never_stops_is_stopped():
    with serving(sends(*[delta("x" * 1000)] * 50)) as server:
        events = ask(server.url, max_tokens=1)
    assert len(text(events)) == 64 + 4096
    assert events[-1].reason == "length"


def test_unreachable_endpoints_say_what_to_check(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(EndpointUnreachable, match="refuses") as caught:
        ask(f"http://127.0.0.1:{port}/v1")
    assert "port" in caught.value.fix
    with serving(lambda connection: None) as server, pytest.raises(EndpointUnreachable, match="TLS"):
        ask(server.url.replace("http:", "https:"))

    def no_address(*_args, **_kwargs):
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", no_address)
    with pytest.raises(EndpointUnreachable, match="no address"):
        ask("http://nowhere.invalid/v1")


def test_link_local_addresses_are_refused_after_resolving(monkeypatch):
    with serving(GOOD) as server:
        monkeypatch.setattr(socket.socket, "getpeername", lambda self: ("169.254.169.254", 80))
        with pytest.raises(EndpointInvalid, match="link-local"):
            ask(server.url)
    assert server.requests == []


@pytest.mark.parametrize(
    "url", ["", "ftp://x/v1", "http://", "http://user:pw@host/v1", "http://h/v1?k=v", "http://[::1", "nonsense"]
)
def test_addresses_that_are_none_are_refused(url):
    with pytest.raises(SettingError) as caught:
        EndpointGenerator("m", base_url=url)
    assert "pw" not in str(caught.value)


def test_the_key_comes_from_the_environment_and_is_never_shown(monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    caplog.set_level(logging.DEBUG)
    said = f"Incorrect API key provided: {CANARY}"
    seen = [repr(EndpointGenerator("m", base_url="http://127.0.0.1:1/v1"))]
    for status in (401, 403, 429, 500, 404):
        with serving(*[http_reply(said, status, "text/plain")] * 3) as server:
            with pytest.raises(GenerationError) as caught:
                ask(server.url, key=None)
            assert f"Bearer {CANARY}" in server.requests[0][0]
        chain: BaseException | None = caught.value
        while chain:
            seen += [repr(chain), str(chain), getattr(chain, "fix", "")]
            chain = chain.__cause__ or chain.__context__
    assert CANARY not in "".join(seen) + caplog.text
    assert "OPENAI_API_KEY" in "".join(seen)
    with pytest.raises(SettingError) as refused:
        EndpointGenerator("m", base_url="http://127.0.0.1:1/v1", api_key=f"{CANARY}\r\nX: y")
    assert CANARY not in str(refused.value)


def test_no_key_sends_no_header(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving(GOOD) as server:
        ask(server.url, key=None)
    assert "Authorization" not in server.requests[0][0]
