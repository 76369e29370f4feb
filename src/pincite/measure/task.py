"""Cases meet the library: which questions can be measured, and where their answers stand in it now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pincite.build.roots import uri_named
from pincite.errors import UsageError
from pincite.find.held import Target, held
from pincite.measure.cases import Case, Cases
from pincite.measure.corpus import row_id, row_uri
from pincite.measure.spans import Place
from pincite.reports import Why
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
    """Look up the gold of cases in a library that holds the documents, of the first ``limit`` questions if asked so.

    A case that nobody accepted is left out (drafts, if wanted, are taken), and so is one without gold. A case of which
    the library lacks a source is no question of the task but a problem; one whose quote its source lacks counts for the
    retrieval metrics only, and is a problem too. UsageError if no case can be measured.
    """
    dataset = cases.dataset
    name_of = (lambda row: row_uri(cases.name, row)) if dataset else (lambda source: uri_named(store, source))
    task = Task(cases.name, row_id if dataset else str)
    by_id = {case.id: case for case in cases.cases}
    if dataset:
        wanted = [by_id.get(row.id, Case(row.id, row.text)) for row in dataset.questions]
    else:
        wanted = [c for c in by_id.values() if c.gold and (c.status == "accepted" or (drafts and c.status == "draft"))]
    for case in wanted if limit is None else wanted[:limit]:
        grades = _look(case, task, store, name_of)
        if dataset or grades:
            task.questions[case.id] = case.question
            task.judgements[case.id] = dataset.judgements[case.id] if dataset else grades
    if not task.questions:
        raise _nothing(task, cases)
    return task


def _look(case: Case, task: Task, store: Store, name_of: Callable[[str], str]) -> dict[str, int]:
    """Find the gold of a case; give its sources' grades, none if the library lacks one of them.

    Its spans count only if all of them are there.
    """
    grades: dict[str, int] = {}
    places: list[Place] = []
    missing, lost = False, False
    for gold in case.gold:
        uri = name_of(gold.source)
        grades[uri] = max(gold.grade, grades.get(uri, 0))
        pinned = gold.quote or gold.start is not None
        if not pinned and uri.startswith("beir:"):
            continue  # the corpus was indexed just now
        found = held(Target(uri, gold.quote, gold.start, gold.end), store, Why(case.question, uri, "", ""))
        if isinstance(found, Why):
            task.problems.append({"case": case.id, "source": gold.source, "problem": found.reason})
            missing, lost = missing or found.stage == "document_missing", True
        elif pinned:
            near = gold.start or 0
            places.append((task.named(uri), *min(found.spans, key=lambda span: (abs(span[0] - near), span))))
    if places and not lost:
        task.gold[case.id] = places
    return {} if missing else grades


def _nothing(task: Task, cases: Cases) -> UsageError:
    """Say why nothing is left, and what to do."""
    reason, fix = "none names a source.", "Accept some with `pincite cases review`, or take drafts too with --drafts."
    if task.problems:
        reason = "{source}: {problem}".format(**task.problems[0])
        fix = "Add the documents, or open the library that has them with --library."
    elif any(case.status != "accepted" for case in cases.cases):
        reason = "none is accepted."
    return UsageError(f"No case of {cases.name} can be measured: {reason}", fix=fix)
