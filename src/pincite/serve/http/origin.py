"""Requests that a browser sends for another site, and names that were made to point here: refused."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite.serve.http.errors import Refusal, answer, unforeseen

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?", re.IGNORECASE)
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_WILDCARDS = ("", "0.0.0.0", "::")  # noqa: S104 - to be recognised
_SAFE = ("GET", "HEAD", "OPTIONS")
_TYPES = ("application/json", "multipart/form-data")
_CONTENT_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


class Shield:
    """Refuses what comes from elsewhere, and puts the headers that browsers heed on every response."""

    def __init__(self, app: ASGIApp, *, host: str, names: Iterable[str] = ()) -> None:
        """Wrap an app.

        Args:
            app: what is to be shielded.
            host: where the server listens; where that is every address, it may be called by any address.
            names: other names by which it may be called.
        """
        self._app = app
        own = f"[{host}]" if ":" in host else host
        self._names = {name.lower() for name in (*_LOOPBACK, own, *names)}
        self._any_address = host in _WILDCARDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        started = False

        async def with_headers(message: Message) -> None:
            nonlocal started
            started = True
            if message["type"] == "http.response.start":
                there = {name for name, _ in message["headers"]}
                more = [(k.encode(), v.encode()) for k, v in _HEADERS.items() if k.encode() not in there]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        try:
            self._check(scope["method"], Headers(scope=scope))
            await self._app(scope, receive, with_headers)
        except Refusal as refusal:
            await answer(refusal, scope, receive, with_headers)
        except Exception:
            if started:
                raise
            await answer(unforeseen(scope), scope, receive, with_headers)

    def _check(self, method: str, headers: Headers) -> None:
        """Raise Refusal for a request that this server's own page, or a program, would not send."""
        host = _only(headers, "host")
        if not self._is_ours(host):
            raise Refusal(
                421, "host_refused", "The server does not go by this name.", "Start it with --allow-host NAME."
            )
        origin = _only(headers, "origin", absent=None)
        if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
            raise _elsewhere()
        site = headers.get("sec-fetch-site", "none")
        navigates = method in _SAFE and headers.get("sec-fetch-mode") == "navigate"
        if site not in ("same-origin", "none") and not navigates:
            raise _elsewhere()
        if method not in _SAFE:
            _check_change(headers, by_browser=origin is not None or "sec-fetch-site" in headers)

    def _is_ours(self, host: str) -> bool:
        """Tell whether a Host header names this server; the port may be that of a tunnel."""
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = match[1].lower()
        return name in self._names or (self._any_address and _is_address(name))


def _check_change(headers: Headers, *, by_browser: bool) -> None:
    """Refuse what a form of another site could send."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    if has_body and kind not in _TYPES:
        raise Refusal(
            415, "unsupported_media_type", "The body must be JSON.", "Send the header Content-Type: application/json."
        )
    if headers.get("content-encoding", "identity") != "identity":
        raise Refusal(415, "unsupported_media_type", "The body must not be compressed.", "Send it as it is.")
    if by_browser and headers.get("x-pincite") != "1" and "authorization" not in headers:
        raise Refusal(403, "header_missing", "A browser must say that it is our page.", "Send the header X-Pincite: 1.")


def _only(headers: Headers, name: str, absent: str | None = "") -> str:
    """Give a header that may stand there once."""
    values = headers.getlist(name)
    if len(values) > 1:
        raise Refusal(400, "bad_request", f"The header {name} stands there twice.", "Send it once.")
    return values[0] if values else absent  # type: ignore[return-value]


def _is_address(name: str) -> bool:
    """Tell an IP address from a name: only names can be made to point elsewhere."""
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _elsewhere() -> Refusal:
    """Refuse what another site sent."""
    return Refusal(
        403, "origin_refused", "Another site sent this request.", "Use the server's own page, or no browser."
    )
