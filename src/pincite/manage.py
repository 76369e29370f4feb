"""The facade for what is not one library's content: models, health, measurements."""

from __future__ import annotations

import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

from pincite.errors import ModelError, UsageError
from pincite.reports import Ceiling, Check
from pincite.settings import Settings, changed, config_path, models_dir, without_secret
from pincite.types import Mode

if TYPE_CHECKING:
    from pincite.library import Library
    from pincite.models.catalog import Progress
    from pincite.store.filters import Filter

_PACKAGES = ("apsw", "numpy", "openvino", "openvino-genai", "tantivy", "tokenizers", "turbovec", "xllamacpp")


def models(settings: Settings) -> list[dict[str, Any]]:
    """List the known models: name, kind, status ("ready", "missing", "damaged"), path, size in bytes, licence."""
    from pincite.models.fetch import list_models

    return [asdict(row) for row in list_models(models_dir(settings))]


def models_in_use(settings: Settings) -> list[str]:
    """Name the models in use that Pincite keeps files of."""
    names = (settings.encoder, settings.generator, settings.reranker, settings.verifier)
    return [name.removeprefix("openvino:").removeprefix("llama:") for name in names if not _is_elsewhere(name)]


def _is_elsewhere(name: str) -> bool:
    """Tell that no files are kept for a model: there is none, it is at an endpoint, or another library keeps them."""
    return name in ("", "none") or name.startswith(("openai:", "st:", "transformers:", "http:", "https:"))


def model_path(name: str, settings: Settings, *, pull: bool = False, progress: Progress | None = None) -> Path:
    """Give the verified place of a model.

    Args:
        name: a known name, a local path, or a name on the hub.
        settings: say where models are kept.
        pull: download or mend it first, and prepare it for its runtime.
        progress: called with the name, the bytes so far and the bytes in all.

    Returns:
        The model's folder or file.

    Raises:
        ModelError: it is unknown, missing, damaged or cannot be downloaded.
    """
    from pincite.models.fetch import ensure

    offline, folder = settings.offline or not pull, models_dir(settings)
    path = ensure(name, models_dir=folder, offline=offline, progress=progress, repair=pull)
    if pull and path.suffix == ".gguf":
        _save_form(path, folder)
    return path


def _save_form(gguf: Path, folder: Path) -> None:
    """Make what the default runtime makes of a model at its first start, so that nobody waits for it later."""
    from pincite.models.generators.default import DEFAULT_RUNTIME
    from pincite.models.load import COMPILED

    if DEFAULT_RUNTIME == "openvino":
        from pincite.models.generators.saved import saved_form

        with saved_form(gguf, folder / COMPILED):
            pass


def evaluate_dataset(
    dataset: str, settings: Settings, *, comparison: Mapping[str, Any] | None = None, progress: Any = None, **asked: Any
) -> dict[str, Any]:
    """Measure search: on a BEIR folder in a temporary library, or with cases that ask of the library in the settings.

    Args:
        dataset: the folder, or the file of cases.
        settings: name the library, the encoder, the reranker and the mode.
        comparison: the fields of ``measure.compare.Comparison``.
        progress: has a method ``download`` for models.
        **asked: what ``measure.evaluate.evaluate`` takes and no setting says: drafts, limit, span_depth.

    Returns:
        The measures by name.

    Raises:
        UsageError: the cases or a saved run are malformed, or nothing can be measured.
        ExtraMissing: the metrics library is not installed.
    """
    from pincite.measure.compare import Comparison
    from pincite.measure.evaluate import evaluate

    with _measured(dataset, settings, progress) as library:
        return evaluate(
            Path(dataset),
            library.store,
            library.models.encoder(),
            mode=cast(Mode, settings.mode),
            passage_pieces=settings.passage_pieces,
            reranker=library.models.reranker(),
            rerank_seconds=settings.rerank_seconds,
            comparison=Comparison(**(comparison or {})),
            **asked,
        )


@contextmanager
def _measured(cases: str, settings: Settings, progress: Any, *, refresh: bool = True) -> Iterator[Library]:
    """Open what cases ask of: for a BEIR folder a temporary library, else that of the settings, brought up to date."""
    from pincite.opening import opened

    download = getattr(progress, "download", None)
    if Path(cases).is_dir():
        with tempfile.TemporaryDirectory(prefix="pincite-corpus-") as folder:
            own = changed(settings, library=str(Path(folder) / "corpus.pincite"))
            with opened(own, progress=download) as library:
                yield library
        return
    with opened(settings, progress=download) as library:
        if refresh:
            library.refresh()
        yield library


def ceiling_report(
    cases: str,
    settings: Settings,
    *,
    extract: bool = True,
    where: Filter | None = None,
    refresh: bool = True,
    drafts: bool = False,
    questions: int | None = None,
    progress: Any = None,
) -> Ceiling:
    """Say for each case where its answer was lost: in a BEIR folder's own corpus, or in the library of the settings.

    Args:
        cases: the folder, or the file of cases.
        settings: name the library, the models and the mode.
        extract: answer with quotes alone, without a generator.
        where: which documents may be found.
        refresh: look for changes on disk first.
        drafts: ask cases that nobody accepted yet, too.
        questions: ask only so many, the first ones; None asks all.
        progress: has the methods ``download`` and ``count``.

    Returns:
        The report.

    Raises:
        UsageError: the cases are malformed.
    """
    from pincite.measure.cases import load_cases
    from pincite.measure.ceiling import ceiling
    from pincite.measure.corpus import index_corpus, row_uri

    loaded = load_cases(Path(cases))
    own = loaded.dataset
    with _measured(cases, settings, progress, refresh=refresh) as library:
        if own:
            index_corpus(own, library.store, library.models.encoder(), passage_pieces=settings.passage_pieces)
        return ceiling(
            loaded.name,
            loaded.cases[:questions],
            ask=lambda question: library.asked(question, extract=extract, where=where, refresh=False),
            store=library.store,
            uri_of=lambda source: row_uri(own.name, source) if own else library.uri(source),
            generator="extractive" if extract else settings.generator,
            drafts=drafts,
            progress=lambda what, done, total: progress and progress.count("Asked", done, f"of {total} {what}"),
        )


def evaluate_cases(
    library: Library,
    rows: Sequence[Mapping[str, Any]],
    *,
    extract: bool = True,
    mode: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Ceiling, dict[str, dict[str, float]], dict[str, list[float]]]:
    """Ask cases of an open library as its principal sees it.

    Args:
        library: what to ask.
        rows: cases as JSON objects, as lines of a file of cases; those that name no source though they are answerable
            are left out.
        extract: answer with quotes alone, without a generator.
        mode: how to search; None takes the setting.
        progress: called with the cases asked and those in all.

    Returns:
        Where each answer was lost; each metric by case ("right" is 1 or 0); and the 95 % interval of each mean.

    Raises:
        UsageError: a case is malformed, or none can be asked.
    """
    from pincite.measure.cases import cases_of
    from pincite.measure.ceiling import ceiling
    from pincite.measure.compare import intervals
    from pincite.measure.evaluate import How, measure_cases
    from pincite.measure.task import task_of
    from pincite.reports import RIGHT

    settings = changed(library.settings, mode=mode)
    loaded = cases_of("cases", rows)
    found = ceiling(
        loaded.name,
        loaded.cases,
        ask=lambda question: library.asked(question, extract=extract, mode=mode, refresh=False),
        store=library.store,
        uri_of=library.uri,
        generator="extractive" if extract else settings.generator,
        progress=lambda what, done, total: progress(done, total),
    )
    figures: dict[str, dict[str, float]] = {"right": {one.id: float(one.why.stage in RIGHT) for one in found.cases}}
    try:
        task = task_of(loaded, library.store)
    except UsageError:  # none has gold in the library: there is nothing that could be ranked
        return found, figures, _listed(intervals(figures))
    how = How(mode=cast(Mode, settings.mode), reranker=library.models.reranker())
    figures |= measure_cases(task, library.store, library.models.encoder(), how).figures
    return found, figures, _listed(intervals(figures))


def _listed(bounds: Mapping[str, tuple[float, float]]) -> dict[str, list[float]]:
    return {metric: list(bound) for metric, bound in bounds.items()}


def compare_figures(
    figures: dict[str, dict[str, float]], before: dict[str, dict[str, float]]
) -> dict[str, dict[str, Any]]:
    """Compare the figures of two evaluations over the cases of both.

    Args:
        figures: metric -> case -> value, now.
        before: the same of the other one.

    Returns:
        For each metric of both: difference, low, high, p, questions, verdict, as ``measure.compare.Difference``.

    Raises:
        UsageError: they share no case.
    """
    from pincite.measure.compare import Run, differences

    found = differences(Run("this evaluation", figures), Run("the other one", before))
    return {one.metric: {**asdict(one), "verdict": one.verdict} for one in found}


def write_report(found: Ceiling, path: Path) -> None:
    """Write a ceiling report as one HTML file; OSError if it cannot be written."""
    from pincite.measure.report import report_html

    path.write_text(report_html(found), encoding="utf-8")


def make_cases(library: Library, rows: list[dict[str, Any]], *, count: int) -> None:
    """Draft cases from a library's passages.

    Args:
        library: whose documents.
        rows: cases as JSON objects; those that are new are appended, none comes twice. Sources below the working folder
            are named by their path from there, others by their URI.
        count: how many to add, at most.

    Raises:
        GenerationError: the generator failed.
    """
    from pincite.build.roots import uri_named
    from pincite.measure.drafts import draft_cases

    library.refresh()
    known = {str(row.get("id")) for row in rows}
    generator = library.models.generator()
    for case in draft_cases(library.store, count=count, generator=generator, known=known):
        [gold] = case.gold
        path = unquote(gold.source.removeprefix(f"{Path.cwd().as_uri()}/"))
        source = path if uri_named(library.store, path) == gold.source else gold.source
        rows.append(
            {
                "id": case.id,
                "question": case.question,
                "source": source,
                "quote": gold.quote,
                "start": gold.start,
                "end": gold.end,
                "status": case.status,
            }
        )


def case_rows(path: str) -> list[dict[str, Any]]:
    """Read a file of cases as JSON objects; [] when there is none. UsageError for a malformed line."""
    from pincite.measure.cases import read_rows

    return read_rows(Path(path))


def keep_case_rows(path: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a file of cases whole or not at all; UsageError if it cannot be written."""
    from pincite.measure.cases import write_rows

    write_rows(Path(path), rows)


def doctor(library: Library) -> dict[str, Any]:
    """Report versions, models and checks of a library; each check is {"name", "ok", "detail", "fix"}."""
    settings = library.settings
    checks = [
        Check("python", sys.version_info >= (3, 11), f"{platform.python_version()} on {platform.platform()}"),
        Check("configuration", True, f"{config_path()}" + ("" if config_path().exists() else " (none; defaults)")),
        *(_model_check(settings, kind) for kind in ("encoder", "generator", "reranker", "verifier")),
        *library.store.verify(),
        *_stale_checks(library),
    ]
    stats = library.stats()
    return {
        "versions": {"pincite": _version("pincite")} | {name: _version(name) for name in _PACKAGES},
        "models": {row["name"]: row for row in models(settings)},
        "library": {"path": str(library.path), "documents": stats.documents, "passages": stats.passages},
        "checks": checks,
    }


def _model_check(settings: Settings, kind: str) -> Check:
    """Check that a model in use is here and whole, and say what runs it."""
    name = getattr(settings, kind)
    if _is_elsewhere(name):
        shown = without_secret(name)
        return Check(kind, True, "none" if shown in ("", "none") else f"{shown}: not kept by Pincite")
    try:
        path = model_path(name.removeprefix("openvino:").removeprefix("llama:"), settings)
    except ModelError as error:
        return Check(kind, False, str(error), error.fix)
    return Check(kind, True, f"{name}: {_runtime(name, kind)}, files verified in {path}")


def _runtime(name: str, kind: str) -> str:
    """Say what runs a local model."""
    from pincite.models.generators.default import DEFAULT_RUNTIME

    scheme = name.partition(":")[0] if ":" in name else DEFAULT_RUNTIME if kind == "generator" else "openvino"
    return f"runs on the CPU with {'OpenVINO' if scheme == 'openvino' else 'llama.cpp'}"


def _stale_checks(library: Library) -> list[Check]:
    """Give one failed check for each stale source, or one good one."""
    stale = [record for record in library.store.failed() if record.version]
    if not stale:
        return [Check("sources", True, "none is known to be stale")]
    return [Check("source", False, f"{record.source.uri}: {record.reason}", record.fix) for record in stale]


def _version(package: str) -> str:
    """Give the installed version of a package, "" when it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
