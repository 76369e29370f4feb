"""Embeddings made elsewhere: what is sent, what is believed, what is said when it fails."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from pincite.errors import ModelError
from pincite.models.encoders.endpoint import ByteEstimate, EndpointEncoder
from pincite.models.load import load_encoder
from pincite.models.protocols import Encoder


def honest(texts: list[str]) -> list[dict[str, object]]:
    """Give each text's length and number of spaces, the last text first."""
    rows = [{"index": n, "embedding": [float(len(text)), text.count(" "), 1.0]} for n, text in enumerate(texts)]
    return rows[::-1]


class Answer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, self.headers.get("Authorization"), body))
        status, answer = self.server.answer(body["input"])
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.server.requests.append((self.path, self.headers.get("Authorization"), None))
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.requests, server.answer = [], lambda texts: (200, {"data": honest(texts)})
    server.url = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_unit_vectors_in_the_order_given(server, models_dir, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    encoder = load_encoder("openai:embed", models_dir=models_dir, offline=True, base_url=server.url + "/")
    assert isinstance(encoder, Encoder) and encoder.dimension == 3
    texts = [f"{'x' * n} y" for n in range(150)] + ["", "\ud800"]
    vectors = encoder.encode(texts)
    expected = np.array([[len(text or " "), (text or " ").count(" "), 1] for text in texts], dtype=np.float32)
    assert np.allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert vectors.dtype == np.float32 and encoder.encode([]).shape == (0, 3)
    path, key, body = server.requests[-1]
    assert (path, key, body["model"]) == ("/v1/embeddings", "Bearer secret", "embed")
    assert all(len(body["input"]) <= 64 for _, _, body in server.requests)


@pytest.mark.parametrize(
    ("status", "answer", "message"),
    [
        (500, b"oops", "answers 500"),
        (200, b"<html>", "does not answer in JSON"),
        (200, {"data": []}, "not a list of embeddings"),
        (200, {"data": [{"index": 0, "embedding": [1.0, float("nan")]}]}, "not a list of embeddings"),
        (200, {"data": [{"index": 0, "embedding": [0.0, 0.0]}]}, "not a list of embeddings"),
        (200, {"data": [{"index": 0, "embedding": "abc"}]}, "not a list of embeddings"),
        (200, [1], "not a list of embeddings"),
    ],
)
def test_rubbish_is_not_believed(server, status, answer, message):
    server.answer = lambda _: (status, answer)
    with pytest.raises(ModelError, match=message) as caught:
        EndpointEncoder("m", base_url=server.url)
    assert "--base-url" in caught.value.fix


def test_change_of_dimension_is_noticed(server):
    encoder = EndpointEncoder("m", base_url=server.url)
    server.answer = lambda texts: (200, {"data": [{"index": n, "embedding": [1, 2]} for n, _ in enumerate(texts)]})
    with pytest.raises(ModelError, match="2 numbers and gave 3 before"):
        encoder.encode(["a"])


def test_nobody_there():
    with pytest.raises(ModelError, match="cannot be reached"):
        EndpointEncoder("m", base_url="http://127.0.0.1:9/v1")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/v1", "", "http://"])
def test_only_web_addresses(url):
    with pytest.raises(ModelError, match="not a web address"):
        EndpointEncoder("m", base_url=url)


def test_key_never_leaves_this_machine_unencrypted():
    with pytest.raises(ModelError, match="unencrypted"):
        EndpointEncoder("m", base_url="http://example.com/v1", api_key="secret")


def test_key_is_not_sent_on_to_where_a_redirect_points(server):
    server.answer = lambda _: (302, b"")
    with pytest.raises(ModelError, match="404"):
        EndpointEncoder("m", base_url=server.url, api_key="secret")
    assert [request[:2] for request in server.requests] == [("/v1/embeddings", "Bearer secret"), ("/elsewhere", None)]


@pytest.mark.parametrize("text", ["", "abc", "äöü", "日本語", "😀 a\ud800b" * 30])
def test_estimate_counts_as_many_as_it_starts(text):
    starts = ByteEstimate().starts(text)
    assert len(starts) == ByteEstimate().count(text)
    assert (np.diff(starts) >= 0).all() and all(0 <= start < len(text) for start in starts)


def test_too_long_is_refused(server):
    encoder = EndpointEncoder("m", base_url=server.url)
    with pytest.raises(ValueError, match="text 0 has"):
        encoder.encode(["x" * (encoder.max_pieces * 4 + 1)])
