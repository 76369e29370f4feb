"""The form in which OpenVINO keeps a GGUF model: exact (see ``mend``), and quick to load."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pincite.errors import DiskFull
from pincite.models.generators.mend import mend
from pincite.models.runtime import import_openvino

BLOBS = "blobs"  # compiled forms, by OpenVINO
_RECORD = "pincite.json"  # written last: sizes of the files, so that a torn form is never taken for a whole one
_FORMAT = 2
_ROOM = 5  # times the model file: while a form is made, both it and what openvino-genai writes are there
_log = logging.getLogger(__name__)


@contextmanager
def saved_form(gguf: Path, cache_dir: Path) -> Iterator[Path]:
    """Have the saved form of a model while it is loaded; made when it is not there, in a scratch folder and then moved.

    Args:
        gguf: the model file.
        cache_dir: where saved forms are kept. Where it cannot be written, the form is made anew each time.

    Yields:
        A folder with ``openvino_model.xml`` and ``.bin``.

    Raises:
        DiskFull: there is no room for it.
        RuntimeError: openvino-genai cannot read the file.
    """
    form = _place(gguf, cache_dir)
    if is_whole(form):
        yield form
        return
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        scratch, kept = Path(tempfile.mkdtemp(prefix="making-", dir=cache_dir)), True
    except OSError as error:
        _log.warning("the saved form of %s cannot be kept: %s", gguf.name, error)
        scratch, kept = Path(tempfile.mkdtemp(prefix="pincite-")), False
    try:
        _check_room(gguf, scratch)
        make(gguf, scratch)
        yield _moved(scratch, form) if kept else scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def discard(gguf: Path, cache_dir: Path) -> None:
    """Remove the model's saved form, if there is one."""
    shutil.rmtree(_place(gguf, cache_dir), ignore_errors=True)


def is_whole(form: Path) -> bool:
    """Tell whether the folder holds a form that was completed and whose files still have their sizes."""
    files = _record(form).get("files")
    try:
        return isinstance(files, dict) and all((form / name).stat().st_size == size for name, size in files.items())
    except OSError:
        return False


def takes_adapters(form: Path) -> bool:
    """Tell whether the layers have names by which adapters find them."""
    return bool(_record(form).get("mended"))


def make(gguf: Path, folder: Path) -> None:
    """Make the saved form in an empty folder, in about 5 s for 135M parameters.

    RuntimeError when openvino-genai cannot read the file.
    """
    openvino = import_openvino()
    import openvino_genai

    with tempfile.TemporaryDirectory(dir=folder) as raw:
        link = Path(raw, "model.gguf")
        try:
            link.symlink_to(gguf.resolve())
        except OSError:  # no symbolic links here
            shutil.copyfile(gguf, link)
        openvino_genai.LLMPipeline(link, "CPU", ATTENTION_BACKEND="SDPA", enable_save_ov_model=True)
        model = openvino.Core().read_model(Path(raw, "openvino_model.xml"))
        mended = mend(model, gguf)
        if not mended:
            _log.warning("%s is laid out in an unknown way: it loses some accuracy, and takes no adapter", gguf.name)
        openvino.save_model(model, folder / "openvino_model.xml", compress_to_fp16=False)
        del model  # it maps the raw form's weights
    files = {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
    facts = {"files": files, "mended": mended, "model": str(gguf.resolve())}
    (folder / _RECORD).write_text(json.dumps(facts), encoding="utf-8")


def _record(form: Path) -> dict[str, Any]:
    """Read what was recorded when the form was made; {} when it was not, or is damaged."""
    try:
        record = json.loads((form / _RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _check_room(gguf: Path, folder: Path) -> None:
    """Refuse to begin what cannot be finished."""
    needed, free = _ROOM * gguf.stat().st_size, shutil.disk_usage(folder).free
    if free < needed:
        raise DiskFull(
            f"Preparing {gguf.name} takes {needed // 10**6} MB, and {folder.parent} has {free // 10**6} MB left.",
            fix="Free some space, set PINCITE_MODELS to a folder on another disk, or use 'llama:' models.",
        )


def _place(gguf: Path, cache_dir: Path) -> Path:
    """Name the form after the file, and the versions of the file, of OpenVINO and of this module."""
    from importlib.metadata import version

    file = gguf.stat()
    versions = [version("openvino"), version("openvino-genai")]
    facts = json.dumps([_FORMAT, str(gguf.resolve()), file.st_size, file.st_mtime_ns, *versions])
    digest = hashlib.blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return cache_dir / f"{gguf.stem}-{digest}"


def _moved(scratch: Path, form: Path) -> Path:
    """Put a finished form in its place, unless another process was quicker; drop the forms that it replaces."""
    if not is_whole(form):
        shutil.rmtree(form, ignore_errors=True)
        try:
            scratch.rename(form)
        except OSError:
            return form if is_whole(form) else scratch
    model = _record(form).get("model")
    for other in form.parent.iterdir():
        if other != form and model and _record(other).get("model") == model:
            shutil.rmtree(other, ignore_errors=True)
    return form
