"""The real models, once a session."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from pincite.acquire import recognise
from pincite.models.fetch import default_models_dir, ensure


@pytest.fixture(autouse=True)
def without_tesseract(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read as on a machine without Tesseract, unless a test asks for it."""
    monkeypatch.setattr(recognise, "program", lambda: "")


@pytest.fixture
def tesseract(without_tesseract: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use Tesseract; the test is skipped where it is not installed."""
    path = shutil.which("tesseract")
    if path is None:
        pytest.skip("Tesseract is not installed here")
    monkeypatch.setattr(recognise, "program", lambda: path)


@pytest.fixture
def modes_bind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the mode of a file keep root out too, as it keeps out everyone else."""
    real = os.open

    def checked(path, *rest, **named):
        if Path(path).exists() and not Path(path).stat().st_mode & 0o444:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path, *rest, **named)

    monkeypatch.setattr(os, "open", checked)


@pytest.fixture(scope="session")
def models_dir() -> Path:
    """Where models are kept: ``PINCITE_MODELS``, else the per-user folder."""
    return Path(os.environ.get("PINCITE_MODELS") or default_models_dir())


@pytest.fixture(scope="session")
def encoder_folder(models_dir: Path) -> Path:
    """The files of the default encoder, downloaded when they are not there."""
    return ensure("all-MiniLM-L6-v2", models_dir=models_dir)


@pytest.fixture(scope="session")
def generator_file(models_dir: Path) -> Path:
    """The file of the default generator, downloaded when it is not there."""
    return ensure("smollm2-135m-instruct", models_dir=models_dir)


@pytest.fixture(scope="session")
def encoder(encoder_folder: Path):
    """The default encoder in float32, on one thread."""
    from pincite.models.encoders.openvino import OpenVinoEncoder

    return OpenVinoEncoder(encoder_folder, name="all-MiniLM-L6-v2", precision="f32", threads=1)


@pytest.fixture(scope="session")
def reranker_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a cross-encoder of two small layers with random weights."""
    import numpy as np

    folder = tmp_path_factory.mktemp("reranker")
    with np.load(Path(__file__).parent / "data" / "reranker_oracle.npz", allow_pickle=False) as saved:
        for file in ("config.json", "tokenizer.json", "model.safetensors"):
            (folder / file).write_bytes(saved[f"bert/{file}"].tobytes())
    return folder
