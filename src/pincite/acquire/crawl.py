"""Folders become a list of files: in order of name, one stat a file, nothing read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote_from_bytes

from pincite.acquire.ignore import Ignore, Rules, is_ignored, read_rules, rules_above
from pincite.acquire.load import changed_ns
from pincite.acquire.uri import absolute, shown, uri_of
from pincite.errors import PathMissing, SourceUndecodable, UsageError

LIBRARY_SUFFIX = ".pincite"
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})  # and every hidden one, such as .git and .venv


@dataclass(frozen=True, slots=True)
class Found:
    """A regular file, as its folder's listing and one stat show it."""

    place: str  # its absolute path; a Path of each file would take a fifth of the time of looking at a folder
    uri: str
    size: int  # bytes
    modified_ns: int  # of the last change of content or status, nanoseconds since the epoch

    @property
    def path(self) -> Path:
        """The path."""
        return Path(self.place)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that was not taken, and why. ``skipped``: on purpose; ``failed``: it could not be seen."""

    uri: str
    reason: str
    fix: str = ""
    status: Literal["skipped", "failed"] = "skipped"


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder on the way: its URI, its path below the root ("" or "a/b/"), the ignore files that rule it."""

    path: str
    uri: str
    below: str
    ignores: tuple[Ignore, ...]


def crawl(
    paths: Iterable[str | Path], *, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Iterator[Found | Skipped]:
    """List the files of paths: roots in the order given, each folder in order of name, depth first.

    Hidden files and folders, ``node_modules``, ``__pycache__`` and what ``.gitignore``, ``.ignore`` and
    ``.pinciteignore`` (at every level, and above the root up to its repository) exclude are passed over in
    silence. Symbolic links, special files and libraries (``*.pincite``) inside folders are reported as skipped;
    links are never followed. A path that is named itself is taken whatever it is called, link or not.

    Args:
        paths: files and folders.
        include: git-style patterns relative to each root; when given, only files that match one are taken.
        exclude: git-style patterns relative to each root; matching files and folders are not taken.

    Returns:
        An iterator over each file once. A folder or file that cannot be seen comes as ``Skipped``, "failed".

    Raises:
        PathMissing: a path does not exist (before anything is listed).
        UsageError: a pattern is malformed.
    """
    roots = [absolute(path) for path in paths]
    for root in roots:
        if not os.path.lexists(root):
            raise PathMissing(f"{shown(root)} does not exist.", fix="Check the path.")
    included, excluded = _patterns(include), _patterns(exclude)
    return _once(item for root in roots for item in _root(root, included, excluded))


def is_passed_over(name: str) -> bool:
    """Tell whether a name inside a folder is never looked at: hidden, a cache, a library."""
    return name.startswith(".") or name in _SKIPPED_FOLDERS or name.endswith(LIBRARY_SUFFIX)


def _patterns(lines: Sequence[str]) -> Rules | None:
    """Compile the caller's patterns, None when there are none."""
    rules, bad = read_rules(lines)
    if bad:
        raise UsageError(f"{bad[0]!r} is not a file pattern.", fix="Use patterns as in .gitignore, such as '*.md'.")
    return rules if lines else None


def _once(items: Iterable[Found | Skipped]) -> Iterator[Found | Skipped]:
    """Drop what was already listed under another root."""
    seen: set[str] = set()
    for item in items:
        if item.uri not in seen:
            seen.add(item.uri)
            yield item


def _root(root: Path, included: Rules | None, excluded: Rules | None) -> Iterator[Found | Skipped]:
    """List one named path."""
    uri = uri_of(root)
    try:
        status = root.stat()
    except FileNotFoundError:
        yield Skipped(uri, "It is a link to something that does not exist.", "Mend or remove the link.", "failed")
    except OSError as error:
        yield _unseen(uri, error)
    else:
        if stat.S_ISREG(status.st_mode):
            yield Found(str(root), uri, status.st_size, changed_ns(status))
        elif not stat.S_ISDIR(status.st_mode):
            yield Skipped(uri, "It is not a regular file.", "Name a file or a folder.", "failed")
        elif root.name.endswith(LIBRARY_SUFFIX):
            yield Skipped(uri, "It is a Pincite library.", "Name the documents, not the library.", "failed")
        else:
            yield from _tree(_Folder(str(root), uri.rstrip("/"), "", rules_above(root)), included, excluded)


def _tree(top: _Folder, included: Rules | None, excluded: Rules | None) -> Iterator[Found | Skipped]:
    """Walk a folder with a stack of listings, so that no depth of folders is too deep."""
    stack: list[Iterator[Found | Skipped | _Folder]] = [_listing(top, included, excluded)]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
        elif isinstance(item, _Folder):
            stack.append(_listing(item, included, excluded))
        else:
            yield item


def _listing(folder: _Folder, included: Rules | None, excluded: Rules | None) -> Iterator[Found | Skipped | _Folder]:
    """List one folder: its files, and its folders still closed."""
    try:
        with os.scandir(folder.path) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except FileNotFoundError:  # removed while we walked: as if it had never been there
        return
    except OSError as error:
        yield _unseen(folder.uri or "file:///", error)
        return
    own, problems = Ignore.of(folder.path, {entry.name for entry in entries})
    for path, problem in problems:
        yield Skipped(
            uri_of(path), str(problem), problem.fix, "skipped" if isinstance(problem, SourceUndecodable) else "failed"
        )
    ignores = (*folder.ignores, own) if own else folder.ignores
    for entry in entries:
        below = folder.below + entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name.startswith(".") or entry.name in _SKIPPED_FOLDERS:
            continue
        if is_ignored(entry.path, is_folder, ignores) or (excluded and excluded.match(below, is_folder)):
            continue
        uri = f"{folder.uri}/{quote_from_bytes(os.fsencode(entry.name))}"
        if is_folder:
            yield _folder(entry, uri, below, ignores)
        elif included is None or included.match(below, False):
            yield from _file(entry, uri)


def _folder(entry: os.DirEntry[str], uri: str, below: str, ignores: tuple[Ignore, ...]) -> Skipped | _Folder:
    """Take a folder, unless it is a library."""
    if entry.name.endswith(LIBRARY_SUFFIX):
        return Skipped(uri, "It is a Pincite library.")
    return _Folder(entry.path, uri, below + "/", ignores)


def _file(entry: os.DirEntry[str], uri: str) -> Iterator[Found | Skipped]:
    """Look at one entry that is not a folder: one stat, links not followed."""
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # removed while we walked
        return
    except OSError as error:
        yield _unseen(uri, error)
        return
    if stat.S_ISREG(status.st_mode):
        yield Found(entry.path, uri, status.st_size, changed_ns(status))
    elif stat.S_ISLNK(status.st_mode):
        yield Skipped(uri, "It is a symbolic link, and links inside folders are not followed.", "Name it itself.")
    else:
        yield Skipped(uri, "It is not a regular file.")


def _unseen(uri: str, error: OSError) -> Skipped:
    """Report what the operating system would not show."""
    reason = f"It cannot be looked at: {(error.strerror or 'unknown error').lower()}."
    return Skipped(uri, reason, "Check its permissions, then try again.", "failed")
