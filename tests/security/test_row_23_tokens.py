"""Keys are random, long, kept as hashes, and compared in a time that tells nothing; more in
tests/serve/test_keys.py."""

from __future__ import annotations

import ast
import inspect
import json
import math
import sys
from collections import Counter
from itertools import pairwise

from pincite.serve import keys as module
from pincite.serve.keys import Keys


def test_row_23_tokens_are_random_and_none_tells_another(tmp_path):
    keys = Keys(tmp_path)
    tokens = [keys.add(f"key {number}") for number in range(100)]
    assert all(len(token) == 43 for token in tokens) and len(set(tokens)) == 100
    counts = Counter("".join(tokens))
    entropy = -sum(n / 4300 * math.log2(n / 4300) for n in counts.values())
    assert entropy > 5.9  # of 6 bits a character
    assert max(sum(a == b for a, b in zip(one, two, strict=True)) for one, two in pairwise(tokens)) < 12
    kept = (tmp_path / "keys.json").read_text()
    assert not any(token in kept or token[:12] in kept for token in tokens)
    for row in json.loads(kept)["keys"]:
        assert keys.find(row["hash"]) is None  # what is kept opens nothing
    if sys.platform != "win32":
        assert (tmp_path / "keys.json").stat().st_mode & 0o077 == 0


def test_row_23_keys_are_compared_in_constant_time_without_leaving_early():
    source = inspect.getsource(Keys.find)
    tree = ast.parse(source.replace("    def", "def", 1).replace("\n    ", "\n"))
    loop = next(node for node in ast.walk(tree) if isinstance(node, ast.For))
    assert not any(isinstance(node, ast.Break | ast.Return) for node in ast.walk(loop))
    assert "compare_digest" in ast.unparse(loop)
    assert "random" not in {
        alias.name
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Import)
        for alias in node.names
    }


def test_row_23_damaged_and_hostile_tokens_open_nothing(tmp_path):
    keys = Keys(tmp_path)
    token = keys.add("anna")
    for wrong in (
        "",
        token[:-1],
        token + "=",
        token.swapcase(),
        token[::-1],
        f" {token}",
        "\0",
        "\ud800",
        "é" * 43,
        "0" * 10_000_000,
    ):
        assert keys.find(wrong) is None
