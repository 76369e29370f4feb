"""A real server over a real small library, on a free port."""

from __future__ import annotations

import shutil
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


def opened(path: Path) -> Library:
    """Open a library with a quick encoder and no generator."""
    return pincite.open(path, encoder=HashEncoder(), generator="none", offline=True)


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of two documents, to be copied."""
    folder = tmp_path_factory.mktemp("served")
    documents = folder / "documents"
    documents.mkdir()
    (documents / "caches.md").write_text(CACHES)
    (documents / "bread.md").write_text(BREAD)
    with opened(folder / "library") as library:
        library.add(documents)
        library.store.flush()
    return folder / "library"


@pytest.fixture
def library(indexed: Path, tmp_path: Path) -> Iterator[Library]:
    """A library of two documents, which are not to be changed: their files are shared between tests."""
    with opened(shutil.copytree(indexed, tmp_path / "library")) as library:
        yield library


@contextmanager
def serving(library: Library, *, keys: Any = None, **options: Any) -> Iterator[str]:
    """Serve a library on a free port; give the address."""
    app = create_app(library, keys=keys, options=ServeOptions(**{"port": 0} | options))
    listening = listen("127.0.0.1", 0)
    server = Server(app)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.005)
    try:
        yield address(listening, "127.0.0.1")
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
    with httpx.Client(base_url=serve(), timeout=20) as made:
        yield made
