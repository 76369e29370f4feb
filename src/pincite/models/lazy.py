"""The models of one library: named by settings or given as objects, and loaded when first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeVar, cast

from pincite.models.catalog import Progress
from pincite.models.load import load_encoder, load_generator, load_reranker, load_verifier
from pincite.models.protocols import Encoder, Generator, Reranker, Verifier

T = TypeVar("T")


@dataclass(slots=True)
class Models:
    """Names and where to find them; each model is loaded once, whatever the number of threads."""

    encoder_name: str
    generator_name: str  # "none" for none
    folder: Path
    reranker_name: str = ""  # "" or "none" for none
    rerank_seconds: float = 2.0
    verifier_name: str = ""  # "" or "none" for none
    offline: bool = False
    threads: int = 0
    base_url: str = ""
    adapter: str = ""
    progress: Progress | None = None  # called with (model, bytes done, bytes in all) while one is downloaded
    loaded: dict[str, Any] = field(default_factory=dict)  # by kind, given or loaded
    _locks: dict[str, Lock] = field(
        default_factory=lambda: {kind: Lock() for kind in ("encoder", "generator", "reranker", "verifier")}
    )
    _begun: dict[str, Future[object]] = field(default_factory=dict)

    def use(self, **models: object) -> None:
        """Take the models that are given as objects, by kind; for names and None, the settings' are loaded."""
        self.loaded = {kind: model for kind, model in models.items() if not isinstance(model, str | None)}
        self.encoder_name = "" if "encoder" in self.loaded else self.encoder_name

    def begin(self, kind: Literal["encoder", "generator"]) -> None:
        """Begin to load a model in the background: who asks for it waits less, and gets the error if there is one."""
        if kind not in self.loaded and kind not in self._begun:
            pool = ThreadPoolExecutor(1)
            self._begun[kind] = pool.submit(self._prepared_encoder if kind == "encoder" else self._load_generator)
            pool.shutdown(wait=False)

    def is_begun(self, kind: str) -> bool:
        """Tell whether a model is loaded, or being loaded: somebody wants it anyway."""
        return kind in self.loaded or kind in self._begun

    def _end(self, kind: str) -> None:
        """Wait for what was begun."""
        begun = self._begun.pop(kind, None)
        if begun is not None:
            begun.result()

    def encoder(self) -> Encoder:
        """Give the encoder, loaded once. Raises ModelError when it cannot be used."""
        self._end("encoder")
        return self._load_encoder()

    def _load_encoder(self) -> Encoder:
        encoder = self._once("encoder", load_encoder, self.encoder_name, base_url=self.base_url)
        return cast(Encoder, encoder)  # no name means none

    def _prepared_encoder(self) -> Encoder:
        """Load the encoder, and let it do now what would make its first use slow, if it can."""
        encoder = self._load_encoder()
        prepare = getattr(encoder, "prepare", None)
        if prepare is not None:
            prepare()
        return encoder

    def generator(self) -> Generator | None:
        """Give the generator, loaded once; None when there is to be none. Raises ModelError when it cannot be used."""
        self._end("generator")
        return self._load_generator()

    def _load_generator(self) -> Generator | None:
        how = {"base_url": self.base_url, "adapter": self.adapter}
        return self._once("generator", load_generator, self.generator_name, ("none",), **how)

    def reranker(self) -> Reranker | None:
        """Give the reranker, loaded once; None when there is to be none. Raises ModelError when it cannot be used."""
        return self._once("reranker", load_reranker, self.reranker_name, ("", "none"), seconds=self.rerank_seconds)

    def verifier(self) -> Verifier | None:
        """Give the verifier, loaded once; None when there is to be none. Raises ModelError when it cannot be used."""
        return self._once("verifier", load_verifier, self.verifier_name, ("", "none"))

    def _once(self, kind: str, load: Callable[..., T], name: str, absent: Sequence[str] = (), **how: Any) -> T | None:
        """Give the model of a kind; load it if it is not there, unless its name is one that means none."""
        with self._locks[kind]:
            if kind not in self.loaded and name not in absent:
                how |= {"models_dir": self.folder, "offline": self.offline, "threads": self.threads}
                self.loaded[kind] = load(name, **how, progress=self.progress)
            found: T | None = self.loaded.get(kind)
            return found
