"""An endpoint's address comes from the configuration alone; link-local ones are refused however they are written."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator

import pytest

from pincite.errors import PinciteError
from pincite.models.encoders.endpoint import EndpointEncoder
from pincite.models.generators.endpoint import EndpointGenerator
from pincite.models.protocols import GenerationOptions
from pincite.models.rerankers.endpoint import EndpointReranker
from pincite.types import Message

METADATA = (
    "http://169.254.169.254/v1",
    "http://[fe80::1]/v1",
    "http://[::ffff:169.254.169.254]/v1",
    "http://2852039166/v1",
    "http://0xa9fea9fe/v1",
    "http://0251.0376.0251.0376/v1",
    "http://169.254.43518/v1",
)
OTHERS = (
    "file:///etc/passwd",
    "gopher://127.0.0.1/x",
    "ftp://127.0.0.1/x",
    "http://user:hidden@127.0.0.1/v1",
    "http:///v1",
    "127.0.0.1:11434",
    "javascript:alert(1)",
)


USES = ("encoder", "reranker", "generator")


def use(kind: str, address: str) -> None:
    if kind == "encoder":
        EndpointEncoder("m", base_url=address)
    elif kind == "reranker":
        EndpointReranker(address, seconds=5).score("q", ["a"])
    else:
        generator = EndpointGenerator("m", base_url=address, api_key="")
        list(generator.stream([Message("user", "q")], GenerationOptions(seconds=5)))


@pytest.fixture(autouse=True)
def beyond(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Let nothing leave this machine, whatever comes of a test; list where it would have gone."""
    tried: list[object] = []
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: tuple) -> None:
        if address[0] != "127.0.0.1":
            tried.append(address)
            raise ConnectionRefusedError
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return tried


@pytest.mark.parametrize("kind", ["encoder", "reranker"])  # the generator's: test_generator_endpoint.py
@pytest.mark.parametrize("address", METADATA)
def test_row_14_link_local_addresses_are_refused_before_anything_is_sent(kind, address, beyond):
    with pytest.raises(PinciteError, match="link-local"):
        use(kind, address)
    assert not beyond


@pytest.mark.parametrize("kind", USES)
@pytest.mark.parametrize("address", OTHERS)
def test_row_14_what_is_no_plain_web_address_is_refused_and_no_password_shown(kind, address, beyond):
    with pytest.raises(PinciteError) as caught:
        use(kind, address)
    assert "hidden" not in str(caught.value) + caught.value.fix
    assert not beyond


class Redirects(http.server.BaseHTTPRequestHandler):
    """Sends everyone on to cloud metadata."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(302)
        self.send_header("Location", "http://169.254.169.254/latest/meta-data/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_given: object) -> None:
        return


@pytest.fixture
def redirects() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Redirects)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("kind", USES)
def test_row_14_no_redirect_leads_there(kind, redirects, beyond):
    with pytest.raises(PinciteError, match=r"302|link-local"):
        use(kind, redirects)
    assert not beyond
