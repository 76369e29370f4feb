"""``pincite add``: again what failed, with a password, and how far it is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pincite.acquire.fetch_url import Fetched
from pincite.reports import Pace
from pincite.serve.cli.add import pace_line
from pincite.serve.cli.main import main
from tests.data.make_pdf import Pdf, PdfPage, lines
from tests.fakes import HashEncoder


@pytest.fixture(autouse=True)
def a_library_and_a_small_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_LIBRARY", str(tmp_path / "t.pincite"))
    monkeypatch.setenv("PINCITE_GENERATOR", "none")
    monkeypatch.delenv("PINCITE_PASSWORD", raising=False)
    monkeypatch.setattr("pincite.models.lazy.load_encoder", lambda *args, **kwargs: HashEncoder())


def reports(output: str) -> dict[str, dict]:
    rows = [json.loads(line) for line in output.splitlines()]
    return {Path(row["uri"]).name: row for row in rows if "uri" in row}


def test_what_failed_is_listed_and_read_again(tmp_path, capsys, monkeypatch):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "good.txt").write_text("The weir is old.")
    (docs / "secret.pdf").write_bytes(
        bytes(Pdf([PdfPage(lines(40, 500, ["The weir holds 4,200 litres."]))], password="hush-hush"))
    )
    assert main(["add", str(docs), "--json"]) == 3
    first = reports(capsys.readouterr().out)
    assert first["secret.pdf"]["status"] == "failed"
    assert "password" in first["secret.pdf"]["reason"] and "PINCITE_PASSWORD" in first["secret.pdf"]["fix"]
    assert main(["list", "--failed", "--json"]) == 0
    assert list(reports(capsys.readouterr().out)) == ["secret.pdf"]
    assert main(["add", "--retry", "--password", "hush-hush", "--json"]) == 0
    output = capsys.readouterr()
    assert {name: row["status"] for name, row in reports(output.out).items()} == {"secret.pdf": "indexed"}
    assert "hush" not in output.out + output.err
    assert main(["list", "--failed", "--json"]) == 1
    assert main(["add", "--retry", "--json"]) == 1  # nothing left


def test_a_password_from_the_environment_is_taken(tmp_path, capsys, monkeypatch):
    path = tmp_path / "secret.pdf"
    path.write_bytes(bytes(Pdf([PdfPage(lines(40, 500, ["It holds 4,200 litres."]))], password="hush-hush")))
    monkeypatch.setenv("PINCITE_PASSWORD", "hush-hush")
    assert main(["add", str(path)]) == 0
    assert "hush" not in "".join(capsys.readouterr())


def test_no_path_and_no_retry_is_wrong_use(capsys):
    assert main(["add"]) == 2
    assert "--retry" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pace", "seconds", "line"),
    [
        (Pace(1, 10, 50, 1000), 1.0, "1 of 10 files (1/s)"),
        (Pace(500, 1000, 250, 1000), 100.0, "500 of 1,000 files (5/s), about 5 min left"),
        (
            Pace(1000, 1000, 1000, 1000, embedded=300, to_embed=400),
            30.0,
            "1,000 of 1,000 files (33/s), 300 of 400 passages embedded (10/s), about 10 s left",
        ),
        (Pace(0, 0, 0, 0), 5.0, "0 of 0 files (0/s), about 0 s left"),
    ],
)
def test_the_line_says_how_far_how_fast_and_how_long(pace, seconds, line):
    assert pace_line(pace, seconds) == line


def test_a_page_of_the_web_is_added_and_refused_offline(tmp_path, capsys, monkeypatch):
    asked = []

    def fetched(url: str, *, etag: str) -> Fetched:
        asked.append((url, etag))
        return Fetched(url, url, b"# Weir\n\nThe weir holds 4,200 litres.", "text/markdown", '"1"')

    monkeypatch.setattr("pincite.build.web.fetch_url", fetched)
    (tmp_path / "a.txt").write_text("A file beside it.")
    assert main(["add", "https://weir.example/about", str(tmp_path / "a.txt"), "--json"]) == 0
    first = reports(capsys.readouterr().out)
    assert {name: row["status"] for name, row in first.items()} == {"about": "indexed", "a.txt": "indexed"}
    assert first["about"]["uri"] == "https://weir.example/about"
    assert main(["add", "https://weir.example/about"]) == 0
    assert asked == [("https://weir.example/about", ""), ("https://weir.example/about", '"1"')]
    capsys.readouterr()
    assert main(["--offline", "add", "https://weir.example/about"]) == 2
    assert "Pincite is offline" in capsys.readouterr().err
    assert len(asked) == 2


def test_what_is_watched_does_not_run_into_the_line_of_progress(tmp_path, capsys, monkeypatch):
    (tmp_path / "a.txt").write_text("The weir is old.")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.fileno", lambda: 2)
    monkeypatch.setattr("pincite.serve.cli.render.os.get_terminal_size", lambda _: os.terminal_size((80, 24)))
    monkeypatch.setattr("pincite.library.Library.watch", lambda self, paths, **how: self.adding(paths, **how))
    assert main(["add", "--watch", str(tmp_path / "a.txt")]) == 0
    told = capsys.readouterr().err
    assert "1 of 1 files" in told
    assert told.split("\r")[-1].startswith("indexed: ")  # the line before it was left
