"""Who asked what, and which documents were shown: one line of JSON for each question, if the server is to keep it."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from fastapi import Request

from pincite.access import Principal
from pincite.serve import shapes

_lock = threading.Lock()


def audit(request: Request, question: str, shown: Iterable[str]) -> None:
    """Write down a question, if the server was started with ``--audit``.

    Args:
        request: who asks is known of it; its key is not written down, nor is anything else of it but its route.
        question: what was asked.
        shown: the URIs of the documents that the answer shows.
    """
    state = request.app.state
    if not state.options.audit:
        return
    principal: Principal = request.state.principal
    line = {
        "time": shapes.instant(time.time_ns()),
        "key": principal.name,
        "route": request.scope["path"],
        "question": question,
        "documents": sorted(set(shown)),
    }
    _append(state.library.path / "audit.jsonl", json.dumps(line) + "\n")


def _append(path: Path, line: str) -> None:
    """Add a whole line to a file that only its owner may read."""
    with _lock:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "a", encoding="ascii") as file:
            file.write(line)
