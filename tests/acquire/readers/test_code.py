"""Source code: definitions are headings where tree-sitter is, and every line stays in its place."""

from __future__ import annotations

import pytest

from pincite.acquire.readers import code
from pincite.acquire.readers.code_definitions import defined
from pincite.build.chunk import chunk
from tests.fakes import WordPieces

PYTHON = '''"""Doc: é."""
import os


@decorated
class Walker(Base):
    size = 3

    # go on
    def run(self):
        return 1

    after = 2

    def stop(self):
        def inner(): ...

def top(a,
        b):
    pass

print(top)
'''
SOURCES = {
    "text/x-python": (PYTHON, ["1 Walker", "2 run", "2 ", "2 stop", "1 top", "1 "]),
    "text/x-c": (
        "/* Adds. */\nstatic int *add(int a) {\n}\nstruct point { int x; };\n#ifdef A\nvoid f(void) {}\n#endif\n",
        ["1 add", "1 point", "1 ", "1 f"],
    ),
    "text/x-c++": ("namespace n {\ntemplate<class T> class A {\n};\nvoid A::run() {}\n}\n", ["1 n", "2 A", "2 run"]),
    "text/x-rust": ("use a;\n/// New.\nimpl Point {\n    fn new() {}\n}\n", ["1 Point", "2 new"]),
    "text/x-typescript": ("export class A<T> {\n  run(): void {}\n}\ninterface I {}\n", ["1 A", "2 run", "1 I"]),
    "text/javascript": ("class A {\n  run() {}\n}\nfunction f() {}\n", ["1 A", "2 run", "1 f"]),
    "text/x-go": ("package a\n\nfunc (t *T) Run() error {\n}\n", ["1 Run"]),
    "text/x-java": ("/** Doc. */\npublic class A {\n  A() {}\n  void run() {}\n}\n", ["1 A", "2 A", "2 run"]),
    "text/x-csharp": ("namespace N {\n  class A {\n    void Run() {}\n  }\n}\n", ["1 N", "2 A", "3 Run"]),
    "text/x-ruby": ("module M\n  class A\n    def run\n    end\n  end\nend\n", ["1 M", "2 A", "3 run"]),
    "text/x-php": ("<?php\nclass B {\n  function c() {}\n}\n", ["1 B", "2 c"]),
    "text/x-sh": ("x=1\nf() {\n  echo\n}\n", ["1 f"]),
}


@pytest.fixture
def grammars():
    for module, _ in code.GRAMMARS.values():
        pytest.importorskip(module, reason="the extra `code` is not installed here")


@pytest.mark.parametrize("media_type", SOURCES)
def test_definitions_are_headings(media_type, grammars):
    text, wanted = SOURCES[media_type]
    found = defined(text, "a", media_type)
    assert [f"{block.level} {block.label}" for block in found.blocks if block.kind == "heading"] == wanted
    position = 0
    for block in found.blocks:
        assert position <= block.start < block.end <= len(text)
        assert not text[position : block.start].strip()
        position = block.end
    assert not text[position:].strip()


def test_a_passage_knows_its_class_and_function(grammars):
    body = "\n".join(f"        value_{n} = compute({n}, {n + 1})" for n in range(30))
    text = PYTHON.replace("        return 1", body)
    spans = chunk(defined(text, "a.py", "text/x-python"), WordPieces(), limit=64)
    paths = {text[span.start : span.end].strip()[:12]: span.heading_path for span in spans}
    inside = [path for said, path in paths.items() if said.startswith("value_")]
    assert inside and set(inside) == {("Walker", "run")}
    assert ("Walker",) in paths.values() and () in paths.values()


@pytest.mark.parametrize(
    "text", ["", "def", "def f(:\n  \x00\n class", "\ud800 = 1\ndef f():\n\treturn '\ud800'\n", "}{" * 500]
)
def test_broken_code_is_read_too(text, grammars):
    found = defined(text, "a", "text/x-python")
    assert found.text == text
    assert all(text[block.start : block.end].strip() for block in found.blocks)


def test_what_takes_quadratic_time_is_cut_at_blank_lines(grammars, monkeypatch):
    monkeypatch.setattr(code, "_SECONDS", 1.0)
    found = code.read(b"|--" * 20_000, "a.py", "text/x-python")
    assert [block.kind for block in found.blocks] == ["code"]
    assert code.read(b"def f():\n    pass\n", "a.py", "text/x-python").blocks[0].label == "f"


def test_without_tree_sitter_blank_lines_cut(monkeypatch):
    monkeypatch.setattr(code, "find_spec", lambda name: None)
    found = code.read(b"import a\n\ndef f():\n    x\n\n    y\n\nz = 1\n", "a.py", "text/x-python")
    assert [found.text[b.start : b.end] for b in found.blocks] == ["import a", "def f():\n    x\n\n    y", "z = 1"]
    assert {block.kind for block in found.blocks} == {"code"}
