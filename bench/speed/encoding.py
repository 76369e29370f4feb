"""Passages a second of the encoder, against sentence-transformers where it is installed and the machine's own limit.

``python -m bench.speed.encoding [--passages 128] [--pieces 128] [--rounds 3]``, from the root of the repository. The
contestants take turns on the same passages, and the best round of each counts, so that other work on the machine
disturbs the ratio little. The limit is what OpenVINO's matrix products of the model's own shapes reach, with nothing
between them.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from pincite.models.bert import read_config
from pincite.models.encoders.openvino import OpenVinoEncoder
from pincite.models.fetch import default_models_dir, ensure
from pincite.models.runtime import import_openvino
from tests.passages import fitting

TOKENS = 4096  # rows of the matrix products that give the limit


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=128)
    parser.add_argument("--pieces", type=int, default=128, help="upper limit of a passage's length")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    models = Path(os.environ.get("PINCITE_MODELS") or default_models_dir())
    folder = ensure("all-MiniLM-L6-v2", models_dir=models)
    runners, precision = contestants(folder, options.threads)
    pieces = OpenVinoEncoder(folder, name="m").pieces
    texts = fitting(pieces, options.pieces, options.passages, seed=7, longest=400)
    lengths = [pieces.count(text) + 2 for text in texts]
    seconds = best_seconds(runners, texts, options.rounds)
    work = sum(flops(folder, length) for length in lengths)
    limits = {kind: matrix_limit(folder, kind, options.threads) for kind in ("f32", precision)}
    rates = {name: len(texts) / spent for name, spent in seconds.items()}
    report = {
        "passages": len(texts),
        "mean_pieces": round(float(np.mean(lengths)), 1),
        "threads": options.threads,
        "automatic_precision": precision,
        "passages_per_second": {name: round(rate, 1) for name, rate in rates.items()},
        "ratio_to_sentence_transformers": {
            name: round(rate / rates["sentence-transformers"], 2)
            for name, rate in rates.items()
            if "sentence-transformers" in rates
        },
        "matrix_gflops": {kind: round(limit / 1e9) for kind, limit in limits.items()},
        "share_of_limit": {kind: round(work / seconds[f"pincite {kind}"] / limit, 2) for kind, limit in limits.items()},
        "query_ms": {name: round(1000 * query_seconds(run), 2) for name, run in runners.items()},
    }
    print(json.dumps(report, indent=1))


def contestants(folder: Path, threads: int) -> tuple[dict[str, Callable[[list[str]], object]], str]:
    """Make the encoders by name, and say which precision this machine would choose."""
    automatic = OpenVinoEncoder(folder, name="m", threads=threads).precision
    kinds = dict.fromkeys(("f32", automatic))
    runners: dict[str, Callable[[list[str]], object]] = {
        f"pincite {kind}": OpenVinoEncoder(folder, name="m", precision=kind, threads=threads).encode for kind in kinds
    }
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except ImportError:
        return runners, automatic
    torch.set_num_threads(threads)
    reference = SentenceTransformer(str(folder), device="cpu")
    runners["sentence-transformers"] = lambda texts: reference.encode(texts, normalize_embeddings=True)
    return runners, automatic


def best_seconds(runners: dict[str, Callable[[list[str]], object]], texts: list[str], rounds: int) -> dict[str, float]:
    """Let each runner encode the texts in turn, after a short start, and keep its best round."""
    best = dict.fromkeys(runners, float("inf"))
    for run in runners.values():
        run(texts[:16])
    for _ in range(rounds):
        for name, run in runners.items():
            start = time.perf_counter()
            run(texts)
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def query_seconds(run: Callable[[list[str]], object]) -> float:
    """Time one question, warm: the best of 20."""
    times = []
    for number in range(20):
        start = time.perf_counter()
        run([f"What avoids recomputing the {number} earlier tokens?"])
        times.append(time.perf_counter() - start)
    return min(times)


def sizes(folder: Path) -> tuple[int, int, int]:
    """Give layers, width and inner width."""
    config = json.loads((folder / "config.json").read_text())
    return config["num_hidden_layers"], read_config(folder).width, config["intermediate_size"]


def flops(folder: Path, length: int) -> float:
    """Count the floating-point operations of a text's matrix products, attention included."""
    layers, width, inner = sizes(folder)
    return layers * (2.0 * length * (4 * width * width + 2 * width * inner) + 4.0 * length * length * width)


def matrix_limit(folder: Path, precision: str, threads: int) -> float:
    """Measure floating-point operations a second of the model's linear layers alone."""
    ov = import_openvino()
    op = ov.opset13
    layers, width, inner = sizes(folder)
    random = np.random.default_rng(0)
    rows = op.parameter([TOKENS, width], np.float32)
    x = rows
    for _ in range(layers):
        for inputs, outputs in [(width, width)] * 4 + [(width, inner), (inner, width)]:
            weight = (random.standard_normal((outputs, inputs)) / np.sqrt(inputs)).astype(np.float32)
            x = op.matmul(x, op.constant(weight), False, True)
    graph = ov.Model([op.reduce_sum(x, op.constant(np.array([0])))], [rows], "limit")
    hints = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": threads}
    compiled = ov.Core().compile_model(graph, "CPU", hints)
    values = random.standard_normal((TOKENS, width)).astype(np.float32)
    compiled([values])
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        compiled([values])
        best = min(best, time.perf_counter() - start)
    return 2.0 * TOKENS * layers * (4 * width * width + 2 * width * inner) / best


if __name__ == "__main__":
    main()
