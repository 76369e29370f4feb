"""Who may call, from where, and how: on every route, before anything of a request is read."""

from __future__ import annotations

import gzip
import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pincite.library import Library
from pincite.serve.http.app import create_app
from pincite.serve.keys import Keys
from tests.serve.http.conftest import Serve


def routes() -> list[tuple[str, str]]:
    """Every route with every method, its parameters filled in."""
    app = create_app(Library.__new__(Library))
    found = []
    for path, methods in app.openapi()["paths"].items():
        filled = re.sub(r"\{[^}]*\}", "1", path)
        found += [(method.upper(), filled) for method in methods]
    return sorted(
        {*found, ("GET", "/openapi.json"), ("GET", "/v1/nothing"), ("GET", "/nothing"), ("OPTIONS", "/v1/ask")}
    )


CLOSED = [route for route in routes() if route != ("GET", "/health")]


@pytest.fixture
def keys(library: Library) -> Keys:
    return Keys(library.path)


@pytest.fixture
def guarded(serve: Serve, keys: Keys) -> Iterator[httpx.Client]:
    """A client, without a key, of a server that has keys; and the key of an admin in ``headers``."""
    token = keys.add("admin", "admin", None)
    with httpx.Client(base_url=serve(keys=keys), timeout=20) as client:
        client.key = {"authorization": f"Bearer {token}"}  # type: ignore[attr-defined]
        yield client


@pytest.mark.parametrize("sent", [{}, {"authorization": "Bearer wrong"}, {"authorization": "Basic YTpi"}])
def test_without_a_key_every_route_says_401_whatever_is_sent(guarded: httpx.Client, sent: dict[str, str]) -> None:
    for method, path in CLOSED:
        for body in (b"", b"{not json", b'{"question": "x", "model": "evil", "trust_remote_code": true}'):
            headers = sent | {"content-type": "application/json"}
            answer = guarded.request(method, path, content=body, headers=headers)
            assert answer.status_code == 401, (method, path)
            assert answer.json()["error"]["code"] == "unauthorized"
            assert "wrong" not in answer.text


def test_a_key_counts_in_its_header_alone(guarded: httpx.Client) -> None:
    token = guarded.key["authorization"].removeprefix("Bearer ")  # type: ignore[attr-defined]
    assert guarded.get("/v1/me", headers={"authorization": f"bearer {token}"}).status_code == 200
    for params, headers in (
        ({"key": token, "token": token, "access_token": token}, {}),
        ({}, {"cookie": f"key={token}; token={token}"}),
        ({}, {"x-api-key": token}),
        ({}, {"authorization": token}),
        ({}, {"authorization": f"Token {token}"}),
    ):
        assert guarded.get("/v1/me", params=params, headers=headers).status_code == 401
    twice = [("authorization", "Bearer x"), ("authorization", f"Bearer {token}")]
    assert guarded.get("/v1/me", headers=twice).status_code == 401


def test_health_and_the_page_need_no_key(guarded: httpx.Client) -> None:
    assert guarded.get("/health").json()["status"] == "ok"
    assert guarded.get("/").status_code == 200
    assert guarded.get("/app.js").status_code == 200


def test_a_revoked_key_opens_no_route_any_more(guarded: httpx.Client, keys: Keys) -> None:
    headers = guarded.key | {"content-type": "application/json"}  # type: ignore[attr-defined]
    assert guarded.get("/v1/me", headers=headers).json() == {
        "name": "admin", "role": "admin", "grants": None, "keys": True, "read_only": False,
    }  # fmt: skip
    keys.revoke("admin")
    revoked = time.monotonic()
    for method, path in CLOSED:
        assert guarded.request(method, path, headers=headers).status_code == 401, (method, path)
    assert time.monotonic() - revoked < 10


def test_damaged_keys_let_nobody_in(guarded: httpx.Client, keys: Keys) -> None:
    keys.path.write_text("{")
    answer = guarded.get("/v1/me", headers=guarded.key)  # type: ignore[attr-defined]
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "keys_unreadable"
    assert str(keys.path.parent) not in answer.text


def test_the_first_key_closes_a_server_that_runs(serve: Serve, keys: Keys) -> None:
    with httpx.Client(base_url=serve(keys=keys)) as client:
        assert client.get("/v1/me").json()["name"] == "owner"
        keys.add("anna")
        assert client.get("/v1/me").status_code == 401
        keys.revoke("anna")
        assert client.get("/v1/me").status_code == 401


EVIL_HOSTS = [
    "evil.test", "127.0.0.1.evil.test", "localhost.evil.test", "evil.test:8765", "127.0.0.1@evil.test", "127.0.0.2",
    "0.0.0.0", "localhost:80:80", "localhost/", "[::2]", "", "2130706433", "LOCALHOST.", "localhost:999999",
]  # fmt: skip


@pytest.mark.parametrize("host", EVIL_HOSTS)
def test_other_names_are_refused_everywhere(client: httpx.Client, host: str) -> None:
    for path in ("/", "/health", "/v1/me", "/app.js", "/nothing"):
        assert client.get(path, headers={"host": host}).status_code in (400, 421), path


@pytest.mark.parametrize("host", ["localhost", "LocalHost:1", "127.0.0.1", "[::1]:8765"])
def test_names_of_this_machine_are_taken(client: httpx.Client, host: str) -> None:
    assert client.get("/v1/me", headers={"host": host}).status_code == 200


def test_a_name_can_be_allowed(serve: Serve) -> None:
    url = serve(allow_hosts=("papers.example",))
    assert httpx.get(url + "v1/me", headers={"host": "papers.example"}).status_code == 200
    assert httpx.get(url + "v1/me", headers={"host": "x.papers.example"}).status_code == 421


@pytest.mark.parametrize(
    "origin", ["https://evil.test", "null", "http://localhost:1", "http://127.0.0.1", "", "http://127.0.0.1.evil.test"]
)
def test_other_origins_are_refused_everywhere(client: httpx.Client, origin: str) -> None:
    for path in ("/", "/v1/me", "/nothing"):
        assert client.get(path, headers={"origin": origin}).status_code == 403, path
    sent = client.post("/v1/search", json={"question": "x"}, headers={"origin": origin, "x-pincite": "1"})
    assert sent.status_code == 403


def test_the_pages_own_requests_pass_and_need_its_header(client: httpx.Client) -> None:
    own = {"origin": str(client.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}
    body = {"question": "What is a KV cache?"}
    assert client.post("/v1/search", json=body, headers=own | {"x-pincite": "1"}).status_code == 200
    refused = client.post("/v1/search", json=body, headers=own)
    assert refused.status_code == 403
    assert refused.json()["error"]["code"] == "header_missing"


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_requests_from_another_site_are_refused(client: httpx.Client, site: str) -> None:
    sent = {"sec-fetch-site": site, "x-pincite": "1"}
    assert client.post("/v1/search", json={"question": "x"}, headers=sent).status_code == 403
    assert client.get("/v1/library", headers=sent | {"sec-fetch-mode": "no-cors"}).status_code == 403
    assert client.get("/", headers=sent | {"sec-fetch-mode": "navigate"}).status_code == 200, "a link to the page"


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "", "text/json", "application/xml"]
)
def test_what_a_form_can_send_is_refused(client: httpx.Client, kind: str) -> None:
    sent = client.post("/v1/search", content=b'{"question": "x"}', headers={"content-type": kind})
    assert sent.status_code == 415


def test_a_compressed_body_is_refused_by_its_name(client: httpx.Client) -> None:
    packed = {
        "content": gzip.compress(b'{"question": "x"}'),
        "headers": {"content-type": "application/json", "content-encoding": "gzip"},
    }
    sent = client.post("/v1/search", **packed)
    assert (sent.status_code, sent.json()["error"]["message"]) == (415, "The body must not be compressed.")


def test_every_answer_tells_the_browser_to_be_careful(client: httpx.Client) -> None:
    for path in ("/", "/health", "/v1/me", "/nothing", "/v1/passages/x"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers
    assert client.get("/v1/me").headers["cache-control"] == "no-store"


def test_no_path_leads_out_of_the_page(client: httpx.Client) -> None:
    for path in (
        "/..%2f..%2fapp.py", "/%2e%2e/keys.py", "/..%5c..%5cx", "/%252e%252e%252fx", "//etc/passwd", "/web/",
        "/static/../http/app.py", "/C:/x", "/app.js%00.html", "/app.js/", "/index.html/../../http/app.py",
    ):  # fmt: skip
        raw = httpx.Request("GET", client.base_url.copy_with(raw_path=path.encode()))
        assert client.send(raw).status_code in (400, 404), path


def test_a_page_file_is_sent_again_only_when_it_changed(client: httpx.Client) -> None:
    first = client.get("/app.js")
    assert first.headers["content-type"] == "text/javascript; charset=utf-8"
    again = client.get("/app.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.head("/app.js").headers["etag"] == first.headers["etag"]


def test_a_key_is_in_no_log_and_no_answer(
    guarded: httpx.Client, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, library: Library
) -> None:
    caplog.set_level("DEBUG")
    token = guarded.key["authorization"].removeprefix("Bearer ")  # type: ignore[attr-defined]
    texts = []
    for headers in ({"authorization": f"Bearer {token}"}, {"authorization": f"Bearer {token}x"}):
        for method, path in CLOSED:
            texts.append(guarded.request(method, path, headers=headers).text)
    library.store.close()  # every use of the library fails now
    texts.append(guarded.post("/v1/search", json={"question": "x"}, headers=guarded.key).text)  # type: ignore[attr-defined]
    printed = capfd.readouterr()
    assert token not in "".join([*texts, printed.out, printed.err, *(r.getMessage() for r in caplog.records)])
    kept = b"".join(path.read_bytes() for path in Path(library.path).rglob("*") if path.is_file())
    assert token.encode() not in kept
