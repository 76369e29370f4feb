"""The models of one library: named by settings or given as objects, and loaded when first needed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Literal, Protocol, runtime_checkable

from pincite.models.load import load_encoder, load_generator, load_reranker, load_verifier
from pincite.models.protocols import Encoder, Generator, Reranker, Verifier

Progress = Callable[[str, int, int], None]


@runtime_checkable
class Preparable(Protocol):
    """A model that is quick to load and slow at its first use."""

    def prepare(self) -> None:
        """Do now what the first use would do."""
        ...


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
    loaded_encoder: Encoder | None = None
    loaded_generator: Generator | None = None
    loaded_reranker: Reranker | None = None
    loaded_verifier: Verifier | None = None
    _locks: dict[str, Lock] = field(
        default_factory=lambda: {kind: Lock() for kind in ("encoder", "generator", "reranker", "verifier")}
    )
    _begun: dict[str, Future[object]] = field(default_factory=dict)

    def use(
        self,
        encoder: Encoder | str | None,
        generator: Generator | str | None,
        reranker: Reranker | str | None,
        verifier: Verifier | str | None = None,
    ) -> None:
        """Take the models that are given as objects; with names and None, those that the settings name are loaded."""
        self.loaded_encoder = None if isinstance(encoder, str) else encoder
        self.loaded_generator = None if isinstance(generator, str) else generator
        self.loaded_reranker = None if isinstance(reranker, str) else reranker
        self.loaded_verifier = None if isinstance(verifier, str) else verifier

    def begin(self, kind: Literal["encoder", "generator"]) -> None:
        """Begin to load a model in the background: who asks for it waits less, and gets the error if there is one."""
        if getattr(self, f"loaded_{kind}") is None and kind not in self._begun:
            pool = ThreadPoolExecutor(1)
            self._begun[kind] = pool.submit(self._prepared_encoder if kind == "encoder" else self._load_generator)
            pool.shutdown(wait=False)

    def _end(self, kind: str) -> None:
        """Wait for what was begun."""
        begun = self._begun.pop(kind, None)
        if begun is not None:
            begun.result()

    def encoder(self) -> Encoder:
        """Give the encoder.

        Returns:
            The model, loaded once.

        Raises:
            ModelError: it cannot be used.
        """
        self._end("encoder")
        return self._load_encoder()

    def _load_encoder(self) -> Encoder:
        with self._locks["encoder"]:
            if self.loaded_encoder is None:
                self.loaded_encoder = load_encoder(
                    self.encoder_name,
                    models_dir=self.folder,
                    offline=self.offline,
                    threads=self.threads,
                    base_url=self.base_url,
                    progress=self.progress,
                )
            return self.loaded_encoder

    def _prepared_encoder(self) -> Encoder:
        """Load the encoder, and build its network if it is one that builds it at first use."""
        encoder = self._load_encoder()
        if isinstance(encoder, Preparable):
            encoder.prepare()
        return encoder

    def generator(self) -> Generator | None:
        """Give the generator; None when there is to be none.

        Returns:
            The model, loaded once.

        Raises:
            ModelError: it cannot be used.
        """
        self._end("generator")
        return self._load_generator()

    def _load_generator(self) -> Generator | None:
        with self._locks["generator"]:
            if self.loaded_generator is None and self.generator_name != "none":
                self.loaded_generator = load_generator(
                    self.generator_name,
                    models_dir=self.folder,
                    offline=self.offline,
                    threads=self.threads,
                    base_url=self.base_url,
                    adapter=self.adapter,
                    progress=self.progress,
                )
            return self.loaded_generator

    def reranker(self) -> Reranker | None:
        """Give the reranker; None when there is to be none.

        Returns:
            The model, loaded once.

        Raises:
            ModelError: it cannot be used.
        """
        with self._locks["reranker"]:
            if self.loaded_reranker is None and self.reranker_name not in ("", "none"):
                self.loaded_reranker = load_reranker(
                    self.reranker_name,
                    models_dir=self.folder,
                    offline=self.offline,
                    threads=self.threads,
                    seconds=self.rerank_seconds,
                    progress=self.progress,
                )
            return self.loaded_reranker

    def verifier(self) -> Verifier | None:
        """Give the verifier; None when there is to be none.

        Returns:
            The model, loaded once.

        Raises:
            ModelError: it cannot be used.
        """
        with self._locks["verifier"]:
            if self.loaded_verifier is None and self.verifier_name not in ("", "none"):
                self.loaded_verifier = load_verifier(
                    self.verifier_name,
                    models_dir=self.folder,
                    offline=self.offline,
                    threads=self.threads,
                    progress=self.progress,
                )
            return self.loaded_verifier
