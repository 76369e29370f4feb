"""Keys and passwords in the environment, and every failure there is: they are in no byte that comes out or stays."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite.models.lazy import Models
from pincite.serve.cli.main import main
from pincite.serve.keys import Keys
from pincite.settings import changed
from tests.data.make_pdf import Pdf, PdfPage, lines
from tests.fakes import HashEncoder
from tests.security.routes import bodies, filled, routes, send

CANARY = "sk-CANARY0123456789abcdef"
PASSWORD = "PASSWORD-CANARY-9"


class Failing(http.server.BaseHTTPRequestHandler):
    """Fails in the way that its path says, and repeats what it was given."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        way = self.path.split("/")[1]
        said = f"Your {self.headers.get('Authorization')} is not good.".encode()
        if way == "slow":
            time.sleep(3)
        if way == "drop":
            self.close_connection = True
            return
        self.send_response({"401": 401, "429": 429, "500": 500, "302": 302}.get(way, 200))
        self.send_header("Retry-After", "600")
        self.send_header("Location", f"/other?{self.headers.get('Authorization')}")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_given: object) -> None:
        return


@pytest.fixture(scope="module")
def failing() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Failing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    keys = dict.fromkeys(("OPENAI_API_KEY", "RERANK_API_KEY"), CANARY)
    debug = {"PYTHONDEVMODE": "1", "PYTHONFAULTHANDLER": "1", "OPENAI_LOG": "debug", "PYTHONWARNINGS": "default"}
    places = {"PINCITE_CONFIG": str(tmp_path / "none.toml"), "PINCITE_LIBRARY": str(tmp_path / "l.pincite")}
    return {**os.environ, **keys, **debug, **places, "PINCITE_PASSWORD": PASSWORD}


def pincite(environment: dict[str, str], *arguments: str, code: str = "") -> bytes:
    """Run the program and give all that it wrote."""
    command = ["-c", code, *arguments] if code else ["-m", "pincite.serve.cli.main", *arguments]
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, timeout=120)
    return done.stdout + done.stderr


def clean(said: bytes, folder: Path) -> None:
    """Look for the secrets in what was said and in every file."""
    for secret in (CANARY.encode(), PASSWORD.encode(), CANARY[10:].encode()):
        assert secret not in said
        for path in folder.rglob("*"):
            assert not path.is_file() or secret not in path.read_bytes(), path


CRASH = """
import sys, pincite.ground.answer as answer
def crash(*given, **named): raise ZeroDivisionError("a defect")
answer.answer_events = crash
from pincite.models.lazy import Models
from pincite.serve.cli.main import main
from pincite.serve.keys import Keys
from pincite.settings import changed
main(sys.argv[1:])
"""


def test_row_27_no_failure_shows_a_key(failing, environment, tmp_path, monkeypatch, capfd):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("The weir is good. It holds 4,200 litres.")
    (docs / "locked.pdf").write_bytes(bytes(Pdf([PdfPage(lines(40, 500, ["It is locked."]))], password=PASSWORD)))
    for name in environment.keys() - os.environ.keys() | {"OPENAI_API_KEY"}:
        monkeypatch.setenv(name, environment[name])
    monkeypatch.setenv("PINCITE_ANSWER_SECONDS", "1")
    assert main(["add", str(docs), "--json"]) == 0
    asked = ["ask", "How many litres does the weir hold?", "--json", "--timing", "--mode", "keyword"]
    for way in ("401", "429", "500", "302", "drop", "slow", "rubbish"):
        main([*asked, "--generator", "openai:m", "--base-url", f"{failing}/{way}"])
    main([*asked, "--extract", "--reranker", f"{failing}/401#m"])
    main(["search", "weir", "--encoder", "openai:m", "--base-url", f"{failing}/401"])
    main(["why", "weir", "--document", str(docs / "a.md"), "--json"])
    for command in ("config", "doctor", "list"):
        main([command, "--json"])
    said = "".join(capfd.readouterr())
    assert "generation_failed" in said and "locked.pdf" in said  # all of it was really used
    clean(said.encode(), tmp_path)


def test_row_27_no_crash_shows_a_key(environment, tmp_path):
    (tmp_path / "a.md").write_text("The weir is good. It holds 4,200 litres.")
    said = pincite(environment, "add", str(tmp_path / "a.md"))
    crash = pincite(
        environment, "ask", "How many litres does the weir hold?", "--extract", "--mode", "keyword", code=CRASH
    )
    assert b"ZeroDivisionError" in crash
    clean(said + crash, tmp_path)


def test_row_27_what_is_kept_and_exported_holds_none(environment, tmp_path):
    (tmp_path / "a.md").write_text("The weir is good. It holds 4,200 litres.")
    pincite(environment, "add", str(tmp_path / "a.md"))
    saved = tmp_path / "saved.md"
    chat = f"How many litres does the weir hold?\n/save {saved}\n"
    command = [sys.executable, "-m", "pincite.serve.cli.main", "chat", "--extract", "--mode", "keyword"]
    done = subprocess.run(command, env=environment, input=chat.encode(), capture_output=True, timeout=120)
    assert saved.exists()
    clean(done.stdout + done.stderr, tmp_path)


def test_row_27_the_server_shows_no_key_in_any_answer_log_or_file(serve, library, failing, monkeypatch, capfd, caplog):
    caplog.set_level("DEBUG")
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("RERANK_API_KEY", CANARY)
    library.add_text("note:1", "The weir is good. It holds 4,200 litres.")
    keys = Keys(library.path)
    token = keys.add("admin", "admin", None)
    rerank = f"{failing}/401?key={CANARY}#m"
    library.settings = changed(library.settings, reranker=rerank, generator="openai:m", base_url=f"{failing}/401")
    library.models = Models(
        encoder_name="hash",
        generator_name="openai:m",
        reranker_name=rerank,
        verifier_name="",
        rerank_seconds=1.0,
        folder=library.path,
        offline=False,
        threads=1,
        base_url=f"{failing}/401",
        adapter="",
        progress=None,
    )
    library.models.loaded["encoder"] = HashEncoder()
    client = serve(keys=Keys(library.path), audit=True)
    said, taken = [], bodies()
    for headers in ({"authorization": f"Bearer {token}"}, {"authorization": f"Bearer {token}x"}, {"x-api-key": token}):
        for method, path in routes():
            if path != "/mcp":
                body = taken.get((method, path)) if method != "GET" else None
                answer = send(client, method, filled(path), json=body, headers=headers)
                said += [answer.text, str(answer.headers)]
    for path in ("/v1/ask", "/v1/search"):
        sent = {"question": "How many litres does the weir hold?", "mode": "keyword"}
        said.append(client.post(path, json=sent, headers={"authorization": f"Bearer {token}"}).text)
    assert "endpoint" in said[-1]  # the reranker was really asked
    printed = capfd.readouterr()
    logged = "".join(f"{record.getMessage()} {record.exc_text or ''}" for record in caplog.records)
    whole = "".join([*said, printed.out, printed.err, logged])
    for secret in (CANARY, token):
        assert [whole[max(0, at - 200) : at + 60] for at in (whole.find(secret),) if at >= 0] == []
    clean(whole.encode(), library.path)
    assert not any(token.encode() in path.read_bytes() for path in library.path.rglob("*") if path.is_file())
