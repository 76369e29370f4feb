"""The models of one library: named by settings or given as objects, and loaded when first needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from pincite.models.load import load_encoder, load_generator
from pincite.models.protocols import Encoder, Generator, Reranker

Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Models:
    """Names and where to find them; each model is loaded once, whatever the number of threads."""

    encoder_name: str
    generator_name: str  # "none" for none
    folder: Path
    offline: bool = False
    threads: int = 0
    base_url: str = ""
    adapter: str = ""
    progress: Progress | None = None  # called with (model, bytes done, bytes in all) while one is downloaded
    reranker: Reranker | None = None
    loaded_encoder: Encoder | None = None
    loaded_generator: Generator | None = None
    _lock: Lock = field(default_factory=Lock)

    def encoder(self) -> Encoder:
        """Give the encoder.

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
