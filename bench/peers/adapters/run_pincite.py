"""Pincite: rows become documents as files do; asked through the library, and by the pipeline below it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from harness import DEPTH, Row, compete

import pincite
from pincite.acquire.given import text_source
from pincite.build.commit import Build, commit, prepare
from pincite.find.search import search
from pincite.models.encoders.openvino import OpenVinoEncoder
from pincite.types import Hit

PASSAGES = 3 * DEPTH  # a document has several passages; so many hold DEPTH documents nearly always


def index(rows: list[Row], job: dict[str, Any]) -> Any:
    encoder = OpenVinoEncoder(Path(job["model"]), name="all-MiniLM-L6-v2", threads=job["threads"])
    library = pincite.open(Path(job["folder"]) / "peers.pincite", encoder=encoder, generator="none", offline=True)
    build = Build(library.store, lambda: encoder, 128)
    sources = (text_source(f"row:{quote(name, safe='')}", text or title, title=title) for name, title, text in rows)
    for report in commit((prepare(source, reading, build) for source, reading in sources), build):
        assert report.status == "indexed", report
    library.store.flush()
    return library


def ask(library: Any, question: str) -> list[str]:
    """Ask the library as a program does; there are no files that could have changed."""
    return _documents(library.search(question, limit=PASSAGES, refresh=False).hits)


def ask_below(library: Any, question: str) -> list[str]:
    """Ask the pipeline without the library around it."""
    hits, _ = search(question, store=library.store, encoder=library.models.encoder(), limit=PASSAGES)
    return _documents(hits)


def _documents(hits: tuple[Hit, ...]) -> list[str]:
    """Give each document once, by its best passage."""
    return [unquote(uri.removeprefix("row:")) for uri in dict.fromkeys(hit.passage.uri for hit in hits)]


if __name__ == "__main__":
    packages = ["pincite", "openvino", "tokenizers", "tantivy", "turbovec", "apsw", "numpy"]
    compete(index, {"hybrid": ask, "find.search": ask_below}, packages)
