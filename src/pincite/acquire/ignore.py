"""What ignore files and patterns say about a path, as git understands them (through pathspec)."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.acquire.load import load
from pincite.acquire.uri import shown
from pincite.errors import SourceError, SourceUndecodable

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".ignore", ".pinciteignore")  # a later one has the last word
_LIMIT = 1 << 20  # bytes of one ignore file
_WILDCARDS = 12  # in one pattern: each one multiplies the time that a match can take


@dataclass(frozen=True, slots=True)
class Rules:
    """Compiled patterns."""

    spec: GitIgnoreSpec

    def verdict(self, below: str, is_folder: bool) -> bool | None:
        """Say whether the last matching pattern takes the path (True), gives it back (False), or none matches."""
        return self.spec.check_file(below + "/" if is_folder else below).include

    def match(self, below: str, is_folder: bool) -> bool:
        """Say whether the patterns take the path, which is relative and has forward slashes."""
        return bool(self.verdict(below, is_folder))


def read_rules(lines: Iterable[str]) -> tuple[Rules, list[str]]:
    """Compile patterns; those that are malformed come back beside the rules of the others."""
    from pathspec import GitIgnoreSpec

    good, bad = [], []
    for line in lines:
        try:
            if line.count("*") - 2 * line.count("**/") > _WILDCARDS:
                raise ValueError(line)
            GitIgnoreSpec.from_lines([line])
        except (ValueError, re.error):
            bad.append(line)
        else:
            good.append(line)
    return Rules(GitIgnoreSpec.from_lines(good)), bad


@dataclass(frozen=True, slots=True)
class Ignore:
    """The ignore files of one folder."""

    prefix: int  # characters of the folder's path and the separator behind it
    rules: Rules

    @classmethod
    def of(cls, folder: str, names: Container[str]) -> tuple[Ignore | None, list[tuple[str, SourceError]]]:
        """Read a folder's ignore files, if its names have any; what was not read or understood comes beside."""
        lines: list[str] = []
        problems: list[tuple[str, SourceError]] = []
        for name in IGNORE_FILES:
            path = os.path.join(folder, name)  # noqa: PTH118 - keeps bytes that are no text as they are
            if name not in names or Path(path).is_symlink() or not Path(path).is_file():
                continue
            try:
                own = (
                    os.fsdecode(load(path, limit=_LIMIT)[1].removeprefix(b"\xef\xbb\xbf"))
                    .replace("\r\n", "\n")
                    .split("\n")
                )
            except SourceError as error:
                problems.append((path, error))
                continue
            lines += own
            problems += [(path, _malformed(path, line)) for line in read_rules(own)[1]]
        if not lines:
            return None, problems
        return cls(len(folder.rstrip(os.sep)) + 1, read_rules(lines)[0]), problems


def _malformed(path: str, line: str) -> SourceError:
    """Name a line that is no pattern."""
    return SourceUndecodable(f"{line!r} in {shown(path)} is not a pattern; it has no effect.", fix="Correct that line.")


def is_ignored(path: str, is_folder: bool, ignores: Sequence[Ignore]) -> bool:
    """Ask the ignore files from the nearest folder outwards; the first that says anything decides."""
    for ignore in reversed(ignores):
        verdict = ignore.rules.verdict(path[ignore.prefix :].replace(os.sep, "/"), is_folder)
        if verdict is not None:
            return verdict
    return False


def rules_above(root: Path) -> tuple[Ignore, ...]:
    """Read the ignore files of the folders above a root, up to its repository's top, outermost first.

    Without a repository, or when they ignore the root itself (it was named, so it is wanted), there are none.
    """
    chain = (root, *root.parents)
    top = next((level for level, folder in enumerate(chain) if os.path.lexists(folder / ".git")), 0)
    above = [Ignore.of(str(folder), IGNORE_FILES)[0] for folder in reversed(chain[1 : top + 1])]
    ignores = tuple(own for own in above if own)
    return () if any(is_ignored(str(folder), True, ignores) for folder in chain[:top]) else ignores
