"""Cases meet the library: which questions can be measured, and where their answers stand in it now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from pincite.build.roots import uri_named
from pincite.errors import NotInLibrary, UsageError
from pincite.measure.cases import Case, Cases, Gold
from pincite.measure.corpus import row_id, row_uri
from pincite.measure.spans import Place, nearest
from pincite.store.protocol import Store


@dataclass(slots=True)
class Task:
    """What to ask, and what should be found; sources go by ``named`` of their URI."""

    name: str
    named: Callable[[str], str]
    questions: dict[str, str] = field(default_factory=dict)
    judgements: dict[str, dict[str, int]] = field(default_factory=dict)  # question -> source -> grade
    gold: dict[str, list[Place]] = field(default_factory=dict)  # question -> spans, where they are all known
    problems: list[dict[str, str]] = field(default_factory=list)  # case, source, problem


def task_of(cases: Cases, store: Store, *, drafts: bool = False, limit: int | None = None) -> Task:
    """Look up the gold of cases in a library.

    Args:
        cases: what to ask. A case that nobody accepted is left out, and so is one without gold.
        store: holds the documents.
        drafts: take drafts too; rejected cases never count.
        limit: take only so many questions, the first ones.

    Returns:
        The task. A case of which the library lacks a source is no question of it but a problem; one whose quote its
        source lacks counts for the retrieval metrics only, and is a problem too.

    Raises:
        UsageError: no case can be measured.
    """
    dataset = cases.dataset
    name_of = _named_row(cases.name) if dataset else lambda source: uri_named(store, source)
    task = Task(cases.name, row_id if dataset else str)
    text_of = cache(lambda uri: store.document(uri).text)
    by_id = {case.id: case for case in cases.cases}
    if dataset:
        wanted = [by_id.get(row.id, Case(row.id, row.text)) for row in dataset.questions]
    else:
        wanted = [c for c in by_id.values() if c.gold and (c.status == "accepted" or (drafts and c.status == "draft"))]
    for case in wanted if limit is None else wanted[:limit]:
        if dataset:
            task.judgements[case.id] = dataset.judgements[case.id]
        elif not _judged(case, task, store, name_of):
            continue
        task.questions[case.id] = case.question
        _find_places(case, task, text_of, name_of)
    if not task.questions:
        raise UsageError(f"No case of {cases.name} can be measured{_because(task, cases)}.", fix=_fix(task))
    return task


def _named_row(dataset: str) -> Callable[[str], str]:
    return lambda row: row_uri(dataset, row)


def _judged(case: Case, task: Task, store: Store, name_of: Callable[[str], str]) -> bool:
    """Judge a case's sources; False, and problems, if the library lacks one."""
    grades: dict[str, int] = {}
    whole = True
    for gold in case.gold:
        uri = name_of(gold.source)
        record = store.source(uri)
        if record is None or not record.version:
            task.problems.append(_problem(case, gold, "is not in the library"))
            whole = False
        grades[uri] = max(gold.grade, grades.get(uri, 0))
    if whole:
        task.judgements[case.id] = grades
    return whole


def _find_places(case: Case, task: Task, text_of: Callable[[str], str], name_of: Callable[[str], str]) -> None:
    """Find the gold spans of a case; if one is not there, none of them counts."""
    places: list[Place] = []
    pinned = [gold for gold in case.gold if gold.quote or gold.start is not None]
    for gold in pinned:
        uri = name_of(gold.source)
        try:
            span = _span(text_of(uri), gold)
        except NotInLibrary:
            span = None
        if span is None:
            task.problems.append(_problem(case, gold, "does not hold the quote or span"))
        else:
            places.append((task.named(uri), *span))
    if places and len(places) == len(pinned):
        task.gold[case.id] = places


def _span(text: str, gold: Gold) -> tuple[int, int] | None:
    """Find a gold span in the present text of its source: where it says, or where its quote is now."""
    start, end = gold.start, gold.end
    if start is not None and end is not None and end <= len(text) and gold.quote in ("", text[start:end]):
        return start, end
    return nearest(text, gold.quote, start or 0)


def _problem(case: Case, gold: Gold, problem: str) -> dict[str, str]:
    return {"case": case.id, "source": gold.source, "problem": problem}


def _because(task: Task, cases: Cases) -> str:
    """Say why nothing is left."""
    if task.problems:
        return f": {task.problems[0]['source']} {task.problems[0]['problem']}"
    return ": none is accepted" if any(case.status != "accepted" for case in cases.cases) else ": none names a source"


def _fix(task: Task) -> str:
    if task.problems:
        return "Add the documents, or open the library that has them with --library."
    return "Accept some with `pincite cases review`, or take drafts too with --drafts."
