"""Time to the first token and to the whole reply of each local runtime, in a fresh process and in a warm one.

``python -m bench.speed.generation [--tokens 200 400 700] [--rounds 5]``, from the root of the repository. Each
measurement is a process of its own: import, load, a first prompt, then another one, warm. The runtimes take turns, so
that other work on the machine disturbs the ratios less than the times; CPU seconds, which it disturbs least, stand
beside the wall clock. openvino's saved form is made before, and its making is timed once.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pincite.models.fetch import default_models_dir, ensure
from pincite.models.generators.vocabulary import Vocabulary

RUNTIMES = ("openvino", "llama")
CHILD = """
import json, resource, sys, time
from pathlib import Path
import_start = time.perf_counter()
runtime, gguf, cache, threads, replied, prompts = json.loads(sys.argv[1])
from pincite.models.protocols import GenerationOptions, Piece
from pincite.types import Message
if runtime == "llama":
    from pincite.models.generators.llama import LlamaGenerator
    generator = LlamaGenerator(Path(gguf), threads=threads)
else:
    from pincite.models.generators.openvino import OpenVinoGenerator
    generator = OpenVinoGenerator(Path(gguf), cache_dir=Path(cache), threads=threads)
def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
found = {"load_s": time.perf_counter() - import_start, "load_cpu_s": cpu()}
for name, prompt in zip(("cold", "warm"), prompts):
    start, begun, first = time.perf_counter(), cpu(), None
    for event in generator.stream([Message("user", prompt)], GenerationOptions(max_tokens=replied)):
        if first is None:
            first = time.perf_counter() - start, cpu() - begun
    found[f"{name}_first_s"], found[f"{name}_first_cpu_s"] = first
    found[f"{name}_all_s"], found[f"{name}_all_cpu_s"] = time.perf_counter() - start, cpu() - begun
    found[f"{name}_prompt_tokens"], found[f"{name}_tokens"] = event.prompt_tokens, event.generated_tokens
found["memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(found))
"""


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, nargs="+", default=[200, 400, 700], help="of the prompt, about")
    parser.add_argument("--replied", type=int, default=60, help="tokens of the reply, at most")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    gguf = ensure("smollm2-135m-instruct", models_dir=Path(os.environ.get("PINCITE_MODELS") or default_models_dir()))
    report: dict[str, object] = {"cores": os.cpu_count(), "load_average": os.getloadavg()[0], "rounds": options.rounds}
    with tempfile.TemporaryDirectory() as cache:
        start = time.perf_counter()
        child(["openvino", str(gguf), cache, options.threads, 1, ["Hi", "Hi"]])
        report["openvino_first_start_ever_s"] = round(time.perf_counter() - start, 2)
        report["openvino_saved_form_mb"] = sum(f.stat().st_size for f in Path(cache).rglob("*") if f.is_file()) // 10**6
        for tokens in options.tokens:
            prompts = make_prompts(Vocabulary(gguf), tokens)
            runs: dict[str, list[dict[str, float]]] = {runtime: [] for runtime in RUNTIMES}
            for _ in range(options.rounds):
                for runtime in RUNTIMES:
                    runs[runtime].append(child([runtime, str(gguf), cache, options.threads, options.replied, prompts]))
            report[f"{tokens} prompt tokens"] = summary(runs)
    print(json.dumps(report, indent=1))


def child(arguments: list[object]) -> dict[str, float]:
    """Run one fresh process; "fresh" times count from before its first import."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps(arguments)], capture_output=True, text=True, check=True
    )
    whole = time.perf_counter() - start
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    found["process_s"] = whole
    found["fresh_first_s"] = found["load_s"] + found["cold_first_s"]
    found["fresh_all_s"] = found["load_s"] + found["cold_all_s"]
    found["fresh_first_cpu_s"] = found["load_cpu_s"] + found["cold_first_cpu_s"]
    found["fresh_all_cpu_s"] = found["load_cpu_s"] + found["cold_all_cpu_s"]
    return found


def make_prompts(vocabulary: Vocabulary, tokens: int) -> list[str]:
    """Make two prompts of about so many tokens that share no beginning."""
    lines = [
        line.strip() for line in Path(__file__).with_name("generation.py").read_text().splitlines() if line.strip()
    ]
    prompts = []
    for kept in (lines, lines[::-1]):
        text, number = "", 0
        while vocabulary.count(text) < tokens - 40:
            text += kept[number % len(kept)] + "\n"
            number += 1
        prompts.append(f"{text}\nDescribe this program at length.")
    return prompts


def summary(runs: dict[str, list[dict[str, float]]]) -> dict[str, object]:
    """Give each figure's median by runtime, and llama's over openvino's in each round, its median."""
    names = list(runs[RUNTIMES[0]][0])
    medians = {
        runtime: {name: round(statistics.median(run[name] for run in found), 3) for name in names}
        for runtime, found in runs.items()
    }
    pairs = list(zip(runs["llama"], runs["openvino"], strict=True))
    ratios = {
        name: round(statistics.median(a[name] / b[name] for a, b in pairs), 2)
        for name in names
        if name.startswith(("fresh", "warm")) and not name.endswith("tokens")
    }
    return {**medians, "llama_over_openvino": ratios}


if __name__ == "__main__":
    main()
