"""Files that were handed over: each lies under an id that we choose, and its name is only ever text.

A file is at ``uploads/ID/SLUG.EXT`` in the library's folder, with its name beside it; the slug is what of the name is
harmless, so that the place tells people something. The same name (and labels) again is the same id, so that it is a
new version of the same document. What is still coming lies in a hidden folder.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from pincite.acquire.uri import uri_of

_NOT_IN_SLUG = re.compile(r"[^A-Za-z0-9]+")
_MOST_SLUG = 60  # characters
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d", re.IGNORECASE)  # names of devices on Windows
_EXTENSION = re.compile(r"\.[a-z0-9]{1,10}")
_ID = re.compile(r"[0-9a-f]{24}")
_ABOUT = ".about.json"
_COMING = ".coming-"


@dataclass(frozen=True)
class Uploads:
    """The uploaded files of one library."""

    folder: Path  # absolute; it need not exist

    def coming(self) -> Path:
        """Make a folder for what is coming; whoever asks for it removes it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=_COMING, dir=self.folder))

    def keep(self, file: Path, name: str, place: Path) -> Path:
        """Move a file that came whole to where it stays.

        Args:
            file: in a folder of ``coming``.
            name: as ``clean_name`` gives it.
            place: as ``place`` gives it.

        Returns:
            The place, which is also the document's path.
        """
        place.parent.mkdir(exist_ok=True)
        about = file.with_name(f"{file.name}.json")
        about.write_text(json.dumps({"name": name}), encoding="utf-8")
        about.replace(place.with_name(_ABOUT))  # first: a file without a name would be read without one
        return file.replace(place)

    def place(self, name: str, labels: Collection[str] = (), copy: int = 0) -> Path:
        """Tell where a file stays.

        Args:
            name: as ``clean_name`` gives it.
            labels: who may see it; they are part of its identity, so that nobody overwrites what he may not see.
            copy: another number is another document, although name and labels are the same.

        Returns:
            Its path.
        """
        identity = json.dumps([name, sorted(labels), copy])
        digest = hashlib.blake2b(identity.encode("ascii"), digest_size=12).hexdigest()
        last = PurePosixPath(name.rpartition("/")[2])
        extension = _EXTENSION.fullmatch(last.suffix.lower())
        return self.folder / digest / f"{_slug(last.stem)}{extension[0] if extension else ''}"

    def files(self) -> list[Path]:
        """List the files that came whole, by path."""
        return sorted(path for path in self.folder.glob("[0-9a-f]*/[A-Za-z0-9]*") if path.is_file())

    def name_of(self, uri: str) -> str:
        """Give the name of an uploaded file, or of what is inside one; "" if the URI is of no such file."""
        folder, rest = self._home(uri)
        if not rest:
            return ""
        try:
            about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
            name = str(about["name"])
        except (OSError, ValueError, KeyError, TypeError):  # removed, or damaged by someone: it has no name then
            return ""
        inside = unquote(rest.partition("/")[2])
        return f"{name}/{inside}" if inside else name

    def is_file(self, uri: str) -> bool:
        """Tell whether a URI is that of an uploaded file, which need not be there any more."""
        rest = self._home(uri)[1]
        return rest != "" and "/" not in rest

    def discard(self, uri: str) -> None:
        """Delete an uploaded file; nothing happens for a URI of no such file, or of what is inside one."""
        if self.is_file(uri):
            shutil.rmtree(self._home(uri)[0], ignore_errors=True)

    def _home(self, uri: str) -> tuple[Path, str]:
        """Give the folder of an uploaded file, and what of its URI lies in it, "" if the URI is of no such file."""
        identifier, _, rest = uri.removeprefix(self._prefix).partition("/")
        return (self.folder / identifier, rest) if _ID.fullmatch(identifier) else (self.folder, "")

    @cached_property
    def _prefix(self) -> str:
        return uri_of(self.folder) + "/"

    def sweep(self) -> None:
        """Delete what was coming when the program ended."""
        for left in self.folder.glob(f"{_COMING}*"):
            shutil.rmtree(left, ignore_errors=True)


def _slug(stem: str) -> str:
    """Keep the plain letters and digits of a name, "file" if there are none."""
    plain = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode("ascii")
    slug = _NOT_IN_SLUG.sub("-", plain)[:_MOST_SLUG].strip("-")
    return "file" if not slug or _RESERVED.fullmatch(slug) else slug


def clean_name(name: str) -> str:
    """Make a name of what a client calls its file: for people, with its folders, never a path of ours.

    Args:
        name: any text.

    Returns:
        Parts joined by "/", composed (NFC), without steps up or roots; what cannot be printed is U+FFFD. "file" when
        nothing is left.
    """
    composed = unicodedata.normalize("NFC", name.replace("\\", "/"))
    seen = "".join(char if char.isprintable() else "\ufffd" for char in composed)
    return "/".join(part for part in seen.split("/") if part.strip(". ")) or "file"
