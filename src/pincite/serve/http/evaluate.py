"""A person's own cases, runs of them over what he sees, and two runs compared."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field

from pincite.access import Principal
from pincite.errors import UsageError
from pincite.library import Library
from pincite.manage import compare_figures, evaluate_cases
from pincite.reports import RIGHT, Ceiling, Pace
from pincite.serve import shapes
from pincite.serve.http.errors import Refusal
from pincite.serve.http.guard import Caller, Seen, editor
from pincite.serve.http.jobs import Job, accepted, jobs_of
from pincite.serve.http.limits import reading
from pincite.serve.http.requests import Body, Mode, Question
from pincite.serve.http.work import run

router = APIRouter(tags=["evaluation"], dependencies=[reading])
_ID = re.compile(r"[0-9a-f]{16}")
_ABOUT = ("id", "name", "started", "seconds", "mode", "generator", "questions", "right")


class CaseBody(Body):
    """A question, and what a right answer says or where it stands."""

    id: str = Field("", max_length=200)
    question: Question
    answers: list[str] = Field([], max_length=100, description="Each is right by itself.")
    uri: str = Field("", max_length=10_000, description="The document that answers it: its URI, id or path.")
    quote: str = Field("", max_length=10_000, description="The words that answer it.")
    answerable: bool = True


class CasesBody(Body):
    """A person's cases."""

    cases: list[CaseBody] = Field(max_length=1_000)


class Evaluate(Body):
    """What to ask."""

    cases: list[CaseBody] | None = Field(None, min_length=1, max_length=1_000, description="None asks those kept.")
    name: str = Field("Cases", max_length=200)
    extract: bool = True
    mode: Mode | None = None


@router.get("/v1/cases")
def show_cases(library: Seen, principal: Caller) -> dict[str, Any]:
    """Give the caller's cases."""
    return {"cases": _read(_place(library, "cases", _mine(principal))).get("cases", [])}


@router.put("/v1/cases", dependencies=[editor])
def keep_cases(body: CasesBody, library: Seen, principal: Caller) -> dict[str, Any]:
    """Keep these cases instead of those before; one without an id gets one."""
    cases = [case.model_dump() | {"id": case.id or secrets.token_hex(6)} for case in body.cases]
    if len({case["id"] for case in cases}) < len(cases):
        raise UsageError("Two cases have the same id.", fix="Leave ids out where they are not needed.")
    _write(_place(library, "cases", _mine(principal)), {"cases": cases})
    return {"cases": cases}


@router.post("/v1/evaluate", status_code=202)
def evaluate(request: Request, body: Evaluate, library: Seen, principal: Caller) -> Response:
    """Ask cases; a job tells how far it is, and in the end the evaluation's id."""
    if body.cases is None:
        cases = show_cases(library, principal)["cases"]
    else:
        cases = [case.model_dump() for case in body.cases]
    asked = [_row(case) for case in cases if case["uri"] or not case["answerable"]]
    if not asked:
        raise UsageError("No case can be asked.", fix="Name the document that answers a case, or mark it unanswerable.")
    options = {"extract": body.extract, "mode": body.mode}

    def work(job: Job) -> None:
        _evaluate(job, library, asked, options | {"left_out": len(cases) - len(asked)})

    return accepted(jobs_of(request).start(Job("evaluate", body.name, principal, work)))


def _evaluate(job: Job, library: Library, rows: Sequence[Mapping[str, Any]], options: dict[str, Any]) -> None:
    """Ask cases, and keep what was found."""
    left_out = options.pop("left_out")
    began = time.monotonic()

    def progress(done: int, total: int) -> None:
        job.tell(Pace(files=done, files_found=total, bytes=done, bytes_found=total))

    progress(0, len(rows))
    found, figures, intervals = evaluate_cases(library, rows, progress=progress, **options)
    identifier = secrets.token_hex(8)
    about = {
        "id": identifier,
        "name": job.name,
        "started": shapes.instant(int(job.asked * 1e9)),
        "seconds": round(time.monotonic() - began, 3),
        "right": sum(found.counts[stage] for stage in RIGHT),
    }
    evaluation = _shape(found, figures, intervals) | about
    evaluation["left_out"] += left_out
    kept = {"mine": _mine(job.principal), "evaluation": evaluation, "figures": figures}
    _write(_place(library, "evaluations", identifier), kept)
    job.evaluation = identifier


def _shape(found: Ceiling, figures: dict[str, dict[str, float]], intervals: dict[str, list[float]]) -> dict[str, Any]:
    """Shape an evaluation: the ceiling report, and the mean of each metric with its interval."""
    means = {metric: sum(values.values()) / len(values) for metric, values in figures.items() if values}
    return shapes.ceiling_json(found) | {"metrics": means, "intervals": intervals}


def _row(case: Mapping[str, Any]) -> dict[str, Any]:
    """Write a case as a line of a file of cases."""
    same = {name: case[name] for name in ("question", "quote", "answers", "answerable")}
    return same | {"id": case["id"] or case["question"], "source": case["uri"]}


@router.get("/v1/evaluations")
async def list_evaluations(request: Request, library: Seen, principal: Caller) -> dict[str, Any]:
    """List the caller's evaluations, newest first."""

    def work() -> dict[str, Any]:
        folder = _place(library, "evaluations", "").parent
        kept = [_read(path) for path in sorted(folder.glob("*.json"))] if folder.is_dir() else []
        mine = [_about(each["evaluation"]) for each in kept if each and _may_see(each, principal)]
        return {"evaluations": sorted(mine, key=lambda each: (each["started"], each["id"]), reverse=True)}

    return await run(request, work)


@router.get("/v1/evaluations/{evaluation_id}")
def show_evaluation(evaluation_id: str, library: Seen, principal: Caller) -> dict[str, Any]:
    """Give an evaluation: its metrics, and where each answer was lost."""
    evaluation: dict[str, Any] = _kept(evaluation_id, library, principal)["evaluation"]
    return evaluation


@router.delete("/v1/evaluations/{evaluation_id}", dependencies=[editor])
def remove_evaluation(evaluation_id: str, library: Seen, principal: Caller) -> dict[str, Any]:
    """Remove an evaluation."""
    kept = _kept(evaluation_id, library, principal)
    _place(library, "evaluations", evaluation_id).unlink(missing_ok=True)
    return {"removed": kept["evaluation"]["id"]}


@router.get("/v1/evaluations/{evaluation_id}/against/{other_id}")
def compare(evaluation_id: str, other_id: str, library: Seen, principal: Caller) -> dict[str, Any]:
    """Compare two evaluations over the cases of both: the second less the first."""
    a, b = (_kept(identifier, library, principal) for identifier in (evaluation_id, other_id))
    before, after = ({case["id"]: case for case in each["evaluation"]["cases"]} for each in (a, b))
    shared = [name for name in before if name in after]
    return {
        "a": _about(a["evaluation"]),
        "b": _about(b["evaluation"]),
        "differences": compare_figures(b["figures"], a["figures"]),
        "changed": [
            {
                "id": name,
                "question": after[name]["question"],
                "before": _outcome(before[name], a["evaluation"]),
                "after": _outcome(after[name], b["evaluation"]),
            }
            for name in shared
            if before[name]["stage"] != after[name]["stage"]
        ],
        "only_a": len(before) - len(shared),
        "only_b": len(after) - len(shared),
    }


def _outcome(case: Mapping[str, Any], evaluation: Mapping[str, Any]) -> dict[str, Any]:
    labels = {stage["stage"]: stage["label"] for stage in evaluation["stages"]}
    return {"stage": case["stage"], "label": labels[case["stage"]], "answer": case["answer"]}


def _about(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a list says of an evaluation."""
    return {name: evaluation[name] for name in _ABOUT}


# --- where they are kept: a person's cases and evaluations tell of documents, so that each is his alone


def _mine(principal: Principal) -> str:
    """Tell apart who keeps something: the same name with other grants is someone else."""
    grants = None if principal.grants is None else sorted(principal.grants)
    whole = json.dumps([principal.name, principal.role, grants])
    return hashlib.blake2b(whole.encode("ascii"), digest_size=8).hexdigest()


def _may_see(kept: Mapping[str, Any], principal: Principal) -> bool:
    return principal.is_owner or kept["mine"] == _mine(principal)


def _place(library: Library, kind: str, identifier: str) -> Path:
    """Name a file of ours; the identifier is made by us, or was checked."""
    return library.path / kind / f"{identifier}.json"


def _kept(identifier: str, library: Library, principal: Principal) -> dict[str, Any]:
    """Read an evaluation that the caller may see; Refusal (404) if there is none."""
    kept = _read(_place(library, "evaluations", identifier)) if _ID.fullmatch(identifier) else {}
    if not kept or not _may_see(kept, principal):
        raise Refusal(404, "not_found", "There is no such evaluation.", "GET /v1/evaluations lists those there are.")
    return kept


def _read(path: Path) -> dict[str, Any]:
    """Read a file of ours; {} if there is none, or somebody damaged it."""
    try:
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return kept


def _write(path: Path, value: Mapping[str, Any]) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(f".{secrets.token_hex(4)}.new")
    new.write_text(shapes.to_json(value), encoding="utf-8")
    new.replace(path)
