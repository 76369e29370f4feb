"""A small corpus through the real store, then the reference collection where it is at hand."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from pincite.build.chunk import chunk
from pincite.errors import ModelLimit, UsageError
from pincite.find.analyze import ANALYZER, analyze
from pincite.measure.cases import Row
from pincite.measure.compare import Comparison
from pincite.measure.corpus import document_of, row_id
from pincite.measure.evaluate import evaluate
from pincite.store.sqlite.store import open_store
from tests.fakes import HashEncoder

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


@pytest.fixture
def notes(store):
    """Documents of a person, and the way to ask about them."""
    texts = {
        "cats": "Dogs bark at night. " * 40 + "A tabby cat has stripes.",
        "dogs": "Dogs bark.",
        "trees": "Every tree in this forest has a thick and rough outer skin that is known to all of us as bark.",
    }
    for name, text in texts.items():
        document = document_of("mine", Row(name, text))
        store.put_document(document, chunk(document, HashEncoder.pieces, limit=64), {}, "hash-64")
    return lambda **how: evaluate(how.pop("path"), store, HashEncoder(), mode="keyword", **how)


def case_file(folder, *rows):
    path = folder / "own.jsonl"
    path.write_text("".join(json.dumps({"question": "which tabby has stripes", **row}) + "\n" for row in rows))
    return path


CATS, DOGS = "beir:/mine/cats", "beir:/mine/dogs"
QUOTE = "A tabby cat  has\nstripes."  # white space as people copy it


def test_a_persons_own_cases_ask_of_the_library_that_is_there(notes, tmp_path):
    measured = notes(path=case_file(tmp_path, {"source": CATS, "quote": QUOTE}))
    assert (measured["documents"], measured["queries"], measured["unmeasured"]) == (3, 1, [])
    assert (measured["success@1"], measured["span_recall@5"]) == (1.0, 1.0)
    assert 0 < measured["span_iou@5"] == measured["span_precision@5"] < 1
    assert "index_seconds" not in measured
    assert set(measured["intervals"]) >= {"ndcg@10", "success@5", "span_iou@5"}
    assert notes(path=case_file(tmp_path, {"source": CATS, "quote": QUOTE}), span_depth=1)["span_recall@1"] == 1.0


def test_a_source_that_is_not_there_is_reported_and_does_not_count_as_zero(notes, tmp_path):
    path = case_file(tmp_path, {"source": CATS}, {"id": "gone", "source": "/no/such/file.md"})
    measured = notes(path=path)
    assert (measured["queries"], measured["success@1"]) == (1, 1.0)
    [problem] = measured["unmeasured"]
    assert (problem["case"], problem["source"]) == ("gone", "/no/such/file.md")
    assert problem["problem"] == "The library holds nothing by this name."
    with pytest.raises(UsageError, match=r"No case of own can be measured: /no/such/file\.md: The library holds"):
        notes(path=case_file(tmp_path, {"source": "/no/such/file.md"}))


def test_a_quote_that_is_not_there_is_reported_and_its_document_counts(notes, tmp_path):
    measured = notes(path=case_file(tmp_path, {"source": CATS, "quote": "no such words"}))
    assert [problem["source"] for problem in measured["unmeasured"]] == [CATS]
    assert measured["success@1"] == 1.0
    assert "span_recall@5" not in measured


def test_of_several_places_of_a_quote_the_nearest_counts(notes, tmp_path):
    row = {"source": CATS, "quote": "Dogs bark at night.", "start": 20 * 39 + 2, "end": 20 * 40}
    measured = notes(path=case_file(tmp_path, {**row, "question": "dogs bark at night tabby"}), span_depth=1)
    assert measured["span_recall@1"] == 1.0  # the last of forty stands in the passage with the cat


def test_offsets_of_an_older_version_give_way_to_the_quote(notes, tmp_path):
    row = {"source": CATS, "quote": QUOTE, "start": 0, "end": len(QUOTE)}
    assert notes(path=case_file(tmp_path, row))["span_recall@5"] == 1.0
    row = {"source": DOGS, "start": 0, "end": 4}
    assert 0 < notes(path=case_file(tmp_path, row))["queries"] == 1
    assert notes(path=case_file(tmp_path, {**row, "end": 400}))["unmeasured"]


def test_drafts_count_only_when_asked_for_and_rejected_cases_never(notes, tmp_path):
    rows = [{"id": status, "source": CATS, "status": status} for status in ("accepted", "draft", "rejected")]
    path = case_file(tmp_path, *rows)
    assert notes(path=path)["queries"] == 1
    assert notes(path=path, drafts=True)["queries"] == 2
    assert notes(path=path, drafts=True, limit=1)["queries"] == 1
    with pytest.raises(UsageError, match="none is accepted") as caught:
        notes(path=case_file(tmp_path, {"source": CATS, "status": "draft"}))
    assert "review" in caught.value.fix
    with pytest.raises(UsageError, match="none names a source"):
        notes(path=case_file(tmp_path, {"answerable": False}))


class Reversed:
    """A reranker that likes the word dogs."""

    name = "likes-dogs"

    def __init__(self, seconds=0.0):
        self.asked = 0
        self.seconds = seconds

    def score(self, question, texts):
        self.asked += 1
        if self.seconds < 0:
            raise ModelLimit("no time")
        return np.array([text.lower().count("dogs bark.") for text in texts], dtype=np.float32)


def test_a_reranker_is_applied_and_named(notes, tmp_path):
    path = case_file(tmp_path, {"question": "bark tabby", "source": DOGS})
    assert notes(path=path)["reranker"] is None
    before = notes(path=path)["mrr@10"]
    reranker = Reversed()
    measured = notes(path=path, reranker=reranker)
    assert measured["reranker"] == "likes-dogs"
    assert measured["rerank_stopped"] == 0
    assert reranker.asked
    assert measured["mrr@10"] > before
    assert notes(path=path, reranker=Reversed(-1))["rerank_stopped"] == 1
    assert notes(path=path, reranker=Reversed(-1))["mrr@10"] == before


def test_two_modes_are_compared_in_one_run(folder, store, tmp_path):
    comparison = Comparison(against="vector", save=tmp_path / "run.json")
    measured = evaluate(folder, store, HashEncoder(), mode="keyword", comparison=comparison)
    found = measured["against"]
    assert found["name"] == "small vector"
    assert found["differences"]["mrr@10"]["questions"] == 2
    assert set(found["differences"]["mrr@10"]) == {"metric", "difference", "low", "high", "p", "questions", "verdict"}
    again = evaluate(
        folder, store, HashEncoder(), mode="keyword", comparison=Comparison(against=str(tmp_path / "run.json"))
    )
    assert {one["verdict"] for one in again["against"]["differences"].values()} == {"no difference shown"}


def test_gold_spans_of_a_folder_are_measured(folder, store):
    start = CORPUS[0]["text"].index("A tabby")
    row = {"query_id": "q1", "doc_id": "cats/1 ü", "start": start, "end": start + 20, "text": "A tabby has stripes."}
    (folder / "spans.jsonl").write_text(json.dumps(row) + "\n")
    measured = evaluate(folder, store, HashEncoder(), mode="keyword")
    assert measured["span_recall@5"] == 1.0
    assert measured["unmeasured"] == []
