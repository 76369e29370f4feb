"""The house rules of the page's files: no build, nothing from elsewhere, text never taken as markup."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

WEB = Path(__file__).parent.parent.parent / "src" / "pincite" / "serve" / "web"
FILES = sorted(path for path in WEB.iterdir() if path.suffix in (".js", ".css", ".html", ".svg"))
MARKUP = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc|setHTML"
RUNNING = r"\beval\(|new Function\(|setTimeout\(\s*[\"'`]|javascript:"
MAX_LINES = 400


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_row_15_text_is_never_taken_as_markup_or_code(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(f"{MARKUP}|{RUNNING}", text)
    assert len(text.splitlines()) <= MAX_LINES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_comes_from_elsewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://[a-z0-9]", text)
    assert not re.search(r"(?:src|href)=[\"']//|url\(|@import", text)


def test_the_page_holds_no_inline_script_or_style() -> None:
    page = (WEB / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script(?![^>]*\bsrc=)", page) == []
    assert re.findall(r"<style|\sstyle=|\son[a-z]+=", page) == []


def test_every_file_is_used() -> None:
    """What the page loads, and what its modules import, is what there is."""
    everything = "\n".join(path.read_text(encoding="utf-8") for path in FILES)
    views = {"library.js", "evaluation.js"}  # imported by name when they are opened
    used = set(re.findall(r"[\"'](?:\./)?([a-z_]+\.(?:js|css|svg))[\"']", everything)) | views | {"index.html"}
    assert {path.name for path in FILES} == used
