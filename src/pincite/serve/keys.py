"""Keys: who may call the server. A file in the library holds what a key is checked against, never the key itself."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pincite.access import ROLES, Principal, Role, labels_of
from pincite.errors import LibraryBusy, LibraryDamaged, UsageError

FILE = "keys.json"
EVERYTHING = "*"  # as a grant: documents of every label
_WAIT_SECONDS = 5.0  # for another process that changes the file


@dataclass(frozen=True, slots=True)
class Key:
    """One key as it is kept."""

    name: str
    role: Role
    grants: tuple[str, ...] | None  # None: everything
    hash: str  # SHA-256 of the key, in hexadecimal digits
    added: str  # UTC

    @property
    def principal(self) -> Principal:
        """Whoever calls with it."""
        return Principal(self.name, self.role, None if self.grants is None else frozenset(self.grants))


class Keys:
    """The keys of one library. May be used from several threads; other processes may change the file meanwhile."""

    def __init__(self, library: Path) -> None:
        """Name the library's folder; the file need not exist."""
        self.path = library / FILE
        self._needed = False
        self._known: tuple[object, tuple[Key, ...]] = (None, ())  # what the file was when it was read, and held

    def all(self) -> tuple[Key, ...]:
        """Give the keys by name, as the file holds them now.

        Returns:
            The keys.

        Raises:
            LibraryDamaged: the file cannot be read; then nobody is let in.
        """
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise _damaged(self.path) from error
        now = (status.st_mtime_ns, status.st_ino, status.st_size)
        known = self._known
        if known[0] != now:  # both are kept in one step: threads may read at the same time
            known = self._known = (now, _read(self.path))
            self._needed = self._needed or bool(known[1])
        return known[1]

    def needed(self) -> bool:
        """Tell whether a key is needed: from the first key on, also when the last one is revoked later."""
        return bool(self.all()) or self._needed

    def find(self, token: str) -> Principal | None:
        """Tell whose key this is, None if it is nobody's; the time it takes tells nothing of the keys."""
        given = _hash(token)
        found = None
        for key in self.all():
            if hmac.compare_digest(key.hash, given):
                found = key.principal
        return found

    def add(self, name: str, role: Role = "reader", grants: Sequence[str] | None = ()) -> str:
        """Make a key.

        Args:
            name: whose; shown in lists and in the audit log.
            role: "reader" asks, "editor" adds and removes too, "admin" may do everything.
            grants: labels whose documents it opens, besides those without labels; None means every document.

        Returns:
            The key itself, which is kept nowhere: 43 characters from a source fit for secrets.

        Raises:
            UsageError: the name is taken, empty or not printable, or a grant is no label.
        """
        if not name.strip() or not name.isprintable() or role not in ROLES:
            raise UsageError(f"{name!r} cannot be the name of a key.", fix="Use letters and digits.")
        token = secrets.token_urlsafe(32)
        kept = None if grants is None else tuple(sorted(labels_of(grants)))
        with self._changing() as keys:
            if any(key.name == name for key in keys):
                raise UsageError(
                    f"There is a key named {name} already.", fix="Choose another name, or revoke it first."
                )
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            keys.append(Key(name, role, kept, _hash(token), now))
        return token

    def revoke(self, name: str) -> None:
        """Take a key away; servers that run refuse it within a second. UsageError if there is none of this name."""
        with self._changing() as keys:
            left = [key for key in keys if key.name != name]
            if len(left) == len(keys):
                raise UsageError(f"There is no key named {name}.", fix="`pincite keys list` shows those there are.")
            keys[:] = left

    @contextmanager
    def _changing(self) -> Iterator[list[Key]]:
        """Lend the keys for a change, which is on disk whole when the block is left; nobody else changes them."""
        with _alone(self.path.with_suffix(".lock")):
            keys = list(self.all())
            yield keys
            _write(self.path, sorted(keys, key=lambda key: key.name))


def _hash(token: str) -> str:
    """Hash a key; keys are random and long, so that one plain round is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _read(path: Path) -> tuple[Key, ...]:
    """Read the file."""
    try:
        return tuple(_key(row) for row in json.loads(path.read_text(encoding="utf-8"))["keys"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(path) from error


def _key(row: dict[str, Any]) -> Key:
    """Read one key; ValueError when it is none."""
    key = Key(**(row | {"grants": None if row["grants"] is None else tuple(row["grants"])}))
    if key.role not in ROLES or len(key.hash) != 64:
        raise ValueError("not a key")
    return key


def _write(path: Path, keys: Sequence[Key]) -> None:
    """Put the file in place whole, for its owner's eyes only."""
    rows = [{"name": k.name, "role": k.role, "grants": k.grants, "hash": k.hash, "added": k.added} for k in keys]
    temporary = path.with_name(f".{FILE}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"keys": rows}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Hold a lock against other processes."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            lock.mkdir()
            break
        except FileExistsError:
            if time.monotonic() > deadline:
                raise LibraryBusy(
                    f"Another process has held {lock} for {_WAIT_SECONDS:g} seconds.",
                    fix="Remove that folder if no `pincite keys` runs, then try again.",
                ) from None
            time.sleep(0.02)
    try:
        yield
    finally:
        lock.rmdir()


def _damaged(path: Path) -> LibraryDamaged:
    """Say that the file is no good."""
    return LibraryDamaged(f"{path} cannot be read as keys.", fix="Remove it, then make the keys anew.")
