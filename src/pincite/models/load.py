"""A name becomes an encoder, reranker, verifier or generator. Runtimes are imported when their model is asked for.

Encoders: a name of the catalogue, a local folder, ``organisation/name`` on the hub; ``st:NAME`` through
sentence-transformers; ``openai:MODEL`` behind an endpoint.

Rerankers: a local folder, ``organisation/name`` on the hub; ``st:NAME`` through sentence-transformers; an address,
``https://HOST/PATH#MODEL``, for an endpoint. The names "" and ``none`` are for callers; they load nothing.

Verifiers: a local folder, ``organisation/name`` on the hub; "" and ``none`` load nothing.

Generators: a name of the catalogue or a GGUF file, in the default runtime; ``openvino:NAME`` or ``llama:NAME`` to
choose it; ``transformers:NAME``; ``openai:MODEL`` behind an endpoint. The name ``none`` is for callers; it
loads nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from pincite.errors import ModelMissing, ModelUnknown
from pincite.models.catalog import CATALOG, Kind, Progress, find_model
from pincite.models.fetch import ensure, unknown
from pincite.models.generators.default import DEFAULT_RUNTIME
from pincite.models.protocols import Encoder, Generator, Reranker, Verifier

_OPENAI = "https://api.openai.com/v1"

COMPILED = "compiled"  # folder, below that of the models, for what a runtime makes of them


def load_encoder(
    name: str,
    *,
    models_dir: Path,
    offline: bool = False,
    threads: int = 0,
    base_url: str = "",
    progress: Progress | None = None,
) -> Encoder:
    """Load an encoder, downloading it when it is not here.

    Args:
        name: see the module.
        models_dir: where models are kept.
        offline: never touch the network; a loopback endpoint is not the network.
        threads: 0 for as many as there are cores.
        base_url: of the endpoint of ``openai:`` models; empty for OpenAI's own.
        progress: called with the name, the bytes so far and the bytes in all while downloading.

    Returns:
        The encoder; OpenVINO's builds its network when first used, as a verifier's.

    Raises:
        ModelUnknown: nothing has this name.
        ModelError: it cannot be had or used.
    """
    scheme, rest = _split(name, ("st", "openai"))
    if scheme == "openai":
        from pincite.models.encoders.endpoint import EndpointEncoder

        return EndpointEncoder(rest, base_url=_address(name, base_url, offline), api_key=_key())
    if scheme == "st":
        from pincite.models.encoders.sentence_transformers import SentenceTransformersEncoder

        known = find_model(rest)
        local = ensure(rest, models_dir=models_dir, offline=offline, progress=progress) if known else rest
        return SentenceTransformersEncoder(str(local), offline=offline)
    from pincite.models.encoders.openvino import OpenVinoEncoder

    folder = _ensure(name, "encoder", models_dir, offline, progress)
    return OpenVinoEncoder(folder, name=_shown(name, folder), threads=threads)


def load_reranker(
    name: str,
    *,
    models_dir: Path,
    offline: bool = False,
    threads: int = 0,
    seconds: float = 2.0,
    progress: Progress | None = None,
) -> Reranker:
    """Load a reranker as ``load_encoder`` does an encoder; ``seconds`` is the deadline of a question at an endpoint."""
    scheme, rest = _split(name, ("st", "http", "https"))
    if scheme == "st":
        from pincite.models.rerankers.sentence_transformers import SentenceTransformersReranker

        return SentenceTransformersReranker(rest, offline=offline)
    if scheme:
        from pincite.models.rerankers.endpoint import KEY, EndpointReranker

        url, _, model = name.partition("#")
        key = os.environ.get(KEY, "")
        return EndpointReranker(_address(url, url, offline), model=model, api_key=key, seconds=seconds)
    from pincite.models.rerankers.openvino import OpenVinoReranker

    folder = _ensure(name, "reranker", models_dir, offline, progress)
    return OpenVinoReranker(folder, name=_shown(name, folder), threads=threads)


def load_verifier(
    name: str,
    *,
    models_dir: Path,
    offline: bool = False,
    threads: int = 0,
    progress: Progress | None = None,
) -> Verifier:
    """Load a verifier as ``load_encoder`` does an encoder."""
    from pincite.models.verifiers.openvino import OpenVinoVerifier

    folder = _ensure(name, "verifier", models_dir, offline, progress)
    return OpenVinoVerifier(folder, name=_shown(name, folder), threads=threads)


def load_generator(
    name: str,
    *,
    models_dir: Path,
    offline: bool = False,
    threads: int = 0,
    base_url: str = "",
    adapter: str = "",
    progress: Progress | None = None,
) -> Generator:
    """Load a generator as ``load_encoder`` does an encoder; ``adapter`` is a LoRA adapter's path, for local models."""
    scheme, rest = _split(name, ("openvino", "llama", "transformers", "openai"))
    tuned = _adapter(adapter)
    if scheme == "openai":
        from pincite.models.generators.endpoint import EndpointGenerator

        return EndpointGenerator(rest, base_url=_address(name, base_url, offline), api_key=_key())
    known = find_model(rest)
    if scheme == "transformers" and known is None:  # transformers finds it by itself
        return _transformers(rest, tuned, threads, offline, "")
    gguf = _ensure(rest, "generator", models_dir, offline, progress)
    shown = known.name if known else gguf.stem
    if scheme == "transformers":
        return _transformers(gguf, tuned, threads, offline, shown)
    if (scheme or DEFAULT_RUNTIME) == "llama":
        from pincite.models.generators.llama import LlamaGenerator

        return LlamaGenerator(gguf, name=shown, threads=threads, adapter=tuned)
    from pincite.models.generators.openvino import OpenVinoGenerator

    return OpenVinoGenerator(gguf, cache_dir=models_dir / COMPILED, name=shown, threads=threads, adapter=tuned)


def _transformers(source: str | Path, adapter: Path | None, threads: int, offline: bool, name: str) -> Generator:
    """Load a generator with transformers."""
    from pincite.models.generators.transformers import TransformersGenerator

    return TransformersGenerator(source, adapter=adapter, threads=threads, offline=offline, name=name)


def _split(name: str, schemes: tuple[str, ...]) -> tuple[str, str]:
    """Take a known scheme off a name; ("", name) when there is none."""
    scheme, colon, rest = name.partition(":")
    return (scheme, rest) if colon and scheme in schemes else ("", name)


def _shown(name: str, folder: Path) -> str:
    """Give the name that a local model goes by: the catalogue's, the hub's, or its folder's."""
    model = find_model(name)
    return model.name if model else folder.name.replace("--", "/")


def _ensure(name: str, kind: Kind, models_dir: Path, offline: bool, progress: Progress | None) -> Path:
    """Have a local model, and only one of the kind that was asked for."""
    names = [model.name for model in CATALOG.values() if model.kind == kind]
    model = find_model(name)
    if model is not None and model.kind != kind:
        known = f"Known names: {', '.join(names)}." if names else f"Name a folder, or a {kind} on the hub."
        raise ModelUnknown(f"{name} is no {kind}.", fix=known)
    if model is None and kind == "generator" and not Path(name).is_file():
        raise unknown(name, names)
    try:
        path = ensure(name, models_dir=models_dir, offline=offline, progress=progress)
    except ModelUnknown:
        if names:
            raise
        fix = f"Name a folder, or a {kind} on the hub as owner/name."  # none has a name of its own
        raise ModelUnknown(f"There is no {kind} {name!r}.", fix=fix) from None
    if kind != "generator" and not path.is_dir():
        raise ModelUnknown(f"{name} is no {kind}.", fix="Name a folder that holds one.")
    return path


def _address(name: str, base_url: str, offline: bool) -> str:
    """Choose the endpoint; off line only this machine will do."""
    from urllib.parse import urlsplit

    from pincite.models.endpoint import LOOPBACK

    url = base_url or _OPENAI
    if offline and urlsplit(url).hostname not in LOOPBACK:
        raise ModelMissing(f"{name} is at {url}, and the network may not be used.", fix="Run without --offline.")
    return url


def _key() -> str:
    """Take the endpoint's key from the environment, the only place it is taken from."""
    return os.environ.get("OPENAI_API_KEY", "")


def _adapter(path: str) -> Path | None:
    """Find the adapter."""
    if not path:
        return None
    if not Path(path).exists():
        raise ModelMissing(f"There is no adapter at {path}.", fix="Check the path.")
    return Path(path)
