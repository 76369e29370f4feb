"""Parameters out of range, over HTTP: refused before anything native sees them."""

from __future__ import annotations

import pytest

from pincite.serve.http.openai import QUOTES

HUGE = (-1, 2**31, 2**63, 10**30, 1e308, "1", True, [1])


@pytest.mark.parametrize(
    "field",
    ["temperature", "max_tokens", "max_completion_tokens", "seed", "n", "top_p", "stop", "n_discard", "logit_bias"],
)
def test_row_37_chat_parameters_are_checked(serve, library, field):
    library.add_text("note:1", "The weir is good.")
    client = serve()
    body = {"model": QUOTES, "messages": [{"role": "user", "content": "Is the weir good?"}]}
    for value in HUGE:
        answer = client.post("/v1/chat/completions", json=body | {field: value})
        assert answer.status_code in (200, 400, 422), (value, answer.text)
    raw = '{"model": "pincite", "messages": [{"role": "user", "content": "weir"}], "%s": %s}'
    for value in ("NaN", "Infinity", "-Infinity", "1e999", "[" * 2000):
        answer = client.post(
            "/v1/chat/completions", content=raw % (field, value), headers={"content-type": "application/json"}
        )
        assert answer.status_code in (200, 400, 422), (value, answer.text)
    assert client.get("/health").status_code == 200


@pytest.mark.parametrize("limit", [-1, 0, 10**9, 2**63, "9", 1.5, None])
def test_row_37_limits_are_checked(serve, library, limit):
    library.add_text("note:1", "The weir is good.")
    answer = serve().post("/v1/search", json={"question": "weir", "limit": limit})
    assert answer.status_code == (200 if limit is None else 422)


def test_row_37_deep_and_wide_bodies_are_refused(serve, library):
    library.add_text("note:1", "The weir is good.")
    client, headers = serve(), {"content-type": "application/json"}
    for deep in (
        '{"not":' * 5000 + "{}" + "}" * 5000,
        "[" * 100_000,
        '{"and":[' * 3000 + "]}" * 3000,
        '{"a":' * 100_000,
    ):
        for path in ("/v1/search", "/v1/ask", "/v1/check", "/v1/chat/completions", "/v1/documents"):
            for content in (deep, '{"question": "x", "where": ' + deep + "}"):
                assert client.post(path, content=content, headers=headers).status_code in (400, 403, 422), path
    wide = {"question": "weir", "where": {"field": "a", "in": ["x"] * 60_000}}
    assert client.post("/v1/search", json=wide).status_code in (400, 422)
    assert client.post("/v1/search", json={"question": "weir"}).status_code == 200
