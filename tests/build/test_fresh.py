"""Many who ask for the newest state share one look at the disk, and none waits too long."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pincite.build.fresh import Fresh
from pincite.errors import LibraryReadOnly
from pincite.stop import Stopped, check_stop


def test_many_share_one_look() -> None:
    looks = []
    fresh = Fresh(lambda: (looks.append(1), time.sleep(0.05)))
    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(lambda _: fresh.wait(10), range(64)))
    assert len(looks) == 1


def test_a_long_look_holds_nobody_up_for_long_and_those_who_come_later_not_at_all() -> None:
    go = threading.Event()
    fresh = Fresh(lambda: go.wait(20))
    assert not fresh.wait(0.05)
    started = time.monotonic()
    assert not any(fresh.wait(0.05) for _ in range(50))
    assert time.monotonic() - started < 2.5, "50 waits of 0.05 s would take as long"
    go.set()
    assert fresh.wait(10)


def test_an_error_is_told_to_all() -> None:
    def fail() -> None:
        raise LibraryReadOnly("no", fix="")

    fresh = Fresh(fail)
    for _ in range(2):
        with pytest.raises(LibraryReadOnly):
            fresh.wait(10)


def test_closing_stops_a_look() -> None:
    began = threading.Event()

    def endless() -> None:
        began.set()
        while True:
            check_stop()
            time.sleep(0.005)

    fresh = Fresh(endless)
    assert not fresh.wait(0.01)
    assert began.wait(10)
    fresh.close()
    with pytest.raises(Stopped):
        fresh.wait(0)
