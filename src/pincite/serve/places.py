"""Paths of the machine that callers name: where they lead, and whether they may be added."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pincite.errors import AccessDenied, UsageError


def permitted(path: str, roots: Sequence[Path] | None) -> Path:
    """Give the place that a path leads to, if it may be added.

    Args:
        path: absolute.
        roots: the folders that it may lie in; None for the person at the machine, who may name any path, also with "~".

    Returns:
        The path; where there are roots without links on its way.

    Raises:
        UsageError: it is not absolute.
        AccessDenied: it lies elsewhere, or nothing may be added.
    """
    named = os.path.expanduser(path) if roots is None else path  # noqa: PTH111 - the other raises for "~nobody"
    if "\0" in named or not Path(named).is_absolute():
        raise UsageError("The path is not absolute.", fix="Give the whole path, from its root.")
    if roots is None:
        return Path(named)
    place = Path(os.path.realpath(named))
    if not any(place.is_relative_to(os.path.realpath(root)) for root in roots):
        allowed = f"Name something below {' or '.join(map(str, roots))}." if roots else "Upload the files."
        raise AccessDenied("Paths there may not be added.", fix=allowed)
    return place
