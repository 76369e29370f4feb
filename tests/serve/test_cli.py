"""The command line as a person and a script meet it: output, JSON, exit codes, messages."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pincite.manage import models_in_use
from pincite.serve.cli.main import main
from pincite.serve.cli.render import warn_stale
from pincite.settings import Settings
from pincite.store.filters import And, Between, Glob, In, Not
from pincite.types import StaleSource
from tests.data.make_pdf import small
from tests.fakes import HashEncoder

ROOT = Path(__file__).resolve().parents[2]
NOTES = {
    "caches.md": "# Caches\n\nA KV cache stores the keys and values of earlier tokens, so that each new token does not "
    "recompute them.\n",
    "lora.md": "---\nyear: 2021\n---\n# Adapters\n\nLoRA adds small trainable matrices to frozen weights.\n",
    "temperature.md": "# Sampling\n\nTemperature scales the logits before sampling.\n",
    "scan.gif": "GIF89a",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of notes, and a command line that uses a small encoder and no generator."""
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, text in NOTES.items():
        (notes / name).write_text(text)
    monkeypatch.setenv("PINCITE_CONFIG", str(tmp_path / "none.toml"))
    monkeypatch.setenv("PINCITE_LIBRARY", str(tmp_path / "t.pincite"))
    monkeypatch.setenv("PINCITE_GENERATOR", "none")
    monkeypatch.setattr("pincite.models.lazy.load_encoder", lambda *args, **kwargs: HashEncoder())
    return notes


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_add_reports_each_source_and_a_summary(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["add", str(folder), "--json"]) == 0
    *sources, last = lines(capsys)
    assert {(Path(s["uri"]).name, s["status"]) for s in sources} == {
        ("caches.md", "indexed"),
        ("lora.md", "indexed"),
        ("temperature.md", "indexed"),
        ("scan.gif", "unsupported"),
    }
    assert all(set(s) >= {"uri", "status", "version", "passages", "reason", "fix"} for s in sources)
    assert last["summary"]["indexed"] == 3
    assert last["summary"]["unsupported"] == 1
    assert main(["add", str(folder), "--json"]) == 0
    assert {s["status"] for s in lines(capsys)[:-1]} == {"unchanged", "unsupported"}


def test_search_json_has_the_contract_shape(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["add", str(folder)])
    capsys.readouterr()
    assert main(["search", "trainable matrices", "--limit", "2", "--json"]) == 0
    [result] = lines(capsys)
    assert set(result) == {"question", "mode", "hits", "stale", "trace"}
    assert result["mode"] == "hybrid"
    best = result["hits"][0]
    assert best["uri"].endswith("/lora.md")
    text = (folder / "lora.md").read_text()
    assert text[best["start"] : best["end"]] == best["text"]
    assert len(result["hits"]) == 2
    assert [hit["rank"] for hit in result["hits"]] == [1, 2]


def test_a_reranker_looks_again(folder: Path, reranker_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["add", str(folder)])
    capsys.readouterr()
    assert main(["search", "cache keys", "--reranker", str(reranker_folder), "--json"]) == 0
    [result] = lines(capsys)
    assert result["trace"]["stages"][-1]["name"] == "rerank"
    assert main(["search", "cache keys", "--reranker", "none", "--json"]) == 0
    [result] = lines(capsys)
    assert result["trace"]["stages"][-1]["name"] != "rerank"


def test_the_models_in_use_are_those_with_files_of_their_own() -> None:
    chosen = Settings(encoder="st:m", generator="llama:g", reranker="org/r")
    assert models_in_use(chosen) == ["g", "org/r"]
    assert models_in_use(Settings(generator="none", reranker="https://h/rerank#m")) == ["all-MiniLM-L6-v2"]


def test_the_same_text_at_two_paths_is_one_hit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "copy.md").write_text((folder / "lora.md").read_text())
    main(["add", str(folder)])
    capsys.readouterr()
    main(["search", "trainable matrices", "--mode", "keyword", "--limit", "1", "--json"])
    main(["search", "trainable matrices", "--mode", "keyword", "--limit", "1"])
    printed = capsys.readouterr().out
    result, *shown = printed.splitlines()
    [hit] = json.loads(result)["hits"]
    [other] = hit["also"]
    assert {Path(hit["uri"]).name, Path(other["uri"]).name} == {"lora.md", "copy.md"}
    assert (other["start"], other["end"]) == (hit["start"], hit["end"])
    assert any(line.strip().startswith("also in") and other["passage_id"] in line for line in shown)


def test_search_sees_a_change_without_being_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["add", str(folder)])
    (folder / "new.md").write_text("Beam search keeps several hypotheses.\n")
    (folder / "lora.md").unlink()
    capsys.readouterr()
    main(["search", "hypotheses", "--mode", "keyword", "--json"])
    main(["search", "matrices", "--mode", "keyword", "--json"])
    found, gone = lines(capsys)
    assert [Path(hit["uri"]).name for hit in found["hits"]] == ["new.md"]
    assert gone["hits"] == []


def test_ask_cites_exact_quotes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", str(folder), "What avoids recomputing earlier tokens?", "--json"]) == 0
    [answer] = lines(capsys)
    assert set(answer) >= {"question", "text", "outcome", "claims", "citations", "findings", "trace"}
    assert answer["outcome"] == "answered"
    first = answer["citations"][0]
    assert first["uri"].endswith("/caches.md")
    text = (folder / "caches.md").read_text()
    assert text[first["start"] : first["end"]] == first["quote"]
    for claim in answer["claims"]:
        assert answer["text"][claim["start"] : claim["end"]] == claim["text"]


def test_ask_for_what_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", str(folder), "Which vaccines does a kitten need?", "--json"]) == 1
    [answer] = lines(capsys)
    assert answer["outcome"] == "not_in_documents"
    assert answer["citations"] == []


def test_ask_of_a_folder_answers_from_that_folder_alone(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "copy.md").write_text(NOTES["caches.md"])
    main(["add", str(other)])
    capsys.readouterr()
    main(["ask", str(folder), "What avoids recomputing earlier tokens?", "--json"])
    [answer] = lines(capsys)
    assert {Path(c["uri"]).parent.name for c in answer["citations"]} == {"notes"}


def test_show_text_is_exactly_the_text(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (folder / "odd.txt").write_bytes("Größe\r\n\x00 \u202eend".encode())
    main(["add", str(folder)])
    capfdbinary.readouterr()
    assert main(["show", str(folder / "odd.txt"), "--text"]) == 0
    assert capfdbinary.readouterr().out == "Größe\r\n\x00 \u202eend".encode()


def test_show_a_passage_in_its_context(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["add", str(folder)])
    capsys.readouterr()
    main(["search", "logits", "--json", "--mode", "keyword"])
    passage = lines(capsys)[0]["hits"][0]
    assert main(["show", passage["passage_id"]]) == 0
    assert f"⟦{passage['text']}⟧" in capsys.readouterr().out


def test_an_older_version_can_be_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["add", str(folder)])
    (folder / "lora.md").write_text("Something else.\n")
    main(["add", str(folder)])
    capsys.readouterr()
    assert main(["show", str(folder / "lora.md"), "--text", "--version", "1"]) == 0
    assert "trainable matrices" in capsys.readouterr().out


def test_remove_stays_removed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["add", str(folder)])
    assert main(["remove", str(folder / "lora.md")]) == 0
    capsys.readouterr()
    main(["search", "matrices", "--mode", "keyword", "--json"])
    assert lines(capsys)[0]["hits"] == []
    assert main(["list", "--json"]) == 0
    assert not [row for row in lines(capsys) if row["uri"].endswith("lora.md")]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["search", "  "], 2),
        (["ask", ""], 2),
        (["add", "no/such/path"], 2),
        (["remove", "no/such/path"], 2),
        (["show", "no/such/path"], 2),
        (["check", "no/such/file"], 2),
        (["check", "."], 2),
        (["search", "x", "--where", "nonsense"], 2),
        (["config", "nonsense"], 2),
        (["search", "x", "--limit", "0"], 2),
        (["models", "path", "no-such-model"], 4),
    ],
)
def test_wrong_use_says_what_to_do(
    arguments: list[str], code: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("pincite: ")
    assert len(printed.err.splitlines()) == 2, "one sentence for what happened, one for what to do"
    assert main([*arguments, "--json"]) == code
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"]
    assert error["fix"]


def test_nothing_found(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["list"]) == 1
    assert main(["add", str(empty)]) == 1
    assert main(["search", "anything"]) == 1
    assert main(["ask", str(empty), "anything at all"]) == 1


def test_a_source_that_fails_gives_3_and_the_others_are_in(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "broken.html").write_bytes(b"\xff\xfe\x00" + bytes(range(256)) * 50)
    (folder / "bad.md").symlink_to(folder / "nowhere")
    code = main(["add", str(folder), "--json"])
    *sources, _ = lines(capsys)
    statuses = {Path(s["uri"]).name: s["status"] for s in sources}
    assert statuses["caches.md"] == "indexed"
    assert code == (3 if "failed" in statuses.values() or "partly" in statuses.values() else 0)
    assert all(s["reason"] for s in sources if s["status"] in ("failed", "partly", "unsupported", "skipped"))


def test_where_restricts_inside_the_search(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["add", str(folder)])
    capsys.readouterr()
    main(["search", "tokens weights logits", "--where", "year=2021", "--json"])
    assert [Path(hit["uri"]).name for hit in lines(capsys)[0]["hits"]] == ["lora.md"]


def test_conditions_are_parsed_by_their_first_operator() -> None:
    from pincite.serve.cli.opening import filter_of

    assert filter_of([]) is None
    assert filter_of(["a=b=c", "n!=1", "y>=2", "y<=x", "path~*.md"]) == And(
        (
            In("a", ("b=c",)),
            Not(In("n", ("1", 1))),
            Between("y", low=2),
            Between("y", high="x"),
            Glob("path", "*.md"),
        )
    )


def test_terminal_control_characters_never_reach_the_terminal(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "evil.md").write_text("The zebra \x1b[2Jclears \x9b0m your \u202escreen.\n")
    main(["add", str(folder)])
    main(["search", "zebra", "--mode", "keyword"])
    main(["ask", str(folder), "What does the zebra clear?"])
    printed = "".join(capsys.readouterr())
    assert not set(printed) & {"\x1b", "\x9b", "\u202e"}


def test_config_shows_where_a_value_comes_from(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCITE_LIMIT", "7")
    assert main(["config", "limit"]) == 0
    assert capsys.readouterr().out == "7\n"
    assert main(["config", "--json"]) == 0
    [table] = lines(capsys)
    assert {row["name"] for row in table["settings"]} >= {"library", "encoder", "generator"}


def test_common_options_may_stand_on_either_side(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (
        ["--library", str(tmp_path / "a.pincite"), "add", str(folder)],
        ["add", str(folder), "--library", str(tmp_path / "b.pincite")],
    ):
        assert main(arguments) == 0
    assert (tmp_path / "a.pincite").is_dir()
    assert (tmp_path / "b.pincite").is_dir()


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    for command in (
        "ask",
        "add",
        "search",
        "list",
        "show",
        "remove",
        "check",
        "evaluate",
        "cases",
        "models",
        "doctor",
        "config",
    ):
        assert f"\n    {command} " in text


def test_the_page_of_a_passage_is_painted(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "tides.pdf").write_bytes(bytes(small()))
    main(["add", str(folder)])
    capsys.readouterr()
    main(["search", "Nothing is certain but the next tide", "--json", "--limit", "1"])
    [hit] = json.loads(capsys.readouterr().out)["hits"]
    assert main(["show", hit["passage_id"], "--page-image", str(tmp_path / "page.png")]) == 0
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
    assert "page.png" in capsys.readouterr().err
    assert main(["show", hit["passage_id"], "--page-image", str(tmp_path / "no" / "page.png")]) == 2
    assert main(["show", str(folder / "lora.md"), "--page-image", str(tmp_path / "x.png")]) == 2


def test_a_check_says_what_carries_no_citation(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("A KV cache stores the keys and values of earlier tokens. Bananas cost 77 dollars.")
    assert main(["check", str(text)]) == 1
    assert "The library holds no documents to check against" in capsys.readouterr().err
    main(["add", str(folder)])
    capsys.readouterr()
    assert main(["check", str(text)]) == 1
    printed = capsys.readouterr()
    assert "supported   A KV cache stores the keys and values of earlier tokens. [1]" in printed.out
    assert printed.err.splitlines() == [
        "Note: No passage carries this claim: 'Bananas cost 77 dollars.'. Do not rely on it."
    ]
    main(["check", str(text), "--where", "year=2021", "--json"])
    assert {Path(citation["uri"]).name for citation in lines(capsys)[0]["citations"]} <= {"lora.md"}
    text.write_text("")
    assert main(["check", str(text)]) == 0
    assert "no sentence to check" in capsys.readouterr().err


def test_a_verifier_that_is_not_there_is_named_as_one(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.txt").write_text("A KV cache stores keys.")
    assert main(["check", str(tmp_path / "text.txt"), "--verifier", "nosuch"]) == 4
    message = capsys.readouterr().err
    assert "There is no verifier 'nosuch'." in message
    assert "smollm2" not in message


def test_an_answer_shows_prose_without_the_line_breaks_of_its_source(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "wrapped.md").write_text(
        "# Reading\n\nWhat failed to be read is read\nagain when its file has changed.\n"
    )
    assert main(["ask", str(folder), "When is what failed to be read read again?", "--json", "--extract"]) == 0
    answer = lines(capsys)[0]
    assert "is read again when its file has changed. [1]" in answer["text"]
    assert answer["citations"][0]["quote"] == "What failed to be read is read\nagain when its file has changed."
    first = answer["claims"][0]
    assert answer["text"][first["start"] : first["end"]] == first["text"]
    assert first["verdict"] == "supported"


def test_stale_sources_name_their_version_and_the_library_has_none(capsys):
    warn_stale(
        (StaleSource("file:///a.txt", 2, "It changed.", "Look."), StaleSource("file:///lib", 0, "Behind.", "Wait."))
    )
    assert capsys.readouterr().err.splitlines() == [
        "Stale: /a.txt: It changed. Version 2 was searched. Look.",
        "Stale: /lib: Behind. Wait.",
    ]


# --- how it behaves at a shell: words, streams, interruptions


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serach", "x"], ("There is no command 'serach'.", "Did you mean search?")),
        (["search", "x", "--mode", "vectr"], ("--mode does not take 'vectr'.", "Did you mean vector?")),
        (["search", "x", "--mode", "q"], ("--mode does not take 'q'.", "There are hybrid, vector, keyword.")),
        (["search", "x", "--nosuch"], ("`pincite search` does not take --nosuch.", "pincite search --help")),
        (["search", "x", "--limit", "many"], ("invalid int value: 'many'", "pincite search --help")),
        (["keys", "add", "anna", "bob"], ("`pincite keys` does not take bob.", "pincite keys --help")),
        (["models", "path"], ("takes another number of names", "pincite models")),
        ([], ("required: COMMAND", "pincite --help")),
        (["ask", "./notes", "./notes"], ("./notes is a path, and there is no question.", "the question last")),
        (["search", "What is it?", "./notes"], ("./notes is a path", "the question last")),
        (["ask", "./notes", "What", "is", "it?"], ("There is no ", "in quotes")),
        (["add", ""], ("A path is empty.", "'.' is the folder that you are in.")),
        (["ask", "", "What is it?"], ("A path is empty.", "'.' is the folder that you are in.")),
        (["remove", ""], ("A path is empty.", "'.' is the folder that you are in.")),
        (["show", "nosuch.md"], ("The library does not hold nosuch.md.", "`pincite list`")),
    ],
)
def test_a_slip_of_the_hand_is_met_with_advice(
    arguments: list[str],
    said: tuple[str, str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder.parent)
    main(["add", str(folder)])
    capsys.readouterr()
    assert main(arguments) == 2
    message, fix = capsys.readouterr().err.removeprefix("pincite: ").split("\n  ")
    assert said[0] in message
    assert said[1] in fix
    assert main([*arguments, "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["code"], error["fix"]) != ("", "")
    main(["list", "--json"])
    assert len(lines(capsys)) == len(NOTES)  # nothing was added and nothing went


def test_words_may_stand_behind_options(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder.parent)
    assert main(["add", "notes/lora.md", "--json", "notes/caches.md"]) == 0
    assert len(lines(capsys)) == 3
    assert main(["search", "notes", "--mode", "keyword", "trainable matrices", "--json"]) == 0
    assert lines(capsys)[0]["question"] == "trainable matrices"
    assert main(["keys", "add", "--role", "admin", "anna", "--json"]) == 0
    assert lines(capsys)[0]["name"] == "anna"


def test_an_empty_library_says_so(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["list"], ["search", "anything"], ["ask", "anything"]):
        assert main(arguments) == 1
        assert "The library holds no documents. `pincite add PATH` adds some." in capsys.readouterr().err
    main(["add", str(folder)])
    (folder / "scan.gif").unlink()
    main(["add", str(folder)])
    capsys.readouterr()
    assert main(["list", "--failed"]) == 1
    assert capsys.readouterr().err == "Nothing failed.\n"


SHELL = """
import os, sys
os.environ["PINCITE_GENERATOR"] = "none"
import pincite.models.lazy
from tests.fakes import HashEncoder
pincite.models.lazy.load_encoder = lambda *args, **kwargs: HashEncoder()
from pincite.serve.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name == "nt", reason="the shell's redirections are those of POSIX")
@pytest.mark.parametrize(
    ("line", "code", "out", "err"),
    [
        ("list --json >/dev/full", 2, "", "The output cannot be written: no space left on device."),
        ("show notes/lora.md --text >/dev/full", 2, "", "The output cannot be written: no space left on device."),
        ("list 2>/dev/full", 0, "caches.md", ""),
        ("list >&-", 0, "", ""),
        ("list nosuch --json 2>&-", 1, "", ""),
        ("show notes/lora.md --text >&-", 0, "", ""),
        ("check - <&-", 0, "", "has no sentence to check"),
        ("chat <&-", 0, "", ""),
        ("config | head -1", 0, "# ", ""),
    ],
)
def test_streams_that_are_full_or_closed(
    line: str, code: int, out: str, err: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if "/dev/full" in line and not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    main(["add", str(folder)])
    (tmp_path / "shell.py").write_text(SHELL)
    ran = subprocess.run(
        ["bash", "-c", f'{shlex.quote(sys.executable)} "$0" {line}', str(tmp_path / "shell.py")],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, "Traceback" in ran.stderr) == (code, False), ran.stderr
    assert out in ran.stdout and bool(out) == bool(ran.stdout)
    assert err in ran.stderr


def test_with_json_stdout_holds_documented_json_only(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("A KV cache stores keys. Bananas are blue.")
    (tmp_path / "cases.jsonl").write_text('{"question": "What is scaled?", "source": "notes/temperature.md"}\n')
    documented = set(re.findall(r'"([a-z_@0-9]+)"', (ROOT / "docs" / "reference" / "json.md").read_text()))
    for words in (
        *("add notes", "search weights", "search --explain weights", "ask notes Which?", "ask --stream logits", "list"),
        *(
            "show notes/lora.md",
            "label notes/lora.md hr",
            "label",
            "check text.txt",
            "why logits --document notes/lora.md",
        ),
        *(
            "evaluate cases.jsonl",
            "evaluate cases.jsonl --against keyword",
            "ceiling cases.jsonl",
            "cases make new.jsonl",
        ),
        *("cases review new.jsonl", "models list", "doctor", "config", "config limit", "keys add anna", "keys list"),
        *("keys revoke anna", "remove notes/lora.md", "nosuch", "show nosuch"),
    ):
        monkeypatch.setattr("sys.stdin", io.StringIO(""))
        main([*words.split(), "--json", "--timing"])
        printed = lines(capsys)
        assert printed, words
        assert {key for line in printed for key in line} <= documented, words
