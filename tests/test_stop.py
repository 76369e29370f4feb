"""Work is stopped from outside: at the next look, also while it waits, and only in the thread that was told so."""

from __future__ import annotations

import threading
import time
from queue import Empty, SimpleQueue

import pytest

from pincite.models.generators.relay import Relay
from pincite.models.protocols import Finish, GenerationOptions
from pincite.stop import Stopped, check_stop, get, stoppable


def test_a_look_raises_when_it_is_time_and_only_in_the_block() -> None:
    check_stop()
    stop = threading.Event()
    with stoppable(stop.is_set):
        check_stop()
        stop.set()
        with pytest.raises(Stopped):
            check_stop()
        other = threading.Thread(target=check_stop)
        other.start()
        other.join()
    check_stop()


def test_waiting_ends_with_an_item_in_time_or_a_stop() -> None:
    items: SimpleQueue[int] = SimpleQueue()
    items.put(5)
    assert get(items, 0) == 5
    with pytest.raises(Empty):
        get(items, 0.01)
    stop = threading.Event()
    with stoppable(stop.is_set):
        with pytest.raises(Empty):
            get(items, 0.01)
        threading.Timer(0.05, stop.set).start()
        with pytest.raises(Stopped):
            get(items, None)


def test_a_silent_runtime_is_told_to_stop() -> None:
    aborted = threading.Event()

    def work(emit) -> Finish:
        assert aborted.wait(20)
        return Finish("stop", 1, 0)

    stop = threading.Event()
    threading.Timer(0.05, stop.set).start()
    started = time.monotonic()
    with stoppable(stop.is_set), pytest.raises(Stopped):
        list(Relay("silent").stream(work, GenerationOptions(seconds=60), 1, aborted.set))
    assert aborted.is_set()
    assert time.monotonic() - started < 20
