"""Who asks: a name, a role and grants. What one may see is decided in the store, from nothing but this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["reader", "editor", "admin"]
ROLES: tuple[Role, ...] = ("reader", "editor", "admin")  # each may do what those before it may


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


OWNER = Principal("owner", "admin", None)  # the person at the machine: the command line, and Python by itself
