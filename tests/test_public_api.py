"""The public surface: sorted, complete, and each name loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pincite

INIT = Path(pincite.__file__)


def test_names_are_sorted_and_load() -> None:
    assert list(pincite.__all__) == sorted(pincite.__all__)
    for name in pincite.__all__:
        assert getattr(pincite, name).__doc__


def test_type_checkers_see_the_same_names() -> None:
    checking = next(node for node in ast.parse(INIT.read_text()).body if isinstance(node, ast.If))
    seen = {alias.asname for node in checking.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == set(pincite.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(pincite, "no_such_name")


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_loads_nothing_heavy() -> None:
    heavy = {
        "numpy",
        "openvino",
        "openvino_genai",
        "tokenizers",
        "tantivy",
        "apsw",
        "trafilatura",
        "xllamacpp",
        "regex",
    }
    assert not loaded_by("import pincite") & heavy
    assert not loaded_by("import pincite.serve.cli.main as m; m.parser().format_help()") & heavy


def test_opening_the_facade_loads_no_model_runtime() -> None:
    heavy = {"openvino", "openvino_genai", "xllamacpp", "torch", "transformers", "trafilatura"}
    assert not loaded_by("import pincite.library") & heavy
