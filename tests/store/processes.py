"""Processes that write, read, die and check: run by the durability tests, apart from pytest and its threads.

    python -m tests.store.processes kills LIBRARY ROUNDS SEED
    python -m tests.store.processes faults LIBRARY
    python -m tests.store.processes crowd LIBRARY SECONDS

Each prints one JSON line. Every round's processes are forked from this one, which opens no library itself, so each is
as fresh as a new command, without the time to import.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tantivy  # noqa: F401 - imported before forking
import turbovec  # noqa: F401

from pincite.store.sqlite import faults
from pincite.store.sqlite.store import SqliteStore, open_store
from pincite.types import Candidate
from tests.store.documents import SPACE, analyze, make, put, vector_of, vectors_of

State = dict[str, list[str]]  # URI -> paragraphs


def opened(library: Path) -> SqliteStore:
    return open_store(library, analyze=analyze, analyzer="words")


def forked(work: Callable[[int], None]) -> tuple[int, int]:
    """Run work in a new process; give its pid and the end of a pipe that it can write to."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    code = 1
    try:
        os.close(reading)
        work(writing)
        code = 0
    except BaseException as error:
        os.write(writing, (json.dumps(f"{type(error).__name__}: {error}") + "\n").encode())
        raise
    finally:
        os._exit(code)


def result(pid: int, reading: int) -> tuple[int, list[Any]]:
    """Wait for a process; give its exit code (negative: the signal) and the JSON lines it wrote."""
    with os.fdopen(reading) as pipe:
        lines = pipe.read().splitlines()
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), [json.loads(line) for line in lines]


# --- one numbered operation after another: additions, changes, removals


def paragraphs(number: int, generation: int) -> list[str]:
    return [f"document {number} paragraph {part} of{generation if part == 1 else 0}" for part in range(3 + number % 3)]


def after(state: State, step: int) -> State:
    """What the library holds when one more step is done."""
    state, uri = dict(state), f"file:///{step}.md"
    if step % 5 == 3:
        state[f"file:///{step - 1}.md"] = paragraphs(step - 1, 2)
    elif step % 5 == 4:
        state.pop(f"file:///{step - 3}.md", None)
    else:
        state[uri] = paragraphs(step, 1)
    return state


def do(store: SqliteStore, step: int) -> None:
    if step % 5 == 3:
        put(store, f"file:///{step - 1}.md", paragraphs(step - 1, 2))
    elif step % 5 == 4:
        store.remove(f"file:///{step - 3}.md")
        store.collect_garbage()
    else:
        put(store, f"file:///{step}.md", paragraphs(step, 1))


def differences(store: SqliteStore, state: State, look_at: set[str]) -> list[str]:
    """Compare the library with what it should hold; look closely at some documents."""
    found = []
    listed = {record.source.uri for record in store.sources()}
    if listed != state.keys():
        found.append(f"holds {sorted(listed ^ state.keys())} too much or not")
    for uri in sorted(look_at & listed & state.keys()):
        texts = [passage.text for passage in store.passages_of(uri)]
        document, spans = make(uri, state[uri])
        if store.document(uri).text != document.text or texts != state[uri]:
            found.append(f"{uri} is {texts}")
        if store.known_hashes(list(vectors_of(document, spans)), SPACE) != set(vectors_of(document, spans)):
            found.append(f"{uri} lacks vectors")
    return found + search_differences(store, state)


def search_differences(store: SqliteStore, state: State) -> list[str]:
    """Search for the newest document: the derived indexes must be level, whatever happened to them."""
    if not state:
        return []
    uri = max(state, key=lambda name: int(name[8:-3]))
    keys = [passage.key for passage in store.passages_of(uri)]
    words: list[Candidate] = store.keyword_candidates(["document", uri[8:-3]], 1)
    nearest = store.vector_candidates(vector_of(state[uri][1]), 1, SPACE)
    return [f"{uri} is not found" for hit in (words, nearest) if not hit or hit[0].key not in keys]


def writer(library: Path, first: int) -> Callable[[int], None]:
    """Do one step after another until killed; acknowledge each."""

    def write(pipe: int) -> None:
        store = opened(library)
        for number in range(first, first + 10_000):
            do(store, number)
            os.write(pipe, f"{number}\n".encode())
            if number % 8 == 7:
                store.flush()

    return write


def checker(library: Path, state: State, maybe: State, look_at: set[str]) -> Callable[[int], None]:
    """Tell whether the library is in the one state or the other, and whole."""

    def check(pipe: int) -> None:
        store = opened(library)
        with store._database.read() as connection:
            whole = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        one, two = (differences(store, expected, look_at) for expected in (state, maybe))
        problems = [*(one if one and two else []), *([] if whole else ["not whole"])]
        os.write(pipe, (json.dumps([bool(one), problems]) + "\n").encode())

    return check


def kills(library: Path, rounds: int, seed: int) -> dict[str, Any]:
    """Kill a writer at random moments; after each kill compare with what was acknowledged."""
    rng, state, step = random.Random(seed), State(), 0
    report: dict[str, Any] = {"kills": 0, "acknowledged": 0, "committed": 0, "problems": []}
    for _ in range(rounds):
        first = step
        pid, pipe = forked(writer(library, first))
        if rng.random() < 0.8:  # most while it writes, some while it opens
            select.select([pipe], [], [], 30)
        time.sleep(rng.uniform(0.0, 0.1))
        os.kill(pid, signal.SIGKILL)
        code, acks = result(pid, pipe)
        report["kills"] += code == -signal.SIGKILL
        report["acknowledged"] += len(acks)
        if code != -signal.SIGKILL:
            report["problems"] += acks[-1:]
        for step in range(first, first + len(acks)):
            state = after(state, step)
        step = first + len(acks)
        maybe = after(state, step)  # committed, perhaps, but not acknowledged
        touched = {f"file:///{number}.md" for number in range(first - 3, step + 1)}

        code, lines = result(*forked(checker(library, state, maybe, touched)))
        went_on, problems = (False, lines) if code else lines[0]
        report["problems"] += problems
        if went_on:
            state, step = maybe, step + 1
    report["committed"] = step

    def check_all(pipe: int) -> None:
        store = opened(library)
        found = differences(store, state, set(state)) + [c.detail for c in store.verify() if not c.ok]
        os.write(pipe, (json.dumps(found) + "\n").encode())

    report["problems"] += result(*forked(check_all))[1][0]
    return report


def dump(store: SqliteStore) -> list[Any]:
    """All that can be read, without keys and times."""
    rows: list[Any] = []
    for record in store.sources():
        passages = [(p.id, p.text, p.context, p.line_from, p.line_to) for p in store.passages_of(record.source.uri)]
        rows.append([record.source.uri, record.version, record.status, record.passages, passages])
    return [*rows, dict(store.stats().spaces), [check.ok for check in store.verify()]]


def fault_steps(store: SqliteStore) -> None:
    put(store, "file:///new.md", ["a", "b", "c"])
    put(store, "file:///old.md", ["one", "two changed", "three", "four"])
    store.remove("file:///gone.md")
    document, _ = make("file:///old.md", [])
    store.put_failure(document.source, "failed", "x", "y")


def fault_run(library: Path, point: str) -> tuple[int, Any, Any, Any]:
    """Die at a point of the steps; give the exit code, and the state before, after the death, and after a retry."""

    def prepare(pipe: int) -> None:
        store = opened(library)
        put(store, "file:///old.md", ["one", "two", "three"])
        put(store, "file:///gone.md", ["one", "two"])
        os.write(pipe, (json.dumps(dump(store)) + "\n").encode())

    def die(pipe: int) -> None:
        faults._POINT = point
        fault_steps(opened(library))

    def look(pipe: int) -> None:
        os.write(pipe, (json.dumps(dump(opened(library))) + "\n").encode())

    def again(pipe: int) -> None:
        store = opened(library)
        fault_steps(store)
        os.write(pipe, (json.dumps(dump(store)) + "\n").encode())

    _, [before] = result(*forked(prepare))
    code, _ = result(*forked(die))
    _, [left] = result(*forked(look))
    _, [end] = result(*forked(again))
    return code, before, left, end


def fault_points(library: Path) -> dict[str, Any]:
    return {point: fault_run(library / (point or "none"), point) for point in ("", *faults.POINTS)}


# --- many at once


def crowd_writer(library: Path, seconds: float, name: int) -> Callable[[int], None]:
    """Add documents of its own and change a shared one, in turn."""

    def write(pipe: int) -> None:
        store, end, number = opened(library), time.monotonic() + seconds, 0
        while time.monotonic() < end:
            put(store, f"file:///{name}/{number}.md", [f"document w{name}n{number} {part}" for part in range(3)])
            # In words of its own: it may change between a search and the reading of what was found.
            put(store, "file:///shared.md", [f"shared s{name}n{number}", "always"])
            number += 1
            if number % 20 == 0:
                store.flush()
        store.close()
        os.write(pipe, f"{number}\n".encode())

    return write


def crowd_reader(library: Path, seconds: float, name: int) -> Callable[[int], None]:
    """Look at one document after another, and search for it."""

    def read(pipe: int) -> None:
        store, end, reads = opened(library), time.monotonic() + seconds, 0
        while time.monotonic() < end:
            sources = [record.source.uri for record in store.sources()]
            reads += bool(sources)
            for uri in sources[(reads * 7919 + name) % max(len(sources), 1) :][:1]:
                look(store, uri)
        store.close()
        os.write(pipe, f"{reads}\n".encode())

    return read


def look(store: SqliteStore, uri: str) -> None:
    """A document is there wholly, and both searches find it: each of its passages once."""
    texts = [passage.text for passage in store.passages_of(uri)]
    assert len(texts) == (2 if "shared" in uri else 3), uri
    if "shared" not in uri:
        word, text = texts[0].split()[1], texts[1]
        hits = store.keyword_candidates([word], 9)
        found = store.passages([hit.key for hit in hits]).values()
        assert len(hits) == len(found), f"{word}: {len(hits)} hits, {len(found)} passages"
        assert {passage.text for passage in found if passage.uri == uri} == set(texts), word
        [best] = store.vector_candidates(vector_of(text), 1, SPACE)
        assert store.passages([best.key])[best.key].text == text, text


def crowd(library: Path, seconds: float) -> dict[str, Any]:
    """Two writers and four readers; what the writers were told is compared with what is there."""
    started = [forked(crowd_writer(library, seconds, name)) for name in range(2)]
    started += [forked(crowd_reader(library, seconds, name)) for name in range(4)]
    outcomes = [result(*process) for process in started]
    problems = [lines[-1] if lines else f"exit {code}" for code, lines in outcomes if code]
    if problems:
        return {"problems": problems}
    counts = [lines[-1] for _, lines in outcomes]

    def check(pipe: int) -> None:
        store = opened(library)
        uris = [record.source.uri for record in store.sources()]
        expected = [f"file:///{name}/{number}.md" for name in range(2) for number in range(counts[name])]
        whole = sorted(uris) == sorted([*expected, "file:///shared.md"])
        found = [] if whole else ["documents are lost or there twice"]
        if store.document("file:///shared.md").version != sum(counts[:2]):
            found.append("updates of the shared document are lost")
        found += [check.detail for check in store.verify() if not check.ok]
        os.write(pipe, (json.dumps(found) + "\n").encode())

    _, [found] = result(*forked(check))
    return {"problems": found, "written": counts[:2], "reads": counts[2:]}


if __name__ == "__main__":
    command, place = sys.argv[1], Path(sys.argv[2])
    if command == "kills":
        outcome: Any = kills(place, int(sys.argv[3]), int(sys.argv[4]))
    elif command == "faults":
        outcome = fault_points(place)
    else:
        outcome = crowd(place, float(sys.argv[3]))
    print(json.dumps(outcome))
