"""Jobs tell how far they are, end when they are cancelled, and leave nothing half done when the server is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from pincite.access import OWNER, Principal
from pincite.build import ahead
from pincite.library import Library
from pincite.serve.http.errors import Refusal
from pincite.serve.http.jobs import QUEUED, Job, Jobs
from tests.serve.http.documents import ended, events, finished, idle, listed, upload

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Documents are read only once this is set."""
    opened, read = threading.Event(), ahead.read

    def waiting(*args: object, **options: object) -> object:
        assert opened.wait(20)
        return read(*args, **options)

    monkeypatch.setattr(ahead, "read", waiting)
    yield opened
    opened.set()


def running(client: httpx.Client, job: str) -> None:
    while client.get(f"/v1/jobs/{job}").json()["state"] != "running":
        time.sleep(0.01)


def test_a_job_is_followed_from_before_it_runs(client: httpx.Client, gate: threading.Event) -> None:
    started = upload(client, ("a.txt", "Number a."), ("b.txt", "Number b."))
    job = started.json()["job"]
    heard: list[tuple[str, dict]] = []
    with client.stream("GET", f"/v1/jobs/{job['id']}", headers={"accept": "text/event-stream"}) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        for name, data in events(stream.iter_lines()):
            heard.append((name, data))
            gate.set()
    names = [name for name, _ in heard]
    assert names[0] == "progress" and names[-1] == "done" and names.count("done") == 1
    assert {data["name"] for name, data in heard if name == "source"} == {"a.txt", "b.txt"}
    done = heard[-1][1]
    assert (done["state"], done["files"], done["files_found"], done["summary"]) == ("done", 2, 2, {"indexed": 2})
    assert done["embedded"] == done["to_embed"] == 2
    assert done["bytes"] == done["bytes_found"] == 18
    assert client.get(f"/v1/jobs/{job['id']}").json() == done
    [row] = client.get("/v1/jobs").json()["jobs"]
    assert "sources" not in row and row["id"] == job["id"]


def test_what_was_uploaded_and_not_read_goes_when_the_job_is_cancelled(
    client: httpx.Client, library: Library, gate: threading.Event
) -> None:
    gate.set()
    finished(client, upload(client, ("old.txt", "The old words.")))
    gate.clear()
    started = upload(client, ("old.txt", "The new words of it."), ("new.txt", "Something new.")).json()["job"]["id"]
    running(client, started)
    assert client.delete(f"/v1/jobs/{started}").status_code == 200
    gate.set()
    assert ended(client, started)["state"] == "cancelled"
    rows = listed(client)
    assert "new.txt" not in rows
    assert len(library.uploads.files()) == 1
    old = rows["old.txt"]
    assert (old["stale"], old["version"]) == (True, 1)
    assert "cancelled" in old["reason"]
    [stale] = client.post("/v1/search", json={"question": "old words"}).json()["stale"]
    assert stale["uri"] == old["uri"]
    again = finished(client, client.post(f"/v1/documents/{old['id']}/retry"))
    assert again["summary"] == {"updated": 1}
    assert not listed(client)["old.txt"]["stale"]


def test_a_search_does_not_wait_for_a_job(client: httpx.Client, gate: threading.Event) -> None:
    started = upload(client, ("a.txt", "Number a.")).json()["job"]["id"]
    running(client, started)
    found = client.post("/v1/search", json={"question": "How hot is the oven?"}).json()
    assert found["hits"][0]["title"] == "Bread"
    gate.set()
    assert ended(client, started)["state"] == "done"


def test_a_mistake_ends_one_job_and_not_those_behind_it(caplog: pytest.LogCaptureFixture) -> None:
    def wrong(job: Job) -> None:
        raise ZeroDivisionError("secret detail")

    jobs = Jobs()
    first = jobs.start(Job("add", "first", OWNER, wrong))
    second = jobs.start(Job("add", "second", OWNER, lambda job: None))
    while not second.is_over:
        time.sleep(0.01)
    jobs.close()
    assert (first.state, second.state) == ("failed", "done")
    assert first.error is not None
    assert first.error["code"] == "internal"
    assert "secret" not in str(first.json())


def test_only_so_many_jobs_wait() -> None:
    opened, jobs = threading.Event(), Jobs()
    blocked = jobs.start(Job("add", "blocks", OWNER, lambda job: opened.wait(20)))  # type: ignore[arg-type]
    while blocked.state != "running":
        time.sleep(0.01)
    for number in range(QUEUED):
        jobs.start(Job("add", str(number), OWNER, lambda job: None))
    with pytest.raises(Refusal) as caught:
        jobs.start(Job("add", "one too many", OWNER, lambda job: None))
    assert caught.value.status_code == 429
    opened.set()
    jobs.close()


def test_one_key_leaves_places_among_the_jobs_for_others() -> None:
    opened, jobs, greedy = threading.Event(), Jobs(0.5), Principal("greedy", "editor")
    blocked = jobs.start(Job("add", "blocks", greedy, lambda job: opened.wait(20)))  # type: ignore[arg-type]
    while blocked.state != "running":
        time.sleep(0.01)
    for number in range(QUEUED // 2):
        jobs.start(Job("add", str(number), greedy, lambda job: None))
    with pytest.raises(Refusal, match=f"{QUEUED // 2} jobs"):
        jobs.start(Job("add", "one too many", greedy, lambda job: None))
    jobs.start(Job("add", "another's", Principal("other", "editor"), lambda job: None))
    opened.set()
    jobs.close()


@contextmanager
def process(library: Path, seconds: float = 0.0) -> Iterator[tuple[httpx.Client, subprocess.Popen[str]]]:
    """A server of its own process."""
    command = [sys.executable, "-m", "tests.serve.http.serve_process", str(library), str(seconds)]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            while True:
                try:
                    client.get("/health")
                    break
                except httpx.TransportError:
                    time.sleep(0.02)
            yield client, server
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)
        if server.stdout is not None:
            server.stdout.close()


def test_a_killed_server_takes_in_at_its_next_start_what_was_uploaded(tmp_path: Path) -> None:
    names = [f"{number}.txt" for number in range(4)]
    with process(tmp_path / "library", seconds=0.5) as (client, server):
        started = upload(client, *((name, f"This is the text of {name}.") for name in names)).json()["job"]["id"]
        running(client, started)
        os.kill(server.pid, signal.SIGKILL)
        server.wait(10)
    half = tmp_path / "library" / "uploads" / ".coming-half"
    half.mkdir()
    (half / "0").write_text("half")
    with process(tmp_path / "library") as (client, _):
        idle(client)
        rows = listed(client)
        assert sorted(rows) == names
        assert {row["status"] for row in rows.values()} == {"indexed"}
        for name in names:
            text = client.get(f"/v1/documents/{rows[name]['id']}/text").json()["text"]
            assert text == f"This is the text of {name}."
    assert not half.exists()
