"""Measure search on questions whose answers are known."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pincite.errors import UsageError
from pincite.serve.cli import render
from pincite.serve.cli.opening import argument, count, settings, shared

ARGUMENTS = (
    argument("dataset DATA", "a BEIR folder (corpus.jsonl, queries.jsonl, qrels.tsv), or cases (JSON lines)"),
    argument("--against OTHER", "compare with a saved run, or with a mode", default=""),
    argument("--save RUN.json", "keep the figures of each question", type=Path),
    argument("--baseline FILE", "a saved run; exit with 1 if this one is worse", type=Path),
    argument("--update-baseline", "write the baseline instead of comparing with it"),
    argument("--tolerance X", "how far a mean may fall below the baseline", type=float, default=0.02),
    argument("--evidence K", "the K best passages are the evidence of span metrics", type=count, default=5),
    *shared("mode", "reranker", "questions", "drafts"),
)


def run(args: argparse.Namespace) -> int:
    """Measure; 1 when it is worse than the baseline."""
    from pincite.manage import evaluate_dataset

    if args.update_baseline and not args.baseline:
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
    render.result(args, measured, lambda: _show(measured))
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
        said = render.counted(measured["rerank_stopped"], "question")
        render.say(f"The reranker ran out of time on {said}; they kept their order.")
    render.say()
    versus = f"   against {against['name']}" if against["name"] else ""
    render.say(f"{'metric':<18} {'mean':>6}   95 % interval{versus}")
    for metric, (low, high) in measured["intervals"].items():
        line = f"{metric:<18} {measured[metric]:.4f}   {low:.3f} to {high:.3f}"
        if one := against["differences"].get(metric):
            line += f"   {one['difference']:+.4f} ({one['low']:+.3f} to {one['high']:+.3f}), p {one['p']:.3f}"
            line += f": {one['verdict']}"
        render.say(line)
    for problem in measured["unmeasured"]:
        render.say(f"Not measured: case {problem['case']}: {problem['source']}: {problem['problem']}")
    if baseline := measured.get("baseline"):
        name = f"the baseline {baseline['file']}"
        said = f"Worse than {name}:" if baseline["worse"] else f"Not worse than {name}."
        said = f"This run is {name} now." if baseline["updated"] else said
        render.say("\n  ".join((f"\n{said}", *baseline["worse"])))
