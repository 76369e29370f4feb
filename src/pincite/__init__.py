"""Answers from your own documents, every sentence pinned to the exact place it came from.

The names below are the public surface; each is loaded when first used, so that ``import pincite`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pincite.acquire.crawl import crawl as crawl
    from pincite.acquire.read import read as read
    from pincite.build.chunk import chunk as chunk
    from pincite.build.sync import sync as sync
    from pincite.errors import PinciteError as PinciteError
    from pincite.find.analyze import analyze as analyze
    from pincite.find.fuse import fuse as fuse
    from pincite.find.search import search as search
    from pincite.generate.evidence import choose_evidence as choose_evidence
    from pincite.ground.answer import answer_events as answer_events
    from pincite.library import Library as Library
    from pincite.measure.evaluate import evaluate as evaluate
    from pincite.opening import open as open
    from pincite.settings import Settings as Settings
    from pincite.types import Answer as Answer
    from pincite.types import Citation as Citation
    from pincite.types import Claim as Claim
    from pincite.types import Document as Document
    from pincite.types import Hit as Hit
    from pincite.types import Passage as Passage

_HOMES = {
    "Answer": "types",
    "Citation": "types",
    "Claim": "types",
    "Document": "types",
    "Hit": "types",
    "Library": "library",
    "Passage": "types",
    "PinciteError": "errors",
    "Settings": "settings",
    "analyze": "find.analyze",
    "answer_events": "ground.answer",
    "choose_evidence": "generate.evidence",
    "chunk": "build.chunk",
    "crawl": "acquire.crawl",
    "evaluate": "measure.evaluate",
    "fuse": "find.fuse",
    "open": "opening",
    "read": "acquire.read",
    "search": "find.search",
    "sync": "build.sync",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605 - a sorted list is a list
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name not in _HOMES:
        raise AttributeError(f"module 'pincite' has no attribute {name!r}")
    return getattr(import_module(f"pincite.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__"]
