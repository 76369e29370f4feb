"""Sizes, times and numbers: what is too much is refused, and health answers all the while."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import httpx
import pytest

from pincite.access import Principal
from pincite.library import Library
from pincite.serve.http.limits import Gate
from pincite.serve.keys import Keys
from tests.serve.http.conftest import Serve

JSON = {"content-type": "application/json"}


def connect(url: str) -> socket.socket:
    host, port = url.removeprefix("http://").rstrip("/").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def exchange(url: str, data: bytes) -> bytes:
    """Send bytes as they are, and give everything that comes back until the server ends the connection."""
    with closing(connect(url)) as opened:
        opened.sendall(data)
        received = b""
        while part := opened.recv(65536):
            received += part
        return received


def head(*lines: str) -> bytes:
    return "\r\n".join((*lines, "Host: localhost", "Content-Type: application/json", "", "")).encode()


def test_a_body_that_says_it_is_too_large_is_refused_unread(serve: Serve) -> None:
    answer = exchange(serve(), head("POST /v1/search HTTP/1.1", "Content-Length: 10000000000", "Expect: 100-continue"))
    assert answer.startswith(b"HTTP/1.1 413")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "too_large"


def test_a_body_that_grows_too_large_is_refused_while_it_comes(serve: Serve) -> None:
    url = serve(json_bytes=100_000)
    for path in ("/v1/search", "/v1/ask", "/nothing", "/"):
        sent, started, received = 0, time.monotonic(), b""
        with closing(connect(url)) as opened:
            opened.sendall(head(f"POST {path} HTTP/1.1", "Transfer-Encoding: chunked"))
            try:
                while time.monotonic() - started < 10:
                    opened.sendall(b"2710\r\n" + b" " * 10_000 + b"\r\n")
                    sent += 10_000
                    opened.settimeout(0.001)
                    with suppress(TimeoutError):
                        received += opened.recv(65536)
                    opened.settimeout(10)
            except (ConnectionError, BrokenPipeError):
                pass
        assert time.monotonic() - started < 8, "the server ended the connection"
        assert received.split()[1] == (b"413" if path.startswith("/v1") else b"404" if path == "/nothing" else b"405")


@pytest.mark.parametrize("size", ["-1", "1.5", "abc", "1, 2", "9" * 400, "0x10", "+1"])
def test_a_length_that_is_none_is_refused(serve: Serve, size: str) -> None:
    answer = exchange(serve(), head("POST /v1/search HTTP/1.1", f"Content-Length: {size}"))
    assert answer.split()[1] in (b"400", b"413")
    assert "error" in json.loads(answer.partition(b"\r\n\r\n")[2])


def test_a_body_without_a_length_is_no_body(serve: Serve) -> None:
    answer = exchange(serve(), head("POST /v1/search HTTP/1.1", "Connection: close"))
    assert answer.split()[1] == b"422"


@pytest.mark.parametrize(
    "junk", [b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x00" * 100_000]
)
def test_what_is_no_http_is_refused_as_everything_is(serve: Serve, junk: bytes) -> None:
    answer = exchange(serve(head_seconds=0.5), junk)
    assert answer.split()[1] in (b"400", b"408", b"421")
    assert "error" in json.loads(answer.partition(b"\r\n\r\n")[2])


def test_a_head_that_does_not_come_in_time_is_refused(serve: Serve) -> None:
    url = serve(head_seconds=0.3)
    assert exchange(url, b"GET /health HTTP/1.1\r\nHost: loc").split()[1] == b"408"
    assert exchange(url, b"") == b"", "one that says nothing hears nothing"


def test_the_head_of_a_second_request_has_the_same_time(serve: Serve) -> None:
    with closing(connect(serve(head_seconds=0.3))) as opened:
        opened.sendall(head("GET /health HTTP/1.1"))
        assert b"200" in opened.recv(65536)
        opened.sendall(b"GET /hea")
        received = b""
        while part := opened.recv(65536):
            received += part
    assert b"HTTP/1.1 408" in received


def test_a_body_that_does_not_come_in_time_is_refused(serve: Serve) -> None:
    url = serve(body_seconds=0.3)
    answer = exchange(url, head("POST /v1/search HTTP/1.1", "Content-Length: 100") + b'{"question"')
    assert answer.split()[1] == b"408"
    with closing(connect(url)) as opened:  # a byte now and then does not help
        opened.sendall(head("POST /v1/search HTTP/1.1", "Content-Length: 100"))
        started, received = time.monotonic(), b""
        opened.settimeout(0.05)
        while not received and time.monotonic() - started < 8:
            opened.sendall(b" ")
            try:
                received = opened.recv(65536)
            except TimeoutError:
                continue
        assert received.split()[1] == b"408"


@pytest.mark.parametrize("sent", [b"", b"GET /hea", head("POST /v1/search HTTP/1.1", "Content-Length: 9") + b"{"])
def test_silent_connections_make_room_for_others(serve: Serve, sent: bytes) -> None:
    url = serve(connections=20, head_seconds=60)
    silent = [connect(url) for _ in range(60)]
    try:
        for opened in silent:
            with suppress(ConnectionError):
                opened.sendall(sent)
        for _ in range(5):
            assert httpx.get(url + "health").status_code == 200
        silent[0].settimeout(5)
        with suppress(ConnectionResetError):
            received = silent[0].recv(65536)
            assert not received or b" 408 " in received, "the oldest ended"
    finally:
        for opened in silent:
            opened.close()


class Held:
    """Holds every search of a library until told otherwise."""

    def __init__(self, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go = threading.Event()
        self.inside = threading.Semaphore(0)
        search = Library.search

        def held(library: Library, *args, **options):
            self.inside.release()
            assert self.go.wait(20)
            return search(library, *args, **options)

        monkeypatch.setattr(Library, "search", held)


@pytest.mark.parametrize(("path", "kind"), [("/v1/ask", "asks"), ("/v1/search", "reads")])
def test_too_many_questions_are_refused_and_health_answers(
    serve: Serve, library: Library, monkeypatch: pytest.MonkeyPatch, path: str, kind: str
) -> None:
    held = Held(library, monkeypatch)
    url = serve(**{kind: 2}, queue=3).rstrip("/")
    with ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(httpx.post, url + path, json={"question": "bread?"}, timeout=30) for _ in range(12)]
        held.inside.acquire(timeout=10)
        held.inside.acquire(timeout=10)
        refused = []
        while len(refused) < 7:  # 2 run, 3 wait
            refused = [future for future in asked if future.done()]
            assert httpx.get(url + "/health", timeout=5).status_code == 200
            assert httpx.get(url + "/", timeout=5).status_code == 200
        assert f'pincite_in_progress{{kind="{kind}"}} 5' in httpx.get(url + "/metrics").text
        held.go.set()
    codes = sorted(future.result().status_code for future in asked)
    assert codes == [200] * 5 + [429] * 7
    one = refused[0].result()
    assert int(one.headers["retry-after"]) >= 1
    assert one.json()["error"]["code"] == "too_busy"
    again = httpx.post(url + path, json={"question": "bread?"})
    assert again.status_code == 200, "every place was given back"


def test_one_key_leaves_places_for_others(serve: Serve, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys(library.path)
    greedy, other = ({"authorization": f"Bearer {keys.add(name)}"} for name in ("greedy", "other"))
    held = Held(library, monkeypatch)
    url = serve(keys=keys, asks=2, queue=4, key_share=0.5).rstrip("/")

    def ask(key: dict[str, str]) -> httpx.Response:
        return httpx.post(f"{url}/v1/ask", json={"question": "bread?"}, headers=key, timeout=30)

    with ThreadPoolExecutor(10) as pool:
        asked = [pool.submit(ask, greedy) for _ in range(6)]
        assert held.inside.acquire(timeout=10)
        while sum(future.done() for future in asked) < 3:  # 1 runs, 2 wait
            time.sleep(0.01)
        assert not held.inside.acquire(timeout=0.2), "a second one of this key runs"
        others = pool.submit(ask, other)
        assert held.inside.acquire(timeout=10), "the place that is left is the other's"
        held.go.set()
    assert others.result().status_code == 200
    assert sorted(future.result().status_code for future in asked) == [200] * 3 + [429] * 3
    refused = next(future.result() for future in asked if future.result().status_code == 429)
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["error"]["message"].startswith("This key has too many")


def test_a_free_place_goes_to_the_key_that_has_the_fewest_and_none_is_lost() -> None:
    order: list[str] = []

    async def one(gate: Gate, who: str, left: asyncio.Event) -> None:
        async with gate.place(Principal(who)):
            order.append(who)
            await left.wait()

    async def play() -> None:
        gate, first, later = Gate(3, 9, 1.0), asyncio.Event(), asyncio.Event()
        asked = [asyncio.create_task(one(gate, who, first if who == "a" else later)) for who in "aaaaabc"]
        await asyncio.sleep(0)
        assert (order, gate.inside) == (["a", "a", "a"], 7)
        asked[3].cancel()  # while it waits
        first.set()
        for _ in range(9):
            await asyncio.sleep(0)
        assert order[3:5] == ["b", "c"], "before the fifth of the first key"
        asked[5].cancel()  # while it runs
        later.set()
        await asyncio.gather(*asked, return_exceptions=True)
        assert gate.inside == 0 and sorted(order) == list("aaaabc")

    asyncio.run(play())


def test_long_questions_and_deep_filters_are_refused(client: httpx.Client) -> None:
    assert client.post("/v1/search", json={"question": "x" * 10_001}).status_code == 422
    assert client.post("/v1/search", json={"question": "x", "limit": 0}).status_code == 422
    assert client.post("/v1/search", json={"question": "x", "limit": 10**9}).status_code == 422
    for depth in (90, 200, 5_000, 100_000):
        where = '{"not":' * depth + '{"field":"title","is":"x"}' + "}" * depth
        sent = client.post("/v1/search", content=f'{{"question":"x","where":{where}}}', headers=JSON)
        assert sent.status_code == (200 if depth == 90 else sent.status_code)
        assert sent.status_code < 500, depth
    assert client.get("/health").status_code == 200


def test_requests_over_one_connection_do_not_wait_for_the_clients_acknowledgement(serve: Serve) -> None:
    url = serve()

    def quickest(ask: Callable[[], httpx.Response]) -> float:
        times = []
        for _ in range(15):
            started = time.perf_counter()
            assert ask().status_code == 200
            times.append(time.perf_counter() - started)
        return min(times)  # each would wait; what the machine does else, does not count

    with httpx.Client() as kept:
        kept.get(f"{url.rstrip(chr(47))}/health")
        over_one = quickest(lambda: kept.get(f"{url.rstrip(chr(47))}/health"))

    def afresh() -> httpx.Response:
        with closing(connect(url)) as opened:
            opened.sendall(head("GET /health HTTP/1.1", "Connection: close"))
            received = b""
            while part := opened.recv(65536):
                received += part
            return httpx.Response(int(received.split()[1]))

    assert over_one < 4 * quickest(afresh), "a delayed acknowledgement would take 40 ms"
