"""The page without a server: its own files, with answers that the test plays, under a strict policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import unquote, urlparse

WEB = files("pincite.serve") / "web"
ORIGIN = "http://127.0.0.1:1"
POLICY = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'none'"
_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}

# Questions to /v1/ask wait in ``window.asked`` until the test pushes their events: each token when it likes. While
# ``window.refusing`` is set, they are refused with its status instead.
PLAYED = """
window.asked = [];
const real = window.fetch;
window.fetch = (path, init) => {
  if (path !== "/v1/ask") return real(path, init);
  if (window.refusing) {
    const { status, error, seconds } = window.refusing;
    return Promise.resolve(new Response(JSON.stringify({ error }), { status, headers: { "Retry-After": seconds } }));
  }
  const one = { body: JSON.parse(init.body), stopped: false };
  const encoder = new TextEncoder();
  const stream = new ReadableStream({ start: (control) => Object.assign(one, {
    push: (name, data) => control.enqueue(encoder.encode(`event: ${name}\\ndata: ${JSON.stringify(data)}\\n\\n`)),
    end: () => control.close(),
    fail: (error) => control.error(error),
  }) });
  init.signal.addEventListener("abort", () => {
    one.stopped = true;
    one.fail(new DOMException("stopped", "AbortError"));
  });
  window.asked.push(one);
  return Promise.resolve(new Response(stream, { headers: { "Content-Type": "text/event-stream" } }));
};
"""


def play(page: Any, answers: Mapping[str, Any]) -> None:
    """Serve the page's files at ``ORIGIN``, and JSON for paths: a value, or a function of the request that gives it."""

    def serve(route: Any) -> None:
        path = unquote(urlparse(route.request.url).path)
        if path.startswith("/v1/"):
            known = answers.get(path)
            body = known(route.request) if callable(known) else known
            if body is None:
                error = {"code": "not_in_library", "message": "It is not there.", "fix": "Look elsewhere."}
                route.fulfill(status=404, json={"error": error})
            else:
                route.fulfill(body=json.dumps(body), content_type="application/json")
            return
        name = path.lstrip("/") or "index.html"
        found = WEB / name
        if name == "blank":
            route.fulfill(body="<!doctype html>", content_type="text/html")
        elif found.is_file():
            headers = {"content-security-policy": POLICY, "content-type": _TYPES[name.rpartition(".")[2]]}
            route.fulfill(body=found.read_text(encoding="utf-8"), headers=headers)
        else:
            route.fulfill(status=404)

    page.route(f"{ORIGIN}/**", serve)
