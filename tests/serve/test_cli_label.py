"""``pincite label`` and ``pincite add --label``: who sees what, told in words and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pincite
from pincite.access import Principal
from pincite.serve.cli.main import main
from tests.fakes import HashEncoder


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PINCITE_LIBRARY", str(tmp_path / "t.pincite"))
    monkeypatch.setenv("PINCITE_GENERATOR", "none")
    monkeypatch.setattr("pincite.models.lazy.load_encoder", lambda *args, **kwargs: HashEncoder())
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "docs"
    (folder / "hr").mkdir(parents=True)
    (folder / "hr" / "pay.md").write_text("The salary is 900 crowns.")
    (folder / "open.md").write_text("The weir is old.")
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[Any], str]:
    """Run a command with --json; give its exit code, its rows and what it noted."""
    code = main([*arguments, "--json"])
    out, err = capsys.readouterr()
    return code, [json.loads(line) for line in out.splitlines()], err


def test_a_folder_is_labelled_listed_and_opened_again(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "add", "docs")[0] == 0
    assert run(capsys, "label") == (1, [], "")
    uri = (docs / "hr").as_uri()
    assert run(capsys, "label", "docs/hr", "hr", "board")[1] == [
        {"uri": uri, "labels": ["board", "hr"], "documents": 1}
    ]
    assert run(capsys, "label")[1] == [{"uri": uri, "labels": ["board", "hr"]}]
    rows = run(capsys, "list")[1]
    assert [row["labels"] for row in rows] == [["board", "hr"], []]
    main(["list"])
    assert "1 passage, labelled board, hr)" in capsys.readouterr().out
    main(["label", "docs/hr", "--clear"])
    assert "without labels of its own, 1 document" in capsys.readouterr().out
    main(["label"])
    assert "every key sees every document" in capsys.readouterr().err


def test_what_is_added_with_a_label_is_never_open(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "add", "docs/hr", "--label", "hr", "--label", "board")[0] == 0
    with pincite.open(docs.parent / "t.pincite", encoder=HashEncoder(), generator="none") as library:
        assert library.seen_by(Principal("anna")).list() == []
        assert len(library.seen_by(Principal("anna", "reader", frozenset({"board"}))).list()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["label", "docs/hr"], "There is no label"),
        (["label", "docs/hr", "hr", "--clear"], "There is no label"),
        (["label", "docs/mistyped", "hr"], "There is no docs/mistyped"),
        (["label", "docs/hr", "two words"], "'two words' is no label"),
        (["add", "docs/hr", "--label", ""], "'' is no label"),
        (["add", "--retry", "--label", "hr"], "--retry takes no labels"),
    ],
)
def test_a_wrong_call_says_what_to_do(
    docs: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    code, _, noted = run(capsys, *arguments)
    assert code == 2
    assert said in noted
