"""Work that takes longer than a request: one job after the other, and each tells how far it is.

One thread reads documents and another asks cases, so that neither waits for hours until the other one is done.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response, StreamingResponse

from pincite.access import OWNER, Principal
from pincite.errors import PinciteError
from pincite.library import Library
from pincite.reports import Pace, SourceReport
from pincite.serve import shapes
from pincite.serve.http.errors import Json, Refusal
from pincite.serve.http.guard import Caller
from pincite.serve.http.limits import following, reading
from pincite.serve.http.work import event_bytes, still_served
from pincite.stop import Stopped, check_stop, stoppable

router = APIRouter(tags=["jobs"])
T = TypeVar("T")
KEPT = 200  # jobs that have ended
QUEUED = 100  # jobs that wait
SOURCES = 10_000  # reports of one job; what is unchanged is only counted beyond a tenth of them
_LOOK_SECONDS = 0.2  # how often a stream looks for news
_SPEAK_SECONDS = 5.0  # how often it says something though there are none, so that a dead connection is noticed
_SOON = 2.0  # seconds after which an estimate means something


@dataclass(eq=False)
class Job:
    """One piece of work, as it goes."""

    kind: str  # add, retry, evaluate
    name: str  # what was started, for people
    principal: Principal  # who started it
    work: Callable[[Job], None]
    given_up: Callable[[], None] = lambda: None  # called when it was cancelled, or never began
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: str = "queued"
    pace: Pace = field(default_factory=Pace)
    sources: list[dict[str, Any]] = field(default_factory=list)
    summary: Counter[str] = field(default_factory=Counter)
    evaluation: str | None = None  # the id of what it found
    error: dict[str, str] | None = None
    asked: float = field(default_factory=time.time)
    began: float | None = None  # by the monotonic clock
    ended: float | None = None
    news: int = 0  # grows with everything that is told
    cancelled: threading.Event = field(default_factory=threading.Event)
    between: Callable[[], None] = lambda: None

    def tell(self, pace: Pace) -> None:
        """Take how far it is; raise Stopped when it was cancelled."""
        self.pace = pace
        self._pause()

    def report(self, report: SourceReport, **more: Any) -> None:
        """Take what became of a source; raise Stopped when it was cancelled."""
        self.summary[report.status] += 1
        most = SOURCES // 10 if report.status == "unchanged" else SOURCES
        if len(self.sources) < most:
            self.sources.append(shapes.report_json(report) | more)
        self._pause()

    def _pause(self) -> None:
        self.news += 1
        self.between()
        check_stop()

    @property
    def is_over(self) -> bool:
        """Tell whether it has ended."""
        return self.state in ("done", "failed", "cancelled")

    def json(self, *, whole: bool = True) -> dict[str, Any]:
        """Shape it; without its sources unless it is to be whole."""
        now = time.monotonic() if self.ended is None else self.ended
        seconds = 0.0 if self.began is None else now - self.began
        left = self.pace.left(seconds) if self.state == "running" and seconds > _SOON else None
        shape = {
            "id": self.id,
            "kind": self.kind,
            "name": self.name,
            "state": self.state,
            "started": shapes.instant(int(self.asked * 1e9)),
            **asdict(self.pace),
            "seconds": round(seconds, 3),
            "left_seconds": None if left is None else round(left, 1),
            "summary": dict(self.summary),
            "evaluation": self.evaluation,
            "error": self.error,
        }
        return shape | {"sources": list(self.sources)} if whole else shape

    def run(self, between: Callable[[], None]) -> None:
        """Do it, in the worker's thread, and call something whenever it tells how far it is."""
        self.between = between
        self.state, self.began = "running", time.monotonic()
        state = "failed"
        try:
            with stoppable(self.cancelled.is_set):
                check_stop()
                self.work(self)
            state = "done"
        except Stopped:
            state = "cancelled"
            self.given_up()
        except PinciteError as failure:
            self.error = shapes.error_json(failure)["error"]
        except Exception as failure:
            logging.getLogger("pincite.serve").error("A job failed: %s", type(failure).__name__, exc_info=failure)
            self.error = {"code": "internal", "message": "The server made a mistake.", "fix": "See its log."}
        finally:
            self.ended, self.state = time.monotonic(), state
            self.news += 1

    def cancel(self) -> None:
        """End it soon; what is in the library already stays."""
        self.cancelled.set()


class Jobs:
    """The jobs of one server, kept in memory."""

    def __init__(self, share: float = 1.0) -> None:
        """Start with none; one key may have such a share of those that wait."""
        self._share = share
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()
        self._read, self._ask = (ThreadPoolExecutor(1, "pincite-jobs") for _ in range(2))
        self._errands: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._is_busy = False

    def between(self, function: Callable[[], T]) -> T:
        """Run something short that must not wait for the end of a job, which may read documents for hours.

        Args:
            function: is run in the thread that reads documents, between two of them, if it does; else in this one.

        Returns:
            What it gives.
        """
        with self._lock:
            future: Future[T] | None = Future() if self._is_busy else None
            if future is not None:
                self._errands.put((function, future))
        return function() if future is None else future.result()

    def start(self, job: Job) -> Job:
        """Put a job at the end of the queue; Refusal if too many wait."""
        with self._lock:
            waiting = [other.principal for other in self._jobs.values() if other.state == "queued"]
            own = 0 if job.principal is OWNER else waiting.count(job.principal)
            if len(waiting) >= QUEUED or own >= QUEUED * self._share:
                fix = "Wait until some of them are done."
                raise Refusal(429, "too_busy", f"{own or QUEUED} jobs wait already.", fix, {"retry-after": "5"})
            self._jobs[job.id] = job
            over = [other.id for other in self._jobs.values() if other.is_over]
            for identifier in over[: max(0, len(over) - KEPT)]:
                del self._jobs[identifier]
            if job.kind == "evaluate":
                self._ask.submit(job.run, lambda: None)
            else:
                self._read.submit(self._work, job)
        return job

    def of(self, principal: Principal) -> list[Job]:
        """List the jobs that someone may see, newest first: his own, or all if he may see everything."""
        with self._lock:
            jobs = list(self._jobs.values())
        return [job for job in reversed(jobs) if _may_see(principal, job)]

    def get(self, identifier: str, principal: Principal) -> Job:
        """Give a job that someone may see; Refusal (404) if there is none."""
        job = self._jobs.get(identifier)
        if job is None or not _may_see(principal, job):
            raise Refusal(404, "not_found", "There is no such job.", "GET /v1/jobs lists those there are.")
        return job

    def close(self) -> None:
        """End the running job, and those that wait never begin; what they were to read is read at the next start."""
        with self._lock:
            for job in self._jobs.values():
                job.given_up = lambda: None
                job.cancel()
        self._read.shutdown()
        self._ask.shutdown()

    def _work(self, job: Job) -> None:
        with self._lock:
            self._is_busy = True
        job.run(self._run_errands)
        with self._lock:
            self._is_busy = False
        self._run_errands()

    def _run_errands(self) -> None:
        while not self._errands.empty():
            function, future = self._errands.get()
            try:
                future.set_result(function())
            except Exception as failure:  # noqa: BLE001 - whoever waits is told
                future.set_exception(failure)


def add_jobs(app: FastAPI) -> None:
    """Give an app its jobs."""
    app.state.jobs = Jobs(app.state.options.key_share)
    app.state.lifespans.append(lambda: _lifespan(app))


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Take in what was uploaded and not read when the server ended last, and end the jobs when it ends now."""
    library: Library = app.state.library
    if not app.state.options.read_only:
        library.uploads.sweep()
        if library.uploads.files():

            def work(job: Job) -> None:
                every(library.taking_in(tell=job.tell), job, library)

            app.state.jobs.start(Job("add", "Uploaded files", OWNER, work))
    try:
        yield
    finally:
        await asyncio.to_thread(app.state.jobs.close)


def jobs_of(request: Request) -> Jobs:
    """Give the jobs of the server that a request came to."""
    jobs: Jobs = request.app.state.jobs
    return jobs


def accepted(job: Job) -> Json:
    """Answer that a job was started, and where to follow it."""
    return Json({"job": job.json(whole=False)}, 202, {"location": f"/v1/jobs/{job.id}"})


@router.get("/v1/jobs", dependencies=[reading])
def list_jobs(request: Request, principal: Caller) -> dict[str, Any]:
    """List the caller's jobs, newest first, without their sources."""
    return {"jobs": [job.json(whole=False) for job in jobs_of(request).of(principal)]}


@router.get("/v1/jobs/{job_id}", dependencies=[following], response_model=None)
async def show_job(request: Request, job_id: str, principal: Caller) -> Response:
    """Give a job; with ``Accept: text/event-stream`` as events: progress, source, done."""
    job = jobs_of(request).get(job_id, principal)
    if "text/event-stream" not in request.headers.get("accept", ""):
        return Json(job.json())
    return StreamingResponse(_events(request, job), media_type="text/event-stream", headers={"x-accel-buffering": "no"})


@router.delete("/v1/jobs/{job_id}", dependencies=[reading])
def cancel_job(request: Request, job_id: str, principal: Caller) -> dict[str, Any]:
    """Cancel a job: what is in the library stays, what was uploaded and not yet read is deleted."""
    job = jobs_of(request).get(job_id, principal)
    job.cancel()
    return job.json()


async def _events(request: Request, job: Job) -> AsyncIterator[bytes]:
    """Tell of a job until it ends, its reader's key counts no more, or the server stops."""
    told, news, spoken = 0, -1, 0.0
    while still_served(request):
        is_over = job.is_over  # first: what is told until then is told below
        sources = job.sources[told:]
        told += len(sources)
        for source in sources:
            yield event_bytes("source", source)
        if job.news != news or time.monotonic() - spoken > _SPEAK_SECONDS:
            news, spoken = job.news, time.monotonic()
            yield event_bytes("progress", job.json(whole=False))
        if is_over:
            yield event_bytes("done", job.json())
            return
        await asyncio.sleep(_LOOK_SECONDS)


def _may_see(principal: Principal, job: Job) -> bool:
    """Tell whether someone may see a job: he started it, or nothing is hidden from him."""
    return job.principal == principal or principal.is_owner


def every(work: Iterator[SourceReport], job: Job, library: Library) -> None:
    """Run through the reports of a piece of work, and tell the job of each and of the name of its source."""
    for report in work:
        job.report(report, **library.identify(report.uri))
