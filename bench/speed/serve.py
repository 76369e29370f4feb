"""The server under load: searches and extractive answers a second, while documents are indexed, and under abuse.

    python bench/speed/serve.py DATASET [--seconds 3] [--documents N] [--quick] [--work FOLDER] [--out FILE]

DATASET is a BEIR folder; its corpus is the library, its queries are what is asked, by keep-alive clients over real
sockets. The server is ``pincite serve`` in a process of its own. In the same run: the same searches called in process,
and a bare Starlette route that sends as many bytes from the same uvicorn, so that the server's own part is a ratio.
"indexing" adds files that are new to the library through the server's own jobs, all the while. "abuse" samples
``/health`` and the server's resident memory, of Linux: 1,000 clients that send a byte a second, bodies of 10 GB, a form
of 100,000 parts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pincite
from peers import machine

CLIENTS = (1, 8, 64)
BARE = """
import socket, sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
body = b"x" * int(sys.argv[1])
async def answer(request):
    await request.body()
    return Response(body, media_type="application/json")
app = Starlette(routes=[Route("/v1/search", answer, methods=["POST"])])
listening = socket.socket(proto=socket.IPPROTO_TCP)  # for others asyncio delays what is small
listening.bind(("127.0.0.1", 0))
listening.listen(128)
print(listening.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_config=None)).run(sockets=[listening])
"""


def percentile(values, part):
    """Give the value below which a part of the sorted values lies, by nearest rank."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))] if values else float("nan")


class Client:
    """One connection that is kept."""

    def __init__(self, port):
        self.port, self.reader, self.writer = port, None, None

    async def post(self, path, body):
        """Send JSON; give the status and how many bytes came."""
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writer.write(head(path, "application/json", f"Content-Length: {len(body)}") + body)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        size = int(answer.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await self.reader.readexactly(size)
        return int(answer.split(b" ", 2)[1]), size


async def load(port, path, requests, clients, seconds):
    """Let so many clients ask one after the other; give what became of it."""
    taken, errors, sizes, end = [], 0, [], time.perf_counter() + seconds

    async def one(number):
        nonlocal errors
        client, chance = Client(port), random.Random(number)
        while time.perf_counter() < end:
            started = time.perf_counter()
            try:
                status, size = await client.post(path, chance.choice(requests))
            except (OSError, asyncio.IncompleteReadError):
                status, size, client = 0, 0, Client(port)
            taken.append(time.perf_counter() - started)
            sizes.append(size)
            errors += status != 200

    started = time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(clients)))
    spent = time.perf_counter() - started
    ms = {f"p{part}_ms": round(1000 * percentile(taken, part / 100), 1) for part in (50, 95, 99)}
    row = {
        "clients": clients,
        "per_second": round(len(taken) / spent, 1),
        **ms,
        "requests": len(taken),
        "errors": errors,
    }
    return row | {"bytes": round(sum(sizes) / max(1, len(sizes)))}


def prepared(dataset, work, count):
    """Make a library of the corpus, or of its beginning; give its place, the questions, and texts to add later."""
    rows = [json.loads(line) for line in (dataset / "corpus.jsonl").read_text(encoding="utf-8").splitlines()][:count]
    texts = [f"# {row.get('title') or row['_id']}\n\n{row['text']}\n" for row in rows]
    documents, library = work / "documents", work / "library.pincite"
    documents.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts):
        (documents / f"{number}.md").write_text(text, encoding="utf-8")
    with pincite.open(library, generator="none", offline=True) as made:
        made.add(documents)
    lines = (dataset / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return library, [json.loads(line)["text"] for line in lines], texts


@contextmanager
def served(library):
    """Run ``pincite serve``; give the process and its port."""
    command = [
        sys.executable,
        "-m",
        "pincite.serve.cli.main",
        "--library",
        str(library),
        "--generator",
        "none",
        "--offline",
    ]
    process = subprocess.Popen([*command, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        port = int(process.stdout.readline().rstrip("/\n").rpartition(":")[2])
        yield process, port
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def bare(size):
    """Run a route that does nothing and answers as many bytes; give its port."""
    process = subprocess.Popen([sys.executable, "-c", BARE, str(size)], stdout=subprocess.PIPE, text=True)
    try:
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def indexing(port, work, texts):
    """Let the server index files that it does not know, one folder after the other; give a list of what was done."""
    stop, done = threading.Event(), []

    def work_on():
        for batch in range(10_000):
            folder = work / f"new-{os.getpid()}-{time.monotonic_ns()}-{batch}"
            folder.mkdir()
            for number, text in enumerate(random.Random(batch).sample(texts, min(60, len(texts)))):
                (folder / f"{number}.md").write_text(f"{text}\n\nCopied as {folder.name} {number}.\n", encoding="utf-8")
            job = request(port, "POST", "/v1/documents", {"path": str(folder)})["job"]
            while not stop.is_set() and job["state"] in ("queued", "running"):
                time.sleep(0.1)
                job = request(port, "GET", f"/v1/jobs/{job['id']}")
            done.append(job.get("summary"))
            if stop.is_set():
                return

    thread = threading.Thread(target=work_on)
    thread.start()
    time.sleep(0.5)
    try:
        yield done
    finally:
        stop.set()
        thread.join(60)


def request(port, method, path, body=None, timeout=60):
    """Make one request; give the JSON."""
    from http.client import HTTPConnection

    connection = HTTPConnection("127.0.0.1", port, timeout=timeout)
    data = None if body is None else json.dumps(body)
    connection.request(method, path, data, {"Content-Type": "application/json"} if data else {})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def loads(port, questions, seconds):
    """Ask in both ways with each number of clients."""
    sent = {
        "search": ("/v1/search", [json.dumps({"question": question}).encode() for question in questions]),
        "ask": ("/v1/ask", [json.dumps({"question": question, "extract": True}).encode() for question in questions]),
    }
    return {
        name: [asyncio.run(load(port, *how, clients, seconds)) for clients in CLIENTS] for name, how in sent.items()
    }


def in_process(library, questions, seconds):
    """Call the same searches and answers here, one after the other."""
    result = {}
    with pincite.open(library, generator="none", offline=True) as opened:
        for name, call in {"search": opened.search, "ask": lambda q: opened.ask(q, extract=True)}.items():
            for question in questions[:20]:
                call(question)
            taken, end, chance = [], time.perf_counter() + seconds, random.Random(0)
            while time.perf_counter() < end:
                started = time.perf_counter()
                call(chance.choice(questions))
                taken.append(time.perf_counter() - started)
            result[name] = {"per_second": round(1 / (sum(taken) / len(taken)), 1)}
            result[name] |= {f"p{part}_ms": round(1000 * percentile(taken, part / 100), 1) for part in (50, 95)}
    return result


def resident(pid):
    """Give the megabytes that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def slow(port, count, seconds):
    """Send a byte a second on many connections."""
    writers = []
    for _ in range(count):
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nX: ")
            writers.append(writer)
    for _ in range(int(seconds)):
        for writer in writers:
            writer.write(b"a")
        await asyncio.sleep(1)
    for writer in writers:
        writer.close()
    return {"connections": len(writers)}


async def flood(port, head, part, times, first=b""):
    """Send a body in parts until it is refused; give how much was sent and what came back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head + (f"{len(first):x}\r\n".encode() + first + b"\r\n" if first else b""))
    sent = 0
    with suppress(OSError):
        for _ in range(times):
            writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            await writer.drain()
            sent += len(part)
            if reader.at_eof():
                break
    answer = b""
    with suppress(OSError, TimeoutError):
        answer = await asyncio.wait_for(reader.read(4096), 20)
    writer.close()
    return {"megabytes_sent": round(sent / 1e6, 1), "status": answer.split(b" ", 2)[1].decode() if answer else "closed"}


def head(path, kind, length="Transfer-Encoding: chunked"):
    """Write the head of a request; its body comes in parts unless its length is told."""
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n{length}\r\n\r\n".encode()


def abuse(process, port, quick):
    """Do the three, one after the other; give what health and memory were meanwhile."""
    part = b'--cut\r\nContent-Disposition: form-data; name="files"; filename="a.md"\r\n\r\nx\r\n'
    form = head("/v1/documents", "multipart/form-data; boundary=cut")
    ways = {
        "1,000 slow clients": lambda: slow(port, 200 if quick else 1000, 5 if quick else 15),
        "10 GB of JSON": lambda: flood(port, head("/v1/ask", "application/json"), b" " * 1_000_000, 10_000),
        "10 GB of a file": lambda: flood(port, form, b" " * 1_000_000, 10_000, first=part[:-3]),
        "100,000 parts": lambda: flood(port, form, part, 100_000),
    }
    result = {}
    for name, way in ways.items():
        before, peak, health, stop = resident(process.pid), [0.0], [], threading.Event()

        def sample(peak=peak, health=health, stop=stop):
            while not stop.is_set():
                started = time.perf_counter()
                request(port, "GET", "/health")
                health.append(time.perf_counter() - started)
                peak[0] = max(peak[0], resident(process.pid))
                time.sleep(0.02)

        thread = threading.Thread(target=sample)
        thread.start()
        try:
            happened = asyncio.run(way())
        finally:
            stop.set()
            thread.join()
        memory = {"memory_growth_mb": round(peak[0] - before, 1)}
        result[name] = (
            happened | memory | {"health_worst_ms": round(1000 * max(health), 1), "health_asked": len(health)}
        )
    return result


def compared(result):
    """Put the ratios that count beside each other."""
    found = {}
    for name in ("search", "ask"):
        pairs = zip(result["idle"][name], result["indexing"][name], strict=True)
        found[f"{name}: p95 while indexing to idle"] = {
            i["clients"]: round(w["p95_ms"] / i["p95_ms"], 2) for i, w in pairs
        }
        alone, one = result["in_process"][name], result["idle"][name][0]
        found[f"{name}: p50 of one client to in process"] = round(one["p50_ms"] / alone["p50_ms"], 2)
    bare_one, one, alone = result["bare"][0], result["idle"]["search"][0], result["in_process"]["search"]
    found["search: p50 of one client to in process and bare route together"] = round(
        one["p50_ms"] / (alone["p50_ms"] + bare_one["p50_ms"]), 2
    )
    rows = [row for state in ("idle", "indexing") for name in ("search", "ask") for row in result[state][name]]
    return found | {"errors": sum(row["errors"] for row in rows), "requests": sum(row["requests"] for row in rows)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each figure")
    parser.add_argument("--documents", type=int, help="of the corpus; all")
    parser.add_argument("--quick", action="store_true", help="1 s a figure, 300 documents, a fifth of the slow clients")
    parser.add_argument("--work", type=Path, help="keeps the library for the next run")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    seconds = 1.0 if options.quick else options.seconds
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        library, questions, texts = prepared(
            options.dataset, work, options.documents or (300 if options.quick else None)
        )
        result = {"machine": machine(), "dataset": options.dataset.name, "seconds": seconds, "passages": 0}
        result["load_average"] = [round(os.getloadavg()[0], 1)]  # of the minute before, and of the last one
        result["in_process"] = in_process(library, questions, seconds)
        with served(library) as (process, port):
            result["passages"] = request(port, "GET", "/v1/library")["passages"]
            loads(port, questions, 0.3)
            result["idle"] = loads(port, questions, seconds)
            size = result["idle"]["search"][0]["bytes"]
            with bare(size) as other:
                bodies = [json.dumps({"question": question}).encode() for question in questions]
                result["bare"] = [
                    asyncio.run(load(other, "/v1/search", bodies, clients, seconds)) for clients in CLIENTS
                ]
            result["abuse"] = abuse(process, port, options.quick)
            with indexing(port, Path(temporary), texts) as done:
                result["indexing"] = loads(port, questions, seconds)
                result["indexed_meanwhile"] = len(done) * 60
        result["load_average"].append(round(os.getloadavg()[0], 1))
        result["compared"] = compared(result)
    text = json.dumps(result, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
