"""The page's own files: a fixed list, each with a route of its own, so that no path can lead elsewhere."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import Response

WEB = Path(__file__).parent.parent / "web"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


def page_files(folder: Path = WEB) -> dict[str, Path]:
    """List the page's files by the path they are served at; "/" is the page itself."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in _TYPES and path.is_file())
    served = {f"/{path.relative_to(folder).as_posix()}": path for path in files}
    return served | ({"/": served["/index.html"]} if "/index.html" in served else {})


def add_page(app: FastAPI, files: dict[str, Path]) -> None:
    """Serve the files."""
    for route, path in files.items():
        app.add_api_route(route, _File(path), methods=["GET", "HEAD"], include_in_schema=False, name=route)


class _File:
    """Serves one file; it is read again when it changes."""

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        self._path = path
        self._known: tuple[int, bytes, str] = (-1, b"", "")  # time of change, content, tag

    async def __call__(self, request: Request) -> Response:
        """Give the file, or say that the client has it already."""
        changed = self._path.stat().st_mtime_ns
        if self._known[0] != changed:
            content = self._path.read_bytes()
            self._known = changed, content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        _, content, tag = self._known
        headers = {"etag": tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=_TYPES[self._path.suffix], headers=headers)
