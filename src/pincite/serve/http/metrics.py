"""Counts and times of requests, in the text form that Prometheus reads."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pincite.serve.http.guard import Seen

router = APIRouter(tags=["server"])
_BOUNDS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)  # seconds
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")


class Metrics:
    """Counts requests by route, method and status; what is asked is kept nowhere."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an app."""
        self._app = app
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: dict[str, float] = defaultdict(float)
        self.buckets: Counter[tuple[str, float]] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count it when it is over."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        scope.setdefault("state", {})["metrics"] = self
        started, status = time.perf_counter(), 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            self._count(scope, status, time.perf_counter() - started)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        """Count one request under its route's template, so that the number of names stays small."""
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self.requests[route, method, status] += 1
        self.seconds[route] += seconds
        for bound in _BOUNDS:
            self.buckets[route, bound] += seconds <= bound

    def lines(self) -> Iterator[str]:
        """Write the counts."""
        yield "# TYPE pincite_requests_total counter"
        for (route, method, status), count in sorted(self.requests.items()):
            yield f'pincite_requests_total{{route="{route}",method="{method}",status="{status}"}} {count}'
        yield "# TYPE pincite_request_seconds histogram"
        for route, seconds in sorted(self.seconds.items()):
            total = sum(count for (name, _, _), count in self.requests.items() if name == route)
            for bound in _BOUNDS:
                yield f'pincite_request_seconds_bucket{{route="{route}",le="{bound}"}} {self.buckets[route, bound]}'
            yield f'pincite_request_seconds_bucket{{route="{route}",le="+Inf"}} {total}'
            yield f'pincite_request_seconds_sum{{route="{route}"}} {seconds:.6f}'
            yield f'pincite_request_seconds_count{{route="{route}"}} {total}'


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(request: Request, library: Seen) -> PlainTextResponse:
    """Give counts and times of requests, what runs and waits, and the size of what the caller sees."""
    found: Metrics = request.state.metrics
    stats = library.stats()
    lines = list(found.lines())
    for name, gate in request.app.state.gates.items():
        lines.append(f'pincite_in_progress{{kind="{name}"}} {gate.inside}')
    lines += [f"pincite_documents {stats.documents}", f"pincite_passages {stats.passages}"]
    return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")
