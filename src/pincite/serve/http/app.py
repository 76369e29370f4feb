"""The server: every route hangs on the app that is made here.

A request passes, in this order: ``Shield`` (where it comes from), ``Metrics``, ``Authentication`` (who sends it),
``Bodies`` (how much of it), then its route.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from anyio import CapacityLimiter
from fastapi import Depends, FastAPI
from fastapi.security import HTTPBearer
from starlette.types import Scope

from pincite import __version__
from pincite.errors import ModelError
from pincite.library import Library
from pincite.serve.http import (
    ask,
    documents,
    errors,
    evaluate,
    health,
    jobs,
    metrics,
    openai,
    openai_chat,
    openai_vectors,
    pages,
    search,
    static,
    watching,
)
from pincite.serve.http.guard import Authentication
from pincite.serve.http.limits import Bodies, Gate
from pincite.serve.http.metrics import Metrics
from pincite.serve.http.options import ServeOptions
from pincite.serve.http.origin import Shield
from pincite.serve.keys import Keys
from pincite.serve.mcp.mount import add_mcp

_ROUTED = (health, metrics, search, ask, documents, pages, jobs, evaluate, watching)
_OPENAI = (openai, openai_chat, openai_vectors)
_KEY = Depends(HTTPBearer(auto_error=False, description="As `pincite keys add` prints it."))  # only to describe it


def create_app(library: Library, *, keys: Keys | None = None, options: ServeOptions | None = None) -> FastAPI:
    """Make the server for a library.

    Args:
        library: whole; each caller sees his part of it.
        keys: who may call; None lets everyone who reaches it be the owner.
        options: limits and what is allowed; None takes the defaults.

    Returns:
        An ASGI app. Its ``state`` holds what the routes share: library, keys, options, ``stopping`` (an event), and
        ``lifespans``, to which context managers can be added that are entered when the server starts.
    """
    options = options or ServeOptions()
    app = FastAPI(
        title="Pincite",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        default_response_class=errors.Json,
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    library.patience = options.fresh_seconds
    app.state.library, app.state.keys, app.state.options = library, keys, options
    app.state.stopping = threading.Event()
    app.state.gates = {
        "asks": Gate(options.asks, options.queue, options.key_share),
        "reads": Gate(options.reads, options.queue, options.key_share),
        "streams": Gate(options.streams, 0, options.key_share),
    }
    app.state.streams = CapacityLimiter(options.asks + options.streams)  # threads
    app.state.lifespans = []
    jobs.add_jobs(app)
    watching.add_watches(app)
    errors.add_handlers(app)
    for module in (*_ROUTED, *_OPENAI):
        key = [] if module is health else [_KEY]
        app.include_router(module.router, responses=errors.RESPONSES, dependencies=key)
    page = static.page_files()
    static.add_page(app, page)
    add_mcp(app)

    def is_open(scope: Scope) -> bool:
        return scope["type"] == "http" and scope["method"] in ("GET", "HEAD") and scope["path"] in ("/health", *page)

    app.add_middleware(Bodies, options=options)
    app.add_middleware(Authentication, keys=keys, is_open=is_open)
    app.add_middleware(Metrics)
    app.add_middleware(Shield, host=options.host, names=options.allow_hosts)
    return app


def _load(app: FastAPI) -> None:
    """Load the models one after the other, what searches need first; who asks for one that fails gets its error."""
    models = app.state.library.models
    models.begin("encoder")  # prepares it, too
    for kind in ("encoder", "generator"):
        try:
            if not app.state.stopping.is_set():
                getattr(models, kind)()
        except ModelError as error:
            logging.getLogger("pincite.serve").warning("The %s cannot be used: %s", kind, error)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Enter what the parts of the server need while it runs; load the models meanwhile."""
    threading.Thread(target=_load, args=(app,), name="pincite-models").start()
    async with AsyncExitStack() as stack:
        for factory in app.state.lifespans:
            await stack.enter_async_context(factory())
        yield
