"""Twenty minutes of everything at once, with 500 streams that are dropped: nothing is left over, and memory does not
grow.

``SOAK_SECONDS`` changes how long. The server is a process of its own, looked at through /proc.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import httpx
import numpy as np
import pytest

import pincite
from pincite.serve.http.openai import QUOTES

SECONDS = float(os.environ.get("SOAK_SECONDS", "1200"))
DROPPED = 500 if SECONDS >= 1200 else int(SECONDS / 3)
PROGRAM = """
import sys, os
from pathlib import Path
sys.path.insert(0, sys.argv[2])
os.environ.pop("SOAK_SECONDS", None)
import pincite
from pincite.serve.http.app import create_app
from pincite.serve.http.options import ServeOptions
from pincite.serve.http.run import address, listen, serve
from tests.fakes import HashEncoder
library = pincite.open(sys.argv[1], encoder=HashEncoder(), generator="none", offline=True)
with library, listen("127.0.0.1", 0) as opened:
    app = create_app(library, options=ServeOptions(port=0))
    print(address(opened, "127.0.0.1"), flush=True)
    serve(app, opened)
"""
WORDS = [
    "weir",
    "alder",
    "harbour",
    "litre",
    "keeper",
    "lock",
    "oven",
    "bread",
    "cache",
    "token",
    "matrix",
    "ship",
    "log",
]


class Watched:
    """What the system says of a process."""

    def __init__(self, pid: int) -> None:
        self.folder = Path(f"/proc/{pid}")

    def files(self) -> int:
        return len(list((self.folder / "fd").iterdir()))

    def sockets(self) -> int:
        count = 0
        for entry in (self.folder / "fd").iterdir():
            with suppress(OSError):
                count += entry.readlink().name.startswith("socket:")
        return count

    def threads(self) -> int:
        return len(list((self.folder / "task").iterdir()))

    def megabytes(self) -> float:
        return int((self.folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def question(chance: random.Random) -> str:
    return f"Which {chance.choice(WORDS)} holds the {chance.choice(WORDS)} of {chance.randrange(100)}?"


def drop(address: str, chance: random.Random) -> None:
    """Ask for a stream and go away in the middle of it."""
    host, _, port = address.removeprefix("http://").rstrip("/").partition(":")
    body = json.dumps({"question": question(chance), "stream": True, "extract": True}).encode()
    head = "POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    with closing(socket.create_connection((host, int(port)), timeout=30)) as connection:
        connection.sendall(head.encode() + body)
        if chance.random() < 0.7:
            connection.recv(chance.choice((1, 100, 4096)))


def mixed(address: str, folder: Path, seed: int, end: float, errors: list[str]) -> None:
    """Do what people and programs do, one after the other."""
    chance = random.Random(seed)
    with httpx.Client(base_url=address, timeout=60) as client:
        while time.monotonic() < end:
            try:
                act(client, chance, folder, seed)
            except httpx.HTTPError as error:
                errors.append(repr(error))
            except AssertionError as error:
                errors.append(str(error)[:300])


def act(client: httpx.Client, chance: random.Random, folder: Path, seed: int) -> None:
    asked = question(chance)
    requests = (
        ("POST", "/v1/search", {"json": {"question": asked}}),
        ("POST", "/v1/ask", {"json": {"question": asked, "extract": True}}),
        ("POST", "/v1/ask", {"json": {"question": asked, "extract": True, "stream": True}}),
        ("POST", "/v1/check", {"json": {"text": asked}}),
        (
            "POST",
            "/v1/chat/completions",
            {"json": {"model": QUOTES, "messages": [{"role": "user", "content": asked}]}},
        ),
        ("GET", "/v1/documents?limit=20", {}),
        ("GET", "/v1/library", {}),
        ("GET", "/", {}),
        ("POST", "/v1/search", {"json": {"question": ""}}),
        (
            "POST",
            "/v1/documents",
            {"files": {"files": (f"{seed}-{chance.randrange(20)}.md", f"# {asked}\n\nThe {asked}".encode())}},
        ),
    )
    method, path, given = chance.choice(requests)
    answer = client.request(method, path, **given)
    assert answer.status_code in (200, 202, 422, 400, 429), (path, answer.text)
    if path == "/v1/documents":
        (folder / f"watched-{seed}.md").write_text(f"# Changed\n\n{asked} It is so.\n")


def slope(samples: list[tuple[float, float]]) -> float:
    """Give the growth of the samples' lower envelope in megabytes a minute, by least squares."""
    times, sizes = np.array(samples).T
    return float(np.polyfit(times / 60, sizes, 1)[0])


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="the process is looked at as Linux shows it")
def test_nothing_is_left_over_after_twenty_minutes(tmp_path: Path) -> None:
    root, folder = Path(__file__).parent.parent.parent, tmp_path / "docs"
    folder.mkdir()
    for number in range(300):
        said = " ".join(random.Random(number).choices(WORDS, k=60))
        (folder / f"{number}.md").write_text(f"# Report {number}\n\nThe {said}. It holds {number} litres.\n")
    program = [sys.executable, "-c", PROGRAM, str(tmp_path / "library"), str(root)]
    environment = {**os.environ, "PINCITE_CONFIG": str(tmp_path / "none.toml")}
    environment.pop("SOAK_SECONDS", None)
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        address = process.stdout.readline().strip()
        soak(address, folder, Watched(process.pid))
    finally:
        process.terminate()
        assert process.wait(20) == 0
        process.stdout.close()
    with pincite.open(tmp_path / "library", generator="none", offline=True) as library:
        assert all(check.ok for check in library.store.verify())
    shutil.rmtree(tmp_path / "library")


def soak(address: str, folder: Path, watched: Watched) -> None:
    httpx.post(f"{address}v1/documents", json={"path": str(folder)}, timeout=60)
    warm, errors = time.monotonic() + SECONDS / 5, []
    run(address, folder, warm, errors, 0)
    idle(watched)
    before = (watched.threads(), watched.sockets(), watched.files())
    samples, end = [], time.monotonic() + SECONDS * 4 / 5
    started = time.monotonic()
    sampler = threading.Thread(target=lambda: sample(watched, samples, started, end))
    sampler.start()
    run(address, folder, end, errors, DROPPED)
    sampler.join()
    idle(watched)
    after = (watched.threads(), watched.sockets(), watched.files())
    growth = slope(samples)
    size = f"{samples[0][1]:.0f} -> {samples[-1][1]:.0f} MB, {growth:+.2f} MB a minute"
    print(f"threads, sockets, files: {before} -> {after}; {size}")
    assert not errors, errors[:5]
    assert after[0] <= before[0] + 8  # pools that had not been full
    assert after[1] <= before[1] + 2
    assert after[2] <= before[2] + 12  # connections to the library, one for each thread that once read
    assert growth <= 1


def run(address: str, folder: Path, end: float, errors: list[str], dropped: int) -> None:
    """Let four clients work until the end, and drop so many streams meanwhile."""
    workers = [threading.Thread(target=mixed, args=(address, folder, seed, end, errors)) for seed in range(4)]
    for worker in workers:
        worker.start()
    chance, left = random.Random(9), dropped
    while left and time.monotonic() < end:
        drop(address, chance)
        left -= 1
        time.sleep(max(0.0, (end - time.monotonic()) / (left + 1) - 0.01))
    for worker in workers:
        worker.join()
    assert left == 0


def sample(watched: Watched, samples: list[tuple[float, float]], started: float, end: float) -> None:
    while time.monotonic() < end:
        samples.append((time.monotonic() - started, watched.megabytes()))
        time.sleep(SECONDS / 400)


def idle(watched: Watched) -> None:
    """Wait until what was begun has ended."""
    last = -1
    for _ in range(40):
        now = watched.threads() + watched.files()
        if now == last:
            return
        last = now
        time.sleep(1)
