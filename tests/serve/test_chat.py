"""``pincite chat`` as a person and a script meet it."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from pincite.serve.cli.chat import markdown
from pincite.serve.cli.main import main
from pincite.types import Answer, Citation, Claim
from tests.fakes import HashEncoder

LAW = """# Warranty

## Goods

The seller of goods is liable for defects for two years after delivery.

## Services

The provider of a service is liable for defects for six months after the work was accepted.

# Payment

Invoices are due thirty days after delivery.
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one document, and a command line that uses a small encoder and no generator."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "law.md").write_text(LAW)
    monkeypatch.setenv("PINCITE_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("PINCITE_LIBRARY", str(tmp_path / "t.pincite"))
    monkeypatch.setenv("PINCITE_GENERATOR", "none")
    monkeypatch.setenv("PINCITE_STRICTNESS", "0.1")  # the gate is calibrated for a real encoder
    monkeypatch.setattr("pincite.models.lazy.load_encoder", lambda *args, **kwargs: HashEncoder())
    return notes


@pytest.fixture
def talk(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Say lines to a chat, and give what came on stdout and stderr."""

    def said(*lines: str, options: tuple[str, ...] = ()) -> tuple[str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        assert main(["chat", *options, str(folder)]) == 0
        captured = capsys.readouterr()
        return captured.out, captured.err

    return said


GOODS = "How long is the seller of goods liable for defects?"


def test_a_follow_up_is_answered_from_the_conversation_and_says_so(talk):
    out, err = talk(GOODS, "What about a service?")
    assert "for two years" in out
    assert "for six months" in out.split("two years", 1)[1]
    assert f"Understood as a follow-up to “{GOODS}”" in err


def test_new_forgets(talk):
    _, err = talk(GOODS, "/new", "What about a service?")
    assert "Understood" not in err


def test_open_shows_the_quote_in_its_context(talk):
    out, _ = talk(GOODS, "/open 1")
    before, quote, after = out.split("»»")[1].partition("««")
    assert before == "The seller of goods is liable for defects for two years after delivery."
    assert quote and after.startswith("\n\n## Services")


def test_every_turn_sees_the_newest_state_and_opens_the_cited_version(talk, folder, monkeypatch):
    def lines():
        yield GOODS
        (folder / "law.md").write_text(LAW.replace("two years", "three years"))
        yield GOODS
        yield "/open 1 1"

    monkeypatch.setattr("pincite.serve.cli.chat._lines", lambda _: lines())
    out, _ = talk()
    first, second = out.split("three years", 1)
    assert "two years" in first
    assert "two years" in second  # what the first answer cited is still there to be opened


def test_json_gives_one_line_for_each_line(talk):
    out, _ = talk(GOODS, "What about a service?", "/open 1", "/sources", "/why", "/nope", "/new", options=("--json",))
    first, second, opened, sources, why, error, new = map(json.loads, out.splitlines())
    assert first["question"] == GOODS
    [stage] = [stage for stage in second["trace"]["stages"] if stage["name"] == "understand"]
    assert stage["depends"] is True
    assert stage["taken"] == GOODS
    cited = opened["opened"]
    assert LAW[cited["start"] : cited["end"]] == cited["quote"]
    assert LAW[: cited["start"]].endswith(cited["before"])
    spans = {(c["start"], c["end"]) for answer in (first, second) for c in answer["citations"]}
    assert {(c["start"], c["end"]) for c in sources["sources"]} == spans
    assert why["why"]["stages"]
    assert error["error"]["code"] == "usage_error"
    assert new == {"new": True}


def test_a_saved_conversation_has_footnotes_and_is_not_written_over(talk, tmp_path):
    path = tmp_path / "talk.md"
    _, err = talk(GOODS, "What about a service?", f"/save {path}", f"/save {path}")
    text = path.read_text()
    assert text.startswith("## How long is the seller")
    assert "for two years after delivery.[^1]" in text
    assert "[^1]: “The seller of goods is liable for defects for two years after delivery.”" in text
    assert "cannot be written" in err


def test_markdown_escapes_what_documents_say_and_counts_footnotes_through():
    def answer(number: int) -> Answer:
        quote = f"<b>*{number}* [1]"
        claim = Claim(0, 12, f"{quote} [1]", "unsupported" if number == 2 else "supported", (1,))
        return Answer("q", claim.text, "answered", (claim,), (Citation(1, "p", "file:///a", 1, 0, 12, quote),))

    text = markdown([answer(1), answer(2)])
    assert r"\<b\>\*1\* \[1\][^1]" in text
    assert r"\<b\>\*2\* \[1\][^2] *(unsupported)*" in text
    assert "[^2]: “" in text


@pytest.mark.parametrize(
    "line", ["/open", "/open x", "/open 1", "/open 7", "/why", "/save", "/save /no/such/folder/x", "/x"]
)
def test_a_wrong_command_is_an_error_with_advice_and_not_the_end(talk, line):
    out, err = talk(line, GOODS)
    assert err.startswith("pincite: ") and "\n  " in err
    assert "two years" in out


def test_ctrl_c_ends_the_answer_and_not_the_chat(talk, monkeypatch):
    from pincite.library import Library

    stream, calls = Library.stream, []

    def interrupted(self, question, **options):
        calls.append(options["history"])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return stream(self, question, **options)

    monkeypatch.setattr(Library, "stream", interrupted)
    _, err = talk(GOODS, "And of a service?", "What of a service?")
    assert "Stopped" in err
    assert [len(history) for history in calls] == [0, 1, 1]


def test_undecodable_input_is_a_question(folder, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"seller \xff goods\n\n"), encoding="utf-8"))
    assert main(["chat", "--json", str(folder)]) == 0
    assert json.loads(capsys.readouterr().out)["question"] == "seller \ufffd goods"


def test_settings_of_the_answer_reach_it(talk):
    out, _ = talk(GOODS, options=("--strictness", "1"))
    assert "do not answer" in out
