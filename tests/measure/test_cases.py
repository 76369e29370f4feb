"""A malformed data set is refused with the file and the line."""

import json

import pytest

from pincite.errors import PathMissing, UsageError
from pincite.measure.cases import Case, Gold, load_cases, load_dataset, read_rows, write_rows

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


def case_file(tmp_path, *rows):
    path = tmp_path / "own.jsonl"
    path.write_text(lines(rows))
    return path


def test_spans_pin_the_answers_of_a_folder(folder):
    (folder / "spans.jsonl").write_text(
        lines([{"query_id": "q1", "doc_id": "d/1", "start": 0, "end": 4, "text": "Cats"}])
    )
    [case] = load_cases(folder).cases
    assert case.gold == (Gold("d/1", 0, 4, "Cats"),)
    (folder / "spans.jsonl").write_text(lines([{"query_id": "q1", "doc_id": "d/1", "start": 4, "end": 4}]))
    with pytest.raises(UsageError, match=r"spans.jsonl, line 1 lacks"):
        load_cases(folder)


def test_answers_beside_the_questions_are_read(folder):
    rows = [
        {"_id": "q1", "text": "who sleeps?", "paragraph_id": "d/1", "answers": [{"text": "Cats", "answer_start": 0}]},
        {"_id": "q2", "text": "who flies?", "paragraph_id": "d/1", "answers": [], "answerable": False},
    ]
    (folder / "queries.jsonl").write_text(lines(rows))
    first, second = load_cases(folder).cases
    assert (first.answers, first.gold) == (("Cats",), (Gold("d/1", 0, 4, "Cats"),))
    assert (second.answerable, second.gold) == (False, ())


def test_answers_in_a_file_of_their_own_are_read(folder):
    answer = {"answer": "The cats do.", "selected_sentences": ["Cats sleep."]}
    row = {"id": "q1", "question": "who sleeps?", "answerable": True, "passage_id": "d/1", "answers": [answer] * 2}
    (folder / "qa.jsonl").write_text(lines([row]))
    [case] = load_cases(folder).cases
    assert (case.answers, case.gold) == (("The cats do.",), (Gold("d/1", quote="Cats sleep."),))


def test_a_persons_own_cases_are_read(tmp_path):
    path = case_file(
        tmp_path,
        {"question": "Who?", "answer": "Me", "source": "a.md", "quote": "It is me", "start": 3, "end": 11},
        {"id": "two", "question": "Where?", "source": "b.md", "answer": None},
        {"id": "two", "question": "Where?", "source": "c.md"},
        {"question": "Never?", "answerable": False, "answers": []},
    )
    cases = load_cases(path)
    assert cases.name == "own"
    assert cases.dataset is None
    first, two, never = cases.cases
    assert first == Case("Who?", "Who?", ("Me",), (Gold("a.md", 3, 11, "It is me"),))
    assert [gold.source for gold in two.gold] == ["b.md", "c.md"]
    assert (never.answerable, never.gold) == (False, ())


@pytest.mark.parametrize(("row", "problem"), [
    ({"question": " ", "source": "a"}, "lacks a string 'question'"),
    ({"question": "x"}, "lacks a string 'source'"),
    ({"question": 3, "source": "a"}, "has the question 3"),
    ({"question": "x", "source": ["a"]}, r"has the source \['a'\]"),
    ({"question": "x", "source": "a", "start": 3}, "has a 'start' without"),
    ({"question": "x", "source": "a", "start": 3, "end": 3}, "has a 'start' without"),
    ({"question": "x", "source": "a", "start": True, "end": 3}, "has the start True"),
    ({"question": "x", "source": "a", "answers": [1]}, "has an answer that is no string"),
    ({"question": "x", "source": "a", "status": "maybe"}, "has the status 'maybe'"),
    ({"question": "x", "answerable": "no"}, "has the answerable 'no'"),
    (["x"], "is no JSON object"),
])  # fmt: skip
def test_a_malformed_case_is_named(tmp_path, row, problem):
    with pytest.raises(UsageError, match=f"line 1 {problem}") as caught:
        load_cases(case_file(tmp_path, row))
    assert caught.value.fix


def test_an_id_stands_for_one_question_and_a_file_for_at_least_one_case(tmp_path):
    one = {"id": "a", "question": "x", "source": "s"}
    for change in ({"question": "y"}, {"status": "draft"}):
        with pytest.raises(UsageError, match="line 2 repeats the id 'a' with another question or status"):
            load_cases(case_file(tmp_path, one, {**one, **change}))
    with pytest.raises(UsageError, match="holds no case"):
        load_cases(case_file(tmp_path))
    with pytest.raises(PathMissing):
        load_cases(tmp_path / "absent.jsonl")


def test_rows_keep_what_is_not_ours(tmp_path):
    path = case_file(tmp_path, {"question": "x", "source": "\ud800", "mine": [1]})
    rows = read_rows(path)
    rows[0]["status"] = "rejected"
    write_rows(path, rows)
    assert read_rows(path) == [{"question": "x", "source": "\ud800", "mine": [1], "status": "rejected"}]
    assert read_rows(tmp_path / "absent.jsonl") == []
    with pytest.raises(UsageError, match="cannot be written"):
        write_rows(tmp_path / "no" / "x.jsonl", rows)
