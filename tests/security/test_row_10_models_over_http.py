"""Requests that name a model or ask to trust its code: refused before anything is loaded, and nobody is asked."""

from __future__ import annotations

import socket

import pytest

from pincite.serve.keys import Keys
from tests.security.routes import bodies, filled, routes, send

EVIL = {
    "trust_remote_code": True,
    "revision": "main",
    "model_kwargs": {"trust_remote_code": True},
    "embedding_function": "attacker/model",
}


@pytest.fixture(autouse=True)
def tried(monkeypatch) -> list[object]:
    """List where anything beyond this machine would have gone."""
    tried: list[object] = []
    connect = socket.socket.connect

    def guarded(self, address):
        if address[0] != "127.0.0.1":
            tried.append(address)
            raise ConnectionRefusedError
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    return tried


@pytest.mark.parametrize("role", ["reader", "admin", "owner"])
def test_row_10_an_unknown_field_is_refused_on_every_route_and_nothing_loaded(serve, library, tried, role):
    library.add_text("note:1", "The weir is good.")
    keys = Keys(library.path)
    headers = {} if role == "owner" else {"authorization": f"Bearer {keys.add(role, role, None)}"}
    client, loaded = serve(keys=None if role == "owner" else keys), set(library.models.loaded)
    count = 0
    for (method, path), body in bodies().items():
        for field, value in EVIL.items():
            answer = send(client, method, filled(path), json={**(body or {}), field: value}, headers=headers)
            assert answer.status_code in (400, 403, 404, 422), (method, path, field, answer.text)
            count += answer.status_code == 422 or answer.status_code == 400
    assert count > 20
    assert set(library.models.loaded) <= loaded | {"encoder", "generator"}
    assert not tried


@pytest.mark.parametrize(
    "name",
    [
        "attacker/model",
        "../../etc/passwd",
        "/etc/passwd",
        "st:attacker/model",
        "openai:x",
        "http://169.254.169.254/#m",
        "transformers:attacker/model",
    ],
)
def test_row_10_a_model_is_one_of_those_served_or_none(serve, library, tried, name):
    library.add_text("note:1", "The weir is good.")
    client = serve()
    sent = (
        ("/v1/chat/completions", {"model": name, "messages": [{"role": "user", "content": "weir"}]}),
        ("/v1/embeddings", {"model": name, "input": "weir"}),
        ("/v1/rerank", {"model": name, "query": "weir", "documents": ["weir"]}),
    )
    for path, body in sent:
        answer = client.post(path, json=body)
        assert answer.status_code in (400, 404), (path, answer.text)
    assert client.get(f"/v1/models/{name}").status_code == 404
    assert not tried


def test_row_10_without_a_key_not_even_the_body_is_read(serve, library):
    Keys(library.path).add("admin", "admin", None)
    client = serve(keys=Keys(library.path))
    for method, path in routes():
        if method != "GET":
            answer = send(
                client, method, filled(path), content=b"{not json", headers={"content-type": "application/json"}
            )
            assert answer.status_code == 401, (method, path)
