"""Markup in documents, titles, names and labels, over HTTP: JSON as such, originals as downloads, no page but ours.

What a browser makes of it: tests/browser/test_row_15_markup.py.
"""

from __future__ import annotations

import pytest

from tests.security.routes import STREAMS, bodies, filled, routes, send

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)>"
FILES = {
    "a.html": f"<html><body>{EVIL}<p>The weir is good.</p></body></html>",
    "a.svg": f'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><text>The weir {EVIL}</text></svg>',
    "a.xml": f'<?xml version="1.0"?><?xml-stylesheet href="javascript:alert(1)"?><r>The weir {EVIL}</r>',
    "<img src=x onerror=alert(1)>.md": f"# {EVIL}\n\nThe weir is good. {EVIL}",
    "a.js": "alert(1)",
    "a.pdf.html": "%PDF-1.7 <script>alert(1)</script>",
}


@pytest.fixture
def client(serve, docs, library):
    for name, text in FILES.items():
        (docs / name).write_text(text)
    library.add(docs)
    return serve()


def test_row_15_every_route_answers_in_a_type_that_is_not_run(client):
    taken = bodies()
    rows = client.get("/v1/documents?limit=200").json()["documents"]
    assert len(rows) >= len(FILES) - 1
    for row in [row for row in rows if "<img" in row["name"]]:
        for method, path in routes():
            if path in STREAMS or method == "DELETE":
                continue
            answer = send(
                client, method, filled(path, row["id"]), json=taken.get((method, path)) if method != "GET" else None
            )
            kind = answer.headers.get("content-type", "")
            is_page = path in ("/", "/index.html") or path.endswith((".js", ".css", ".svg"))
            assert is_page or not kind.startswith(
                ("text/html", "image/svg", "application/xml", "text/xml", "text/javascript")
            ), path
            assert answer.headers["x-content-type-options"] == "nosniff"
            policy = answer.headers["content-security-policy"]
            assert "unsafe" not in policy and ("script-src 'self'" in policy or "sandbox" in policy)


def test_row_15_originals_are_downloads_in_a_sandbox(client):
    for row in client.get("/v1/documents?limit=200").json()["documents"]:
        original = client.get(f"/v1/documents/{row['id']}/original")
        assert original.headers["content-type"] == "application/octet-stream"
        assert original.headers["content-disposition"].startswith("attachment;")
        assert "<" not in original.headers["content-disposition"]
        assert original.headers["content-security-policy"].startswith("sandbox")
        assert original.headers["x-content-type-options"] == "nosniff"


def test_row_15_the_page_holds_no_inline_code(client):
    page = client.get("/").text
    assert "<script>" not in page and "javascript:" not in page and " onload=" not in page and "<style" not in page
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page
