"""The paths that people added: a library keeps following them."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pincite.acquire.uri import absolute, path_of, uri_of
from pincite.build.sync import Selection
from pincite.errors import UsageError
from pincite.store.filters import And, Filter, Glob, Is, Or
from pincite.store.protocol import Store

Paths = str | Path | Iterable[str | Path]
_NOTE = "roots"


def paths_of(paths: Paths) -> list[Path]:
    """Make absolute paths of one path or several; symbolic links stay as they are."""
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if "" in given:  # it would stand for the folder that we are in
        raise UsageError("A path is empty.", fix="Name a file or a folder; '.' is the folder that you are in.")
    return [absolute(Path(os.path.expanduser(path))) for path in given]  # noqa: PTH111 - the other raises for "~nobody"


def uri_named(store: Store, target: str | Path) -> str:
    """Turn a URI, a document's id or a path into a URI."""
    name = str(target)
    if "://" in name:
        return name
    record = store.source(name)
    return uri_of(paths_of(name)[0]) if record is None else record.source.uri


def within(paths: Sequence[Path], where: Filter | None) -> Filter:
    """Restrict a filter to what is at or below some absolute paths."""
    inside: list[Filter] = []
    for path in paths:
        inside += [Is("path", str(path)), Glob("path", glob.escape(str(path).rstrip("/")) + "/*")]
    return Or(tuple(inside)) if where is None else And((Or(tuple(inside)), where))


def roots(store: Store) -> list[Selection]:
    """Give the selections that were added, in the order in which they came."""
    rows = json.loads(store.note(_NOTE) or "[]")
    return [Selection(Path(os.fsdecode(bytes.fromhex(path))), tuple(inc), tuple(exc)) for path, inc, exc in rows]


def remember(store: Store, selections: Sequence[Selection]) -> None:
    """Follow these selections too; the newest one for a path counts."""
    known = roots(store)
    merged = {selection.path: selection for selection in (*known, *selections)}
    if list(merged.values()) != known:
        _keep(store, merged.values())


def forget(store: Store, uri: str) -> None:
    """Stop following what is at or below a URI: drop such roots, and exclude it from roots above it."""
    kept = []
    for root in roots(store):
        place = uri_of(root.path).rstrip("/")
        if place == uri or place.startswith(uri + "/"):
            continue
        if uri.startswith(place + "/"):
            inner = path_of(uri).relative_to(root.path).as_posix()
            root = replace(root, exclude=(*root.exclude, "/" + glob.escape(inner)))
        kept.append(root)
    _keep(store, kept)


def selected(store: Store, paths: Sequence[Path]) -> list[Selection]:
    """Give the selections for some paths, with the globs they were added with."""
    known = {root.path: root for root in roots(store)}
    return [known.get(path, Selection(path)) for path in paths]


def failing(store: Store, paths: Sequence[Path] | None, states: Collection[str]) -> list[Selection]:
    """Select the files whose state is one of some, or of what is inside them; only those at or below some paths."""
    within = None if paths is None else [uri_of(path).rstrip("/") for path in paths]
    followed = {root.path for root in roots(store)}
    found: dict[Path, None] = {}
    for record in store.sources():
        uri = record.source.uri
        if record.status not in states or not uri.startswith("file://"):
            continue
        if within is None or any(uri == top or uri.startswith(top + "/") for top in within):
            found[path_of(uri)] = None
    return [Selection(path) for path in found if not _behind_link(path, followed)]


def _behind_link(path: Path, followed: Collection[Path]) -> bool:
    """Tell whether a file became a link, or came behind one, since it was added: inside folders none is followed."""
    steps = [path, *path.parents]
    top = next((at for at, step in enumerate(steps) if step in followed), 1)
    return any(step.is_symlink() for step in steps[:top])


def _keep(store: Store, selections: Iterable[Selection]) -> None:
    """Store the selections; a path is kept as its bytes, which need not be text."""
    rows = [(os.fsencode(s.path).hex(), s.include, s.exclude) for s in selections]
    store.note(_NOTE, json.dumps(rows))
