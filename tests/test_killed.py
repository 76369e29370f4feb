"""Kill `pincite add` at any moment: what it reported is there, whole, and the next command just works."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pincite
from tests.fakes import HashEncoder

ROOT = Path(__file__).resolve().parent.parent


def make_folder(folder: Path, count: int) -> None:
    folder.mkdir()
    for i in range(count):
        text = "\n\n".join(f"Document {i} part {j} says unique{i} again." for j in range(1 + i % 7))
        (folder / f"{i:04d}.md").write_text(text)


def start(library: Path, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.adder_process", str(library), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def acknowledged(output: str) -> set[str]:
    """URIs in whole lines: a line that was cut by the kill was not reported."""
    lines = output.splitlines(keepends=True)
    reports = [json.loads(line) for line in lines if line.endswith("\n")]
    return {r["uri"] for r in reports if r.get("status") in ("indexed", "updated", "unchanged")}


def check(library: Path, acked: set[str]) -> None:
    """Nothing acknowledged is lost, nothing is half there, nothing is there twice."""
    with pincite.open(library, encoder=HashEncoder(), generator="none") as opened:
        assert [check for check in opened.store.verify() if not check.ok] == []
        records = {record.source.uri: record for record in opened.list()}
        assert acked <= set(records)
        for uri, record in records.items():
            text = opened.document(uri).text
            on_disk = Path(uri.removeprefix("file://")).read_text()
            assert text == on_disk if uri in acked else on_disk.startswith(text), "texts only grow in this test"
            passages = opened.store.passages_of(uri)
            assert len(passages) == record.passages
            assert "".join("".join(p.text.split()) for p in passages) == "".join(text.split())
        for uri in sorted(acked)[:3]:
            number = int(Path(uri).stem)
            hits = opened.search(f"unique{number}", mode="keyword", limit=50, refresh=False).hits
            assert {hit.passage.uri for hit in hits} == {uri}
            assert len({hit.passage.id for hit in hits}) == len(hits)


def kill_rounds(tmp_path: Path, rounds: int, files: int) -> int:
    """Kill an add again and again over the same library; give how many times it was alive when killed."""
    rng = random.Random(20261130)
    folder, library, alive, acked = tmp_path / "docs", tmp_path / "t.pincite", 0, set()
    make_folder(folder, files)
    begun = time.monotonic()
    assert start(tmp_path / "timing.pincite", folder).communicate()[1] == ""
    whole = time.monotonic() - begun  # on this machine, as busy as it is: moments are shares of it
    for _ in range(rounds):
        process = start(library, folder)
        time.sleep(rng.uniform(0.05, 0.9) * whole)
        alive += process.poll() is None
        process.kill()
        acked |= acknowledged(process.communicate()[0])
        if library.exists():
            check(library, acked)
        for uri in rng.sample(sorted(acked), min(len(acked), files // 2)):  # so that there is always something to do
            path = Path(uri.removeprefix("file://"))
            path.write_text(path.read_text() + f"\n\nMore of unique{int(path.stem)}.")
            acked.discard(uri)
    return alive


def test_killed_while_adding(tmp_path: Path) -> None:
    assert kill_rounds(tmp_path, rounds=8, files=150) >= 2
    process = start(tmp_path / "t.pincite", tmp_path / "docs")
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert len(acknowledged(output)) == 150
    check(tmp_path / "t.pincite", acknowledged(output))


@pytest.mark.soak
def test_killed_a_thousand_times_while_adding(tmp_path: Path) -> None:
    assert kill_rounds(tmp_path, rounds=1000, files=300) >= 300


@pytest.mark.parametrize("after", [0.05, 0.6, 1.2])
def test_interrupted_while_adding(tmp_path: Path, after: float) -> None:
    make_folder(tmp_path / "docs", 400)
    process = start(tmp_path / "t.pincite", tmp_path / "docs")
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    if process.returncode == 130:
        assert "Interrupted" in errors
        assert "Traceback" not in errors
    if (tmp_path / "t.pincite").exists():
        check(tmp_path / "t.pincite", acknowledged(output))
