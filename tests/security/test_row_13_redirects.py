"""Redirects and names that change: tests/acquire/test_fetch_url.py has each hop; here, that nothing else fetches for
anyone."""

from __future__ import annotations

import ast
from pathlib import Path

import pincite

# What may reach the network, and where to.
FETCHERS = {
    "acquire/fetch_url.py": "documents from the web, each hop checked",
    "acquire/sandbox.py": "no network, but sockets of its own",
    "acquire/uri.py": "names of files",
    "models/download.py": "models, by their checksums",
    "models/endpoint.py": "endpoints of the configuration",
    "models/generators/endpoint.py": "endpoints of the configuration",
    "models/generators/sse.py": "reads a response",
    "serve/http/connections.py": "those that came to the server",
    "serve/http/run.py": "listens",
}
MODULES = {
    "socket",
    "urllib.request",
    "http.client",
    "requests",
    "httpx",
    "aiohttp",
    "urllib3",
    "ftplib",
    "smtplib",
    "websockets",
}


def test_row_13_only_these_reach_the_network():
    package = Path(pincite.__file__).parent
    found = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            typing_only = {"socket"} if path.name == "serve.py" else set()  # for an annotation
            if (MODULES - typing_only) & set(names) and not all(
                name == "http.client" and _errors(node) for name in names
            ):
                found.add(path.relative_to(package).as_posix())
    assert found <= FETCHERS.keys(), found - FETCHERS.keys()


def _errors(node: ast.AST) -> bool:
    """Tell whether only exceptions are imported."""
    return isinstance(node, ast.ImportFrom) and all(alias.name.endswith("Exception") for alias in node.names)
