"""The server under load: start-up, searches and answers a second at 1, 8 and 64 clients, also while documents come in.

Usage: python bench/speed/serving.py [--documents 300] [--seconds 5] [--drops 100]. Prints JSON. The library is made of
short notes; answers are quotes alone. "indexing" is the same load while a folder is read, embedded and indexed; "drops"
counts what is left of threads and files after so many streams were dropped; "slow" is how /health answers beside
connections that hold their request back.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

WORDS = ("bread", "river", "violin", "glacier", "beetle", "copper", "orbit", "harbour", "lantern", "meadow")
PINCITE = [sys.executable, "-m", "pincite.serve.cli.main"]


def note(number: int) -> str:
    """A note of some sentences, unlike every other one."""
    one, two = WORDS[number % 10], WORDS[number // 10 % 10]
    lines = [f"The {one} near the {two} weighs {number * 7 + line} grams, as note {number} says." for line in range(6)]
    return f"# {one.title()} and {two} {number}\n\n" + "\n\n".join(lines) + "\n"


@contextmanager
def served(library: Path) -> Iterator[tuple[str, subprocess.Popen[str], dict[str, float]]]:
    """A server, its process, and how long it took to say its address, to give the page and to answer a search."""
    start = time.perf_counter()
    command = [*PINCITE, "--library", str(library), "--offline", "--generator", "none", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = process.stdout.readline().split()[-1]
        times = {"address": time.perf_counter() - start}
        assert httpx.get(url).status_code == 200
        assert httpx.get(url + "v1/library").status_code == 200
        times["page"] = time.perf_counter() - start
        assert httpx.post(url + "v1/search", json={"question": "bread"}, timeout=60).status_code == 200
        times["search"] = time.perf_counter() - start
        yield url, process, {name: round(value, 3) for name, value in times.items()}
        process.terminate()


def load(url: str, process: subprocess.Popen[str], route: str, clients: int, seconds: float) -> dict[str, float]:
    """Let clients ask one question after the other; give rate, quantiles, processor time, and what was no 200."""
    times: list[float] = []
    errors: list[int] = []
    end = time.perf_counter() + seconds

    def ask(first: int) -> None:
        with httpx.Client(base_url=url, timeout=600) as client:
            number = first
            while time.perf_counter() < end:
                question = f"What does the {WORDS[number % 10]} of note {number} weigh?"
                start = time.perf_counter()
                body = {"question": question} | ({"extract": True} if route == "/v1/ask" else {})
                status = client.post(route, json=body).status_code
                (times.append(time.perf_counter() - start) if status == 200 else errors.append(status))
                number += 7

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(clients)]
    started, used = time.perf_counter(), cpu(process)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cuts = statistics.quantiles(times, n=100) if len(times) > 1 else [0.0] * 99
    quantiles = {f"p{cut}_ms": round(cuts[cut - 1] * 1000, 1) for cut in (50, 95, 99)}
    rate = round(len(times) / (time.perf_counter() - started), 1)
    each = round((cpu(process) - used) * 1000 / max(1, len(times)), 1)
    return {"a_second": rate, **quantiles, "cpu_ms_each": each, "errors": len(errors)}


def cpu(process: subprocess.Popen[str]) -> float:
    """Processor seconds that a process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def loads(url: str, process: subprocess.Popen[str], seconds: float) -> dict[str, dict[str, dict[str, float]]]:
    """Load both routes with few and many clients."""
    return {
        route: {str(clients): load(url, process, route, clients, seconds) for clients in (1, 8, 64)}
        for route in ("/v1/search", "/v1/ask")
    }


def held(process: subprocess.Popen[str]) -> dict[str, int]:
    """Threads, open files and resident MB of a process."""
    place = Path(f"/proc/{process.pid}")
    pages = int((place / "statm").read_text().split()[1])
    counts = {name: len(list((place / name).iterdir())) for name in ("task", "fd")}
    return counts | {"mb": pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000}


def drop(url: str, count: int) -> None:
    """Begin streams and go away."""
    for number in range(count):
        with httpx.Client(base_url=url, timeout=20) as client:
            body = {"question": f"What does the {WORDS[number % 10]} weigh?", "stream": True}
            with suppress(httpx.ReadTimeout), client.stream("POST", "/v1/ask", json=body):
                pass


def slow(url: str, process: subprocess.Popen[str], count: int) -> dict[str, float]:
    """Hold requests back; give the slowest answer of /health meanwhile, and how the server grew."""
    host, port = url.removeprefix("http://").rstrip("/").split(":")
    before, worst, opened = held(process)["mb"], 0.0, []
    lines = ("POST /v1/search HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Content-Length: 99", "")
    head = "\r\n".join((*lines, "{")).encode()
    for number in range(count):
        connection = socket.create_connection((host, int(port)))
        with suppress(OSError):
            connection.sendall(head if number % 2 else head[:30])
        opened.append(connection)
        if number % 50 == 0:
            start = time.perf_counter()
            assert httpx.get(url + "health", timeout=20).status_code == 200
            worst = max(worst, time.perf_counter() - start)
    grown = held(process)["mb"] - before
    for connection in opened:
        connection.close()
    return {"connections": count, "health_worst_s": round(worst, 3), "grown_mb": grown}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--drops", type=int, default=100)
    parser.add_argument("--slow", type=int, default=500)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for part, count in (("notes", args.documents), ("more", 40 * args.documents)):
            (Path(folder) / part).mkdir()
            for number in range(count):
                text = note(number + 1_000_000 * (part == "more"))
                (Path(folder) / part / f"{number}.md").write_text(text)
        library = Path(folder) / "library"
        add = [*PINCITE, "--library", str(library), "--offline", "add", str(Path(folder) / "notes")]
        subprocess.run(add, check=True, capture_output=True)
        with served(library) as (url, process, times):
            report: dict[str, object] = {"documents": args.documents, "start_seconds": times}
            report["idle"] = loads(url, process, args.seconds)
            before = held(process)
            drop(url, args.drops)
            time.sleep(2)
            report["drops"] = {"streams": args.drops, "before": before, "after": held(process)}
            report["slow"] = slow(url, process, args.slow)
            job = httpx.post(url + "v1/documents", json={"path": str(Path(folder) / "more")}, timeout=20).json()
            report["indexing"] = loads(url, process, args.seconds)
            state = httpx.get(f"{url}v1/jobs/{job['job']['id']}", timeout=20).json()
            report["job"] = {name: state.get(name) for name in ("state", "files", "files_found", "embedded")}
    report["cores"] = os.cpu_count()
    report["load_of_the_machine"] = round(os.getloadavg()[0], 1)
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
