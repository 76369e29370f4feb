"""Who calls, and what he may: every route's handler gets the library through the caller's eyes only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request

from pincite.access import OWNER, Principal, Role
from pincite.library import Library
from pincite.serve.http.errors import Refusal


def caller(request: Request) -> Principal:
    """Give who calls."""
    principal: Principal = getattr(request.state, "principal", OWNER)
    return principal


Caller = Annotated[Principal, Depends(caller)]


def seen(request: Request, principal: Caller) -> Library:
    """Give the library through the caller's eyes."""
    library: Library = request.app.state.library
    return library.seen_by(principal) if hasattr(library, "seen_by") else library


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


Editor = Annotated[Principal, Depends(_at_least("editor"))]
Admin = Annotated[Principal, Depends(_at_least("admin"))]
editor = Depends(_at_least("editor"))
admin = Depends(_at_least("admin"))
