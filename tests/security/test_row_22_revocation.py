"""A revoked or rotated key opens nothing in any form, on any route, at once; streams end:
tests/serve/http/test_stopping.py."""

from __future__ import annotations

import time

from pincite.serve.keys import Keys
from tests.security.routes import filled, routes, send


def forms(token: str) -> list[dict[str, str]]:
    """Every place where some server takes a key."""
    return [
        {"authorization": f"Bearer {token}"},
        {"authorization": f"bearer {token}"},
        {"authorization": token},
        {"authorization": f"Basic {token}"},
        {"x-api-key": token},
        {"api-key": token},
        {"x-auth-token": token},
        {"cookie": f"token={token}"},
        {"x-forwarded-user": "admin"},
        {"x-original-url": "/health", "authorization": f"Bearer {token}"},
    ]


def test_row_22_a_revoked_key_opens_nothing_in_any_form(serve, library):
    keys = Keys(library.path)
    keys.add("other", "admin", None)
    token = keys.add("admin", "admin", None)
    client = serve(keys=Keys(library.path))
    assert client.get("/v1/me", headers=forms(token)[0]).status_code == 200
    keys.revoke("admin")
    started = time.monotonic()
    while client.get("/v1/me", headers=forms(token)[0]).status_code != 401:
        assert time.monotonic() - started < 1
    new = keys.add("admin", "admin", None)  # rotated
    assert client.get("/v1/me", headers=forms(new)[0]).status_code == 200
    for method, path in routes():
        if path == "/health" or (
            method == "GET" and not path.startswith(("/v1", "/mcp", "/metrics", "/ready", "/openapi"))
        ):
            continue
        for headers in forms(token):
            assert send(client, method, filled(path), headers=headers).status_code in (401, 415), (
                method,
                path,
                headers,
            )
        assert send(client, method, f"{filled(path)}?key={token}&access_token={token}").status_code == 401


def test_row_22_a_key_that_lost_its_role_or_grants_loses_them_at_once(serve, library):
    keys = Keys(library.path)
    library.add_text("note:1", "The weir is good.")
    library.label("note:1", ["hr"])
    client = serve(keys=Keys(library.path))
    for grants, count in ((["hr"], 1), ([], 0), (["hr"], 1)):
        if keys.all():
            keys.revoke("anna")
        token = keys.add("anna", "reader", grants)
        answer = client.post("/v1/search", json={"question": "weir"}, headers={"authorization": f"Bearer {token}"})
        assert len(answer.json()["hits"]) == count
