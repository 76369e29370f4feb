"""URLs over HTTP: off unless the server was told, and then to public addresses only; tests/acquire/test_fetch_url.py
has the client."""

from __future__ import annotations

import socket
import time

import pytest

ADDRESSES = (
    "http://169.254.169.254/latest/meta-data/",
    "http://127.0.0.1:{port}/",
    "http://[::1]:{port}/",
    "http://0x7f000001:{port}/",
    "http://2130706433:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://localhost:{port}/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:{port}/",
    "http://100.64.0.1/",
    "http://ok.com\\@127.0.0.1:{port}/",
    "http://ok.com#@127.0.0.1:{port}/",
    "http://user@127.0.0.1:{port}/",
    "http://127.1:{port}/",
    "http://0:{port}/",
    "//127.0.0.1:{port}/",
    "http://10.0.0.1/",
    "jar:http://x!/",
)


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        yield server


@pytest.fixture(autouse=True)
def nothing_leaves(monkeypatch):
    """Whatever comes of it, let nothing go beyond this machine."""
    connect = socket.socket.connect

    def guarded(self, address):
        if address[0] not in ("127.0.0.1", "::1"):
            raise ConnectionRefusedError
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.mark.parametrize("address", ADDRESSES)
def test_row_12_it_is_off_and_then_refuses_what_is_not_public(serve, listener, address):
    url = address.format(port=listener.getsockname()[1])
    assert serve().post("/v1/documents", json={"url": url}).json()["error"]["code"] == "not_allowed"
    client = serve(allow_urls=True)
    answer = client.post("/v1/documents", json={"url": url})
    if answer.status_code == 202:
        for _ in range(200):
            job = client.get(answer.headers["location"]).json()
            if job["state"] not in ("queued", "running"):
                break
            time.sleep(0.02)
        assert not any(source["status"] in ("indexed", "updated") for source in job["sources"]), job
    else:
        assert answer.status_code in (400, 422)
    assert client.get("/v1/documents").json()["documents"] == [] or "root:" not in client.get("/v1/documents").text
    with pytest.raises(TimeoutError):
        listener.accept()


@pytest.mark.parametrize("field", ["base_url", "proxy_url", "encoder", "generator", "endpoint", "callback"])
def test_row_12_no_request_can_name_an_endpoint(serve, field):
    """Row 14 over HTTP: where models are is the configuration's alone."""
    client = serve()
    for path, body in (
        ("/v1/ask", {"question": "weir"}),
        ("/v1/search", {"question": "weir"}),
        ("/v1/check", {"text": "weir"}),
    ):
        assert client.post(path, json=body | {field: "http://169.254.169.254/"}).status_code == 422
