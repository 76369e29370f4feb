"""Folders tell when something in them changes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

from pincite.acquire.crawl import is_passed_over
from pincite.acquire.ignore import IGNORE_FILES
from pincite.acquire.uri import absolute, shown
from pincite.errors import PathMissing, SourceUnreadable

_DEBOUNCE = 400  # milliseconds in which changes are gathered into one batch


def watch(
    paths: Iterable[str | Path],
    *,
    stop_event: threading.Event | None = None,
    poll: bool = False,
    debounce: int = _DEBOUNCE,
) -> Iterator[set[Path]]:
    """Yield the paths that changed, batch by batch, until stopped.

    A batch says that something happened, not what: crawl the paths again to learn it. Names that a crawl never
    looks at (hidden files, caches, libraries) do not count below a watched folder, ignore files do.

    Args:
        paths: files and folders; a file is watched through its folder, for editors replace files.
        stop_event: ends the iteration when it is set.
        poll: look at all files again and again instead of being told by the operating system. This is also done
            when the operating system does not tell, or has no watches left.
        debounce: milliseconds in which changes are gathered.

    Yields:
        Absolute paths that were created, changed or deleted; never an empty set.

    Raises:
        PathMissing: a path does not exist.
        SourceUnreadable: a path may not be watched.
    """
    roots = [absolute(path) for path in paths]
    for root in roots:
        if not root.exists():
            raise PathMissing(f"{shown(root)} does not exist.", fix="Check the path.")
    try:
        yield from _batches(roots, stop_event, poll, debounce)
    except PermissionError as error:
        raise SourceUnreadable(f"Watching is not permitted: {error}.", fix="Check the permissions.") from error
    except (OSError, RuntimeError):  # RuntimeError: what watchfiles raises for the rest
        if poll:
            raise
        yield from _batches(roots, stop_event, True, debounce)


def _batches(roots: list[Path], stop_event: threading.Event | None, poll: bool, debounce: int) -> Iterator[set[Path]]:
    """Gather the changes that concern the roots."""
    from watchfiles import watch as changes

    folders = {root if root.is_dir() else root.parent for root in roots}
    for batch in changes(
        *sorted(folders),
        watch_filter=lambda _, path: any(_concerns(path, root) for root in roots),
        stop_event=stop_event,
        force_polling=poll or None,
        debounce=debounce,
        step=min(50, debounce),
        ignore_permission_denied=True,
    ):
        yield {Path(path) for _, path in batch}


def _concerns(path: str, root: Path) -> bool:
    """Tell whether a path is the root or lies below it, where a crawl would see it."""
    if path == str(root):
        return True
    below = PurePath(path)
    names = below.parts[len(root.parts) :] if below.is_relative_to(root) else ()
    return bool(names) and not any(is_passed_over(name) for name in names if name not in IGNORE_FILES)
