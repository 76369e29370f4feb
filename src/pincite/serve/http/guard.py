"""Who calls, and what he may. Authentication comes before anything of a request is read, and on every path.

Handlers get the library through the caller's eyes (``Seen``) and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from pincite.access import OWNER, Principal, Role
from pincite.errors import LibraryError
from pincite.library import Library
from pincite.serve.http.errors import Refusal, answer
from pincite.serve.keys import Keys


class Authentication:
    """Lets those in who have a key, where keys are needed; tells the routes who calls."""

    def __init__(self, app: ASGIApp, *, keys: Keys | None, is_open: Callable[[Scope], bool]) -> None:
        """Wrap an app.

        Args:
            app: the routes.
            keys: who may call; without, or as long as there was none, everyone is the owner.
            is_open: tells the requests that need no key.
        """
        self._app, self._keys, self._is_open = app, keys, is_open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its principal, or refuse it."""
        if scope["type"] == "lifespan" or self._is_open(scope):
            return await self._app(scope, receive, send)
        token = _token(scope)
        try:
            principal = self._principal(token)
        except Refusal as refusal:
            return await answer(refusal, scope, receive, send)
        scope.setdefault("state", {}).update(principal=principal, still_allowed=lambda: self._find(token) == principal)
        return await self._app(scope, receive, send)

    def _principal(self, token: str) -> Principal:
        """Give whose key it is."""
        principal = self._find(token)
        if principal is None:
            raise Refusal(
                401,
                "unauthorized",
                "The key is not known." if token else "This server needs a key.",
                "Send the header Authorization: Bearer KEY; `pincite keys add NAME` makes a key.",
                {"www-authenticate": "Bearer"},
            )
        return principal

    def _find(self, token: str) -> Principal | None:
        """Give whose key it is, None if nobody's."""
        try:
            if self._keys is None or not self._keys.needed():
                return OWNER
            return self._keys.find(token) if token else None
        except LibraryError:
            raise Refusal(
                503, "keys_unreadable", "The server's keys cannot be read.", "Try `pincite keys list` on its machine."
            ) from None


def _token(scope: Scope) -> str:
    """Give the bearer token; "" when there is none, or more than one."""
    values = Headers(scope=scope).getlist("authorization")
    scheme, _, token = (values[0] if len(values) == 1 else "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def caller(request: Request) -> Principal:
    """Give who calls; a request that did not pass the authentication has no principal, and fails."""
    principal: Principal = request.state.principal
    return principal


Caller = Annotated[Principal, Depends(caller)]


def seen(request: Request, principal: Caller) -> Library:
    """Give the library through the caller's eyes."""
    library: Library = request.app.state.library
    return library.seen_by(principal)


Seen = Annotated[Library, Depends(seen)]


def _at_least(role: Role) -> Callable[[Request, Principal], Principal]:
    """Make a dependency that refuses lower roles; what changes something is refused by a read-only server too."""

    def check(request: Request, principal: Caller) -> Principal:
        if not principal.may(role):
            raise Refusal(403, "access_denied", f"This needs the role {role}.", "Use a key that has it.")
        if request.app.state.options.read_only:
            raise Refusal(403, "read_only", "This server is read-only.", "Start it without --read-only.")
        return principal

    return check


Admin = Annotated[Principal, Depends(_at_least("admin"))]
editor = Depends(_at_least("editor"))
admin = Depends(_at_least("admin"))
