"""Bodies without end, parts without number, clients that hardly move: refused, memory flat, and health answers.

More in tests/serve/http/test_limits.py; 1,000 clients and 10 GB are sent by bench/speed/serve.py.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.security.routes import bodies, filled, routes, send


def resident() -> int:
    """Bytes of this process, in which the server runs."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def opened(client) -> socket.socket:
    return socket.create_connection((client.base_url.host, client.base_url.port), timeout=10)


linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is read as Linux tells it")


@linux
def test_row_31_a_hundred_thousand_parts_are_refused_in_little_memory(serve, library):
    client, before = serve(), resident()
    part = b'--cut\r\nContent-Disposition: form-data; name="files"; filename="a.md"\r\n\r\nx\r\n'
    form = (part for _ in range(100_000))
    answer = client.post("/v1/documents", content=form, headers={"content-type": "multipart/form-data; boundary=cut"})
    assert answer.status_code == 413
    fields = b'--cut\r\nContent-Disposition: form-data; name="labels"\r\n\r\nx\r\n'
    answer = client.post(
        "/v1/documents",
        content=(fields for _ in range(100_000)),
        headers={"content-type": "multipart/form-data; boundary=cut"},
    )
    assert answer.status_code == 413
    assert resident() - before < 200 << 20
    assert not client.get("/v1/documents").json()["documents"]
    assert not [path for path in library.path.rglob("*") if path.is_file() and path.stat().st_size == 1]


@linux
def test_row_31_a_body_of_gigabytes_is_refused_on_every_route(serve):
    client, before = serve(json_bytes=100_000), resident()
    for method, path in routes():
        if method in ("POST", "PUT"):
            head = f"{method} {filled(path)} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            odd = ("-1", "1e9", "99999999999999999999") if path == "/v1/search" else ()
            for length in (f"Content-Length: {number}" for number in ("10000000000", *odd)):
                with closing(opened(client)) as connection:
                    connection.sendall(f"{head}{length}\r\nExpect: 100-continue\r\n\r\n".encode())
                    assert connection.recv(100).split(b" ")[1] in (b"413", b"400"), (path, length)
    assert resident() - before < 200 << 20


def test_row_31_a_question_of_a_million_words_is_refused_on_every_route(serve, library):
    library.add_text("note:1", "The weir is good.")
    client = serve()
    for (method, path), body in bodies().items():
        for field in [name for name, value in (body or {}).items() if value == "weir"]:
            answer = send(client, method, filled(path), json={**body, field: "weir " * 190_000})
            assert answer.status_code in (400, 403, 404, 413, 422), (path, field)


def test_row_31_slow_clients_leave_health_alone(serve):
    client = serve(connections=400, head_seconds=3.0)
    slow, stop = [], threading.Event()
    try:
        for _ in range(300):
            connection = opened(client)
            connection.sendall(b"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nX: ")
            slow.append(connection)

        def drip() -> None:
            while not stop.is_set():
                for connection in slow:
                    with suppress(OSError):
                        connection.sendall(b"a")
                time.sleep(0.2)

        threading.Thread(target=drip, daemon=True).start()
        taken = []
        for _ in range(20):
            started = time.perf_counter()
            assert client.get("/health").status_code == 200
            taken.append(time.perf_counter() - started)
        assert sorted(taken)[10] < 1
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not all(ended(connection) for connection in slow):
            time.sleep(0.1)
        assert all(ended(connection) for connection in slow)
    finally:
        stop.set()
        for connection in slow:
            connection.close()


def ended(connection: socket.socket) -> bool:
    """Tell whether the server has closed a connection."""
    connection.setblocking(False)
    try:
        while connection.recv(4096):
            continue
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True
