"""The models of one library: named by settings or given as objects, and loaded when first needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from pincite.models.load import load_encoder, load_generator, load_reranker
from pincite.models.protocols import Encoder, Generator, Reranker

Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Models:
    """Names and where to find them; each model is loaded once, whatever the number of threads."""

    encoder_name: str
    generator_name: str  # "none" for none
    folder: Path
    reranker_name: str = ""  # "" or "none" for none
    rerank_seconds: float = 2.0
    offline: bool = False
    threads: int = 0
    base_url: str = ""
    adapter: str = ""
    progress: Progress | None = None  # called with (model, bytes done, bytes in all) while one is downloaded
    loaded_encoder: Encoder | None = None
    loaded_generator: Generator | None = None
    loaded_reranker: Reranker | None = None
    _lock: Lock = field(default_factory=Lock)

    def use(
        self, encoder: Encoder | str | None, generator: Generator | str | None, reranker: Reranker | str | None
    ) -> None:
        """Take the models that are given as objects; with names and None, those that the settings name are loaded."""
        self.loaded_encoder = None if isinstance(encoder, str) else encoder
        self.loaded_generator = None if isinstance(generator, str) else generator
        self.loaded_reranker = None if isinstance(reranker, str) else reranker

    def encoder(self) -> Encoder:
        """Give the encoder.

        Returns:
            The model, loaded once.

        Raises:
            ModelError: it cannot be used.
        """
        with self._lock:
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

    def generator(self) -> Generator | None:
        """Give the generator; None when there is to be none.

        Returns:
            The model, loaded once.

        Raises:
            ModelError: it cannot be used.
        """
        with self._lock:
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
        with self._lock:
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
