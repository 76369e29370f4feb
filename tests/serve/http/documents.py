"""What tests of documents over HTTP share."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx


def upload(client: httpx.Client, *files: tuple[str, bytes | str], **form: Any) -> httpx.Response:
    """Upload files by name."""
    return client.post("/v1/documents", files=[("files", file) for file in files], data=form)


def finished(client: httpx.Client, response: httpx.Response) -> dict[str, Any]:
    """Wait for the job that a response tells of."""
    assert response.status_code == 202, response.text
    identifier = response.json()["job"]["id"]
    assert response.headers["location"] == f"/v1/jobs/{identifier}"
    return ended(client, identifier)


def ended(client: httpx.Client, identifier: str) -> dict[str, Any]:
    """Wait until a job ends."""
    while True:
        job: dict[str, Any] = client.get(f"/v1/jobs/{identifier}").json()
        if job["state"] not in ("queued", "running"):
            return job
        time.sleep(0.02)


def idle(client: httpx.Client) -> None:
    """Wait until no job runs."""
    for job in client.get("/v1/jobs").json()["jobs"]:
        ended(client, job["id"])


def listed(client: httpx.Client, **query: Any) -> dict[str, dict[str, Any]]:
    """List documents by name, through all pages."""
    found: dict[str, dict[str, Any]] = {}
    cursor = None
    while True:
        page = client.get("/v1/documents", params=query | ({"cursor": cursor} if cursor else {})).json()
        found |= {row["name"]: row for row in page["documents"]}
        cursor = page["next"]
        if cursor is None:
            return found


def events(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Parse server-sent events."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def files_below(folder: Path) -> set[str]:
    """List all files and folders, without what the database makes of itself."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if "uploads" in path.parts}
