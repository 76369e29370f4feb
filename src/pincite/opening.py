"""Open a library: the first call of every program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.models.catalog import Progress
from pincite.models.lazy import Models
from pincite.models.protocols import Encoder, Generator, Reranker, Verifier
from pincite.settings import Settings, load_settings, models_dir

if TYPE_CHECKING:
    from pincite.library import Library


def open(
    path: str | Path | None = None,
    *,
    encoder: Encoder | str | None = None,
    generator: Generator | str | None = None,
    reranker: Reranker | str | None = None,
    verifier: Verifier | str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Library:
    """Open a library, a folder on disk; it is made when first written.

    Args:
        path: the library; None takes the setting ``library``, or the per-user one.
        encoder: a name, or any object that fits the protocol.
        generator: a name ("none" for quotes only), or any object that fits the protocol.
        reranker: a name ("none" for none), or any object that fits the protocol.
        verifier: a name ("none" for none), or any object that fits the protocol.
        progress: called with (model, bytes done, bytes in all) while a model is downloaded.
        **settings: any row of ``pincite.settings.Settings``.

    Returns:
        The library, to be closed.

    Raises:
        SettingError: an unknown setting or a bad value.
        LibraryError: the library cannot be opened.
    """
    models = {"encoder": encoder, "generator": generator, "reranker": reranker, "verifier": verifier}
    settings.update({kind: model for kind, model in models.items() if isinstance(model, str)})
    if path is not None:
        settings["library"] = str(path)
    library = opened(load_settings(settings), progress=progress)
    library.models.use(**models)
    return library


def opened(settings: Settings, *, progress: Progress | None = None, searches: bool = False) -> Library:
    """Open the library that the settings name.

    Args:
        settings: all of them.
        progress: called with (model, bytes done, bytes in all) while a model is downloaded.
        searches: a search follows at once, so its encoder may load while the rest of the program is imported.

    Returns:
        The library, to be closed.

    Raises:
        LibraryError: it cannot be opened.
    """
    models = Models(
        encoder_name=settings.encoder,
        generator_name=settings.generator,
        verifier_name=settings.verifier,
        reranker_name=settings.reranker,
        rerank_seconds=settings.rerank_seconds,
        folder=models_dir(settings),
        offline=settings.offline,
        threads=settings.threads,
        base_url=settings.base_url,
        adapter=settings.adapter,
        progress=progress,
    )
    if searches and settings.mode != "keyword":
        models.begin("encoder")
    from pincite.library import Library

    return Library(settings, models)
