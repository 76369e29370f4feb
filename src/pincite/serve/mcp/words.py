"""What the tools give, in words, for agents that are shown text alone: every quote with what a citation needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pincite.serve.mcp import shapes


def searched(result: shapes.SearchResult) -> str:
    """Write the passages, best first."""
    if not result.hits:
        return _joined(["No passage was found.", *_stale(result.stale)])
    return _joined([*_passages(result.hits), *_stale(result.stale)])


def read(result: shapes.ReadResult) -> str:
    """Write a piece of a document under its name."""
    page = _pages(result.page_from, result.page_to)
    span = f"characters {result.start} to {result.end} of {result.length}"
    rest = [] if result.next_start is None else [f"There is more: read on with start={result.next_start}."]
    return _joined([f"{result.title}{page}\n{result.uri} (version {result.version}), {span}", result.text, *rest])


def asked(result: shapes.AskResult) -> str:
    """Write an answer, its quotes, and what to mind."""
    nearest = ["Closest passages, which do not answer:", *_passages(result.nearest)] if result.nearest else []
    doubts, notes = _doubts(result.claims), _notes(result.findings)
    return _joined([result.text, *_quotes(result.citations), *doubts, *notes, *nearest, *_stale(result.stale)])


def checked(result: shapes.CheckResult) -> str:
    """Write each sentence with its verdict, then the quotes."""
    lines = [f"{claim.verdict}: {claim.text}{_numbers(claim)}{_problems(claim)}" for claim in result.claims]
    return _joined(
        [*(lines or ["The text holds no sentence to check."]), *_quotes(result.citations), *_notes(result.findings)]
    )


def explained(result: shapes.WhyResult) -> str:
    """Write where a document was lost."""
    fix = [f"To do: {result.fix}"] if result.fix else []
    ahead = ["shapes.Found instead:", *_passages(result.ahead)] if result.ahead else []
    return _joined([f"{result.stage}: {result.reason}", *fix, *ahead, *_stale(result.stale)])


def listed(result: shapes.ListResult) -> str:
    """Write a line for each document."""
    lines = [
        f"{d.uri} ({d.status}, version {d.version}, {d.passages} passages, document_id {d.document_id}) {d.title}"
        + f" {d.reason} {d.fix}".rstrip()
        for d in result.documents
    ]
    rest = [] if result.next_offset is None else [f"There are more: call again with offset={result.next_offset}."]
    return "\n".join([f"{result.total} documents", *lines, *rest])


def added(result: shapes.AddResult) -> str:
    """Write what became of the sources."""
    counts = ", ".join(f"{count} {status}" for status, count in result.summary.items() if count) or "nothing to do"
    lines = [f"{s.status}: {s.uri} {s.reason} {s.fix}".rstrip() for s in result.sources]
    rest = [f"{result.left_out} more are not listed here."] if result.left_out else []
    return "\n".join([counts, *lines, *rest])


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(parts)


def _pages(first: int | None, last: int | None = None) -> str:
    """Write pages, if there are any."""
    if first is None:
        return ""
    return f", page {first}" if last in (None, first) else f", pages {first} to {last}"


def _passages(hits: Sequence[shapes.Found]) -> list[str]:
    """Write passages with their names."""
    return [
        f"{number}. {' > '.join(dict.fromkeys([hit.title, *hit.heading_path]))}{_pages(hit.page)}\n"
        f"{_place(hit)}\n{hit.text}"
        for number, hit in enumerate(hits, 1)
    ]


def _place(item: shapes.Found | shapes.Quoted) -> str:
    """Write what a citation has to name."""
    return f"passage_id {item.passage_id}, {item.uri} (version {item.version}, characters {item.start} to {item.end})"


def _quotes(citations: Sequence[shapes.Quoted]) -> list[str]:
    """Write numbered quotes with their places."""
    return [f"[{c.number}] “{c.quote}”\n    {c.title}{_pages(c.page)}; {_place(c)}" for c in citations]


def _doubts(claims: Sequence[shapes.Judged]) -> list[str]:
    """Write the sentences that are not wholly supported."""
    return [f"{c.verdict}: {c.text}{_problems(c)}" for c in claims if c.verdict != "supported"]


def _numbers(claim: shapes.Judged) -> str:
    return "".join(f" [{number}]" for number in claim.citations)


def _problems(claim: shapes.Judged) -> str:
    return f" ({'; '.join(claim.problems)})" if claim.problems else ""


def _notes(findings: Sequence[shapes.Note]) -> list[str]:
    return [f"Note: {finding.message} {finding.fix}".rstrip() for finding in findings]


def _stale(sources: Sequence[shapes.Stale]) -> list[str]:
    return [f"May be out of date: {source.uri}: {source.reason} {source.fix}".rstrip() for source in sources]
