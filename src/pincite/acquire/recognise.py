"""Scanned pages and images become text through Tesseract, where that program is installed (``tesseract`` on the PATH).

It runs as a process of its own with limits on memory and time, reads from a pipe and writes to one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import lru_cache
from itertools import groupby
from typing import Any

from pincite.acquire.readers.base import stem
from pincite.acquire.readers.pdf_boxes import painted
from pincite.acquire.readers.scan import Scanned, ScannedLine, compose
from pincite.acquire.sandbox import call_in_child
from pincite.errors import SourceTooLarge, SourceUndecodable, SourceUnsupported
from pincite.types import Reading

_DPI = 200  # of painted pages: Tesseract is at its best from 200 to 300
_SECONDS = 120  # for one page
_MEMORY = 2 << 30  # bytes of address space
_MOST_PAGES = 500  # of one document
_MOST_LANGUAGES = 4
_WORD_LEVEL = "5"
_KEPT = ("PATH", "TESSDATA_PREFIX", "SYSTEMROOT", "LD_LIBRARY_PATH")  # of the environment
_INSTALL = "Install Tesseract (the program tesseract), then run `pincite add --retry`."


def read_pdf(data: bytes, name: str, media_type: str, *, password: str = "") -> Reading:
    """Read a PDF in the child, and let Tesseract look at its pages that are images; see ``Reader``."""
    arguments: dict[str, Any] = {"name": name, "media_type": media_type, "password": password}
    found = call_in_child("pdf", "read", data, list_scans=program() != "", **arguments)
    if isinstance(found, list):
        scans = {}
        for page, width in found[:_MOST_PAGES]:
            image = painted(data, page, (), _DPI / 72, password=password)
            scans[str(page)] = recognise(image, width / int.from_bytes(image[16:20], "big"))[0]  # by PNG's own width
        found = call_in_child("pdf", "read", data, scans=scans, **arguments)
    if not isinstance(found, Reading):
        raise SourceUndecodable("Its reader gave no reading.", fix="Report this as a defect of the reader.")
    return found


def read_image(data: bytes, name: str, media_type: str) -> Reading:
    """Read the text on an image; see ``Reader``."""
    if not program():
        message = f"{name} is an image ({media_type}), which is not readable without text recognition (OCR)."
        raise SourceUnsupported(message, fix=_INSTALL)
    scans = recognise(data, 1.0)
    if not any(lines for lines, *_ in scans):
        raise SourceUnsupported("Text recognition finds no text on it.", fix="Scan it again, larger and sharper.")
    return compose(scans, stem(name))


@lru_cache(maxsize=1)
def program() -> str:
    """Give the path of Tesseract, "" where it is not installed."""
    return shutil.which("tesseract") or ""


@lru_cache(maxsize=1)
def _languages() -> str:
    """Name the installed languages as Tesseract's option takes them, English first."""
    said = subprocess.run([program(), "--list-langs"], capture_output=True, text=True, timeout=20, check=False)  # noqa: S603
    names = [name for name in said.stdout.splitlines()[1:] if name and name != "osd"]
    return "+".join(sorted(names, key=lambda name: (name != "eng", name))[:_MOST_LANGUAGES]) or "eng"


def recognise(image: bytes, unit: float) -> list[Scanned]:
    """Find the text on an image.

    Args:
        image: PNG, JPEG, TIFF (also of several pages), GIF, WebP or BMP.
        unit: points for each pixel.

    Returns:
        For each page its lines, its width and height in points, and the mean confidence in per cent.

    Raises:
        SourceUndecodable: it is no such image.
        SourceTooLarge: it took too long or too much memory.
    """
    command = [program(), "stdin", "stdout", "-l", _languages(), "tsv"]
    kept = {key: os.environ[key] for key in _KEPT if key in os.environ}
    with subprocess.Popen(  # noqa: S603 - the program that the system has
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=kept | {"OMP_THREAD_LIMIT": "1"},
    ) as process:
        _limit(process.pid)
        try:
            said, _ = process.communicate(image, timeout=_SECONDS)
        except subprocess.TimeoutExpired as error:
            message = f"Text recognition took longer than {_SECONDS} s for a page."
            raise SourceTooLarge(message, fix="Scan it again in a lower resolution.") from error
        finally:
            process.kill()
    if process.returncode:
        raise SourceUndecodable("Text recognition cannot read this image.", fix="Save it as PNG, and add that.")
    return _parsed(said.decode("utf-8", "replace"), unit)


def _limit(pid: int) -> None:
    """Limit a process that still waits for its input."""
    if sys.platform == "linux":
        import resource

        resource.prlimit(pid, resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.prlimit(pid, resource.RLIMIT_CPU, (_SECONDS, _SECONDS))


def _parsed(table: str, unit: float) -> list[Scanned]:
    """Read Tesseract's table: one row a page, block, paragraph, line or word, in reading order."""
    rows = [row for row in (line.split("\t") for line in table.splitlines()[1:]) if len(row) == 12]
    found = []
    for _, page in groupby(rows, key=lambda row: row[1]):
        own = list(page)
        words = [row for row in own if row[0] == _WORD_LEVEL and row[11].strip()]
        lines = [_line(list(line), unit) for _, line in groupby(words, key=lambda row: row[2:5])]
        sure = sum(float(row[10]) for row in words) / len(words) if words else 100.0
        width, height = (int(own[0][at]) * unit for at in (8, 9))
        found.append((lines, width, height, sure))
    return found


def _line(words: list[list[str]], unit: float) -> ScannedLine:
    """Give a line's words, each with its box in points."""
    line = []
    for row in words:
        x, y, width, height = (int(row[at]) * unit for at in (6, 7, 8, 9))
        line.append((row[11].strip(), round(x, 1), round(y, 1), round(x + width, 1), round(y + height, 1)))
    return line
