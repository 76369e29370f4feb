"""Deadline, cancellation and stop strings, without a model."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.errors import EndpointInvalid, GenerationError, GenerationTimeout
from pincite.models.generators.relay import Relay, Stops
from pincite.models.protocols import Finish, GenerationOptions, Piece


def writes(*texts):
    def work(emit):
        for number, text in enumerate(texts):
            if not emit(text):
                return Finish("stop", 3, number)
        return Finish("length", 3, len(texts))

    return work


def run(work, **options):
    return list(Relay("fake").stream(work, GenerationOptions(**options), 3))


def test_pieces_come_in_order_and_one_finish_last():
    assert run(writes("a", "", "b")) == [Piece("a"), Piece("b"), Finish("length", 3, 3)]


@given(
    st.lists(st.text(alphabet="abc", max_size=4), max_size=12),
    st.lists(st.text(alphabet="abc", max_size=3), max_size=3),
)
def test_stop_strings_cut_exactly_where_they_start(parts, stop):
    text, real = "".join(parts), [string for string in stop if string]
    ends = [text.find(string) for string in real if string in text]
    stops, shown = Stops(tuple(stop)), ""
    for part in parts:
        shown += stops.feed(part)
        if stops.hit:
            break
    shown += stops.rest()
    fed = text if not stops.hit else text[: len(shown)]
    assert stops.hit == bool(ends)
    # A later stop string may be complete before an earlier, longer one is; so the cut is at one of the places.
    assert shown == fed if stops.hit else shown == text
    if stops.hit:
        assert any(text.startswith(string, len(shown)) for string in real)
        assert not any(string in shown for string in real)


def test_a_stop_string_over_two_tokens_ends_the_reply_and_the_work():
    ended = threading.Event()

    def work(emit):
        for text in ("Yes. Ques", "tion: no", *["more"] * 1000):
            if not emit(text):
                ended.set()
                break
            time.sleep(0.005)
        return Finish("stop", 3, 2)

    assert run(work, stop=("Question:",)) == [Piece("Yes. "), Finish("stop", 3, 2)]
    assert ended.wait(5)


def test_closing_stops_the_work_within_one_token():
    emitted, ended = [], threading.Event()

    def work(emit):
        while emit("x"):
            emitted.append(1)
            time.sleep(0.01)
        ended.set()
        return Finish("stop", 0, 0)

    stream = Relay("fake").stream(work, GenerationOptions(), 0)
    assert next(stream) == Piece("x")
    stream.close()
    count = len(emitted)
    assert ended.wait(5)
    assert len(emitted) <= count + 1


def test_a_deadline_without_text_is_an_error_and_with_text_an_end():
    release = threading.Event()

    def silent(emit):
        release.wait(30)
        return Finish("stop", 0, 0)

    def slow(emit):
        emit("some")
        return silent(emit)

    begun = time.monotonic()
    with pytest.raises(GenerationTimeout) as caught:
        run(silent, seconds=0.2)
    assert caught.value.fix
    assert run(slow, seconds=0.2) == [Piece("some"), Finish("deadline", 3, 1)]
    assert time.monotonic() - begun < 10  # the work itself would take 60 s
    release.set()


def test_the_deadline_counts_from_the_call_also_while_waiting_for_another_generation():
    release, relay = threading.Event(), Relay("fake")

    def busy(emit):
        emit("a")
        release.wait(30)
        return Finish("stop", 0, 1)

    first = relay.stream(busy, GenerationOptions(), 0)
    assert next(first) == Piece("a")
    with pytest.raises(GenerationTimeout):
        list(relay.stream(writes("b"), GenerationOptions(seconds=0.2), 0))
    release.set()
    assert list(first) == [Finish("stop", 0, 1)]
    assert list(relay.stream(writes("c"), GenerationOptions(), 0)) == [Piece("c"), Finish("length", 3, 1)]


def test_generations_never_overlap():
    relay, inside, most = Relay("fake"), [], []

    def work(emit):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.01)
        inside.pop()
        return Finish("stop", 0, 0)

    threads = [threading.Thread(target=lambda: list(relay.stream(work, GenerationOptions(), 0))) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 5


def test_failures_of_the_runtime_become_generation_errors():
    def native(emit):
        raise RuntimeError("out of memory")

    def typed(emit):
        raise EndpointInvalid("rubbish")

    with pytest.raises(GenerationError, match="fake failed: out of memory"):
        run(native)
    with pytest.raises(EndpointInvalid, match="rubbish"):
        run(typed)
