"""Which streams compute what: lone texts, many texts, several threads."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pincite.models import network
from pincite.models.encoders.openvino import OpenVinoEncoder
from tests.passages import fitting


@pytest.fixture
def encoder(encoder_folder):
    return OpenVinoEncoder(encoder_folder, name="m", precision="f32", threads=2)


def made(encoder):
    return set(encoder._network._made)


def test_little_work_compiles_once_and_much_work_is_divided(encoder, monkeypatch):
    texts = fitting(encoder.pieces, 20, 12, seed=3)
    lone = [encoder.encode([text]) for text in texts]
    few = encoder.encode(texts)
    assert made(encoder) == {network._ONE_STREAM}
    monkeypatch.setattr(network, "_MUCH", 0)
    many = encoder.encode(texts)
    assert made(encoder) == {network._ONE_STREAM, network._MOST_STREAMS}
    for vectors in (few, many):
        assert np.allclose(np.concatenate(lone), vectors, atol=1e-5)


def test_a_question_does_not_wait_for_another_one(encoder):
    [text] = fitting(encoder.pieces, 20, 1, seed=4)
    expected = encoder.encode([text])
    together = encoder._network._compiled(network._ONE_STREAM)
    busy = together._idle.get()  # as if another thread were asking
    found = encoder.encode([text])
    together._idle.put(busy)
    assert network._MOST_STREAMS in made(encoder)
    assert np.allclose(expected, found, atol=1e-6)


def test_questions_of_several_threads_do_not_disturb_each_other(encoder):
    texts = fitting(encoder.pieces, 20, 32, seed=4)
    expected = [encoder.encode([text]) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: encoder.encode([text]), texts))
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(expected, found, strict=True))


def test_one_thread_needs_one_network(encoder_folder, monkeypatch):
    monkeypatch.setattr(network, "_MUCH", 0)
    encoder = OpenVinoEncoder(encoder_folder, name="m", precision="f32", threads=1)
    encoder.encode(fitting(encoder.pieces, 20, 12, seed=5))
    encoder._network.prepare(many=True)
    assert made(encoder) == {network._ONE_STREAM}


def test_few_texts_and_many_take_turns_and_both_come_to_their_end(encoder):
    many = fitting(encoder.pieces, 60, 80, seed=6)
    few = fitting(encoder.pieces, 60, 30, seed=7)  # several batches
    assert sum(encoder.pieces.count(text) for text in many) > network._MANY > 30 * 60
    expected_many, expected_few = encoder.encode(many), encoder.encode(few)
    with ThreadPoolExecutor(6) as pool:
        adds = [pool.submit(encoder.encode, many) for _ in range(2)]
        questions = [pool.submit(encoder.encode, few) for _ in range(12)]
        for question in questions:
            assert np.allclose(question.result(60), expected_few, atol=1e-5)
        for add in adds:
            assert np.allclose(add.result(60), expected_many, atol=1e-5)


def test_many_wait_for_few_but_not_for_ever():
    turns, order, done = network._Turns(), [], threading.Event()

    def ask():
        while not done.is_set():
            with turns.few():
                time.sleep(0.01)

    with ThreadPoolExecutor(3) as pool:
        with turns.few():

            def add():
                with turns.many():
                    order.append("many")

            added = pool.submit(add)
            order.append("few")
        added.result(10)
        assert order == ["few", "many"]
        asking = [pool.submit(ask) for _ in range(2)]
        try:
            pool.submit(add).result(10)
        finally:
            done.set()
        assert [asked.result(10) for asked in asking] == [None, None]


def test_few_that_wait_go_before_many_that_have_waited_long_enough(monkeypatch):
    monkeypatch.setattr(network, "_LONGEST_WAIT", 0.0)
    turns, order = network._Turns(), []

    def go(turn, name):
        with turn():
            order.append(name)

    with ThreadPoolExecutor(2) as pool:
        with turns.many():
            asked = pool.submit(go, turns.few, "few")
            while not turns._few_wait:
                time.sleep(0.01)
            added = pool.submit(go, turns.many, "many")
            with pytest.raises(TimeoutError):
                added.result(0.1)
        asked.result(10), added.result(10)
    assert order == ["few", "many"]


def test_who_is_interrupted_while_he_waits_leaves_no_trace(monkeypatch):
    turns = network._Turns()

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(turns._changed, "wait_for", interrupted)
    for turn in (turns.few, turns.many):
        with pytest.raises(KeyboardInterrupt), turn():
            pass
    assert not turns.lately and not turns._many_run
