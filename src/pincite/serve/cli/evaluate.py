"""Measure search on questions whose answers are known."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pincite.serve.cli import render
from pincite.serve.cli.opening import count, settings


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "dataset", metavar="DATA", help="a BEIR folder (corpus.jsonl, queries.jsonl, qrels.tsv), or cases as JSON lines"
    )
    add("--mode", choices=("hybrid", "vector", "keyword"), help="how to search (default: hybrid)")
    add("--reranker", metavar="NAME", help="the model that looks again at the best passages (default: none)")
    add("--against", metavar="OTHER", default="", help="compare with a saved run, or with a mode")
    add("--save", metavar="RUN.json", type=Path, help="keep the figures of each question")
    add("--baseline", metavar="FILE", type=Path, help="a saved run; exit with 1 if this one is worse")
    add("--update-baseline", action="store_true", help="write the baseline instead of comparing with it")
    add("--tolerance", metavar="X", type=float, default=0.02, help="how far a mean may fall below the baseline")
    add("--questions", metavar="N", type=count, help="ask only the first N questions")
    add("--evidence", metavar="K", type=count, default=5, help="the K best passages are the evidence of span metrics")
    add("--drafts", action="store_true", help="ask cases that nobody accepted yet, too")


def run(args: argparse.Namespace) -> int:
    """Measure; 1 when it is worse than the baseline."""
    from pincite.manage import evaluate_dataset

    if args.update_baseline and not args.baseline:
        from pincite.errors import UsageError

        raise UsageError("--update-baseline needs --baseline.", fix="Name the file with --baseline FILE.")
    kept = ("against", "save", "baseline", "update_baseline", "tolerance")
    measured = evaluate_dataset(
        args.dataset,
        settings(args),
        comparison={name: getattr(args, name) for name in kept},
        drafts=args.drafts,
        limit=args.questions,
        span_depth=args.evidence,
        progress=render.Progress(),
    )
    if args.json:
        render.emit(measured)
    else:
        _show(measured)
    return 1 if measured.get("baseline", {}).get("worse") else 0


def _show(measured: dict[str, Any]) -> None:
    """Print the means with their intervals, then what was compared, then what could not be measured."""
    against = measured.get("against", {"name": "", "differences": {}})
    reranker = measured["reranker"] or "none"
    render.say(
        f"{measured['dataset']}: {measured['documents']:,} documents, {measured['passages']:,} passages, "
        f"{measured['queries']:,} questions; {measured['mode']} search, reranker: {reranker}, "
        f"{measured['queries_per_second']:.0f} questions a second"
    )
    if measured["rerank_stopped"]:
        render.say(f"The reranker ran out of time on {measured['rerank_stopped']} questions; they kept their order.")
    render.say()
    versus = f"   against {against['name']}" if against["name"] else ""
    render.say(f"{'metric':<18} {'mean':>6}   95 % interval{versus}")
    for metric, (low, high) in measured["intervals"].items():
        line = f"{metric:<18} {measured[metric]:.4f}   {low:.3f} to {high:.3f}"
        render.say(line + _difference(against["differences"].get(metric)))
    for problem in measured["unmeasured"]:
        render.say(f"Not measured: case {problem['case']}: {problem['source']}: {problem['problem']}")
    if "baseline" in measured:
        _show_baseline(measured["baseline"])


def _difference(one: dict[str, Any] | None) -> str:
    """Say by how much a metric differs, and whether that is shown."""
    if one is None:
        return ""
    return f"   {one['difference']:+.4f} ({one['low']:+.3f} to {one['high']:+.3f}), p {one['p']:.3f}: {one['verdict']}"


def _show_baseline(baseline: dict[str, Any]) -> None:
    """Say what became of the baseline."""
    if baseline["updated"]:
        render.say(f"\nThe baseline {baseline['file']} is this run now.")
    elif not baseline["worse"]:
        render.say(f"\nNot worse than the baseline {baseline['file']}.")
    else:
        render.say(f"\nWorse than the baseline {baseline['file']}:")
        for problem in baseline["worse"]:
            render.say(f"  {problem}")
