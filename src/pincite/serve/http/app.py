"""The server: every route hangs on the app that is made here."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from pincite import __version__
from pincite.library import Library
from pincite.serve.http import ask, check, errors, health, passages, search
from pincite.serve.http.limits import Gate
from pincite.serve.http.options import ServeOptions
from pincite.serve.keys import Keys

WEB = Path(__file__).parent.parent / "web"
_ROUTERS = (  # each has a ``router``
    health.router,
    search.router,
    ask.router,
    check.router,
    passages.router,
)


def create_app(library: Library, *, keys: Keys | None = None, options: ServeOptions | None = None) -> FastAPI:
    """Make the server for a library.

    Args:
        library: whole; each caller sees his part of it.
        keys: who may call; None lets everyone who reaches it be the owner.
        options: limits and what is allowed; None takes the defaults.

    Returns:
        An ASGI app.
    """
    options = options or ServeOptions()
    app = FastAPI(title="Pincite", version=__version__, docs_url=None, redoc_url=None)
    app.state.library, app.state.keys, app.state.options = library, keys, options
    app.state.asks, app.state.reads = Gate(options.asks, options.queue), Gate(options.reads, options.queue)
    errors.add_handlers(app)
    for router in _ROUTERS:
        app.include_router(router)
    if WEB.is_dir():
        app.mount("/", StaticFiles(directory=WEB, html=True), name="page")
    return app
