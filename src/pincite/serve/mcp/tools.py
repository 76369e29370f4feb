"""The tools that an agent gets, and what each does; what they say of themselves is in ``advice``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.errors import UsageError
from pincite.reports import AddReport, SourceReport
from pincite.serve import shapes as contract
from pincite.serve.cli.opening import filter_of
from pincite.serve.mcp import shapes, words
from pincite.serve.places import permitted
from pincite.stop import check_stop
from pincite.types import Document

if TYPE_CHECKING:
    from pincite.library import Library

_SHOWN = 200  # sources that ``add`` lists
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Call:
    """What one call of a tool may use: the library through the caller's eyes, and what may be added."""

    library: Library
    roots: Sequence[Path] | None = None  # of what may be added; None: whatever the process may read


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool."""

    name: str
    takes: type[shapes.Arguments]
    gives: type[shapes.Result]
    run: Callable[[Call, Any], dict[str, Any]]
    words: Callable[[Any], str]
    writes: bool = False

    def __call__(self, call: Call, arguments: shapes.Arguments) -> tuple[str, dict[str, Any]]:
        """Run it; give the result in words and as JSON."""
        result = self.gives.model_validate(_clean(self.run(call, arguments)))
        return self.words(result), result.model_dump(mode="json")


def _clean(shape: dict[str, Any]) -> Any:
    """Make JSON of a shape; half a surrogate pair, which the protocol cannot carry, becomes U+FFFD."""
    return json.loads(_SURROGATE.sub("\ufffd", json.dumps(json.loads(contract.to_json(shape)), ensure_ascii=False)))


def _search(call: Call, args: shapes.SearchArguments) -> dict[str, Any]:
    where = filter_of(args.where)
    return contract.search_json(call.library.search(args.question, limit=args.limit, mode=args.mode, where=where))


def _read(call: Call, args: shapes.ReadArguments) -> dict[str, Any]:
    """Read a passage with what is around it, or a piece of a document."""
    if "@" in args.target and ":" in args.target and "/" not in args.target:
        passage = call.library.passage(args.target)
        document = call.library.document(passage.uri, passage.version)
        return _piece(document, max(0, passage.start - args.around), passage.end + args.around)
    return _piece(call.library.document(args.target, args.version), args.start, args.end)


def _piece(document: Document, start: int, end: int | None) -> dict[str, Any]:
    """Cut a piece out of a document."""
    length = len(document.text)
    asked = length if end is None else min(end, length)
    if start > length or (end is not None and end < start):
        raise UsageError(
            f"There are no characters {start} to {end} in {document.source.uri}.",
            fix=f"It has {length} characters; start at or before the end.",
        )
    stop = min(asked, start + shapes.READ_LIMIT)
    pages = [page.number for page in document.pages if page.start < max(stop, start + 1) and start < page.end]
    return {
        **{"uri": document.source.uri, "document_id": document.id, "version": document.version},
        **{"title": document.title, "media_type": document.source.media_type, "length": length},
        **{"start": start, "end": stop, "text": document.text[start:stop]},
        **{"page_from": pages[0] if pages else None, "page_to": pages[-1] if pages else None},
        "next_start": stop if stop < asked else None,
    }


def _ask(call: Call, args: shapes.AskArguments) -> dict[str, Any]:
    where = filter_of(args.where)
    return contract.answer_json(call.library.ask(args.question, extract=args.extract, mode=args.mode, where=where))


def _check(call: Call, args: shapes.CheckArguments) -> dict[str, Any]:
    checked = call.library.check(args.text, mode=args.mode, where=filter_of(args.where))
    return contract.check_json(args.text, checked)


def _why(call: Call, args: shapes.WhyArguments) -> dict[str, Any]:
    where = filter_of(args.where)
    return contract.why_json(
        call.library.why(args.question, args.target, quote=args.quote, mode=args.mode, where=where)
    )


def _list(call: Call, args: shapes.ListArguments) -> dict[str, Any]:
    """List a page of the catalogue."""
    bad = ("failed", "partly", "unsupported")
    records = [r for r in call.library.list(args.target) if not args.failed or r.status in bad]
    end = args.offset + shapes.LIST_LIMIT
    return {
        "documents": [asdict(r) | asdict(r.source) for r in records[args.offset : end]],
        "total": len(records),
        "next_offset": end if end < len(records) else None,
    }


def _add(call: Call, args: shapes.AddArguments) -> dict[str, Any]:
    """Add what may be added; what is committed when the call is cancelled stays."""
    paths = [permitted(path, call.roots) for path in args.paths]
    sources: list[SourceReport] = []
    with closing(call.library.adding(paths)) as reports:  # type: ignore[type-var]
        for report in reports:
            sources.append(report)
            check_stop()
    told = [report for report in sources if report.status != "unchanged"]
    return {
        "sources": [contract.report_json(report) for report in told[:_SHOWN]],
        "left_out": len(told[_SHOWN:]),
        "summary": AddReport(tuple(sources)).summary,
    }


_TOOLS = (
    Tool("search", shapes.SearchArguments, shapes.SearchResult, _search, words.searched),
    Tool("read", shapes.ReadArguments, shapes.ReadResult, _read, words.read),
    Tool("ask", shapes.AskArguments, shapes.AskResult, _ask, words.asked),
    Tool("check", shapes.CheckArguments, shapes.CheckResult, _check, words.checked),
    Tool("why", shapes.WhyArguments, shapes.WhyResult, _why, words.explained),
    Tool("list", shapes.ListArguments, shapes.ListResult, _list, words.listed),
    Tool("add", shapes.AddArguments, shapes.AddResult, _add, words.added, writes=True),
)


def tools(*, read_only: bool) -> dict[str, Tool]:
    """Give the tools by name; what writes is not there when only reading is allowed."""
    return {tool.name: tool for tool in _TOOLS if not (tool.writes and read_only)}
