"""A small library, and places to attack it from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import pincite
from tests.fakes import HashEncoder


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_CONFIG", str(tmp_path / "no-settings.toml"))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """An empty folder to add."""
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


@pytest.fixture
def library(tmp_path: Path) -> Iterator[pincite.Library]:
    """An empty library that answers with quotes."""
    with pincite.open(tmp_path / "l.pincite", encoder=HashEncoder(), generator="none") as library:
        yield library
