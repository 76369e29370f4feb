"""The vector index against exact search, through changes, damage, threads and other processes."""

from __future__ import annotations

import builtins
import shutil
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import pincite.store.derived.vectors as module
from pincite.errors import SpaceMismatch
from pincite.store.derived.codes import CodeIndex, usable
from pincite.store.derived.exact import ExactIndex, best, dot
from pincite.store.derived.vectors import VectorIndex
from pincite.types import Candidate
from tests.store.fake_truth import SPACE, FakeTruth

DIMENSION = 16


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def random_vectors(rows, dimension=DIMENSION, seed=0):
    return unit(np.random.default_rng(seed).normal(size=(rows, dimension)))


def clustered(rows, dimension=64, seed=0, clusters=40, spread=0.35):
    rng = np.random.default_rng(seed)
    centres = unit(rng.normal(size=(clusters, dimension)))
    return unit(centres[rng.integers(clusters, size=rows)] + spread * rng.normal(size=(rows, dimension)) / 8)


def expected(truth, vector, limit, allow=None):
    """The obvious way: every dot product, sorted by (-score, key)."""
    keys = sorted(truth.rows) if allow is None else sorted(set(allow.tolist()) & set(truth.rows))
    scores = [round(float(truth.rows[key].astype(np.float64) @ vector.astype(np.float64)), 7) for key in keys]
    ranked = sorted(zip(keys, scores, strict=True), key=lambda pair: (-pair[1], pair[0]))
    return [Candidate(key, score) for key, score in ranked[:limit]]


def filled(rows=60, dimension=DIMENSION, vectors=None):
    truth = FakeTruth(dimension)
    vectors = random_vectors(rows, dimension) if vectors is None else vectors
    truth.put_many(["text"] * len(vectors), vectors)
    return truth


def opened(folder, truth, fingerprint=SPACE):
    return VectorIndex(folder, truth, fingerprint=fingerprint, dimension=truth.dimension)


@pytest.fixture
def codes_early(monkeypatch):
    """Go over to codes at 40 rows, score from the truth only below 5 allowed ones."""
    monkeypatch.setattr(module, "EXACT_ROWS", 40)
    monkeypatch.setattr(module, "EXACT_ALLOWED", 5)


@pytest.fixture
def no_turbovec(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "turbovec":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)


# --- searching


@pytest.mark.parametrize("rows", [0, 1, 39, 200])
@pytest.mark.parametrize("limit", [-1, 0, 1, 10, 1000])
def test_any_size_and_limit(tmp_path, codes_early, rows, limit):
    truth = filled(vectors=random_vectors(rows))
    vector = random_vectors(1, seed=9)[0]
    assert opened(tmp_path, truth).search(vector, limit) == expected(truth, vector, max(0, limit))


def test_codes_are_used_above_the_threshold(tmp_path, codes_early):
    assert isinstance(opened(tmp_path, filled(40))._current(), ExactIndex)
    assert isinstance(opened(tmp_path, filled(41))._current(), CodeIndex)


@pytest.mark.parametrize("allowed", [[], [3], [9999], [3, 3, 9999, -5], list(range(1, 200, 3)), list(range(1, 500))])
@pytest.mark.parametrize("rows", [30, 200])
def test_allowed_keys_only_and_all_places_filled(tmp_path, codes_early, rows, allowed):
    truth = filled(rows)
    allow = np.array(allowed, np.int64)
    vector = random_vectors(1, seed=5)[0]
    assert opened(tmp_path, truth).search(vector, 20, allow) == expected(truth, vector, 20, allow)


@pytest.mark.parametrize("rows", [30, 900])
def test_equal_vectors_tie_and_the_lowest_keys_win(tmp_path, codes_early, rows):
    twin = random_vectors(1, seed=3)
    truth = filled(vectors=np.concatenate([random_vectors(10), np.repeat(twin, rows, 0), random_vectors(10, seed=2)]))
    found = opened(tmp_path, truth).search(twin[0], 7)
    assert [candidate.key for candidate in found] == list(range(11, 18))
    assert found == expected(truth, twin[0], 7)


@pytest.mark.parametrize("vector", [np.zeros(3, np.float32), np.full(DIMENSION, np.nan, np.float32)])
def test_a_vector_of_another_space_is_refused(tmp_path, vector):
    with pytest.raises(SpaceMismatch) as caught:
        opened(tmp_path, filled()).search(vector, 3)
    assert caught.value.fix


@pytest.mark.parametrize("rows", [30, 60])
def test_rows_that_are_not_finite_spoil_nothing(tmp_path, codes_early, rows):
    vectors = random_vectors(rows)
    vectors[7] = np.nan
    truth = filled(vectors=vectors)
    vector = random_vectors(1, seed=4)[0]
    good = [candidate for candidate in expected(truth, vector, rows) if candidate.key != 8][:10]
    assert opened(tmp_path, truth).search(vector, 10) == good


@pytest.mark.parametrize("share", [None, 0.01, 0.1, "correlated"])
def test_recall_on_clustered_vectors(tmp_path, share):
    """recall@50 >= 0.99 against exact search, filtered or not."""
    vectors = clustered(12_000)
    truth = filled(vectors=vectors, dimension=64)
    index = opened(tmp_path, truth)
    assert isinstance(index._current(), CodeIndex)
    keys = np.arange(1, len(vectors) + 1)
    allow = None
    if share == "correlated":  # those nearest to one of the centres: the case that breaks filtering after the search
        allow = keys[np.argsort(-(vectors @ vectors[0]))[:1200]]
    elif share is not None:
        allow = keys[np.random.default_rng(1).random(len(keys)) < share]
    queries = unit(vectors[::600] + 0.05 * np.random.default_rng(2).normal(size=(20, 64)).astype(np.float32))
    oracle = ExactIndex(64)
    oracle.add(keys, vectors)
    hits = 0
    for query in queries:
        wanted = {candidate.key for candidate in oracle.search(query, 50, allow)}
        hits += len(wanted & {candidate.key for candidate in index.search(query, 50, allow)})
    assert hits >= 0.99 * 50 * len(queries)


def test_the_oracle_itself_against_the_obvious_way():
    truth = filled(300)
    oracle = ExactIndex(DIMENSION)
    oracle.extend(truth.vector_batches(SPACE, rows=7))
    vector = random_vectors(1, seed=8)[0]
    assert oracle.search(vector, 25) == expected(truth, vector, 25)
    stacked = np.stack([truth.rows[key] for key in sorted(truth.rows)])
    assert best(oracle.keys, dot(stacked, vector), 25) == expected(truth, vector, 25)


# --- keeping up


def test_a_write_is_seen_by_the_next_search_of_every_index(tmp_path, codes_early):
    truth = filled(100)
    first, second = opened(tmp_path, truth), opened(tmp_path, truth)
    vector = random_vectors(1, seed=6)[0]
    key = truth.put("new", vector)
    assert [index.search(vector, 1)[0].key for index in (first, second)] == [key, key]
    truth.remove(key)
    assert all(index.search(vector, 200) == expected(truth, vector, 200) for index in (first, second))


def test_a_passage_counts_from_when_it_has_its_vector(tmp_path):
    truth = filled(10)
    index = opened(tmp_path, truth)
    key = truth.put("without a vector yet")
    vector = random_vectors(1, seed=6)[0]
    assert key not in [candidate.key for candidate in index.search(vector, 50)]
    truth._sequence += 1
    truth.rows[key] = vector
    truth.log.append((truth._sequence, "+", key))
    assert index.search(vector, 1) == [Candidate(key, 1.0)]


def test_another_space_has_its_own_file(tmp_path):
    truth = filled()
    index, other = opened(tmp_path, truth), opened(tmp_path, truth, "another")
    index.save()
    other.save()
    vector = random_vectors(1)[0]
    assert other.search(vector, 5) == []
    assert not opened(tmp_path, truth).rebuilt
    assert opened(tmp_path, truth).search(vector, 5) == expected(truth, vector, 5)


class Machine(RuleBasedStateMachine):
    """Two processes' indexes over one truth: after any history each gives what exact search gives."""

    @initialize()
    def begin(self):
        self.folder = MACHINE_FOLDER / str(np.random.default_rng().integers(1 << 60))
        self.truth = FakeTruth(DIMENSION)
        self.indexes = [opened(self.folder, self.truth), opened(self.folder, self.truth)]
        self.seed = 0

    @rule(rows=st.integers(1, 30), twins=st.booleans())
    def add(self, rows, twins):
        self.seed += 1
        vectors = random_vectors(1 if twins else rows, seed=self.seed)
        self.truth.put_many(["text"] * rows, np.repeat(vectors, rows if twins else 1, 0))

    @precondition(lambda self: self.truth.rows)
    @rule(data=st.data())
    def remove(self, data):
        keys = data.draw(st.lists(st.sampled_from(sorted(self.truth.rows)), min_size=1, max_size=20, unique=True))
        self.truth.remove(*keys)

    @rule(which=st.integers(0, 1))
    def save(self, which):
        self.indexes[which].save()

    @rule(which=st.integers(0, 1))
    def reopen(self, which):
        self.indexes[which].close()
        self.indexes[which] = opened(self.folder, self.truth)

    @rule(which=st.integers(0, 1), data=st.data(), limit=st.integers(1, 40))
    def search(self, which, data, limit):
        allow = None
        if data.draw(st.booleans()):
            allow = np.array(data.draw(st.lists(st.integers(0, 150), max_size=60)), np.int64)
        vector = random_vectors(1, seed=1000 + data.draw(st.integers(0, 5)))[0]
        assert self.indexes[which].search(vector, limit, allow) == expected(self.truth, vector, limit, allow)

    @invariant()
    def whole(self):
        if hasattr(self, "indexes"):
            assert all(index.check().ok for index in self.indexes)

    def teardown(self):
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder, ignore_errors=True)


def test_any_history(tmp_path, codes_early):
    global MACHINE_FOLDER
    MACHINE_FOLDER = tmp_path
    Machine.TestCase.settings = settings(
        max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
    )
    Machine.TestCase("runTest").runTest()


# --- the file


def saved(folder, rows):
    truth = filled(rows)
    index = opened(folder, truth)
    index.save()
    (path,) = folder.glob("*.index")
    return truth, path


def assert_found_out(folder, truth, why):
    """Opened anew, the index is made anew, says so, and finds what it found before."""
    vector = random_vectors(1, seed=11)[0]
    index = opened(folder, truth)
    assert index.rebuilt, why
    assert index.search(vector, 10) == expected(truth, vector, 10)
    assert "made anew" in index.check().detail


@pytest.mark.parametrize("rows", [30, 60])
def test_a_saved_file_is_opened_without_reading_the_vectors(tmp_path, codes_early, rows):
    truth, _ = saved(tmp_path, rows)
    truth.calls.clear()
    index = opened(tmp_path, truth)
    assert not index.rebuilt
    assert not truth.calls["vector_batches"]
    vector = random_vectors(1, seed=11)[0]
    assert index.search(vector, 10) == expected(truth, vector, 10)


def test_saving_waits_for_enough_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SAVE_SHARE", 10)
    truth, path = saved(tmp_path, 60)
    before = path.read_bytes()
    index = opened(tmp_path, truth)
    truth.put("one", random_vectors(1, seed=5)[0])
    index.save()
    assert path.read_bytes() == before
    truth.put_many(["more"] * 10, random_vectors(10, seed=6))
    index.save()
    assert path.read_bytes() != before
    assert opened(tmp_path, truth)._sequence == truth.sequence()


@pytest.mark.parametrize("rows", [30, 60])
def test_damage_is_found_out(tmp_path, codes_early, rows):
    truth, path = saved(tmp_path, rows)
    good = path.read_bytes()
    path.unlink()
    assert_found_out(tmp_path, truth, "deleted")
    rng = np.random.default_rng(0)
    for size in {0, 1, 11, 12, 40, len(good) - 1, *rng.integers(len(good), size=30).tolist()}:
        path.write_bytes(good[:size])
        assert_found_out(tmp_path, truth, f"truncated to {size}")
    for place in {0, 8, 9, 11, len(good) - 1, *rng.integers(len(good), size=60).tolist()}:
        bad = bytearray(good)
        bad[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bad)
        assert_found_out(tmp_path, truth, f"flipped at {place}")
    path.write_bytes(good + b"\0")
    assert_found_out(tmp_path, truth, "grown")
    path.write_bytes(good)
    assert not opened(tmp_path, truth).rebuilt


def test_damage_under_an_open_index_shows_in_the_check(tmp_path):
    truth, path = saved(tmp_path, 30)
    index = opened(tmp_path, truth)
    assert index.check().ok
    path.write_bytes(path.read_bytes()[:-1])
    check = index.check()
    assert not check.ok
    assert check.fix
    index.rebuild()
    assert index.check().ok
    assert opened(tmp_path, truth).check().ok


def test_the_file_of_another_library_is_refused(tmp_path):
    _, path = saved(tmp_path, 30)
    other = FakeTruth(DIMENSION, identity="another")
    other.put_many(["text"] * 20, random_vectors(20, seed=77))
    assert_found_out(tmp_path, other, "another library's")
    assert path.exists()


def test_a_file_newer_than_the_library_is_refused(tmp_path):
    truth, _ = saved(tmp_path, 30)
    restored = filled(vectors=random_vectors(30, seed=3))
    restored._sequence = truth.sequence() - 1
    assert_found_out(tmp_path, restored, "newer")


def test_a_killed_writer_leaves_nothing_behind(tmp_path):
    truth, path = saved(tmp_path, 30)
    stray = path.with_name(f"{path.name}.0123.tmp")
    stray.write_bytes(b"half")
    folder = path.with_name(f"{path.name}.4567.tmp")
    folder.mkdir()
    (folder / "data").write_bytes(b"half")
    truth.put_many(["more"] * 30, random_vectors(30, seed=6))
    index = opened(tmp_path, truth)
    index.save()
    assert sorted(tmp_path.glob(f"{path.name}*")) == [path]
    assert not opened(tmp_path, truth).rebuilt


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    truth = filled()
    folder = tmp_path / "file"
    folder.write_bytes(b"not a folder")
    index = opened(folder, truth)
    index.save()
    vector = random_vectors(1)[0]
    assert index.search(vector, 5) == expected(truth, vector, 5)
    assert "could not be saved" in index.check().detail


def test_two_savers_at_once_leave_a_whole_file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SAVE_SHARE", 1_000_000)
    truth = filled(50)
    indexes = [opened(tmp_path, truth), opened(tmp_path, truth)]

    def work(index, seed):
        for step in range(15):
            truth.put("text", random_vectors(1, seed=seed + step)[0])
            index.save()

    run_threads([lambda: work(indexes[0], 100), lambda: work(indexes[1], 200)])
    again = opened(tmp_path, truth)
    assert not again.rebuilt
    assert again.check().ok


# --- without turbovec, and threads


def test_without_turbovec_all_is_exact(tmp_path, codes_early, no_turbovec):
    assert not usable(DIMENSION)
    truth = filled(100)
    index = opened(tmp_path, truth)
    assert isinstance(index._current(), ExactIndex)
    vector = random_vectors(1, seed=1)[0]
    assert index.search(vector, 10) == expected(truth, vector, 10)
    index.save()
    assert not opened(tmp_path, truth).rebuilt


def test_codes_on_disk_without_turbovec(tmp_path, codes_early, request):
    truth, _ = saved(tmp_path, 100)
    request.getfixturevalue("no_turbovec")
    assert_found_out(tmp_path, truth, "codes that cannot be read")


def test_dimensions_that_codes_do_not_take(tmp_path, codes_early):
    truth = filled(100, dimension=10)
    vector = random_vectors(1, 10, seed=1)[0]
    assert opened(tmp_path, truth).search(vector, 10) == expected(truth, vector, 10)


def run_threads(works):
    problems = []

    def guarded(work):
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised below
            problems.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


def test_readers_beside_a_writer(tmp_path, codes_early):
    truth = filled(200)
    index = opened(tmp_path, truth)
    target = random_vectors(1, seed=42)[0]
    stable = truth.put("stays", target)
    allow = np.arange(0, 400)
    done = threading.Event()

    def write():
        try:
            for step in range(40):
                key = truth.put("comes and goes", random_vectors(1, seed=500 + step)[0])
                assert index.search(truth.rows[key], 1)[0].key == key
                truth.remove(key)
        finally:
            done.set()

    def read():
        while not done.is_set():
            assert index.search(target, 3)[0].key == stable
            assert index.search(target, 3, allow)[0].key == stable

    run_threads([write, read, read])
    assert index.check().ok
