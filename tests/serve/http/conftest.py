"""A real server over a real small library, on a free port."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import pincite
from pincite.library import Library
from pincite.serve.http.app import create_app
from pincite.serve.http.options import ServeOptions
from pincite.serve.http.run import Server, address, listen
from tests.fakes import HashEncoder

CACHES = """# Caches

A KV cache stores the keys and values of earlier tokens, so that each new token does not recompute them.

LoRA adds small trainable matrices to frozen weights.
"""
BREAD = """# Bread

Sourdough bread rises overnight at 24 degrees. The oven is heated to 250 degrees before baking.
"""


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    """A library of two documents, with a quick encoder and no generator."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "caches.md").write_text(CACHES)
    (folder / "bread.md").write_text(BREAD)
    with pincite.open(tmp_path / "library", encoder=HashEncoder(), generator="none", offline=True) as opened:
        opened.add(folder)
        yield opened


@contextmanager
def serving(library: Library, *, keys: Any = None, **options: Any) -> Iterator[str]:
    """Serve a library on a free port; give the address."""
    app = create_app(library, keys=keys, options=ServeOptions(**{"port": 0} | options))
    opened = listen("127.0.0.1", 0)
    server = Server(app)
    thread = threading.Thread(target=server.run, args=([opened],), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.005)
    try:
        yield address(opened, "127.0.0.1")
    finally:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive(), "the server did not stop"


Serve = Callable[..., str]


@pytest.fixture
def serve(library: Library) -> Iterator[Serve]:
    """``serve(keys=..., **options)`` starts a server over the library and gives its address."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(serving(library, **options))


@pytest.fixture
def client(serve: Serve) -> Iterator[httpx.Client]:
    """A client of a server without keys."""
    with httpx.Client(base_url=serve(), timeout=20) as opened:
        yield opened
