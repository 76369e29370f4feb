"""A BEIR folder: documents, questions, and judgements of which document answers which question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pincite.errors import PathMissing, UsageError


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
        """Read the corpus row by row.

        Returns:
            Rows in the order of the file.

        Raises:
            UsageError: a row is malformed, or its id was there before; the message names file and line.
        """
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


def _rows(path: Path) -> Iterator[Row]:
    """Read JSON lines; blank lines are passed over."""
    seen: set[str] = set()
    for number, line in _lines(path):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise _malformed(path, number, f"is not JSON ({error})") from error
        if not isinstance(row, dict) or not isinstance(row.get("_id"), str) or not isinstance(row.get("text"), str):
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
