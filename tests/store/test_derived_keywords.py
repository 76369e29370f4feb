"""The keyword index against a slow BM25, through changes, damage, threads and other processes."""

from __future__ import annotations

import math
import random
import shutil
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import pincite.store.derived.keywords as module
import pincite.store.derived.segments as segments
from pincite.errors import LibraryDamaged
from pincite.store.derived.beside import analysed, quantised, score, statistics_of, token
from pincite.store.derived.keywords import KeywordIndex
from pincite.store.derived.segments import Segments
from pincite.store.derived.stamp import load_stamp, locked
from pincite.types import Candidate
from tests.store.fake_truth import FakeTruth

WORDS = [f"w{number}" for number in range(60)]
TERMS = ["w0", "w3", "w17"]


def split(text, language):
    return text.split("|") if "|" in text else text.split()


def small_float(code):
    """Lucene's SmallFloat.byte4ToInt, written from its definition: the lengths that one byte can say."""
    if code < 24:
        return code
    bits, shift = (code - 24) & 7, ((code - 24) >> 3) - 1
    return 24 + (bits if shift == -1 else (bits | 8) << shift)


LENGTHS = [small_float(code) for code in range(256)]


def slow_bm25(truth, terms, limit, documents=None, keys=None):
    """BM25 by its formula: idf ln(1 + (N - n + .5) / (n + .5)), k1 1.2, b .75, times k1 + 1, one-byte lengths.

    N, n and the average length (the exact one) are those of ``keys``, by default all passages.
    """
    collection = {key: split(truth.passages[key].text, "") for key in keys or truth.passages}
    average = sum(map(len, collection.values())) / max(1, len(collection))
    scores = {}
    for key, passage in truth.passages.items():
        held = split(passage.text, "")
        length = max(length for length in LENGTHS if length <= len(held))
        for term in set(terms) & set(held):
            n = sum(term in other for other in collection.values())
            idf = math.log(1 + (len(collection) - n + 0.5) / (n + 0.5))
            tf = held.count(term)
            part = idf * 2.2 * tf / (tf + 1.2 * (0.25 + 0.75 * length / average))
            scores[key] = scores.get(key, 0) + terms.count(term) ** 0.75 * part
    allowed = {key for key, passage in truth.passages.items() if documents is None or passage.document_key in documents}
    ranked = sorted(((-float(f"{value:.5g}"), key) for key, value in scores.items() if key in allowed))
    return [(key, -value) for value, key in ranked[:limit]]


def assert_same(found, wanted):
    """The same passages in the same order with the same scores to 4 digits; near-ties may change places."""
    assert len(found) == len(wanted)
    assert [candidate.score for candidate in found] == pytest.approx([value for _, value in wanted], rel=3e-5)
    values = dict(wanted)
    for candidate in found[:-1]:
        if candidate.key in values:
            assert candidate.score == pytest.approx(values[candidate.key], rel=3e-5)
    assert found == sorted(found, key=lambda candidate: (-candidate.score, candidate.key))


def texts(count, seed=0, longest=70):
    rng = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    return [" ".join(rng.choices(WORDS, weights, k=rng.randint(1, longest))) for _ in range(count)]


def filled(count=300, per_document=10):
    truth = FakeTruth()
    made = texts(count)
    for start in range(0, count, per_document):
        part = made[start : start + per_document]
        truth.put_many(part, [None] * len(part), document_key=start // per_document)
    return truth


def opened(folder, truth, analyzer="split"):
    return KeywordIndex(folder, truth, analyze=split, analyzer=analyzer)


def keys_of(candidates):
    return [candidate.key for candidate in candidates]


# --- searching


@pytest.mark.parametrize("limit", [1, 10, 1000])
@pytest.mark.parametrize("terms", [["w0"], ["w59"], TERMS, WORDS, ["absent"], ["w1", "absent", "w1"]])
def test_scores_are_bm25(tmp_path, terms, limit):
    truth = filled()
    assert_same(opened(tmp_path, truth).search(terms, limit), slow_bm25(truth, terms, limit))


@pytest.mark.parametrize("count", [0, 1, 40])
def test_small_libraries_need_no_files(tmp_path, count):
    truth = filled(count)
    index = opened(tmp_path, truth)
    assert_same(index.search(TERMS, 10), slow_bm25(truth, TERMS, 10))
    assert not list(tmp_path.glob("keywords-*"))


@pytest.mark.parametrize("terms", [[], [""]])
def test_nothing_asked_nothing_found(tmp_path, terms):
    index = opened(tmp_path, filled())
    assert index.search(terms, 10) == []
    assert index.search(TERMS, 0) == []
    assert index.search(TERMS, 10, np.empty(0, np.int64)) == []


@pytest.mark.parametrize("many", [0, segments.MANY], ids=["looked at in the hits", "looked up"])
@pytest.mark.parametrize("documents", [[0], [3, 17, 29], [999], list(range(30))])
def test_allowed_documents_only_and_all_places_filled(tmp_path, monkeypatch, documents, many):
    monkeypatch.setattr(segments, "MANY", many)
    truth = filled()
    truth.put(" ".join(TERMS), document_key=3)  # scored beside
    index = opened(tmp_path, truth)
    index.save()
    truth.put(" ".join(TERMS), document_key=17)
    found = index.search(TERMS, 12, np.array(documents, np.int64))
    wanted = slow_bm25(truth, TERMS, 12, set(documents), keys=set(truth.passages) - {max(truth.passages)})
    assert_same(found, wanted)


@pytest.mark.parametrize("limit", [1, 5, 100, 199])
def test_ties_at_the_cut_are_settled_by_key_among_allowed_documents_too(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(segments, "MANY", 0)
    truth = FakeTruth()
    for start in range(4):
        truth.put_many(["the same text"] * 100, [None] * 100, document_key=start)
        opened(tmp_path, truth).save()
    twins = [key for key, passage in truth.passages.items() if passage.document_key in (1, 3)]
    assert keys_of(opened(tmp_path, truth).search(["same"], limit, np.array([1, 3]))) == twins[:limit]


@pytest.mark.parametrize("limit", [1, 5, 64, 65, 150, 399])
def test_ties_at_the_cut_are_settled_by_key(tmp_path, limit):
    truth = FakeTruth()
    for start in range(4):  # several commits, so that the place in the files is not the order of keys
        truth.put_many(["other text"] * 30, [None] * 30)
        truth.put_many(["the same text"] * 100, [None] * 100, document_key=start)
        opened(tmp_path, truth).save()
    twins = [key for key, passage in truth.passages.items() if passage.text == "the same text"]
    assert keys_of(opened(tmp_path, truth).search(["same"], limit)) == twins[:limit]
    truth.remove(twins[0], twins[250])
    left = [key for key in twins if key in truth.passages]
    assert keys_of(opened(tmp_path, truth).search(["same"], limit)) == left[:limit]


STRANGE = [
    "c++",
    "c#",
    ".net",
    "a:b",
    '"',
    "AND",
    "*",
    "😀",
    "👨‍👩‍👧",
    "ß",
    "İ",
    "ﬁ",
    "日本",
    "x" * 300,
    "y" * 70_000,
    "\x01a",
]
STRANGE += [
    "with space",
    "tab\t",
    "\0",
    "a\0b",
    "\ud800",
    "\u2028",
    "\u3000",
    "é",
    "e\u0301",
    "-",
    "\\",
    "(",
    "field:x",
]


@pytest.mark.parametrize("beside", [True, False])
def test_every_term_survives_as_it_is(tmp_path, beside):
    truth = FakeTruth()
    filler = truth.put_many([f"filler{number}" for number in range(20)], [None] * 20)
    keys = {term: truth.put(f"{term}|{term.upper()}-other") for term in STRANGE}
    index = opened(tmp_path, truth)
    if not beside:
        index.save()
    for term, key in keys.items():
        assert keys_of(index.search([term], 5)) == [key], term
    assert keys_of(index.search(["C++"], 5)) == []
    assert filler


@given(st.text(min_size=1))
def test_tokens_are_one_word_each_and_differ(term):
    made = token(term)
    assert made.split() == [made]
    assert len(made.encode()) <= 1000
    assert made == term or made.startswith("\x01")


@pytest.mark.parametrize("length", [*range(300), 1000, 65_535, 10**6, 2**31 - 25])
def test_lengths_as_one_byte_says_them(length):
    assert quantised(length) == max(value for value in LENGTHS if value <= length)


def test_beside_and_indexed_agree(tmp_path):
    """A passage has the same score and place whether it is in the index or beside it."""
    truth = filled(400)
    index = opened(tmp_path, truth)
    index.save()
    new = texts(40, seed=5) + texts(3)  # three twins of passages in the index
    keys = truth.put_many(new, [None] * len(new))
    before = set(truth.passages) - set(keys)
    found = index.search(TERMS, 100)
    assert not index._state.segments.count > 400
    assert set(keys) & set(keys_of(found))
    assert_same(found, slow_bm25(truth, TERMS, 100, keys=before))
    first = {text: key for key, text in reversed([(k, p.text) for k, p in truth.passages.items()])}
    for candidate in found:  # twins tie, though one is in the index and one is not
        twin = first[truth.passages[candidate.key].text]
        assert candidate.score == next(c.score for c in found if c.key == twin)


def test_the_beside_formula_alone():
    truth = filled(50)
    passages = [analysed(passage, split) for passage in truth.passages.values()]
    for terms in (TERMS, [*TERMS, "w3", "w3"]):
        rows = score(passages, terms, statistics_of(passages), None)
        found = [Candidate(key, value) for value, key in sorted(rows, key=lambda row: (-row[0], row[1]))]
        assert_same(found, slow_bm25(truth, terms, 50))


# --- keeping up


def test_a_write_is_seen_by_the_next_search_of_every_index(tmp_path):
    truth = filled()
    indexes = [opened(tmp_path, truth), opened(tmp_path, truth)]
    indexes[0].save()
    for step in range(5):
        key = truth.put(f"new{step}")
        assert all(keys_of(index.search([f"new{step}"], 5)) == [key] for index in indexes)
        indexes[step % 2].save()
        assert all(keys_of(index.search([f"new{step}"], 5)) == [key] for index in indexes)
        truth.remove(key)
        assert all(index.search([f"new{step}"], 5) == [] for index in indexes)
    assert all(index.check().ok for index in indexes)


def test_a_passage_beside_is_analysed_once(tmp_path):
    truth = filled()
    index = opened(tmp_path, truth)
    index.save()
    truth.calls.clear()
    for _ in range(3):
        truth.put("new words")
        index.search(["new"], 5)
    assert truth.calls["searched"] == 3


def test_many_changes_are_indexed(tmp_path):
    truth = filled()
    index = opened(tmp_path, truth)
    index.save()
    truth.put_many(texts(200, seed=1), [None] * 200)
    index.search(TERMS, 5)
    assert index._state.segments.count == 500
    assert load_stamp(tmp_path / "keywords.stamp").sequence == truth.sequence()


@pytest.mark.parametrize("made", [True, False])
def test_a_busy_lock_only_slows_the_search(tmp_path, monkeypatch, made):
    monkeypatch.setattr(module, "BRIEF_SECONDS", 0.0)
    monkeypatch.setattr(module, "KEPT", 60)
    truth = filled(100)
    index = opened(tmp_path, truth)
    if made:
        index.save()
    truth.put_many(["novel words"] * 150, [None] * 150)
    with locked(tmp_path / "keywords.lock", 5):
        assert keys_of(index.search(["novel"], 200)) == list(range(101, 251))
        assert keys_of(index.search(["novel"], 200, np.array([0]))) == list(range(101, 251))
        assert index.check().ok
        truth.remove(101, 1)
        assert keys_of(index.search(["novel"], 200)) == list(range(102, 251))
        assert 1 not in keys_of(index.search(WORDS, 300))
    truth.put("novel")
    assert len(index.search(["novel"], 200)) == 150
    assert index._gap.added == ()


def test_removals_end_in_an_index_made_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "STALE", 50)
    truth = filled(200)
    index = opened(tmp_path, truth)
    index.save()
    folder = index._state.stamp.detail["folder"]
    truth.remove(*range(1, 141))
    index.save()
    assert index._state.stamp.detail["folder"] != folder
    assert_same(index.search(TERMS, 50), slow_bm25(truth, TERMS, 50))


class Machine(RuleBasedStateMachine):
    """Two processes' indexes over one truth: after any history both give the right passages."""

    @initialize()
    def begin(self):
        self.folder = MACHINE_FOLDER / str(np.random.default_rng().integers(1 << 60))
        self.truth = FakeTruth()
        self.indexes = [opened(self.folder, self.truth), opened(self.folder, self.truth)]
        self.seed = 0

    @rule(count=st.integers(1, 30), document=st.integers(0, 5))
    def add(self, count, document):
        self.seed += 1
        self.truth.put_many(texts(count, self.seed, longest=12), [None] * count, document_key=document)

    @precondition(lambda self: self.truth.passages)
    @rule(data=st.data())
    def remove(self, data):
        keys = data.draw(st.lists(st.sampled_from(sorted(self.truth.passages)), min_size=1, max_size=15, unique=True))
        self.truth.remove(*keys)

    @rule(which=st.integers(0, 1))
    def save(self, which):
        self.indexes[which].save()
        stamp = load_stamp(self.folder / "keywords.stamp")
        assert not stamp.detail["writing"]

    @rule(which=st.integers(0, 1))
    def reopen(self, which):
        self.indexes[which].close()
        self.indexes[which] = opened(self.folder, self.truth)

    @rule(which=st.integers(0, 1), words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), data=st.data())
    def search(self, which, words, data):
        documents = data.draw(st.none() | st.lists(st.integers(0, 6), max_size=3))
        allowed = None if documents is None else np.array(documents, np.int64)
        found = self.indexes[which].search(words, 1000, allowed)
        wanted = {
            key
            for key, passage in self.truth.passages.items()
            if set(words) & set(passage.text.split()) and (documents is None or passage.document_key in documents)
        }
        assert Counter(keys_of(found)) == Counter(wanted)
        assert found == sorted(found, key=lambda candidate: (-candidate.score, candidate.key))
        assert self.indexes[which].search(words, 7, allowed) == found[:7]

    @rule(which=st.integers(0, 1))
    def check(self, which):
        assert self.indexes[which].check().ok

    def teardown(self):
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder, ignore_errors=True)


def test_any_history(tmp_path):
    global MACHINE_FOLDER
    MACHINE_FOLDER = tmp_path
    Machine.TestCase.settings = settings(
        max_examples=12, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
    )
    Machine.TestCase("runTest").runTest()


# --- the files


def saved(folder, count=300):
    truth = filled(count)
    index = opened(folder, truth)
    index.save()
    index.close()
    return truth


def assert_found_out(folder, truth, why):
    """Opened anew, the index is made anew, says so, and finds what it found before."""
    index = opened(folder, truth)
    assert index.rebuilt, why
    found = index.search(TERMS, 10)
    assert_same(found, slow_bm25(truth, TERMS, 10))
    assert found == WANTED.setdefault(len(truth.passages), found)
    check = index.check()
    assert check.ok
    assert "made anew" in check.detail
    index.close()


WANTED = {}


def test_saved_files_are_opened_without_reading_the_passages(tmp_path):
    truth = saved(tmp_path)
    truth.calls.clear()
    index = opened(tmp_path, truth)
    assert not index.rebuilt
    assert_same(index.search(TERMS, 10), slow_bm25(truth, TERMS, 10))
    assert not truth.calls["searched"]
    assert index.check().ok


def parts(folder):
    """What damage is done to: the stamp, the list of files, each file of the index."""
    (index,) = folder.glob("keywords-*")
    return [folder / "keywords.stamp", *(p for p in sorted(index.iterdir()) if not p.name.startswith("."))]


def damaged_copies(path):
    """Give (why, bytes or None for deleted)."""
    good = path.read_bytes()
    rng = np.random.default_rng(len(good))
    yield "deleted", None
    for size in {0, len(good) - 1, *rng.integers(len(good), size=3).tolist()}:
        yield f"truncated to {size}", good[:size]
    for place in {0, len(good) - 1, *rng.integers(len(good), size=5).tolist()}:
        bad = bytearray(good)
        bad[place] ^= 1 << int(rng.integers(8))
        yield f"flipped at {place}", bytes(bad)


def test_damage_is_found_out(tmp_path):
    truth = saved(tmp_path / "good", 80)
    for part in parts(tmp_path / "good"):
        for number, (why, data) in enumerate(damaged_copies(part)):
            folder = (
                tmp_path / f"{part.name}-{number}"
            )  # its own: tantivy may still look at the last one when it is removed
            shutil.copytree(tmp_path / "good", folder)
            path = folder / part.relative_to(tmp_path / "good")
            if data is None:
                path.unlink()
            else:
                path.write_bytes(data)
            assert_found_out(folder, truth, f"{part.name}: {why}")
            assert not opened(folder, truth).rebuilt


def test_a_flip_anywhere_in_a_file_is_found_out_or_harmless(tmp_path):
    """Many more places, without making the index anew each time: its files must not pass as they are."""
    truth = saved(tmp_path, 80)
    index = opened(tmp_path, truth)
    rng = np.random.default_rng(0)
    for path in parts(tmp_path)[1:]:
        good = path.read_bytes()
        for place in rng.integers(len(good), size=40).tolist():
            bad = bytearray(good)
            bad[place] ^= 1 << int(rng.integers(8))
            path.write_bytes(bad)
            harmless = path.name != "meta.json" and b'"version"' in good[max(0, place - 70) :] and place < len(good) - 8
            assert not index.check().ok or harmless, (path.name, place)
        path.write_bytes(good)
    assert index.check().ok


def test_the_folder_deleted_under_an_open_index(tmp_path):
    truth = saved(tmp_path)
    index = opened(tmp_path, truth)
    before = index.search(TERMS, 10)
    for folder in tmp_path.glob("keywords-*"):
        while folder.exists():  # a thread of tantivy's may just be making its lock file
            shutil.rmtree(folder, ignore_errors=True)
    assert not index.check().ok
    truth.put("unrelated")
    index.save()
    assert index.check().ok
    assert keys_of(index.search(TERMS, 10)) == keys_of(before)


def test_the_stamp_deleted_under_an_open_index(tmp_path):
    truth = saved(tmp_path)
    index = opened(tmp_path, truth)
    (tmp_path / "keywords.stamp").unlink()
    assert not index.check().ok
    index.save()
    assert index.check().ok
    assert not opened(tmp_path, truth).rebuilt


@pytest.mark.parametrize("what", ["identity", "analyzer", "sequence"])
def test_files_that_do_not_belong_are_refused(tmp_path, what):
    truth = saved(tmp_path)
    if what == "identity":
        truth.identity = "another"
    if what == "sequence":
        truth._sequence -= 1
    index = opened(tmp_path, truth, "another" if what == "analyzer" else "split")
    assert index.rebuilt
    assert_same(index.search(TERMS, 10), slow_bm25(truth, TERMS, 10))


def test_a_failing_search_makes_the_index_anew_once(tmp_path, monkeypatch):
    truth = saved(tmp_path)
    index = opened(tmp_path, truth)
    real, calls = Segments.search, []

    def fail(self, *args):
        calls.append(args)
        if len(calls) in failing:
            raise LibraryDamaged("The keyword index cannot be used.", fix="Rebuild it.")
        return real(self, *args)

    monkeypatch.setattr(Segments, "search", fail)
    failing = {1}
    assert_same(index.search(TERMS, 10), slow_bm25(truth, TERMS, 10))
    assert index.rebuilt
    failing = {3, 4}
    with pytest.raises(LibraryDamaged):
        index.search(TERMS, 10)
    assert_same(index.search(TERMS, 10), slow_bm25(truth, TERMS, 10))


@pytest.mark.parametrize("made", [True, False])
def test_a_disk_that_takes_nothing_is_no_error(tmp_path, monkeypatch, made):
    truth = saved(tmp_path) if made else filled()
    index = opened(tmp_path, truth)

    def full(self, *args):
        raise LibraryDamaged("No space left on device.")

    with monkeypatch.context() as patch:
        patch.setattr(Segments, "write", full)
        truth.put_many(["novel words"] * 100, [None] * 100)
        index.save()
        assert len(index.search(["novel"], 200)) == 100
        assert "could not be written" in index.check().detail
        assert (index._state is not None) == made
    truth.put("novel")
    index.save()
    assert len(index.search(["novel"], 200)) == 101
    assert index.check() == opened(tmp_path, truth).check() or index.rebuilt
    assert not index.problem


@pytest.mark.parametrize("readonly", [True, False])
def test_a_folder_that_may_not_be_written_is_copied(tmp_path, monkeypatch, readonly):
    truth = saved(tmp_path)
    real = Path.open

    def refuse(self, mode="r", *args, **kwargs):
        if self.parent == tmp_path and mode != "rb":
            raise PermissionError(13, "read-only")
        return real(self, mode, *args, **kwargs)

    if not readonly:  # the folder itself says so
        monkeypatch.setattr(Path, "open", refuse)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    index = KeywordIndex(tmp_path, truth, analyze=split, analyzer="split", readonly=readonly)
    assert not index.rebuilt
    truth.put_many(["novel words"] * 100, [None] * 100)
    assert len(index.search(["novel"], 200)) == 100
    index.save()
    index.close()
    index.close()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


WRITER = """
    import os, sys, pathlib
    from tests.store.test_derived_keywords import filled, opened, texts
    import pincite.store.derived.keywords as module
    folder, step = pathlib.Path(sys.argv[1]), sys.argv[2]
    truth = filled()
    index = opened(folder, truth)
    index.save()
    truth.put_many(texts(100, seed=1), [None] * 100)
    if step == "before the stamp":
        module.KeywordIndex._seal = lambda *args: os._exit(9)
    elif step == "while adding":
        module.analysed = lambda *args: os._exit(9)
    elif step == "while making":
        module.KeywordIndex._seal = lambda *args: os._exit(9)
        index.rebuild()
    index.save()
"""


@pytest.mark.parametrize("step", ["before the stamp", "while adding", "while making"])
def test_a_killed_writer_costs_nothing(tmp_path, step):
    """Its files are used as far as it got; nothing is made anew, and its lock is free."""
    code = textwrap.dedent(WRITER)
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path), step], cwd=root, check=False)
    assert done.returncode == 9
    truth = filled()
    truth.put_many(texts(100, seed=1), [None] * 100)
    index = opened(tmp_path, truth)
    assert not index.rebuilt
    assert_same(index.search(TERMS, 10), slow_bm25(truth, TERMS, 10))
    index.save()
    check = index.check()
    assert check.ok
    assert check.detail.startswith("400 of 400 passages, 0 beside")
    assert len(list(tmp_path.glob("keywords-*"))) == 1
    assert not opened(tmp_path, truth).rebuilt


def run(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_readers_beside_writers(tmp_path):
    truth = filled()
    indexes = [opened(tmp_path, truth), opened(tmp_path, truth)]
    stays = truth.put("stays")
    problems = []

    def guarded(work, *args):
        try:
            work(*args)
        except BaseException as error:  # noqa: BLE001 - raised below
            problems.append(error)

    def write(index, name):
        for step in range(8):
            word = f"{name}{step}"
            keys = truth.put_many([word] * 80, [None] * 80)
            assert keys_of(index.search([word], 100)) == keys
            index.save()
            truth.remove(*keys)
            assert index.search([word], 100) == []

    def read():
        while any(thread.is_alive() for thread in writers):
            for index in indexes:
                assert keys_of(index.search(["stays"], 5)) == [stays]

    writers = [threading.Thread(target=guarded, args=(write, indexes[n], f"n{n}x")) for n in range(2)]
    readers = [threading.Thread(target=guarded, args=(read,)) for _ in range(2)]
    run(writers + readers)
    assert problems == []
    assert all(index.check().ok for index in indexes)
