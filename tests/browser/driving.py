"""What the browser tests share: a server process, a watched page, and small steps on it."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HERE = ("http://127.0.0.1", "data:", "blob:", "about:")
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 360, "height": 740}

# Runs before anything of the page: tells what its policy refused and whether a script of a document ran (it sets
# ``window.ran``), and keeps every address of the attacker that was ever shown.
SPY = """
window.seen = new Set();
document.addEventListener("securitypolicyviolation", (e) => tell("refused", `${e.violatedDirective} ${e.blockedURI}`));
Object.defineProperty(window, "ran", { set: () => tell("ran", location.href) });
new MutationObserver(() => {
  for (const found of (document.body?.textContent || "").matchAll(/evil\\.test\\/\\d+/g)) window.seen.add(found[0]);
}).observe(document, { childList: true, subtree: true, characterData: true });
"""

LEASE = """# Lease of the flat in Harbour Street

The parties are Ms Weber, the landlord, and Mr Okafor, the tenant.

## Rent

The rent is 1,250 euros a month. It is due on the third working day of each month. For each late payment the landlord
may ask for a fee of 15 euros.

## Notice

Either party may end the lease with a notice of three months. The notice must be given in writing.

## Deposit

The deposit is 2,500 euros. It is paid back within six weeks after the flat has been handed over.
"""
HANDBOOK = """# Handbook of the workshop

## Kiln

The kiln is fired to 1,240 degrees for stoneware. It cools for eighteen hours before anyone opens its door.

## Glazes

Glazes with copper are kept in the blue cupboard. Dry glaze is never swept: it is wiped up with a wet cloth.
"""


@dataclass
class Server:
    """A running ``pincite serve``."""

    url: str
    library: Path
    environment: dict[str, str]

    def cli(self, *arguments: str) -> str:
        """Run a command on the same library; give what it prints."""
        command = [sys.executable, "-m", "pincite.serve.cli.main", "--library", str(self.library), *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def call(self, path: str, body: Any = None, *, method: str = "", kind: str = "application/json") -> Any:
        """Send a request as a program does; give the JSON."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": kind}, method=method or None)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.loads(response.read() or b"null")

    def add(self, files: Mapping[str, bytes | str]) -> None:
        """Upload files, and wait until they have been read."""
        boundary = uuid.uuid4().hex
        parts = []
        for name, content in files.items():
            quoted = name.replace("%", "%25").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
            head = f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="{quoted}"\r\n\r\n'
            parts.append(head.encode() + (content.encode() if isinstance(content, str) else content) + b"\r\n")
        body = b"".join(parts) + f"--{boundary}--\r\n".encode()
        self._wait(self.call("/v1/documents", body, kind=f"multipart/form-data; boundary={boundary}"))

    def add_path(self, path: Path) -> None:
        """Add a folder where it is, and wait until it has been read."""
        self._wait(self.call("/v1/documents", {"path": str(path)}))

    def _wait(self, started: Any) -> None:
        """Wait for a job."""
        job = started["job"]["id"]
        request = urllib.request.Request(f"{self.url}/v1/jobs/{job}", headers={"Accept": "text/event-stream"})
        with urllib.request.urlopen(request, timeout=120) as stream:
            stream.read()  # it ends with the job
        assert self.call(f"/v1/jobs/{job}")["state"] == "done"

    def documents(self) -> list[dict[str, Any]]:
        """List up to 200 documents."""
        found: list[dict[str, Any]] = self.call("/v1/documents?limit=200")["documents"]
        return found


@contextmanager
def running(library: Path, *arguments: str, port: int = 0, **settings: str) -> Iterator[Server]:
    """Serve a library with some settings, by their names in capitals; the process ends with the block."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("OPENAI_API_KEY", "PINCITE_LIBRARY")
    }
    environment |= {"PINCITE_OFFLINE": "true"} | {f"PINCITE_{name}": value for name, value in settings.items()}
    command = [sys.executable, "-m", "pincite.serve.cli.main", "--library", str(library), "serve", "--port", str(port)]
    log = library.parent / "server.log"
    with (
        log.open("a", encoding="utf-8") as errors,
        subprocess.Popen(
            [*command, *arguments], env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "http://" in line, f"the server did not start: {line}{log.read_text(encoding='utf-8')}"
            yield Server(line.split()[-1].rstrip("/"), library, environment)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def model(answers: Sequence[Sequence[dict[str, Any]]], *, pause: float = 0.0) -> Iterator[dict[str, str]]:
    """Play a language model behind an endpoint.

    Args:
        answers: each a list of sentences {"passages", "text"}; given one after the other, again and again.
        pause: seconds between pieces, a few characters each.

    Yields:
        The settings with which a server asks it.
    """
    turns = itertools.cycle(answers)

    class Reply(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            text = json.dumps({"sentences": next(turns)})
            choices = [{"delta": {"content": text[at : at + 7]}} for at in range(0, len(text), 7)]
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            with suppress(OSError):  # whoever asked has gone
                for choice in [*choices, {"delta": {}, "finish_reason": "stop"}]:
                    self.wfile.write(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
                    time.sleep(pause)
                self.wfile.write(b"data: [DONE]\n\n")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Reply)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {"GENERATOR": "openai:mock", "BASE_URL": f"http://127.0.0.1:{server.server_port}/v1", "OFFLINE": "false"}
    server.shutdown()
    server.server_close()


@dataclass
class Watched:
    """What a page did that it must not do."""

    told: list[tuple[str, str]] = field(default_factory=list)  # what SPY tells
    outside: list[str] = field(default_factory=list)  # requests to other places
    dialogs: list[str] = field(default_factory=list)  # alert() and the like
    errors: list[str] = field(default_factory=list)  # uncaught exceptions, and what the console calls an error

    def attach(self, page: Any) -> None:
        """Note what a page does."""
        page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self._console(message.type, message.text))

    def _console(self, kind: str, text: str) -> None:
        """Keep errors; that a resource is not there is an answer like others, and shown where it matters."""
        if kind == "error" and not text.startswith("Failed to load resource"):
            self.errors.append(text)

    def note(self, url: str) -> None:
        """Keep a request to another place."""
        if not url.startswith(HERE):
            self.outside.append(url)


@dataclass
class Opened:
    """A page with its watcher."""

    page: Any
    watched: Watched
    url: str

    def go(self, route: str = "/") -> Any:
        """Open a route, and wait for its view."""
        self.page.goto(f"{self.url}/#{route}")
        self.page.locator("#view > .view").wait_for()
        return self.page

    def innocent(self) -> None:
        """Assert that nothing of a document ran, nothing left the machine, and our own code broke no policy."""
        assert self.watched.told == []
        assert self.watched.dialogs == []
        assert self.watched.outside == []
        assert self.page.url.startswith(self.url)
        assert self.watched.errors == []


def ask(page: Any, question: str) -> Any:
    """Ask, and wait for the whole answer; gives its turn."""
    turns = page.locator("article.turn").count()
    page.locator("#question").fill(question)
    page.locator("#question").press("Enter")
    page.wait_for_function(
        "n => document.querySelectorAll('article.turn').length > n "
        "&& document.querySelector('.send')?.getAttribute('aria-label') === 'Ask'",
        arg=turns,
        timeout=60_000,
    )
    return page.locator("article.turn").nth(turns)


def drop(page: Any, paths: list[Path]) -> None:
    """Drop files or folders from the desktop on the middle of the page."""
    client = page.context.new_cdp_session(page)
    size = page.viewport_size
    data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        place = {"x": size["width"] // 2, "y": size["height"] // 2}
        client.send("Input.dispatchDragEvent", {"type": kind, **place, "data": data})
    client.detach()
