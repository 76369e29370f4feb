"""What one answer gathers on its way: findings for the reader, and the time of each stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pincite.generate.relevance import Terms
from pincite.models.protocols import Encoder, Verifier
from pincite.types import Finding, Hit, Scalar, Stage

LazyVerifier = Verifier | Callable[[], Verifier | None] | None


@dataclass(slots=True)
class Run:
    """A question, the hits, and what was found out so far."""

    question: str
    hits: Sequence[Hit]
    encoder: Encoder | None
    terms: Terms
    verifier: LazyVerifier = None
    whole: str = ""  # the question in a form that stands alone, if it follows another
    findings: list[Finding] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    mark: float = field(default_factory=time.perf_counter)

    def stage(self, name: str, *, held: float = 0.0, **detail: Scalar) -> None:
        """End a stage that began when the last one ended; ``held`` seconds of it belong to the next one."""
        now = time.perf_counter() - held
        self.stages.append(Stage(name, now - self.mark, detail))
        self.mark = now

    def loaded_verifier(self) -> Verifier | None:
        """Give the verifier, loaded when it is first needed."""
        if self.verifier is not None and not isinstance(self.verifier, Verifier):
            self.verifier = self.verifier()
        return self.verifier

    def find(self, kind: str, message: str, fix: str = "") -> None:
        """Report something to the reader."""
        self.findings.append(Finding(kind, message, fix))
