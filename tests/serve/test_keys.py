"""Keys: made once, kept hashed, gone when revoked, also for a process that runs."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pincite.access import Principal
from pincite.errors import LibraryDamaged, UsageError
from pincite.serve.cli.main import main
from pincite.serve.keys import Keys


def test_a_key_is_found_and_kept_nowhere(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    token = keys.add("anna", "editor", ["hr", "hr", "law"])
    assert keys.find(token) == Principal("anna", "editor", frozenset({"hr", "law"}))
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*"))
    assert token.encode() not in kept
    assert hashlib.sha256(token.encode()).hexdigest().encode() in kept
    if os.name == "posix":
        assert keys.path.stat().st_mode & 0o777 == 0o600


def test_keys_are_long_and_never_the_same(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    tokens = {keys.add(f"key {n}") for n in range(20)}
    assert len(tokens) == 20
    assert {len(token) for token in tokens} == {43}  # 32 bytes
    assert len({token[:6] for token in tokens}) == 20


@pytest.mark.parametrize("token", ["", " ", "x", "\ud800", "é" * 43, "a" * 100_000])
def test_what_is_no_key_finds_nobody(token: str, tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    assert not keys.needed()
    known = keys.add("anna")
    assert keys.find(token) is None
    assert keys.find(known + " ") is None
    assert keys.find(known[:-1]) is None


def test_a_revoked_key_is_gone_for_those_who_had_read_it(tmp_path: Path) -> None:
    server, admin = Keys(tmp_path), Keys(tmp_path)
    first, second = admin.add("first"), admin.add("second")
    assert server.find(first)
    admin.revoke("first")
    assert server.find(first) is None
    assert server.find(second)
    admin.revoke("second")
    assert server.needed(), "the last key's end opens nothing"
    with pytest.raises(UsageError, match="no key named second"):
        admin.revoke("second")


def test_a_removed_file_lets_nobody_in(tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    token = keys.add("anna")
    assert keys.find(token)
    keys.path.unlink()
    assert keys.find(token) is None
    assert keys.needed()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"keys": [{}]}',
        '{"keys": [{"name": "a", "role": "god", "grants": [], "hash": "", "added": ""}]}',
    ],
)
def test_a_damaged_file_is_an_error_and_not_an_open_door(content: str, tmp_path: Path) -> None:
    keys = Keys(tmp_path)
    keys.path.write_text(content)
    with pytest.raises(LibraryDamaged):
        keys.find("x")


def test_many_who_change_keys_at_once_lose_none(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(lambda n: Keys(tmp_path).add(f"key {n}"), range(24)))
    assert all(map(Keys(tmp_path).find, tokens))
    assert not list(tmp_path.glob("*.lock"))


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\x1b[2J"])
def test_a_name_is_printable(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        Keys(tmp_path).add(name)


def test_the_command_makes_lists_and_revokes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*words: str) -> tuple[int, list[dict], str]:
        code = main(["--library", str(tmp_path / "library"), "--json", "keys", *words])
        printed = capsys.readouterr()
        return code, [json.loads(line) for line in printed.out.splitlines()], printed.err

    code, [made], _ = run("add", "anna", "--role", "admin")
    assert code == 0
    assert Keys(tmp_path / "library").find(made["key"]) == Principal("anna", "admin", None)
    run("add", "bert", "--grant", "hr", "--grant", "law")
    run("add", "carl", "--role", "editor", "--grant", "*")
    assert run("add", "anna")[0] == 2
    assert run("revoke", "nobody")[0] == 2
    assert run("revoke")[0] == 2
    _, rows, _ = run("list")
    assert [(row["name"], row["role"], row["grants"]) for row in rows] == [
        ("anna", "admin", None),
        ("bert", "reader", ["hr", "law"]),
        ("carl", "editor", None),
    ]
    assert made["key"] not in json.dumps(rows)
    run("revoke", "anna")
    assert Keys(tmp_path / "library").find(made["key"]) is None


def test_another_process_sees_a_key_at_once(tmp_path: Path) -> None:
    token = Keys(tmp_path).add("anna")
    code = (
        "import sys; from pathlib import Path; from pincite.serve.keys import Keys;"
        "print(Keys(Path(sys.argv[1])).find(sys.argv[2]).name)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), token], capture_output=True, text=True, check=True
    )
    assert found.stdout == "anna\n"
