"""The documents are true: every command, option, setting and error is there, and the code runs."""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
from pathlib import Path

import pytest

import pincite
from pincite.serve.cli.main import main, parser
from pincite.settings import settings_table

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])


def page(name: str) -> str:
    return (ROOT / "docs" / "reference" / name).read_text()


def subcommands(top: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return next(a.choices for a in top._actions if isinstance(a, argparse._SubParsersAction))


def test_every_command_and_option_is_documented() -> None:
    text = page("commands.md")
    for name, command in subcommands(parser()).items():
        section = (
            text.split(f"\n## {name}\n")[1].split("\n## ")[0] + text.split("\n## Common options\n")[1].split("\n## ")[0]
        )
        for action in command._actions:
            for option in action.option_strings:
                assert f"`{option}" in section or option in ("-h", "--help"), f"{name} {option}"


def test_every_documented_option_exists() -> None:
    known = {o for c in subcommands(parser()).values() for a in c._actions for o in a.option_strings} | {"--version"}
    for option in re.findall(r"`(--[a-z-]+)", page("commands.md")):
        assert option in known


def test_every_setting_is_documented_with_its_default() -> None:
    text = page("settings.md")
    for row in settings_table():
        default = '""' if row["default"] == "" else str(row["default"]).lower()
        assert f"| `{row['name']}` | `{default}` | {row['unit']} | {row['help']} |" in text


def test_every_public_name_is_documented() -> None:
    everything = "\n".join(p.read_text() for p in PAGES)
    assert not [name for name in pincite.__all__ if name not in everything]


def test_every_json_key_of_the_contract_is_documented() -> None:
    from pincite.serve import shapes
    from pincite.types import Answer, SearchResult

    text = page("json.md")
    answer = shapes.answer_json(Answer("q", "t", "answered"))
    for key in [*answer, *shapes.search_json(SearchResult("q", "hybrid", ()))]:
        assert f'"{key}"' in text


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        assert target.startswith("https://") or (path.parent / target).exists(), target


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_nothing_is_left_to_fill_in(path: Path) -> None:
    assert not re.search(r"@@|TODO|FIXME|XXX", path.read_text())


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md"])
def test_the_python_code_runs(
    name: str, encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PINCITE_GENERATOR", "none")
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "caches.md").write_text(
        "# Caches\n\nA KV cache stores the keys and values of earlier tokens, so that each new token does not "
        "recompute them.\n\nLoRA adds small trainable matrices to frozen weights.\n"
    )
    exec(compile(code, name, "exec"), {})
    printed = capsys.readouterr().out
    assert "1 " in printed
    assert "caches.md" in printed
    assert "A KV cache stores the keys and values of earlier tokens" in printed


def test_the_tutorial_can_be_followed_word_for_word(
    encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PINCITE_GENERATOR", "none")
    monkeypatch.setenv("PINCITE_LIBRARY", str(tmp_path / "mine"))
    monkeypatch.setattr("pincite.models.lazy.load_encoder", lambda *args, **kwargs: encoder)
    blocks = re.findall(r"```\n(.*?)```", (ROOT / "docs" / "tutorial.md").read_text(), re.DOTALL)
    shown = []
    for line in "".join(block for block in blocks if not block.startswith(("pip ", "A KV"))).splitlines():
        if line.startswith("pincite "):
            assert main(shlex.split(line)[1:]) == 0, line
            shown.append(capsys.readouterr().out)
        else:
            subprocess.run(["bash", "-c", line], check=True)
    [promised] = [block for block in blocks if block.startswith("A KV")]
    assert shown[0] == promised
    assert len(shown) == 6


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_every_command_line_in_the_docs_is_one(path: Path) -> None:
    blocks = re.findall(r"```\w*\n(.*?)```", path.read_text(), re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    for line in lines:
        if line.startswith("pincite ") and "  " not in line.split("#")[0].strip():  # two spaces: a table for people
            args, unknown = parser().parse_known_args(shlex.split(re.sub(r"\s# .*", "", line))[1:])
            assert args.command and not unknown, line
