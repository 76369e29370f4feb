"""Time of a fresh process, from the shell's point of view: help, search, ask, serve, with the time of each stage.

Usage: python bench/speed/startup.py [--runs 5] [--docs FOLDER]. Prints JSON. Times are medians; the ratio to
`python -c pass` is the number to compare across machines.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import Request, urlopen

ROOT = Path(__file__).resolve().parent.parent.parent
QUESTION = "How does Pincite make sure that a killed process loses nothing?"


def seconds(command: list[str], runs: int) -> tuple[float, str]:
    """Median wall seconds of a command, and what it printed last."""
    times, printed = [], ""
    for _ in range(runs):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        times.append(time.perf_counter() - start)
        printed = done.stdout
        assert done.returncode in (0, 1), done.stderr
    return statistics.median(times), printed


def first_events(command: list[str], runs: int) -> dict[str, float]:
    """Median seconds until the first event of the answer is printed (a quote), and the first token of the draft."""
    times: dict[str, list[float]] = {"first_event": [], "first_token": []}
    for _ in range(runs):
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout
            seen = [(json.loads(line)["event"], time.perf_counter() - start) for line in process.stdout]
        times["first_event"].append(seen[0][1])
        times["first_token"].append(next(at for event, at in seen if event == "token"))
    return {name: statistics.median(values) for name, values in times.items()}


def serving(command: list[str], runs: int) -> dict[str, float]:
    """Median seconds until a server gives its page and all that the page loads, and until it has answered a search."""
    times: dict[str, list[float]] = {"page": [], "first_search": []}
    for _ in range(runs):
        start = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            address = process.stdout.readline().rpartition(" ")[2].strip()
            page = urlopen(address).read().decode()
            for name in re.findall(r'(?:src|href)="([^"#]+)"', page):
                urlopen(address + name.lstrip("/")).read()
            urlopen(address + "v1/library").read()
            times["page"].append(time.perf_counter() - start)
            body = json.dumps({"question": QUESTION}).encode()
            urlopen(Request(address + "v1/search", body, {"Content-Type": "application/json"})).read()
            times["first_search"].append(time.perf_counter() - start)
            process.terminate()
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pincite = [sys.executable, "-m", "pincite.serve.cli.main"]
        library = ["--library", str(Path(folder) / "bench.pincite")]
        subprocess.run([*pincite, *library, "add", str(args.docs)], check=True, capture_output=True)
        python, _ = seconds([sys.executable, "-c", "pass"], args.runs)
        report: dict[str, object] = {"python_seconds": python}
        report["help_seconds"], _ = seconds([*pincite, "--help"], args.runs)
        for name, command in {
            "search": ["search", QUESTION, "--json"],
            "search_keyword": ["search", QUESTION, "--json", "--mode", "keyword"],
            "ask": ["ask", QUESTION, "--json"],
            "ask_extract": ["ask", QUESTION, "--json", "--extract"],
        }.items():
            wall, printed = seconds([*pincite, *library, *command], args.runs)
            stages = {s["name"]: s["seconds"] for s in json.loads(printed)["trace"]["stages"]}
            report[name] = {"wall_seconds": wall, "over_python": wall / python, "stages": stages}
        events = first_events([*pincite, *library, "ask", QUESTION, "--json", "--stream"], args.runs)
        report |= {f"ask_{name}_seconds": value for name, value in events.items()}
        served = serving([*pincite, *library, "serve", "--port", "0"], args.runs)
        report |= {f"serve_{name}_seconds": value for name, value in served.items()}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
