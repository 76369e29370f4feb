"""Folders of the server that are kept up to date as they change, and after a restart too."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from pydantic import Field

from pincite.access import OWNER
from pincite.errors import PinciteError
from pincite.library import Library
from pincite.serve.http.documents import roots_of
from pincite.serve.http.errors import Refusal
from pincite.serve.http.guard import Admin, Caller
from pincite.serve.http.jobs import Job, accepted, every, jobs_of
from pincite.serve.http.limits import reading
from pincite.serve.http.requests import Body
from pincite.serve.places import permitted

router = APIRouter(tags=["documents"], dependencies=[reading])
_NOTE = "watched"


class Watch(Body):
    """A folder of the server."""

    path: str = Field(min_length=1, max_length=4_096)


class Watches:
    """The folders that one server follows, a thread each."""

    def __init__(self, library: Library) -> None:
        """Follow none yet."""
        self._library = library
        self._stops: dict[str, threading.Event] = {}
        self._threads: list[threading.Thread] = []
        self._reasons: dict[str, str] = {}  # why one is not followed any more
        self._lock = threading.Lock()

    def paths(self) -> list[str]:
        """List the folders, also those that cannot be followed now."""
        return sorted(json.loads(self._library.store.note(_NOTE) or "[]"))

    def follow(self, path: str) -> None:
        """Keep a folder up to date from now on; its files are read first."""
        with self._lock:
            self._library.store.note(_NOTE, json.dumps(sorted({*self.paths(), path})))
            self._reasons.pop(path, None)
            if path not in self._stops:
                stop = self._stops[path] = threading.Event()
                target, name = self._run, "pincite-watch"
                self._threads.append(threading.Thread(target=target, args=(path, stop), name=name, daemon=True))
                self._threads[-1].start()

    def leave(self, path: str) -> None:
        """Follow a folder no more; its documents stay. Refusal (404) if it is not followed."""
        with self._lock:
            if path not in self.paths():
                raise Refusal(404, "not_found", "This folder is not followed.", "GET /v1/watch lists those that are.")
            self._library.store.note(_NOTE, json.dumps([each for each in self.paths() if each != path]))
            stop = self._stops.pop(path, None)
        if stop is not None:
            stop.set()

    def json(self, path: str) -> dict[str, Any]:
        """Shape one."""
        documents = sum(record.version > 0 for record in self._library.list(path))
        return {
            "path": path,
            "documents": documents,
            "watching": path in self._stops,
            "reason": self._reasons.get(path, ""),
        }

    def close(self) -> None:
        """Stop following; the next start goes on."""
        with self._lock:
            for stop in self._stops.values():
                stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, path: str, stop: threading.Event) -> None:
        try:
            for _ in self._library.watch(path, stop=stop):
                if stop.is_set():
                    return
        except (PinciteError, OSError, RuntimeError) as failure:
            logging.getLogger("pincite.serve").warning("A folder is not followed any more: %s", type(failure).__name__)
            with self._lock:
                if self._stops.get(path) is stop:  # else it was left meanwhile, and maybe followed anew
                    del self._stops[path]
                    self._reasons[path] = str(failure)


def add_watches(app: FastAPI) -> None:
    """Give an app the folders that it follows."""
    app.state.watches = Watches(app.state.library)
    app.state.lifespans.append(lambda: _lifespan(app))


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Go on following while the server runs."""
    watches: Watches = app.state.watches
    if not app.state.options.read_only:
        for path in watches.paths():
            watches.follow(path)
    try:
        yield
    finally:
        await asyncio.to_thread(watches.close)


@router.get("/v1/watch")
def list_watched(request: Request, principal: Caller) -> dict[str, Any]:
    """List the folders that are followed; only to those from whom nothing is hidden."""
    watches: Watches = request.app.state.watches
    if not principal.is_owner:
        return {"folders": [], "allowed": False}
    options = request.app.state.options
    allowed = not options.read_only and (principal is OWNER or bool(options.roots))
    return {"folders": [watches.json(path) for path in watches.paths()], "allowed": allowed}


@router.post("/v1/watch", status_code=202)
def watch_folder(request: Request, body: Watch, principal: Admin) -> Response:
    """Read a folder and follow its changes; a job tells how far the reading is."""
    if not principal.is_owner:
        raise Refusal(403, "access_denied", "This needs a key that sees everything.", "Use another key.")
    path = permitted(body.path, roots_of(principal, request.app.state.options))
    if not os.path.isdir(path):  # noqa: PTH112 - the other raises for a name that is too long
        raise Refusal(404, "not_found", "There is no such folder.", "Check the path.")
    library: Library = request.app.state.library
    watches: Watches = request.app.state.watches

    def work(job: Job) -> None:
        every(library.adding(path, tell=job.tell), job, library)
        watches.follow(str(path))

    return accepted(jobs_of(request).start(Job("add", str(path), principal, work)))


@router.delete("/v1/watch")
def leave_folder(request: Request, body: Watch, principal: Admin) -> dict[str, Any]:
    """Follow a folder no more; its documents stay in the library."""
    if not principal.is_owner:
        raise Refusal(403, "access_denied", "This needs a key that sees everything.", "Use another key.")
    watches: Watches = request.app.state.watches
    watches.leave(body.path)
    return {"removed": body.path}
