"""What reuse of a prompt's beginning saves, in each local runtime: the policy is the same for every question.

    python bench/speed/prefix_reuse.py [--questions 4] [--replied 16] [--out FILE]

"openvino": as the product runs it, nothing is reused. "openvino, paged": openvino-genai's paged attention with its
prefix cache. "llama": llama.cpp reuses the longest common beginning; "llama, none": it may not. Each variant is a fresh
process that answers the same questions one after the other; the first one is told apart. CPU seconds, as clocks lie on
a busy machine. The documents are this repository's, so that nothing else is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from pincite.generate.form import ABSTAIN
from pincite.generate.prompt import POLICY
from pincite.models.fetch import default_models_dir, ensure
from pincite.models.generators import openvino
from pincite.models.protocols import GenerationOptions
from pincite.types import Message

VARIANTS = ("openvino", "openvino, paged", "llama", "llama, none")
ASKED = (
    "What is committed together?",
    "Which files are derived?",
    "What happens when a document changes?",
    "Who may read?",
)


def paged(form, threads, lora):
    """Load the saved form with paged attention and its prefix cache."""
    import openvino_genai

    scheduler = openvino_genai.SchedulerConfig()
    scheduler.enable_prefix_caching, scheduler.cache_size = True, 1
    return openvino_genai.LLMPipeline(form, "CPU", scheduler_config=scheduler, ATTENTION_BACKEND="PA")


def loaded(variant):
    """Load the generator of one variant."""
    gguf = ensure("smollm2-135m-instruct", models_dir=default_models_dir(), offline=True)
    if variant.startswith("llama"):
        from pincite.models.generators.llama import LlamaGenerator

        generator = LlamaGenerator(gguf, threads=1)
        if variant == "llama, none":
            handle = generator._server.handle_completions
            generator._server = type("Server", (), {})()
            generator._server.handle_completions = lambda request, stop: handle(request | {"cache_prompt": False}, stop)
        return generator
    if variant == "openvino, paged":
        openvino._load = paged
    return openvino.OpenVinoGenerator(gguf, cache_dir=default_models_dir() / "compiled")


def child(variant, questions, replied):
    """Answer the questions, and print what each took."""
    generator = loaded(variant)
    rows = [{"load": time.process_time()}]
    lines = [line for line in Path(__file__).with_name("generation.py").read_text().splitlines() if line.strip()]
    for number in range(questions):
        shown = "\n".join(lines[12 * number : 12 * number + 14])
        messages = (
            Message("system", f"{POLICY} {ABSTAIN}"),
            Message("user", f"Passages:\n<passage 1>\n{shown}\n</passage>"),
            Message("assistant", "I have read the passages."),
            Message("user", ASKED[number % len(ASKED)]),
        )
        begun, first, last = time.process_time(), None, None
        for item in generator.stream(messages, GenerationOptions(max_tokens=replied)):
            first, last = time.process_time() - begun if first is None else first, item
        rows.append(
            {
                "first token": first,
                "whole": time.process_time() - begun,
                "prompt tokens": last.prompt_tokens,
                "reused tokens": last.reused_tokens,
            }
        )
    print(json.dumps(rows))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=4)
    parser.add_argument("--replied", type=int, default=16)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child")
    options = parser.parse_args()
    if options.child:
        child(options.child, options.questions, options.replied)
        return
    found = {"load_average": round(os.getloadavg()[0], 1), "questions": options.questions, "replied": options.replied}
    for variant in VARIANTS:
        given = ["--child", variant, "--questions", str(options.questions), "--replied", str(options.replied)]
        done = subprocess.run([sys.executable, __file__, *given], capture_output=True, text=True, check=True)
        load, first, *rest = json.loads(done.stdout.splitlines()[-1])
        found[variant] = {
            "CPU s to load": round(load["load"], 2),
            "first question": {name: round(value, 2) for name, value in first.items()},
            "later questions": {name: round(statistics.median(row[name] for row in rest), 2) for name in rest[0]},
        }
    text = json.dumps(found, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
