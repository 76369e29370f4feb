"""Changes of a real folder, as the operating system tells them, and by looking."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pincite.acquire.watch import _concerns, watch
from pincite.errors import PathMissing


class Scribbler(threading.Thread):
    """Writes files again and again, for a watch needs a moment to begin, and no time is sure to be enough."""

    def __init__(self, *paths: Path) -> None:
        super().__init__(daemon=True)
        self.paths, self.done = paths, threading.Event()

    def run(self) -> None:
        count = 0
        while not self.done.wait(0.05):
            count += 1
            for path in self.paths:
                path.write_text(str(count))


@pytest.mark.parametrize("poll", [False, True])
def test_changes_are_told_and_what_is_passed_over_is_not(tmp_path, poll):
    (tmp_path / "notes.pincite").mkdir()
    (tmp_path / ".git").mkdir()
    wanted = tmp_path / "a.md"
    scribbler = Scribbler(tmp_path / "notes.pincite/db", tmp_path / ".git/index", tmp_path / ".hidden", wanted)
    for path in scribbler.paths:  # what is new changes its folder too
        path.write_text("")
    stop = threading.Event()
    scribbler.start()
    seen: set[Path] = set()
    for batch in watch([tmp_path], stop_event=stop, poll=poll, debounce=50):
        assert batch
        seen |= batch
        stop.set()
    scribbler.done.set()
    scribbler.join()
    assert seen == {wanted}


def test_a_single_file_is_watched_through_its_folder(tmp_path):
    file, other, new = tmp_path / "a.md", tmp_path / "b.md", tmp_path / "new"
    file.write_text("x")
    stop = threading.Event()
    scribbler = Scribbler(other, new)
    scribbler.run = lambda: _replace(scribbler, new, file, other)  # type: ignore[method-assign]
    scribbler.start()
    for batch in watch([file], stop_event=stop, debounce=50):
        assert batch == {file}
        stop.set()
    scribbler.done.set()
    scribbler.join()


def _replace(scribbler: Scribbler, new: Path, file: Path, other: Path) -> None:
    while not scribbler.done.wait(0.05):
        new.write_text("y")
        other.write_text("z")
        new.replace(file)


def test_it_stops_when_told(tmp_path):
    stop = threading.Event()
    stop.set()
    assert list(watch([tmp_path], stop_event=stop)) == []


def test_a_missing_path_is_told(tmp_path):
    with pytest.raises(PathMissing, match="does not exist"):
        next(watch([tmp_path / "nowhere"]))


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/r/a.md", True),
        ("/r/sub/a.md", True),
        ("/r", True),
        ("/r/.gitignore", True),
        ("/r/.git/x", False),
        ("/r/x.pincite/db", False),
        ("/r/node_modules/a.md", False),
        ("/rx/a.md", False),
        ("/a.md", False),
    ],
)
def test_what_concerns_a_folder(path, wanted):
    assert _concerns(path, Path("/r")) is wanted


def test_a_hidden_root_is_watched():
    assert _concerns("/home/.notes/a.md", Path("/home/.notes"))
