"""The demonstration of the README: what it asks of this project's documents is answered, and refused, as it says."""

from __future__ import annotations

import sys
from pathlib import Path

import dev
import pytest


def test_the_demonstration_ends_as_it_must(
    encoder_folder: Path, generator_file: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert dev.demonstrate([sys.executable, "-m", "pincite.serve.cli.main", "--library", str(tmp_path / "library")])
    printed = capfd.readouterr().out
    answer, refusal = printed.split("$ pincite ask")[1:]
    assert "docs/why/durability.md, line" in answer
    assert "These documents do not answer this question." in refusal
