"""Questions whose answers are known: a BEIR folder with its own corpus, or JSON lines that ask of a library."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pincite.errors import PathMissing, UsageError

STATUSES = ("draft", "accepted", "rejected")


@dataclass(frozen=True, slots=True)
class Gold:
    """Where an answer stands: a source, and the place in it when that is known."""

    source: str  # row id of the folder's corpus; else a URI, path or document id in the library
    start: int | None = None  # code points in the source's text; None: not known, or only by the quote
    end: int | None = None
    quote: str = ""  # the words themselves
    grade: int = 1  # 1 and above is relevant


@dataclass(frozen=True, slots=True)
class Case:
    """A question and what a good answer to it is."""

    id: str
    question: str
    answers: tuple[str, ...] = ()  # each is right by itself
    gold: tuple[Gold, ...] = ()  # without any, the documents do not answer it
    answerable: bool = True
    status: str = "accepted"  # one of STATUSES


@dataclass(frozen=True, slots=True)
class Cases:
    """A set of cases."""

    name: str
    cases: tuple[Case, ...]
    dataset: Dataset | None = None  # of a BEIR folder: has the corpus that the cases ask of; None: any library


@dataclass(frozen=True, slots=True)
class Row:
    """One document or question."""

    id: str
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """Judged questions, and where the corpus is."""

    folder: Path
    questions: tuple[Row, ...]  # those that are judged, in the order of the file
    judgements: dict[str, dict[str, int]]  # question -> document -> grade; 0 and below is irrelevant

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.resolve().name

    def documents(self) -> Iterator[Row]:
        """Read the corpus row by row; UsageError names file and line if one is malformed or its id was there before."""
        return _rows(self.folder / "corpus.jsonl")


def load_dataset(folder: Path) -> Dataset:
    """Read the questions and judgements of a BEIR folder, and check that there is a corpus.

    Args:
        folder: with ``corpus.jsonl`` (``_id``, ``title``, ``text``), ``queries.jsonl`` (``_id``, ``text``) and
            ``qrels.tsv`` (a header line, then question, document and grade; ``qrels/test.tsv`` will do).

    Returns:
        The data set, with at least one judged question.

    Raises:
        PathMissing: a file is missing.
        UsageError: a line is malformed; the message names file and line.
    """
    judged = folder / "qrels.tsv"
    if not judged.exists() and (folder / "qrels" / "test.tsv").exists():
        judged = folder / "qrels" / "test.tsv"
    for path in (folder / "corpus.jsonl", folder / "queries.jsonl", judged):
        if not path.is_file():
            raise PathMissing(
                f"There is no {path}.",
                fix="Name a BEIR folder: corpus.jsonl, queries.jsonl and qrels.tsv.",
            )
    questions = {row.id: row for row in _rows(folder / "queries.jsonl")}
    judgements = _judgements(judged, questions)
    if not judgements:
        raise UsageError(f"{judged} judges no question.", fix="Add lines: question, document, grade.")
    return Dataset(folder, tuple(row for row in questions.values() if row.id in judgements), judgements)


def load_cases(path: Path) -> Cases:
    """Read cases.

    Args:
        path: a BEIR folder (see ``load_dataset``), or a file of JSON lines. A folder may hold ``spans.jsonl``
            (``query_id``, ``doc_id``, ``start``, ``end``, ``text``) with the places of the answers, ``qa.jsonl``
            (``id``, ``answerable``, ``passage_id``, ``answers`` with ``answer`` and ``selected_sentences``), and
            answers in ``queries.jsonl`` (``answers`` with ``text`` and ``answer_start``, ``answerable``,
            ``paragraph_id``). A line of a file has ``question``, ``source`` unless ``answerable`` is false, and may
            have ``id``, ``answer`` (or ``answers``), ``quote``, ``start``, ``end`` and ``status``. Lines with the same
            id (without one: the same question) are one case.

    Returns:
        The cases in the order of the file; of a folder, those that are judged or said to be unanswerable.

    Raises:
        PathMissing: there is no such file or folder.
        UsageError: a line is malformed; the message names file and line.
    """
    if path.is_dir():
        dataset = load_dataset(path)
        return Cases(dataset.name, tuple(_folder_cases(dataset)), dataset)
    if not path.is_file():
        raise PathMissing(f"There is no {path}.", fix="Name a BEIR folder, or a file of JSON lines.")
    return _joined(path, _objects(path))


def cases_of(name: str, rows: Sequence[Mapping[str, Any]]) -> Cases:
    """Make cases of JSON objects, as of the lines of a file that has this name; UsageError if one is malformed."""
    return _joined(Path(name), enumerate(rows, start=1))


def _joined(path: Path, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> Cases:
    """Join the lines of each case."""
    cases: dict[str, Case] = {}
    for number, row in rows:
        case = _case(path, number, row)
        known = cases.get(case.id, case)
        if (known.question, known.status) != (case.question, case.status):
            raise _malformed(path, number, f"repeats the id {case.id!r} with another question or status")
        cases[case.id] = replace(known, gold=(*known.gold, *case.gold)) if known is not case else case
    if not cases:
        raise UsageError(f"{path} holds no case.", fix='Add lines like {"question": ..., "source": ...}.')
    return Cases(path.stem, tuple(cases.values()))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read a file of cases as it stands, to change it; [] when there is none. UsageError for a malformed line."""
    if path.exists():
        load_cases(path)
    return [row for _, row in _optional(path)]


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a file of cases whole or not at all; UsageError if it cannot be written."""
    write_whole(path, "".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows))


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all; UsageError if it cannot be written."""
    new = path.with_name(f"{path.name}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.", fix="Name another file.") from error


def _case(path: Path, number: int, row: Mapping[str, Any]) -> Case:
    """Make a case of one line."""
    texts = {name: _typed(path, number, row, name, str, "") for name in ("id", "question", "source", "quote", "status")}
    answers = _typed(path, number, row, "answers", list, [row["answer"]] if row.get("answer") else [])
    start, end = (_typed(path, number, row, name, int, None) for name in ("start", "end"))
    answerable = _typed(path, number, row, "answerable", bool, True)
    problems = {
        "lacks a string 'question'": not texts["question"].strip(),
        "lacks a string 'source'": answerable and not texts["source"],
        "has an answer that is no string": not all(isinstance(answer, str) for answer in answers),
        "has a 'start' without an 'end' after it": (start is None) != (end is None)
        or (start is not None and not 0 <= start < end),
        f"has the status {texts['status']!r}, which is none of {', '.join(STATUSES)}": bool(texts["status"])
        and texts["status"] not in STATUSES,
    }
    for problem, there in problems.items():
        if there:
            raise _malformed(path, number, problem)
    gold = (Gold(texts["source"], start, end, texts["quote"]),) if texts["source"] else ()
    name, status = texts["id"] or texts["question"], texts["status"] or "accepted"
    return Case(name, texts["question"], tuple(answers), gold, answerable, status)


def _typed(path: Path, number: int, row: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    """Give a value of a line; null is as good as absent."""
    value = row.get(name)
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool) != (kind is bool)):
        raise _malformed(path, number, f"has the {name} {value!r:.80}")
    return default if value is None else value


def _folder_cases(dataset: Dataset) -> Iterator[Case]:
    """Join questions, judgements, spans and answers."""
    spans = _spans(dataset.folder)
    replies = {str(row["id"]): row for _, row in _optional(dataset.folder / "qa.jsonl") if "id" in row}
    for _, row in _objects(dataset.folder / "queries.jsonl"):
        name, judged = row["_id"], dataset.judgements.get(row["_id"], {})
        row = {**row, **replies.get(name, {})}
        answerable = row.get("answerable", True) is True
        if not judged and answerable:
            continue
        given = [one for one in row.get("answers", ()) if one]
        answers = (one if isinstance(one, str) else one.get("text") or one.get("answer") or "" for one in given)
        gold: list[Gold] = []
        for source, grade in judged.items():
            if not answerable or grade < 1:
                continue
            places = spans.get((name, source)) or list(_answer_places(row, source))
            gold += [replace(place, grade=grade) for place in places] or [Gold(source, grade=grade)]
        distinct = tuple(dict.fromkeys(answer for answer in answers if answer))
        yield Case(name, row["text"], distinct, tuple(gold), answerable)


def _spans(folder: Path) -> dict[tuple[str, str], list[Gold]]:
    """Read where answers stand: question, row -> places."""
    places: dict[tuple[str, str], list[Gold]] = {}
    path = folder / "spans.jsonl"
    for number, row in _optional(path):
        start, end = (_typed(path, number, row, name, int, -1) for name in ("start", "end"))
        if not 0 <= start < end or not all(isinstance(row.get(name), str) for name in ("query_id", "doc_id")):
            raise _malformed(path, number, "lacks 'query_id', 'doc_id', or 'start' and an 'end' after it")
        gold = Gold(row["doc_id"], start, end, _typed(path, number, row, "text", str, ""))
        places.setdefault((row["query_id"], row["doc_id"]), []).append(gold)
    return places


def _answer_places(row: Mapping[str, Any], source: str) -> Iterator[Gold]:
    """Give the places of answers that say where in a row they stand, or which sentences carry them."""
    if source not in (row.get("paragraph_id"), row.get("passage_id")):
        return
    seen = set()
    for answer in row.get("answers", ()):
        if not isinstance(answer, dict):
            continue
        if isinstance(answer.get("answer_start"), int) and answer.get("text"):
            start = answer["answer_start"]
            yield Gold(source, start, start + len(answer["text"]), answer["text"])
        for sentence in answer.get("selected_sentences", ()):
            if sentence not in seen:
                seen.add(sentence)
                yield Gold(source, quote=sentence)


def _optional(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a file of JSON lines that need not be there."""
    return _objects(path) if path.is_file() else iter(())


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read JSON lines, with their numbers; blank lines are passed over."""
    for number, line in _lines(path):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise _malformed(path, number, f"is not JSON ({error})") from error
        if not isinstance(row, dict):
            raise _malformed(path, number, "is no JSON object")
        yield number, row


def _rows(path: Path) -> Iterator[Row]:
    """Read JSON lines; blank lines are passed over."""
    seen: set[str] = set()
    for number, row in _objects(path):
        if not isinstance(row.get("_id"), str) or not isinstance(row.get("text"), str):
            raise _malformed(path, number, "lacks a string '_id' or a string 'text'")
        if row["_id"] in seen:
            raise _malformed(path, number, f"repeats the id {row['_id']!r}")
        seen.add(row["_id"])
        title = row.get("title")
        yield Row(row["_id"], row["text"], title if isinstance(title, str) else "")


def _judgements(path: Path, questions: dict[str, Row]) -> dict[str, dict[str, int]]:
    """Read tab-separated judgements below their header."""
    judgements: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        if number == 1:
            continue
        columns = line.split("\t")
        if len(columns) != 3:
            raise _malformed(path, number, f"has {len(columns)} columns, not question, document and grade")
        question, document, grade = columns
        if question not in questions:
            raise _malformed(path, number, f"judges the question {question!r}, which queries.jsonl lacks")
        try:
            judgements.setdefault(question, {})[document] = int(grade)
        except ValueError as error:
            raise _malformed(path, number, f"has the grade {grade!r}, which is no whole number") from error
    return judgements


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Give the lines that are not blank, with their numbers from 1."""
    with path.open("rb") as file:  # bytes: only "\n" ends a line, whatever Unicode calls a line break
        for number, data in enumerate(file, start=1):
            try:
                line = data.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise _malformed(path, number, "is not UTF-8") from error
            if line.strip():
                yield number, line


def _malformed(path: Path, number: int, problem: str) -> UsageError:
    """Say what is wrong with a line."""
    return UsageError(f"{path}, line {number} {problem}.", fix="Mend that line.")
