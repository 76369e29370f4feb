"""Paths that step out, on every route with a parameter: 404 everywhere, and no byte of a file of this machine."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pincite
from tests.security.routes import bodies, filled, routes, send

PAYLOADS = (
    "..%2f..%2f..%2f..%2fetc%2fpasswd",
    "..%5c..%5cetc%5cpasswd",
    "%252e%252e%252fetc%252fpasswd",
    "%2fetc%2fpasswd",
    "/etc/passwd",
    "file:%2f%2f%2fetc%2fpasswd",
    "a%00.png",
    "%c0%ae%c0%ae%2fetc%2fpasswd",
    "%ff%fe",
)
# Files of the package that may open files: what they serve is named by us, or was checked by who calls them.
OPENERS = {"static.py", "uploads.py", "audit.py", "jobs.py", "evaluate.py"}


@pytest.fixture
def client(serve, library, docs):
    (docs / "a.md").write_text("The weir is good.")
    library.add(docs)
    return serve()


def parametrised() -> list[tuple[str, str]]:
    return [(method, path) for method, path in routes() if "{" in path]


def test_row_02_no_parameter_leads_to_a_file(client):
    taken = bodies()
    assert len(parametrised()) > 10
    for method, path in parametrised():
        for payload in PAYLOADS:
            answer = send(
                client, method, filled(path, payload), json=taken.get((method, path)) if method != "GET" else None
            )
            assert answer.status_code in (400, 404, 405, 415, 422), (method, path, payload, answer.status_code)
            assert "root:" not in answer.text and "PATH=" not in answer.text


def test_row_02_no_path_beside_the_routes_leads_to_a_file(client):
    for payload in PAYLOADS:
        for start in ("/", "/v1/", "/app.js/", "/web/", "/static/", "//"):
            answer = send(client, "GET", start + payload)
            assert answer.status_code in (400, 404), (start, payload)
            assert "root:" not in answer.text


@pytest.mark.parametrize("target", ["/etc/passwd", "file:///etc/passwd", "../../etc/passwd", "~/.ssh/id_rsa"])
def test_row_02_no_field_leads_to_a_file_either(client, target):
    """A target is looked for among the documents, never opened."""
    answer = client.post("/v1/why", json={"question": "weir", "target": target})
    assert "root:" not in answer.text
    assert answer.json().get("stage") in ("document_missing", None)


def test_row_02_few_files_of_the_server_open_anything():
    folder = Path(pincite.__file__).parent / "serve" / "http"
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                opens = name == "open" or name.endswith(
                    (".open", ".read_bytes", ".read_text", "FileResponse", "StaticFiles")
                )
                assert not opens or path.name in OPENERS, (path.name, name)
