"""What may be chosen when the server starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The choices; limits are per request unless they say otherwise."""

    host: str = "127.0.0.1"
    port: int = 8765
    allow_hosts: tuple[str, ...] = ()  # names by which the server may be called, besides loopback and ``host``
    fresh_seconds: float = 1.0  # that a question waits for changes on disk to be taken in
    read_only: bool = False  # nothing may be added, changed or removed
    roots: tuple[Path, ...] = ()  # folders from which paths may be added by those who are not the owner
    allow_urls: bool = False  # whether URLs may be fetched
    footnotes: bool = True  # whether answers to chat clients carry their quotes below the text
    audit: bool = False  # whether it is recorded who asked what
    json_bytes: int = 1_000_000
    upload_bytes: int = 2_000_000_000  # all files of one upload
    file_bytes: int = 200_000_000  # each of them
    upload_files: int = 2_000
    head_seconds: float = 10.0  # until the head of a request is there
    body_seconds: float = 30.0  # until its body is there, and one more for each 10 kB of it
    connections: int = 1_000  # at the same time
    asks: int = 4  # answers at the same time
    reads: int = 16  # other requests at the same time
    streams: int = 64  # long streams at the same time, as a job's progress
    queue: int = 128  # requests of each kind that may wait
    key_share: float = 0.75  # of all these places, those that one key may take
