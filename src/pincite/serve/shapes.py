"""JSON shapes: one contract for the command line, HTTP and MCP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pincite.errors import PinciteError
from pincite.reports import STAGES, Ceiling, SourceReport, Why
from pincite.types import (
    Answer,
    Citation,
    CitationEvent,
    Claim,
    Event,
    Evidence,
    Hit,
    Passage,
    SearchResult,
    StaleSource,
    TokenEvent,
    Trace,
    VerdictEvent,
)

if TYPE_CHECKING:
    from pincite.library import Library


def to_json(value: Any) -> str:
    """Write a value as JSON on one line; text that is no Unicode text travels as escapes."""
    return json.dumps(value, default=_plain)


def error_json(failure: PinciteError) -> dict[str, Any]:
    """Shape an error."""
    return {"error": {"code": _snake(type(failure).__name__), "message": str(failure), "fix": failure.fix}}


def report_json(report: SourceReport) -> dict[str, Any]:
    """Shape one source of ``add``."""
    return asdict(report)


def search_json(result: SearchResult, explained_by: Library | None = None) -> dict[str, Any]:
    """Shape a search result; a library that is given tells of each hit which terms it has and which it lacks."""
    hits = [hit_json(hit) for hit in result.hits]
    if explained_by is not None:
        for hit, shape in zip(result.hits, hits, strict=True):
            shape["matched"], shape["lacking"] = explained_by.terms(result.question, hit.passage)
    return {
        "question": result.question,
        "mode": result.mode,
        "hits": hits,
        "stale": stale_json(result.stale),
        "trace": trace_json(result.trace),
    }


def hit_json(hit: Hit) -> dict[str, Any]:
    """Shape a hit."""
    return {
        **_picked(hit, "rank", "score"),
        **passage_json(hit.passage),
        "scores": dict(hit.scores),
        "ranks": dict(hit.ranks),
        "also": [
            {"uri": p.uri, "version": p.version, "passage_id": p.id, "start": p.start, "end": p.end} for p in hit.also
        ],
    }


def passage_json(passage: Passage) -> dict[str, Any]:
    """Shape a passage."""
    shape = {"passage_id": passage.id, "page": passage.page_from, "heading_path": list(passage.heading_path)}
    place = _picked(passage, "uri", "version", "start", "end", "line_from", "line_to", "column_from")
    return place | shape | _picked(passage, "title", "text")


def answer_json(answer: Answer) -> dict[str, Any]:
    """Shape an answer."""
    return {
        **_picked(answer, "question", "text", "outcome", "generator"),
        "claims": [claim_json(claim) for claim in answer.claims],
        "citations": [citation_json(citation) for citation in answer.citations],
        "findings": [asdict(finding) for finding in answer.findings],
        "evidence": [evidence_json(item) for item in answer.evidence],
        "dropped": [evidence_json(item) for item in answer.dropped],
        "nearest": [hit_json(hit) for hit in answer.nearest],
        "stale": stale_json(answer.stale),
        "trace": trace_json(answer.trace),
    }


def evidence_json(evidence: Evidence) -> dict[str, Any]:
    """Shape a quote that travelled to the generator, or that was over the budget."""
    return passage_json(evidence.passage) | _picked(evidence, "number", "score", "start", "end", "text")


def claim_json(claim: Claim) -> dict[str, Any]:
    """Shape a claim."""
    return asdict(claim)


def citation_json(citation: Citation) -> dict[str, Any]:
    """Shape a citation."""
    return asdict(citation) | {"location": citation.location}


def record_json(record: Any) -> dict[str, Any]:
    """Shape one row of ``Library.list``."""
    return {
        "id": record.document_id,
        **_picked(record.source, "uri", "media_type", "size"),
        **_picked(record, "title", "version", "status", "reason", "fix", "passages", "language"),
        "modified": instant(record.source.modified_ns),
        "added": instant(record.added_ns),
        "checked": instant(record.checked_ns),
        "labels": list(record.labels),
        "stale": is_stale(record),
    }


def is_stale(record: Any) -> bool:
    """Tell whether a document's newest state cannot be read, so that an older one is searched."""
    return record.version > 0 and record.status in ("failed", "unsupported")


def instant(nanoseconds: int) -> str | None:
    """Write a time since the epoch in UTC, to the second; None for 0, which means never."""
    return datetime.fromtimestamp(nanoseconds // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if nanoseconds else None


def stale_json(stale: tuple[StaleSource, ...]) -> list[dict[str, Any]]:
    """Shape the stale sources."""
    return [asdict(source) for source in stale]


def trace_json(trace: Trace) -> dict[str, Any]:
    """Shape a trace: seconds in all, and by stage in the order they ran."""
    stages = [{"name": s.name, "seconds": round(s.seconds, 6), **dict(s.detail)} for s in trace.stages]
    return {"seconds": round(trace.seconds, 6), "stages": stages}


def why_json(why: Why) -> dict[str, Any]:
    """Shape a diagnosis."""
    return {
        **_picked(why, "question", "uri", "version", "quote", "stage", "found", "reason", "fix", "passages"),
        "spans": [{"start": start, "end": end} for start, end in why.spans],
        "places": [asdict(place) for place in why.places],
        **_picked(why, "matched", "lacking"),
        "ahead": [hit_json(hit) for hit in why.ahead],
        "nearest": why.nearest or None,
        "stale": stale_json(why.stale),
    }


def ceiling_json(found: Ceiling) -> dict[str, Any]:
    """Shape a ceiling report."""
    total = max(len(found.cases), 1)
    return {
        **_picked(found, "name", "mode", "generator", "left_out"),
        "questions": len(found.cases),
        "stages": [
            {"stage": stage, "label": STAGES[stage][0], "count": count, "share": count / total}
            for stage, count in found.counts.items()
        ],
        "cases": [_picked(case, "id", "expected", "answer", "evidence") | why_json(case.why) for case in found.cases],
    }


def check_json(text: str, checked: Any) -> dict[str, Any]:
    """Shape a check of a text; ``checked`` is what ``Library.check`` gives."""
    return {
        "text": text,
        "claims": [claim_json(claim) for claim in checked.claims],
        "citations": [citation_json(citation) for citation in checked.citations],
        "findings": [asdict(finding) for finding in checked.findings],
    }


def event_json(event: Event) -> dict[str, Any]:
    """Shape an event of an answer that comes step by step."""
    if isinstance(event, TokenEvent):
        return {"event": "token", "text": event.text}
    if isinstance(event, CitationEvent):
        return {"event": "citation", "citation": citation_json(event.citation)}
    if isinstance(event, VerdictEvent):
        return {"event": "verdict", "claim": claim_json(event.claim)}
    return {"event": "done", "answer": answer_json(event.answer)}


def _picked(value: Any, *names: str) -> dict[str, Any]:
    """Give some attributes by name."""
    return {name: getattr(value, name) for name in names}


def _plain(value: Any) -> Any:
    """Turn what JSON does not know into what it does."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "item"):  # NumPy scalars
        return value.item()
    return str(value)


def _snake(name: str) -> str:
    """Turn ClassName into class_name."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
