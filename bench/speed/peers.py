"""Index a BEIR folder and ask its questions: Pincite against txtai, Haystack and LlamaIndex, in one run.

``python bench/speed/peers.py DATASET --model FOLDER [--peers txtai haystack llama-index] [--limit-queries N] ...``

Each system works in its own virtual environment (made on first use, with pinned versions), with the same encoder on the
CPU, in its documented hybrid search with its defaults. Systems take turns, each time in a fresh process, and medians
over the rounds count, so that other work on the machine disturbs the ratios little. See bench/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pincite.measure.cases import Dataset, load_dataset
from pincite.measure.compare import Run
from pincite.measure.metrics import question_metrics

SCRIPTS = Path(__file__).resolve().parents[1] / "peers" / "adapters"
TORCH = ("torch==2.13.0", "sentence-transformers==6.2.0")
PEERS = {
    "txtai": ("txtai==9.14.0", *TORCH),
    "haystack": ("haystack-ai==3.4.1", "sentence-transformers-haystack==2.0.0", *TORCH),
    "llama-index": (
        "llama-index-core==0.14.25",
        "llama-index-retrievers-bm25==0.8.0",
        "llama-index-embeddings-huggingface==0.8.0",
        *TORCH,
    ),
}
OURS = "pincite"
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
Report = dict[str, Any]


def main() -> None:
    """Measure and print JSON."""
    options = arguments()
    cases = load_dataset(options.dataset)
    questions = {row.id: row.text for row in cases.questions[: options.limit_queries]}
    pythons = {OURS: Path(sys.executable)}
    pythons |= {name: environment(options.environments / name, PEERS[name]) for name in options.peers}
    rounds: dict[str, list[Report]] = {name: [] for name in pythons}
    for number in range(options.rounds):
        for name, python in pythons.items():
            print(f"round {number + 1}: {name}", file=sys.stderr, flush=True)
            rounds[name].append(run(name, python, questions, options))
    report = summary(cases, questions, rounds, options)
    text = json.dumps(report, indent=1) + "\n"
    if options.out:
        options.out.write_text(text)
    print(text)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path, help="corpus.jsonl, queries.jsonl and qrels.tsv")
    parser.add_argument("--model", type=Path, required=True, help="all-MiniLM-L6-v2 as sentence-transformers saves it")
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--environments", type=Path, default=Path.home() / ".cache" / "pincite-bench")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=0, help="of each system; 0: its default")
    parser.add_argument("--limit-queries", type=int)
    parser.add_argument("--limit-documents", type=int, help="to try it; the quality is then not that of the data set")
    parser.add_argument("--out", type=Path, help="a file for the JSON, beside printing it")
    return parser.parse_args()


def environment(folder: Path, packages: tuple[str, ...]) -> Path:
    """Make a virtual environment with these packages, unless it is there; give its Python."""
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = folder / "pincite-bench.txt"
    if not stamp.is_file() or stamp.read_text().split() != sorted(packages):
        print(f"making an environment for {folder.name}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
        stamp.write_text("\n".join(sorted(packages)))
    return python


def run(name: str, python: Path, questions: dict[str, str], options: argparse.Namespace) -> Report:
    """Let one system do the job in a fresh process."""
    variables = os.environ | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    if options.threads:
        variables |= dict.fromkeys(THREADS, str(options.threads))
    with tempfile.TemporaryDirectory(prefix="pincite-peers-") as folder:
        job = {
            "corpus": str(options.dataset.resolve() / "corpus.jsonl"),
            "documents": options.limit_documents,
            "questions": questions,
            "model": str(options.model.resolve()),
            "threads": options.threads,
            "folder": folder,
            "report": str(Path(folder) / "report.json"),
        }
        path = Path(folder) / "job.json"
        path.write_text(json.dumps(job))
        script = SCRIPTS / f"run_{name.replace('-', '_')}.py"
        command = [str(python), str(script), str(path)]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{name} failed:\n{done.stderr[-3000:]}")
        report: Report = json.loads(Path(job["report"]).read_text())
    return report


def summary(
    cases: Dataset, questions: dict[str, str], rounds: dict[str, list[Report]], options: argparse.Namespace
) -> Report:
    """Put medians over the rounds side by side, and ratios of Pincite to the best peer in each figure."""
    judgements = {name: grades for name, grades in cases.judgements.items() if name in questions}
    systems = {name: figures(reports, judgements) for name, reports in rounds.items()}
    return {
        "dataset": cases.name,
        "documents": rounds[OURS][0]["documents"],
        "questions": len(questions),
        "model": options.model.name,
        "threads": options.threads or "default",
        "rounds": options.rounds,
        "machine": machine(),
        "measured": time.strftime("%Y-%m-%d"),
        "systems": systems,
        "pincite_to_best_peer": ratios(systems) if options.peers else {},
    }


def figures(reports: list[Report], judgements: dict[str, dict[str, int]]) -> Report:
    """Reduce the rounds of one system to medians."""
    first = reports[0]
    found: Report = {
        "documents_per_second": median([r["documents"] / r["index_seconds"] for r in reports]),
        "index_cpu_ms_per_document": median([1000 * r["index_cpu_seconds"] / r["documents"] for r in reports]),
        "peak_rss_mb": median([r["peak_rss_mb"] for r in reports]),
        "load_average": [r["load_average"] for r in reports],
        "versions": first["versions"],
        "queries": {},
    }
    for way in first["ways"]:
        timed = [report["ways"][way] for report in reports]
        found["queries"][way] = {
            "p50_ms": median([quantile(t["seconds"], 0.5) for t in timed]),
            "p95_ms": median([quantile(t["seconds"], 0.95) for t in timed]),
            "p10_ms": median([quantile(t["seconds"], 0.1) for t in timed]),
            "cpu_ms": median([1000 * t["cpu_seconds"] / len(t["seconds"]) for t in timed]),
            "ndcg@10": round(Run("", question_metrics(judgements, timed[0]["rankings"])).means["ndcg@10"], 4),
            "same_in_all_rounds": all(t["rankings"] == timed[0]["rankings"] for t in timed),
        }
    return found


def ratios(systems: dict[str, Report]) -> dict[str, float]:
    """Say how many times better Pincite is than the best peer in each figure; below 1 it is worse."""
    peers = [system for name, system in systems.items() if name != OURS]
    ours = systems[OURS]
    result = {
        "documents_per_second": ours["documents_per_second"] / max(p["documents_per_second"] for p in peers),
        "index_cpu": min(p["index_cpu_ms_per_document"] for p in peers) / ours["index_cpu_ms_per_document"],
        "peak_rss": min(p["peak_rss_mb"] for p in peers) / ours["peak_rss_mb"],
    }
    for figure in ("p50_ms", "p95_ms", "cpu_ms"):
        best = min(peer["queries"]["hybrid"][figure] for peer in peers)
        result[f"query_{figure}"] = best / ours["queries"]["hybrid"][figure]
    best = max(peer["queries"]["hybrid"]["ndcg@10"] for peer in peers)
    result["ndcg@10"] = ours["queries"]["hybrid"]["ndcg@10"] / best
    return {name: round(value, 3) for name, value in result.items()}


def quantile(seconds: list[float], share: float) -> float:
    """Give a quantile in milliseconds: the smallest value that is not below this share of them."""
    ordered = sorted(seconds)
    return 1000 * ordered[max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)]


def median(values: list[float]) -> float:
    """Give the median, to two decimals."""
    return round(statistics.median(values), 2)


def machine() -> Report:
    """Describe the processor."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    flags = next((line.split(":")[1].split() for line in lines if line.startswith("flags")), [])
    telling = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16")
    return {
        "processor": next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine()),
        "cores": os.cpu_count(),
        "instructions": [flag for flag in telling if flag in flags],
        "python": platform.python_version(),
    }


if __name__ == "__main__":
    main()
