#!/usr/bin/env python3
"""Set up, demonstrate, test and measure Pincite: ``python3 dev.py COMMAND``. Needs only Python >= 3.11, pip and venv.

demo    set up, index this project's docs/ and ask two questions
test    set up, then lint, types, docstrings and all tests (what CI runs)
check   lint, types and docstrings only
soak    the long tests: 1,000 kills, 20,000 damaged files of each format, 60 s of concurrent writers and readers
bench   the benchmarks in bench/, by name: python3 dev.py bench speed/startup
lock    make requirements/*.lock anew from pyproject.toml
tree    write docs/reference/architecture.md anew from the first line of each file
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
DEMO_QUESTIONS = (
    "How does Pincite make sure that a killed process loses nothing?",
    "Which vaccines does a cat need in its first year?",
)


def main(arguments: list[str]) -> int:
    """Run one command and give its exit code."""
    commands = {"demo": demo, "test": test, "check": check, "soak": soak, "bench": bench, "lock": lock, "tree": tree}
    if sys.version_info < (3, 11):  # noqa: UP036 - this line is for those who have an older one
        print(f"Pincite needs Python 3.11 or newer; this is {sys.version.split()[0]}.", file=sys.stderr)
        return 2
    if not arguments or arguments[0] not in commands:
        print(__doc__, file=sys.stderr)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    try:
        return commands[arguments[0]](arguments[1:])
    except subprocess.CalledProcessError as error:
        step = " ".join(map(str, error.cmd))
        print(f"dev.py: this step failed with exit code {error.returncode}: {step}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("dev.py: interrupted", file=sys.stderr)
        return 130


def demo(arguments: list[str]) -> int:
    """Index docs/ into a fresh library and ask a question that it answers and one that it does not."""
    started = time.monotonic()
    set_up("base")
    ready = time.monotonic()
    print(f"\nSet up in {ready - started:.0f} s.", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="pincite-demo-") as folder:
        done = demonstrate([str(BIN / "pincite"), "--library", str(Path(folder) / "demo.pincite")])
    print(f"\nDone in {time.monotonic() - ready:.0f} s.", file=sys.stderr)
    return 0 if done else 1


def demonstrate(pincite: list[str]) -> bool:
    """Add docs/ and ask; tell whether each step ended as it must. The pictures of docs/ would need OCR."""
    codes = [_run([*pincite, "add", str(ROOT / "docs"), "--exclude", "images/", "--timing"]).returncode]
    for question in DEMO_QUESTIONS:
        print(f"\n$ pincite ask {question!r}", flush=True)
        codes.append(_run([*pincite, "ask", question, "--timing"]).returncode)
    return codes == [0, 0, 1]  # 1: the second question is not in the documents


def test(arguments: list[str]) -> int:
    """Run what CI runs. Arguments go to pytest."""
    set_up("dev")
    failed = _checks()
    workers = [] if any(a.startswith("-n") for a in arguments) else ["-n", "2", "--dist", "worksteal"]
    tests = _run([str(PYTHON), "-m", "pytest", "-m", "not soak", *workers, *arguments])
    if failed:
        print(f"dev.py: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else tests.returncode


def check(arguments: list[str]) -> int:
    """Run lint, types and docstring checks."""
    set_up("dev")
    return 1 if _checks() else 0


def soak(arguments: list[str]) -> int:
    """Run the long tests, one after the other."""
    set_up("dev")
    return _run([str(PYTHON), "-m", "pytest", "-m", "soak", *arguments]).returncode


def bench(arguments: list[str]) -> int:
    """Run benchmarks by name, or list them."""
    set_up("dev")
    names = sorted(str(p.relative_to(ROOT / "bench").with_suffix("")) for p in (ROOT / "bench").glob("*/*.py"))
    if not arguments or arguments[0] not in names:
        print("python3 dev.py bench NAME, where NAME is one of:", *names, sep="\n  ", file=sys.stderr)
        return 2
    return _run([str(PYTHON), str(ROOT / "bench" / f"{arguments[0]}.py"), *arguments[1:]]).returncode


def lock(arguments: list[str]) -> int:
    """Resolve pyproject.toml into hashed, cross-platform lock files."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = Path(folder) / BIN.name / PYTHON.name
        subprocess.run([str(python), "-m", "pip", "install", "-q", "uv"], check=True)
        project, base, dev = (
            ROOT / "pyproject.toml",
            ROOT / "requirements" / "base.lock",
            ROOT / "requirements" / "dev.lock",
        )
        common = [str(python), "-m", "uv", "pip", "compile", str(project), "--group", f"{project}:build", "--universal"]
        common += [
            "-q",
            "--python-version=3.11",
            "--generate-hashes",
            "--no-emit-index-url",
            "--no-header",
            "--no-annotate",
        ]
        subprocess.run([*common, "-o", str(base), *arguments], check=True)
        extras = ["--extra=llama", "--extra=code", "--group", f"{project}:dev", "-c", str(base)]
        subprocess.run([*common, *extras, "-o", str(dev), *arguments], check=True)
    return 0


def tree(arguments: list[str]) -> int:
    """Write the architecture page: every file with the first line of its docstring, in the order of the flow."""
    package = ROOT / "src" / "pincite"
    stages = ("acquire", "build", "find", "generate", "ground", "measure", "models", "store", "serve")
    page = [ARCHITECTURE]
    for folder in ("", *stages):
        files = sorted((package / folder).rglob("*.py") if folder else package.glob("*.py"))
        heading = _first_line(package / folder / "__init__.py")
        page.append(f"\n## {folder}/\n\n{heading}\n" if folder else "\n## The package\n")
        named = [path for path in files if path.name != "__init__.py"]
        page.append("\n".join(f"- `{path.relative_to(package)}`: {_first_line(path)}" for path in named) + "\n")
    (ROOT / "docs" / "reference" / "architecture.md").write_text("\n".join(page), encoding="utf-8")
    return 0


ARCHITECTURE = """# Architecture

The folders stand in the order of the flow, and a test (`tests/test_layout.py`) enforces that no stage imports a later
one. A stage knows the common types, errors and text helpers, the protocols of models and stores, and earlier stages.
Only the facades (`library.py`, `manage.py`) see everything, and the edges in `serve/` see only the facades. What is
slow to import is imported by the function that needs it. This page is made by `python3 dev.py tree`."""


def _first_line(path: Path) -> str:
    """Give the first line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def set_up(kind: str) -> None:
    """Make the virtual environment hold what a lock file says and this checkout, unless it does already."""
    lock_file = ROOT / "requirements" / f"{kind}.lock"
    wanted = hashlib.sha256(lock_file.read_bytes() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()
    stamp = VENV / f"pincite-{kind}.stamp"
    if stamp.exists() and stamp.read_text() == wanted and PYTHON.exists():
        return
    if not PYTHON.exists():
        print(f"Making a virtual environment in {VENV} ...", file=sys.stderr)
        shutil.rmtree(VENV, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    print(f"Installing the locked dependencies ({lock_file.name}), which takes a minute or two ...", file=sys.stderr)
    pip = [str(PYTHON), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, "--require-hashes", "--only-binary=:all:", "-r", str(lock_file)], check=True)
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "-e", str(ROOT)], check=True)
    stamp.write_text(wanted)


def _checks() -> list[str]:
    """Run the static checks; give the names of those that failed."""
    source = [str(ROOT / "src" / "pincite")]
    everything = [*source, str(ROOT / "tests"), str(ROOT / "bench"), str(ROOT / "dev.py")]
    checks = {
        "lint": [str(BIN / "ruff"), "check", "-q", *everything],
        "format": [str(BIN / "ruff"), "format", "-q", "--check", *everything],
        "types": [str(PYTHON), "-m", "mypy"],
        "docstrings": [str(BIN / "pydoclint"), "-q", "--config", str(ROOT / "pyproject.toml"), *source],
    }
    return [name for name, command in checks.items() if _run(command).returncode != 0]


def _run(command: list[str]) -> subprocess.CompletedProcess[bytes]:
    """Run a command from the checkout, its output going where ours goes."""
    return subprocess.run(command, cwd=ROOT, check=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
