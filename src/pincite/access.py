"""Who asks: a name, a role and grants. What one may see is decided in the store, from nothing but this."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pincite.errors import UsageError

Role = Literal["reader", "editor", "admin"]
ROLES: tuple[Role, ...] = ("reader", "editor", "admin")  # each may do what those before it may
_LABEL = re.compile(r"[\w.:@+-]{1,64}")


@dataclass(frozen=True, slots=True)
class Principal:
    """A person or program that asks.

    A document without labels is seen by everyone; one with labels by those who hold at least one of them as a grant.
    """

    name: str
    role: Role = "reader"
    grants: frozenset[str] | None = frozenset()  # None: everything, whatever its labels

    def may(self, role: Role) -> bool:
        """Tell whether the role is at least this one."""
        return ROLES.index(self.role) >= ROLES.index(role)

    @property
    def is_owner(self) -> bool:
        """Tell whether nothing is refused."""
        return self.role == "admin" and self.grants is None


OWNER = Principal("owner", "admin", None)  # the person at the machine: the command line, and Python by itself


def labels_of(names: Iterable[str]) -> frozenset[str]:
    """Give labels or grants as a set; UsageError for what is no word of up to 64 letters, digits and ``.:@+-_``."""
    labels = frozenset(names)
    for label in sorted(labels):
        if not _LABEL.fullmatch(label):
            raise UsageError(f"{label!r:.80} is no label.", fix="Use a word of letters, digits and . : @ + - _.")
    return labels
