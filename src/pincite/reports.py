"""What the library tells of its sources and of its health."""

from __future__ import annotations

from dataclasses import dataclass

from pincite.types import Status


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What became of one source."""

    uri: str
    status: Status
    version: int | None = None
    passages: int = 0
    embedded: int = 0  # passages that had to be embedded; the others were known
    reason: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class AddReport:
    """What became of every source of one ``add``."""

    sources: tuple[SourceReport, ...]
    seconds: float = 0.0

    @property
    def failures(self) -> tuple[SourceReport, ...]:
        """The sources that could not be taken in, or only partly."""
        return tuple(source for source in self.sources if source.status in ("failed", "partly"))

    @property
    def summary(self) -> dict[str, int]:
        """Count by status; statuses that did not occur are 0."""
        names = ("indexed", "updated", "unchanged", "removed", "partly", "failed", "unsupported", "skipped")
        return {name: sum(source.status == name for source in self.sources) for name in names}

    def __str__(self) -> str:
        counts = [f"{count} {name}" for name, count in self.summary.items() if count]
        return ", ".join(counts) or "nothing to do"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of a health report."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
