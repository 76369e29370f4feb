"""The page's files hold to its rules: small, nothing from elsewhere, nothing that turns text into markup or script."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pincite.serve

WEB = Path(pincite.serve.__file__).parent / "web"
FILES = sorted(path for path in WEB.rglob("*") if path.suffix in (".js", ".css", ".html"))
MAX_LINES, MAX_FUNCTION = 400, 60
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|setHTML|srcdoc"
    r"|\beval\(|new Function|javascript:|set(?:Timeout|Interval)\(\s*[\"'`]"
)
FUNCTION = re.compile(
    r"^( {0,2})(?:export )?(?:async )?(?:function\*? \w+|(?!if|for|while|switch|catch)\w+)\((?:.*\{)?$", re.M
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_are_small_and_make_no_markup_of_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= MAX_LINES
    assert not MARKUP.findall(text)
    assert not re.findall(r"""(?:src|href|url\(|import|fetch\()\s*[=(]?\s*["'](?:https?:)?//""", text)


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".js"], ids=lambda path: path.name)
def test_modules_name_what_exists_and_keep_functions_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for name, module in re.findall(r"import (?:\* as \w+|\{([^}]*)\}) from \"\./([\w.]+)\"", text):
        exported = (WEB / module).read_text(encoding="utf-8")
        for one in filter(None, (part.split(" as ")[0].strip() for part in name.split(","))):
            assert re.search(rf"export (?:async )?(?:function\*?|class|const|let) {one}\b", exported), (module, one)
    lines = text.split("\n")
    for found in FUNCTION.finditer(text):
        start = text.count("\n", 0, found.start())
        end = next((n for n in range(start + 1, len(lines)) if lines[n].startswith(found[1] + "}")), start)
        assert end - start < MAX_FUNCTION, found[0]


def test_the_page_itself_has_no_inline_script_or_style() -> None:
    page = (WEB / "index.html").read_text(encoding="utf-8")
    assert not re.findall(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", page)
    for name in re.findall(r"""(?:src|href)="([\w.]+\.(?:js|css|svg))\"""", page):
        assert (WEB / name).is_file(), name


def test_the_rules_can_fail() -> None:
    assert MARKUP.search("node.innerHTML = text")
    assert MARKUP.search("setTimeout('run()', 1)")
    assert not MARKUP.search("setTimeout(run, 1)")
    assert FUNCTION.search("  mount(root, app) {")
