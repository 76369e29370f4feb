"""A small library, and places to attack it from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

import pincite
from tests.fakes import HashEncoder
from tests.serve.http.conftest import serving


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


@pytest.fixture
def serve(library: pincite.Library) -> Iterator[Callable[..., httpx.Client]]:
    """``serve(keys=..., **options)`` starts a server over the library and gives a client of it."""
    with ExitStack() as stack:

        def start(**options: Any) -> httpx.Client:
            address = stack.enter_context(serving(library, **options))
            return stack.enter_context(httpx.Client(base_url=address, timeout=30))

        yield start
