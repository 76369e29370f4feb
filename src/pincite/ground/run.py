"""How to answer, and what one answer gathers on its way: findings for the reader, and the time of each stage."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pincite.generate.relevance import Terms
from pincite.models.protocols import Encoder, Verifier
from pincite.types import Finding, Hit, Scalar, Stage

LazyVerifier = Verifier | Callable[[], Verifier | None] | None
Quotes = Literal["auto", "always", "when_needed"]


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How to answer."""

    whole: str = ""  # a follow-up question in a form that stands alone, for the generator and for the checks
    evidence_tokens: int = 400  # of evidence that may travel to the generator
    answer_tokens: int = 120  # of the draft, at most
    answer_seconds: float | None = 60.0  # deadline of the draft; None waits as long as it takes
    # Of a draft: "flag" marks claims that are not supported, "drop" leaves them out and says so, "strict" gives quotes
    # alone if there is any.
    policy: str = "flag"
    # "always": quotes, then the draft's claims that are surely supported. "when_needed": the draft, and quotes behind
    # it where it may be worse than they are. "auto": the first for models under a billion parameters, by their name,
    # the second for others. Of SmolLM2-135M's drafts some 40 % hold the gold answer, of the quotes over 90 %
    # (bench/quality/results/generation.md).
    quotes: Quotes = "auto"
    strictness: float = 0.5  # of the gate, 0 to 1; see ``sufficiency.judge``
    temperature: float = 0.0  # of the draft; 0 writes the likeliest text
    seed: int = 0

    def always_quotes(self, name: str) -> bool:
        """Tell whether quotes go with whatever this model writes."""
        return self.quotes == "always" or (self.quotes == "auto" and is_small(name))


def is_small(name: str) -> bool:
    """Tell from a model's name whether it has under a billion parameters; unknown sizes count as large."""
    size = re.search(r"(?<![a-z\d.])(\d+(?:\.\d+)?)\s*([mb])(?![a-z])", name.lower())
    return bool(size) and (size[2] == "m" or float(size[1]) < 1) if size else False


@dataclass(slots=True)
class Run:
    """A question, the hits, and what was found out so far."""

    question: str
    hits: Sequence[Hit]
    encoder: Encoder | None
    terms: Terms
    verifier: LazyVerifier = None
    how: AnswerOptions = field(default_factory=AnswerOptions)
    findings: list[Finding] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    mark: float = field(default_factory=time.perf_counter)

    @property
    def whole(self) -> str:
        """The question in a form that stands alone."""
        return self.how.whole or self.question

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
