"""Many who ask for the newest state share one look at the disk, and none waits too long."""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pincite.build.fresh import Fresh
from pincite.errors import LibraryReadOnly
from pincite.stop import Stopped, check_stop


def test_many_share_a_look_and_each_sees_what_was_there_when_he_asked() -> None:
    looks, disk, seen, lock = [], [0], [0], threading.Lock()

    def look() -> bool:
        looks.append(1)
        there = disk[0]
        time.sleep(0.02)
        changed, seen[0] = there != seen[0], there
        return changed

    fresh = Fresh(look)

    def change_and_ask(_: int) -> bool:
        with lock:
            disk[0] += 1
            mine = disk[0]
        return fresh.wait(10) == 0.0 and seen[0] >= mine

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(change_and_ask, range(128)))
    assert len(looks) < 64, "they share"


def test_after_a_long_look_comes_a_pause_in_which_the_age_is_told() -> None:
    looks = []
    fresh = Fresh(lambda: bool(looks.append(1) or time.sleep(0.2)))
    began = time.monotonic()
    assert fresh.wait(10) == 0.0
    age = fresh.wait(10)
    assert 0.2 <= age <= time.monotonic() - began
    assert len(looks) == 1


def test_a_long_look_holds_nobody_up_for_long_and_those_who_come_later_not_at_all() -> None:
    go = threading.Event()
    fresh = Fresh(lambda: go.wait(20))
    assert fresh.wait(0.05) == math.inf
    started = time.monotonic()
    assert all(fresh.wait(0.05) for _ in range(50))
    assert time.monotonic() - started < 2.5, "50 waits of 0.05 s would take as long"
    go.set()
    assert fresh.wait(10) < 20


def test_after_a_long_look_that_took_something_in_comes_no_pause() -> None:
    looks = []

    def look() -> bool:
        looks.append(1)
        time.sleep(0.2)
        return True

    fresh = Fresh(look)
    assert [fresh.wait(10) for _ in range(3)] == [0.0] * 3
    assert len(looks) == 3


def test_while_somebody_writes_nobody_waits_and_nobody_looks() -> None:
    looks = []
    fresh = Fresh(lambda: bool(looks.append(1)))
    assert fresh.wait(10) == 0.0
    with fresh.held():
        assert 0.0 < fresh.wait(10) < 10
    assert looks == [1]
    assert fresh.wait(10) == 0.0
    assert looks == [1, 1]


def test_an_error_is_told_to_all() -> None:
    def fail() -> bool:
        raise LibraryReadOnly("no", fix="")

    fresh = Fresh(fail)
    for _ in range(2):
        with pytest.raises(LibraryReadOnly):
            fresh.wait(10)


def test_closing_stops_a_look() -> None:
    began = threading.Event()

    def endless() -> bool:
        began.set()
        while True:
            check_stop()
            time.sleep(0.005)

    fresh = Fresh(endless)
    assert fresh.wait(0.01)
    assert began.wait(10)
    fresh.close()
    with pytest.raises(Stopped):
        fresh.wait(0)
