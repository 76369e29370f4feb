"""A malformed data set is refused with the file and the line."""

import json

import pytest

from pincite.errors import PathMissing, UsageError
from pincite.measure.cases import load_dataset

CORPUS = [{"_id": "d/1", "title": "Cats", "text": "Cats sleep."}, {"_id": "d2", "title": "", "text": "Dogs bark."}]
QUERIES = [{"_id": "q1", "text": "who sleeps?"}, {"_id": "q2", "text": "never judged"}]
QRELS = "query-id\tcorpus-id\tscore\nq1\td/1\t1\nq1\td2\t0\n"


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "corpus.jsonl").write_text(lines(CORPUS))
    (tmp_path / "queries.jsonl").write_text(lines(QUERIES))
    (tmp_path / "qrels.tsv").write_text(QRELS)
    return tmp_path


def test_reads_judged_questions_and_documents(folder):
    dataset = load_dataset(folder)
    assert dataset.name == folder.name
    assert [question.id for question in dataset.questions] == ["q1"]
    assert dataset.judgements == {"q1": {"d/1": 1, "d2": 0}}
    assert [(row.id, row.title, row.text) for row in dataset.documents()] == [
        ("d/1", "Cats", "Cats sleep."),
        ("d2", "", "Dogs bark."),
    ]


def test_the_original_place_of_the_judgements_will_do(folder):
    (folder / "qrels").mkdir()
    (folder / "qrels.tsv").rename(folder / "qrels" / "test.tsv")
    assert load_dataset(folder).judgements


def test_blank_lines_unicode_line_breaks_and_a_byte_order_mark_do_no_harm(folder):
    text = json.dumps({"_id": "d3", "text": "one\u2028two\x85"}, ensure_ascii=False)
    (folder / "corpus.jsonl").write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n\r\n")
    assert [row.text for row in load_dataset(folder).documents()] == ["one\u2028two\x85"]


@pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(PathMissing, match=name):
        load_dataset(folder)


@pytest.mark.parametrize(("name", "line", "problem"), [
    ("queries.jsonl", "{broken", "line 3 is not JSON"),
    ("queries.jsonl", '["list"]', "line 3 is no JSON object"),
    ("queries.jsonl", '{"_id": 3, "text": "x"}', "line 3 lacks"),
    ("queries.jsonl", '{"_id": "q1", "text": "again"}', "line 3 repeats the id 'q1'"),
    ("qrels.tsv", "q1 d2 1", "line 4 has 1 columns"),
    ("qrels.tsv", "q1\td2\tyes", "line 4 has the grade 'yes'"),
    ("qrels.tsv", "q9\td2\t1", "line 4 judges the question 'q9'"),
    ("corpus.jsonl", '{"_id": "d4"}', "line 3 lacks"),
    ("corpus.jsonl", "\udcff", "line 3 is not UTF-8"),
])  # fmt: skip
def test_a_malformed_line_is_named(folder, name, line, problem):
    with (folder / name).open("ab") as file:
        file.write(line.encode("utf-8", "surrogateescape") + b"\n")
    with pytest.raises(UsageError, match=problem) as caught:
        list(load_dataset(folder).documents())
    assert str(folder / name) in str(caught.value)
    assert caught.value.fix


def test_no_judgements_are_refused(folder):
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n")
    with pytest.raises(UsageError, match="judges no question"):
        load_dataset(folder)
