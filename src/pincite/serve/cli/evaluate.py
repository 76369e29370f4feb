"""Measure search on a question set: a BEIR folder."""

from __future__ import annotations

import argparse

from pincite.serve.cli import render
from pincite.serve.cli.opening import settings


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("dataset", metavar="DATASET", help="a folder with corpus.jsonl, queries.jsonl and qrels.tsv")
    parser.add_argument("--mode", choices=("hybrid", "vector", "keyword"), help="how to search (default: hybrid)")


def run(args: argparse.Namespace) -> int:
    """Index the corpus into a library of its own and measure."""
    from pincite.manage import evaluate_dataset

    measured = evaluate_dataset(args.dataset, settings(args), progress=render.Progress())
    if args.json:
        render.emit(measured)
    else:
        for name, value in measured.items():
            render.say(f"{name:<20} {value:.4f}" if isinstance(value, float) else f"{name:<20} {value}")
    return 0
