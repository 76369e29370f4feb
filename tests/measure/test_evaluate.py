"""A small corpus through the real store, then the reference collection where it is at hand."""

import json
import os
from pathlib import Path

import pytest

from pincite.errors import UsageError
from pincite.find.analyze import ANALYZER, analyze
from pincite.measure.cases import Row
from pincite.measure.corpus import document_of, row_id
from pincite.measure.evaluate import evaluate
from pincite.store.sqlite.store import open_store
from tests.fakes import HashEncoder

pytest.importorskip("ir_measures")

CORPUS = [
    {"_id": "cats/1 ü", "title": "Cats", "text": "Cats sleep most of the day. " * 30 + "A tabby has stripes."},
    {"_id": "dogs", "title": "Dogs", "text": "Dogs bark at the postman and guard the house."},
    {"_id": "empty", "title": "Walruses of the north", "text": ""},
    {"_id": "nothing", "title": "", "text": " "},
]
QUERIES = [
    {"_id": "q1", "text": "which tabby has stripes"},
    {"_id": "q2", "text": "walruses"},
    {"_id": "unjudged", "text": "dogs"},
]


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CORPUS))
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUERIES))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tcats/1 ü\t1\nq2\tempty\t1\nq2\tabsent\t1\n")
    return folder


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "library", analyze=analyze, analyzer=ANALYZER)
    yield store
    store.close()


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
def test_reports_what_scripts_rely_on(folder, store, mode):
    measured = evaluate(folder, store, HashEncoder(), mode=mode)
    assert measured["dataset"] == "small"
    assert measured["mode"] == mode
    assert (measured["documents"], measured["queries"]) == (4, 2)
    assert measured["queries_per_second"] > 0
    json.dumps(measured)
    if mode == "keyword":  # the other two hang on how words hash
        assert measured["mrr@10"] == 1.0
        assert measured["recall@10"] == (1 / 1 + 1 / 2) / 2


def test_a_document_counts_once_by_its_best_passage(folder, store):
    measured = evaluate(folder, store, HashEncoder(), mode="keyword", passage_pieces=40)
    assert measured["passages"] > measured["documents"]
    assert measured["mrr@10"] == 1.0


def test_a_second_run_indexes_nothing_and_adds_vectors_only_when_they_are_needed(folder, store):
    encoder = HashEncoder()
    evaluate(folder, store, encoder, mode="keyword")
    assert encoder.encoded == 0
    first = evaluate(folder, store, encoder, mode="hybrid")
    embedded, sequence = encoder.encoded, store.stats().sequence
    second = evaluate(folder, store, encoder, mode="hybrid")
    assert store.stats().sequence == sequence
    assert encoder.encoded < embedded + 10  # the questions only
    assert [second[name] for name in ("ndcg@10", "recall@100")] == [first[name] for name in ("ndcg@10", "recall@100")]


def test_a_library_with_other_documents_is_refused(folder, store):
    store.put_document(document_of("other", Row("x", "something else")), [], {}, "hash-64")
    with pytest.raises(UsageError, match="other documents"):
        evaluate(folder, store, HashEncoder())


@pytest.mark.parametrize("name", ["a/b", "https://x.org/y#z", "ü %2F", "\ud800", "a:b?c"])
def test_any_id_survives_its_uri(name):
    document = document_of("set", Row(name, "text", "title"))
    assert row_id(document.source.uri) == name
    assert document.source.uri.startswith("beir:/set/")
    assert document.source.uri.count("/") == 2


@pytest.mark.soak
@pytest.mark.parametrize(("mode", "least"), [("keyword", 0.67), ("vector", 0.64), ("hybrid", 0.72)])
def test_scifact(tmp_path_factory, encoder, mode, least):
    folder = Path(os.environ.get("BEIR_DATA", "")) / "beir-scifact"
    if not os.environ.get("BEIR_DATA") or not folder.is_dir():
        pytest.skip("BEIR_DATA does not name a folder that holds beir-scifact")
    home = tmp_path_factory.getbasetemp() / "scifact"
    store = open_store(home, analyze=analyze, analyzer=ANALYZER)
    try:
        assert evaluate(folder, store, encoder, mode=mode)["ndcg@10"] >= least
    finally:
        store.close()
