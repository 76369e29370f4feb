"""What a page of another site can make a browser send changes nothing, on any route; and no GET has an effect."""

from __future__ import annotations

import json

import pytest

from tests.security.routes import STREAMS, bodies, filled, routes, send

WAYS = {  # what a form, an image or a script without leave can send
    "form": {"content-type": "application/x-www-form-urlencoded"},
    "plain text": {"content-type": "text/plain"},
    "multipart": {"content-type": "multipart/form-data; boundary=cut"},
    "cross-site": {"content-type": "application/json", "sec-fetch-site": "cross-site", "x-pincite": "1"},
    "same-site": {"content-type": "application/json", "sec-fetch-site": "same-site", "x-pincite": "1"},
    "without the header": {"content-type": "application/json", "sec-fetch-site": "same-origin"},
    "other origin": {"content-type": "application/json", "origin": "https://evil.test", "x-pincite": "1"},
}


def state(library) -> tuple:
    return library.store.stats().sequence, sorted(str(path) for path in library.path.rglob("*") if path.is_file())


@pytest.mark.parametrize("way", WAYS)
def test_row_26_nothing_is_done_for_another_site(serve, library, docs, way):
    (docs / "a.md").write_text("The weir is good.")
    library.add(docs)
    library.search("weir")
    client, taken = serve(), bodies()
    document = client.get("/v1/documents").json()["documents"][0]["id"]
    before = state(library)
    for method, path in routes():
        if method == "GET":
            continue
        body = json.dumps(taken.get((method, path), {})).encode()
        browser = {} if "sec-fetch-site" in WAYS[way] else {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
        answer = send(client, method, filled(path, document), content=body, headers=browser | WAYS[way])
        assert answer.status_code in (403, 415), (method, path, way)
    assert state(library) == before


def test_row_26_no_get_has_an_effect(serve, library, docs):
    (docs / "a.md").write_text("The weir is good.")
    library.add(docs)
    library.search("weir")
    client = serve()
    document = client.get("/v1/documents").json()["documents"][0]["id"]
    before = state(library)
    for method, path in routes():
        if method == "GET" and path not in STREAMS:
            for query in ("", "?path=/etc&url=http://127.0.0.1/&delete=1&confirm=true"):
                send(client, "GET", filled(path, document) + query)
    assert state(library) == before


def test_row_26_no_cookie_is_ever_set_and_none_counts(serve, library):
    from pincite.serve.keys import Keys

    token = Keys(library.path).add("admin", "admin", None)
    client = serve(keys=Keys(library.path))
    for method, path in routes():
        cookie = {"cookie": f"key={token}; authorization=Bearer {token}; session={token}"}
        answer = send(client, method, filled(path), headers=cookie)
        assert "set-cookie" not in answer.headers
        assert answer.status_code in (401, 200, 304) and (answer.status_code == 401 or not path.startswith("/v1")), (
            method,
            path,
        )
