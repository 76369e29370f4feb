"""Vectors are text in another form: nothing that goes out holds one, and they go with their text."""

from __future__ import annotations

import json

import pytest

from pincite.serve.cli.main import main
from tests.fakes import HashEncoder

TEXT = "The launch code is zorblax until May."


def numbers(value) -> int:
    """Give the length of the longest list of floats in JSON."""
    if isinstance(value, dict):
        return max((numbers(part) for part in value.values()), default=0)
    if isinstance(value, list):
        floats = sum(isinstance(part, float) for part in value)
        return max([floats, *(numbers(part) for part in value)])
    return 0


@pytest.mark.parametrize(
    "command", [["search", "weir"], ["ask", "Is the weir good?", "--extract"], ["list"], ["doctor"]]
)
def test_row_34_no_command_gives_one(library, capsys, command):
    library.add_text("note:1", "The weir is good.")
    library.close()
    main(
        [
            "--library",
            str(library.path),
            "--offline",
            *command,
            "--json",
            *(["--mode", "keyword"] if command[0] in ("search", "ask") else []),
        ]
    )
    for line in capsys.readouterr().out.splitlines() or ["{}"]:
        if line.strip():
            assert numbers(json.loads(line)) < 16


def test_row_34_a_vector_goes_with_its_text(library):
    library.add_text("note:1", TEXT)
    library.add_text("note:2", "Another text that stays here.")
    vector = HashEncoder().encode([TEXT])[0].tobytes()

    def kept() -> bool:
        return any(vector in path.read_bytes() for path in library.path.rglob("*") if path.is_file())

    assert kept()
    library.remove("note:1")
    assert not kept()
