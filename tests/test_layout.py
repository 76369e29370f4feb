"""The house rules as failing tests: who may import whom, how large things may be, and what the tree looks like."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "pincite"
FILES = sorted(PACKAGE.rglob("*.py"))

STAGES = ("acquire", "build", "find", "generate", "ground", "measure")
COMMON = (
    "types",
    "reports",
    "errors",
    "text",
    "stop",
    "models.protocols",
    "store.protocol",
    "store.filters",
    "store.hashing",
)
SERVE = (
    *("library", "opening", "manage", "access", "types", "reports", "errors", "settings", "stop", "store.filters"),
    "serve",
)
HEAVY = {
    "charset_normalizer", "fastapi", "ir_measures", "lxml", "mcp", "openvino", "openvino_genai", "openvino_tokenizers",
    "olefile", "pathspec", "peft", "platformdirs", "pypdfium2", "python_calamine", "safetensors",
    "sentence_transformers", "pydantic", "snowballstemmer", "starlette", "tantivy", "tokenizers", "torch",
    "trafilatura", "transformers", "turbovec", "uvicorn", "watchfiles", "xllamacpp",
}  # fmt: skip
WEB = {
    "fastapi",
    "mcp",
    "pydantic",
    "starlette",
    "uvicorn",
}  # the server's own modules are imported when it starts, not before
MAX_FILE, MAX_FUNCTION = 400, 50
# Raised from 12,000 when the first product stood: a third of the lines are the docstrings that the rules ask for, and
# readers, indexes and durability each needed more cases than foreseen. What comes next needs a decision of its own.
# Raised from 16,000 for the process that reads untrusted formats, and for PDF.
# Raised from 17,600 for office documents, e-books, mail, notebooks and archives: a dozen formats, a reader for each.
# Raised from 22,400 for measuring (cases, ceiling report, why), grounding, conversation, and for scanned, locked and
# tabular documents.
# Raised from 29,500 for the server: HTTP, OpenAI-compatible routes, MCP, keys, access rules, jobs and the web client.
MAX_PACKAGE = 36_500


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def imports_of(tree: ast.AST) -> list[tuple[str, int]]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
    return [(name.removeprefix("pincite."), line) for name, line in found if name.split(".")[0] == "pincite"]


def within(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def allowed(module: str, name: str) -> bool:
    """The import law: a stage sees the common things and earlier stages; serve sees only the facades."""
    top = module.split(".")[0]
    if top in STAGES:
        return within(name, (*COMMON, *STAGES[: STAGES.index(top) + 1]))
    if top == "models":
        return within(name, ("types", "errors", "text", "stop", "disk", "models"))
    if top == "store":
        return within(name, ("types", "reports", "errors", "text", "disk", "store"))
    if top == "serve":
        return within(name, (*SERVE, "__version__"))
    if top in ("place", "stop", "disk"):
        return False
    if top in ("types", "reports", "errors", "text", "access"):
        return within(name, ("types", "errors", "place"))
    if top == "settings":
        return within(name, ("errors",))
    return top in ("library", "holdings", "uploading", "writing", "manage", "opening", "") or module == "__init__"


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_import_law(path: Path) -> None:
    module = module_of(path)
    broken = [
        f"line {line}: {name}" for name, line in imports_of(ast.parse(path.read_text())) if not allowed(module, name)
    ]
    assert not broken, f"{module} may not import these"


def test_the_import_law_can_fail() -> None:
    assert not allowed("find.fuse", "ground.answer")
    assert not allowed("acquire.read", "library")
    assert not allowed("serve.cli.ask", "find.search")
    assert not allowed("models.load", "find.search")
    assert allowed("ground.answer", "find.analyze.analyze")


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_heavy_imports_stand_inside_functions(path: Path) -> None:
    tree = ast.parse(path.read_text())
    top_level = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name.split(".")[0] for node in top_level if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module.split(".")[0] for node in top_level if isinstance(node, ast.ImportFrom) and node.module}
    assert not names & (HEAVY - WEB if module_of(path).startswith(("serve.http.", "serve.mcp.")) else HEAVY)


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_file_and_function_sizes(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= MAX_FILE
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    too_long = {f.name: f.end_lineno - f.lineno + 1 for f in functions if f.end_lineno - f.lineno + 1 > MAX_FUNCTION}
    assert not too_long


def test_package_size() -> None:
    assert sum(path.read_text().count("\n") for path in FILES) <= MAX_PACKAGE


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_no_swallowed_errors_and_no_pickle(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None, f"line {node.lineno}: a bare except"
            names = {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)}
            quiet = all(isinstance(statement, ast.Pass | ast.Continue) for statement in node.body)
            assert not (names & {"Exception", "BaseException"} and quiet), f"line {node.lineno}: swallowed"
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", "") or ""}
            assert not names & {"pickle", "dill", "joblib", "shelve", "litellm"}, f"line {node.lineno}"


def test_no_print_outside_the_command_line() -> None:
    for path in FILES:
        if "serve" not in path.parts:
            calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
            assert not [n for n in calls if isinstance(n.func, ast.Name) and n.func.id == "print"], path


def test_the_architecture_page_is_up_to_date() -> None:
    page = ROOT / "docs" / "reference" / "architecture.md"
    names = {str(p.relative_to(PACKAGE)) for p in FILES if p.name != "__init__.py"}
    written = set(re.findall(r"^- `([^`]+)`: \S", page.read_text(), re.MULTILINE))
    assert written == names, "python3 dev.py tree"
