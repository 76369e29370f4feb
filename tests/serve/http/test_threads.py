"""Many threads at once, with the real encoder, while documents come and go: each gets what it would get alone."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

import pincite
from pincite.serve import shapes
from tests.serve.http.conftest import serving

TOPICS = ("bread", "rivers", "violins", "glaciers")
THREADS, ROUNDS = 16, 2


def text(topic: str, number: int) -> str:
    return f"# {topic.title()} {number}\n\nThe {topic} of note {number} weigh {number + 7} grams. They are kept dry.\n"


def question(topic: str) -> str:
    return f"What do the {topic} of note 3 weigh?"


def plain(shape: dict) -> str:
    return json.dumps({key: value for key, value in shape.items() if key not in ("trace", "stale")}, sort_keys=True)


def test_each_thread_gets_what_it_would_get_alone(encoder, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for topic in TOPICS:
        for number in range(6):
            (folder / f"{topic}{number}.md").write_text(text(topic, number))
    with pincite.open(tmp_path / "library", encoder=encoder, generator="none", offline=True) as library:
        library.add(folder)

        def check(topic: str) -> dict:
            sentence = f"The {topic} of note 3 weigh 10 grams."
            return shapes.check_json(sentence, library.check(sentence))

        kinds: dict[str, Callable[[str], dict]] = {
            "search": lambda topic: shapes.search_json(library.search(question(topic), limit=3)),
            "keyword": lambda topic: shapes.search_json(library.search(question(topic), limit=3, mode="keyword")),
            "ask": lambda topic: shapes.answer_json(library.ask(question(topic), extract=True)),
            "check": check,
        }
        alone = {(kind, topic): plain(run(topic)) for kind, run in kinds.items() for topic in TOPICS}
        jobs = [(kind, topic) for kind in kinds for topic in TOPICS for _ in range(ROUNDS)]
        random.Random(5).shuffle(jobs)
        done = threading.Event()

        def change() -> None:  # what comes and goes is about something else
            number = 0
            while not done.is_set():
                library.add_text("note:passing", f"Umbrellas number {number} are green.", title="Umbrellas")
                library.remove("note:passing")
                number += 1

        writer = threading.Thread(target=change)
        writer.start()
        try:
            with ThreadPoolExecutor(THREADS) as pool:
                found = list(pool.map(lambda job: plain(kinds[job[0]](job[1])), jobs))
        finally:
            done.set()
            writer.join()
        wrong = [job for job, got in zip(jobs, found, strict=True) if got != alone[job]]
        assert not wrong
        with serving(library) as url:
            body = {"question": question("violins"), "extract": True}
            with ThreadPoolExecutor(THREADS) as pool:
                answers = list(pool.map(lambda _: httpx.post(f"{url}v1/ask", json=body, timeout=60), range(32)))
        assert {answer.status_code for answer in answers} == {200}
        assert {plain(answer.json()) for answer in answers} == {alone["ask", "violins"]}
