"""Names made to point here, and pages of other sites: refused on every route, the page's and MCP's too."""

from __future__ import annotations

import pytest

from tests.security.routes import bodies, filled, routes, send

HOSTS = ("evil.test", "127.0.0.1.evil.test", "localhost.evil.test", "[::ffff:7f00:1]", "127.1", "0", "localhost.")
ORIGINS = ("https://evil.test", "null", "http://localhost:1", "file://", "http://127.0.0.1.evil.test")


@pytest.mark.parametrize("host", HOSTS)
def test_row_25_other_names_are_refused_on_every_route(serve, host):
    client = serve()
    for method, path in routes():
        answer = send(client, method, filled(path), headers={"host": host})
        assert answer.status_code == 421, (method, path)
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("origin", ORIGINS)
def test_row_25_other_origins_are_refused_on_every_route(serve, origin):
    client, taken = serve(), bodies()
    for method, path in routes():
        headers = {"origin": origin, "x-pincite": "1"}
        answer = send(
            client, method, filled(path), headers=headers, json=taken.get((method, path)) if method != "GET" else None
        )
        assert answer.status_code == 403, (method, path)
        assert "access-control-allow-origin" not in answer.headers
