"""``evaluate`` and ``cases`` as a person and a script meet them."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from pincite.serve.cli.main import main
from tests.fakes import HashEncoder

NOTES = {
    "caches.md": "# Caches\n\nA KV cache is a store of the keys and values of earlier tokens of a transformer.\n",
    "lora.md": "# Adapters\n\nLoRA adds 2 small trainable matrices to frozen weights of a transformer layer.\n",
    "tides.md": "# Tides\n\nThe spring tide at Saltmarsh reaches 7 metres above the harbour wall in March.\n",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A working folder with notes in a library."""
    for name, text in NOTES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PINCITE_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("PINCITE_LIBRARY", str(tmp_path / "t.pincite"))
    monkeypatch.setenv("PINCITE_GENERATOR", "none")
    monkeypatch.setattr("pincite.models.lazy.load_encoder", lambda *args, **kwargs: HashEncoder())
    main(["add", *NOTES])
    capsys.readouterr()
    return tmp_path


def cases(here: Path, *rows: dict) -> str:
    (here / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "cases.jsonl"


TWO = (
    {"question": "trainable matrices", "source": "lora.md", "quote": "LoRA adds 2 small trainable matrices"},
    {"question": "keys and values of tokens", "source": "caches.md"},
)


def test_own_cases_are_measured_in_the_library(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = cases(here, *TWO, {"question": "what?", "source": "gone.md"})
    assert main(["evaluate", file, "--mode", "keyword", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert (measured["dataset"], measured["documents"], measured["queries"]) == ("cases", 3, 2)
    assert (measured["success@1"], measured["span_recall@5"]) == (1.0, 1.0)
    assert measured["intervals"]["success@1"] == [1.0, 1.0]
    assert [problem["source"] for problem in measured["unmeasured"]] == ["gone.md"]
    assert main(["evaluate", file, "--against", "vector", "--evidence", "1", "--questions", "1"]) == 0
    text = capsys.readouterr().out
    assert "hybrid search, reranker: none" in text
    assert "against cases vector" in text
    assert "no difference shown" in text
    assert "span_recall@1" in text


def test_a_baseline_guards_a_corpus(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = cases(here, *TWO)
    guard = ["evaluate", file, "--mode", "keyword", "--baseline", "baseline.json"]
    assert main(guard) == 2
    assert main([*guard, "--update-baseline"]) == 0
    assert main(guard) == 0
    assert "Not worse than the baseline" in capsys.readouterr().out
    (here / "lora.md").write_text("# Adapters\n\nNothing is left.\n")
    (here / "tides.md").write_text("trainable matrices are trainable matrices\n")
    assert main(guard) == 1
    text = capsys.readouterr().out
    assert "Worse than the baseline" in text
    assert "mrr@10 fell by" in text
    assert main([*guard, "--tolerance", "1"]) in (0, 1)
    (here / "lora.md").unlink()
    assert main([*guard, "--json"]) == 1
    assert "not measured" in json.loads(capsys.readouterr().out.splitlines()[-1])["baseline"]["worse"][-1]


@pytest.mark.parametrize(
    "wrong",
    [
        ["evaluate", "nothing.jsonl"],
        ["evaluate", "cases.jsonl", "--against", "nothing.json"],
        ["evaluate", "cases.jsonl", "--update-baseline"],
        ["evaluate", "cases.jsonl", "--reranker", "no/such/thing", "--offline"],
        ["cases", "review", "nothing.jsonl"],
    ],
)
def test_wrong_use_says_what_to_do(here: Path, wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    cases(here, *TWO)
    assert main(wrong) in (2, 4)
    assert len(capsys.readouterr().err.strip().splitlines()) >= 2


@pytest.mark.parametrize("number", ["0", "-1", "x"])
def test_counts_are_checked(here: Path, number: str) -> None:
    assert main(["evaluate", "cases.jsonl", "--questions", number]) == 2


def test_drafts_are_made_reviewed_and_asked(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["cases", "make", "own.jsonl", "--count", "6", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)["made"]
    assert 4 <= made <= 6
    rows = [json.loads(line) for line in (here / "own.jsonl").read_text().splitlines()]
    assert {row["source"] for row in rows} == set(NOTES)
    for row in rows:
        assert NOTES[row["source"]][row["start"] : row["end"]] == row["quote"]
    assert main(["evaluate", "own.jsonl"]) == 2
    assert "--drafts" in capsys.readouterr().err
    assert main(["evaluate", "own.jsonl", "--drafts"]) == 0

    def review(typed: str) -> dict:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        capsys.readouterr()
        assert main(["cases", "review", "own.jsonl", "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    assert review("y\nwhat?\nn\nq\n") == {"file": "own.jsonl", "accepted": 1, "rejected": 1, "draft": made - 2}
    assert review("e\nWhat then?\n")["accepted"] == 2
    rows = [json.loads(line) for line in (here / "own.jsonl").read_text().splitlines()]
    assert [row["question"] for row in rows].count("What then?") == 1
    assert review("s\n" * made)["accepted"] == 2
    assert main(["evaluate", "own.jsonl", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["queries"] == 2
    before = (here / "own.jsonl").read_text()
    main(["cases", "make", "--output", "own.jsonl"])
    assert (here / "own.jsonl").read_text().startswith(before)


def test_no_documents_make_no_cases_and_say_so(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PINCITE_LIBRARY", str(here / "empty.pincite"))
    assert main(["cases", "make"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "The library holds no documents" in printed.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["cases", "make", "."], ". is a folder."),
        (["ceiling", "cases.jsonl", "--html", "no/such/x.html"], "There is no folder no/such."),
    ],
)
def test_places_that_cannot_be_written_are_named_at_once(
    here: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
