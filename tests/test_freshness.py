"""Whatever happens to the files, the next search of any process says what is on disk now."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import pincite
from tests.fakes import HashEncoder

NAMES = [f"{stem}{suffix}" for stem in ("alpha", "beta", "gamma/delta", "gamma/epsilon") for suffix in (".md", ".txt")]
WORDS = ["apple", "bridge", "candle", "dragon", "ember", "falcon"]  # each stands for one state of one file


class Reader:
    """Another process with the same library."""

    def __init__(self, library: Path) -> None:
        root = str(Path(__file__).parent.parent)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.reader_process", str(library)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
        )

    def search(self, question: str) -> list[tuple[str, str]]:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return [tuple(hit) for hit in json.loads(self.process.stdout.readline())]

    def close(self) -> None:
        self.process.communicate(timeout=20)
        assert self.process.returncode == 0


class Files(RuleBasedStateMachine):
    """Random edits, against a plain dict of what each file should say."""

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.files: dict[str, str] = {}
        self.library = pincite.open(self.folder / "t.pincite", encoder=HashEncoder(), generator="none")
        (self.folder / "docs").mkdir()
        self.library.add(self.folder / "docs")
        self.reader = Reader(self.folder / "t.pincite")
        self.count = 0

    def teardown(self) -> None:
        if hasattr(self, "reader"):
            self.reader.close()
            self.library.close()
            shutil.rmtree(self.folder)

    def path(self, name: str) -> Path:
        return self.folder / "docs" / name

    @rule(name=st.sampled_from(NAMES), word=st.sampled_from(WORDS), paragraphs=st.integers(0, 3))
    def write(self, name: str, word: str, paragraphs: int) -> None:
        self.count += 1
        text = "\n\n".join([f"The {word} is here.", *(f"Paragraph {i} of the {word}." for i in range(paragraphs))])
        self.path(name).parent.mkdir(exist_ok=True)
        self.path(name).write_text(text)
        self.files[name] = text

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def same_size_same_time(self, data: st.DataObject) -> None:
        """The hardest edit to notice: neither size nor modification time changes."""
        name = data.draw(st.sampled_from(sorted(self.files)))
        before = self.path(name).stat()
        old = next(word for word in WORDS if word in self.files[name])
        other = next((word for word in WORDS if len(word) == len(old) and word != old), old)
        self.files[name] = self.files[name].replace(old, other)
        self.path(name).write_text(self.files[name])
        os.utime(self.path(name), ns=(before.st_atime_ns, before.st_mtime_ns))

    @precondition(lambda self: self.files)
    @rule(data=st.data(), new=st.sampled_from(NAMES))
    def rename(self, data: st.DataObject, new: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.files)))
        self.path(new).parent.mkdir(exist_ok=True)
        self.path(name).rename(self.path(new))
        self.files[new] = self.files.pop(name)

    @precondition(lambda self: self.files)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.files)))
        self.path(name).unlink()
        del self.files[name]

    @precondition(lambda self: self.files)
    @rule(data=st.data(), new=st.sampled_from(NAMES))
    def copy(self, data: st.DataObject, new: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.files)))
        if new != name:
            self.path(new).parent.mkdir(exist_ok=True)
            shutil.copy(self.path(name), self.path(new))
            self.files[new] = self.files[name]

    @invariant()
    def every_search_says_what_is_on_disk(self) -> None:
        if not hasattr(self, "library"):
            return
        for word in WORDS:
            expected = {name for name, text in self.files.items() if word in text}
            result = self.library.search(word, mode="keyword", limit=100)
            found = [(hit.passage.uri, hit.text) for hit in result]
            other = self.reader.search(word)
            for hits in (found, other):
                assert len(hits) == len(set(hits)), "duplicates"
                assert {uri for uri, _ in hits} == {self.path(name).as_uri() for name in expected}
                for uri, text in hits:
                    name = next(name for name in expected if self.path(name).as_uri() == uri)
                    assert text in self.files[name], "stale"


@pytest.mark.parametrize("steps", [pytest.param(50, id="500 edits")])
def test_random_edits(steps: int) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        Files,
        settings=settings(
            max_examples=10,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=True,
            phases=[Phase.generate],  # shrinking a failure of this size takes longer than reading it
        ),
    )
