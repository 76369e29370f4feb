"""From ranked hits to a checked answer: evidence, gate, draft, claims, citations, verdicts; every part is given."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Generator as Coroutine
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from pincite.errors import DiskFull, GenerationError, ModelError, ModelUnknown
from pincite.generate.evidence import Ranking, Sentence, pack, rank_sentences
from pincite.generate.prompt import CITE, POLICY, build_prompt
from pincite.generate.relevance import Terms
from pincite.generate.reply import Draft, draft
from pincite.ground.claims import split_claims, unknown_citations
from pincite.ground.compose import Assessed, Writer, assess, conflict_findings, contested, uncited
from pincite.ground.conflict import Conflict, conflicts
from pincite.ground.extract import best_quotes
from pincite.ground.sufficiency import Sufficiency, judge
from pincite.ground.verify import Check, calibrated
from pincite.models.protocols import Encoder, GenerationOptions, Generator, Verifier
from pincite.text import sentences
from pincite.types import (
    Answer,
    CitationEvent,
    DoneEvent,
    Event,
    Evidence,
    EvidenceSet,
    Finding,
    Hit,
    Passage,
    Scalar,
    Stage,
    TokenEvent,
    Trace,
    Verdict,
    VerdictEvent,
)

Quotes = Literal["auto", "always", "when_needed"]
LazyGenerator = Generator | Callable[[], Generator | None] | None
LazyVerifier = Verifier | Callable[[], Verifier | None] | None

NOT_IN_DOCUMENTS = "These documents do not answer this question."
_QUOTED = Check("supported", 1.0, ())
_CARRIED = ("supported", "conflicting")  # verdicts on what some source says
_NEAREST = 3
_SURE = 0.8  # support of a claim that a small model may add to the quotes; at the threshold itself too much is invented
_ASIDE = 60  # tokens of a small model's draft, as in the measurement; the rest only costs time
_FEW, _MANY = 4, 12  # sentences that a small and a large model are given; more made the small one slower, not better
_ABSTAINS = re.compile(
    r"\b(passages?|documents?|context|text)\b.{0,40}\b(do(es)? not|don't|doesn't|cannot|no)\b.{0,40}"
    r"\b(say|answer|mention|contain|provide|information|specif\w+)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Run:
    """What one answer gathers on its way."""

    question: str
    hits: Sequence[Hit]
    encoder: Encoder | None
    terms: Terms
    verifier: LazyVerifier = None
    findings: list[Finding] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    mark: float = field(default_factory=time.perf_counter)

    def stage(self, name: str, **detail: Scalar) -> None:
        """End a stage that began when the last one ended."""
        now = time.perf_counter()
        self.stages.append(Stage(name, now - self.mark, detail))
        self.mark = now

    def find(self, kind: str, message: str, fix: str = "") -> None:
        """Report something to the reader."""
        self.findings.append(Finding(kind, message, fix))


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How to answer."""

    evidence_tokens: int = 400  # of evidence that may travel to the generator
    answer_tokens: int = 120  # of the draft, at most
    answer_seconds: float | None = 60.0  # deadline of the draft; None waits as long as it takes
    # Of a draft: "flag" marks claims that are not supported, "drop" leaves them out and says so, "strict" gives quotes
    # alone if there is any.
    policy: str = "flag"
    # "always": quotes, then the draft's claims that are supported. "when_needed": the draft, and quotes if no claim of
    # it is supported. "auto": the first for models under a billion parameters, by their name, the second for others.
    # On xquad/en 40 to 45 % of SmolLM2-135M's drafts held the gold answer, half of their supported parts, and 90 % of
    # the quotes (bench/quality/answer_shapes.py).
    quotes: Quotes = "auto"
    quote_limit: int = 3
    strictness: float = 0.5  # of the gate, 0 to 1; see ``sufficiency.judge``
    temperature: float = 0.0  # of the draft; 0 writes the likeliest text
    seed: int = 0

    def drafting(self, tokens: int) -> GenerationOptions:
        """Say how the draft is written."""
        return GenerationOptions(tokens, self.temperature, self.seed, seconds=self.answer_seconds)

    def always_quotes(self, name: str) -> bool:
        """Tell whether quotes go with whatever this model writes."""
        return self.quotes == "always" or (self.quotes == "auto" and is_small(name))


def answer_events(
    question: str,
    hits: Sequence[Hit],
    *,
    generator: LazyGenerator,
    encoder: Encoder | None,
    text_of: Callable[[Passage], str],
    languages: Sequence[str] = ("en",),
    verifier: LazyVerifier = None,
    **options: Any,
) -> Iterator[Event]:
    """Answer a question from hits, event by event; the last one is a DoneEvent.

    Args:
        question: any text.
        hits: best first.
        generator: the model, or a function that loads it when it is needed; None answers with quotes only.
        encoder: the one that the library was embedded with; None compares by terms alone.
        text_of: gives the canonical text of the version that a passage belongs to, to check every quote against.
        languages: of the documents, ISO 639-1.
        verifier: judges the draft's claims beside the rules: the model, or a function that loads it when it is needed.
        **options: fields of ``AnswerOptions``.

    Yields:
        TokenEvent while the generator writes (unchecked), then the answer's CitationEvent and VerdictEvent, then
        DoneEvent. A generator that cannot be loaded, fails or is late leads to quotes and a finding, not to an error.
    """
    how = AnswerOptions(**options)
    run = _Run(question, hits, encoder, Terms(languages), verifier)
    ranking = rank_sentences(question, hits, encoder=encoder, terms=run.terms)
    run.stage("rank_sentences", sentences=len(ranking.sentences))
    cosines = calibrated(encoder)
    gate = judge(question, hits, ranking, terms=run.terms, strictness=how.strictness, cosines=cosines)
    run.stage("sufficiency", outcome=gate.outcome, score=round(gate.score, 4), missing=", ".join(gate.missing))
    if gate.outcome == "not_in_documents":
        yield DoneEvent(_refusal(run, gate))
        return
    if gate.outcome == "partial":
        run.find("partly_in_documents", f"No passage found mentions {', '.join(gate.missing)}.")
    model = _loaded(run, generator)
    evidence = pack(
        ranking,
        budget_tokens=how.evidence_tokens,
        count=_words if model is None else model.count,
        limit=_FEW if model is not None and how.always_quotes(model.name) else _MANY,
    )
    run.stage("evidence", items=len(evidence.items), tokens=evidence.tokens, dropped=len(evidence.dropped))
    written = None if model is None else (yield from _written(run, evidence, model, how))
    assessed = _assessed(run, ranking, evidence, written)
    writer, by_model = _composed(run, ranking, assessed, how, model)
    yield from _told(run, writer, gate, evidence, text_of, model.name if by_model and model else "extractive")


def _words(text: str) -> int:
    """Estimate tokens where no generator counts them."""
    return len(text) // 3 + 1


def is_small(name: str) -> bool:
    """Tell from a model's name whether it has under a billion parameters; unknown sizes count as large."""
    size = re.search(r"(?<![a-z\d.])(\d+(?:\.\d+)?)\s*([mb])(?![a-z])", name.lower())
    return bool(size) and (size[2] == "m" or float(size[1]) < 1) if size else False


def _loaded(run: _Run, generator: LazyGenerator) -> Generator | None:
    """Load a generator; when it cannot be, quotes will do."""
    if generator is None or isinstance(generator, Generator):
        return generator
    try:
        model = generator()
    except ModelUnknown:
        raise  # a name that nothing has is the caller's mistake
    except (ModelError, DiskFull) as error:  # DiskFull: a runtime could not save what it makes of a model
        run.find("generator_unavailable", f"{error} The answer is made of quotes.", error.fix)
        model = None
    run.stage("load_generator", model=model.name if model else "")
    return model


def _refusal(run: _Run, gate: Sufficiency) -> Answer:
    """Say that the documents do not answer."""
    named = f" No passage found mentions {', '.join(gate.missing)}." if gate.missing else ""
    for reason in gate.reasons[bool(gate.missing) :]:  # the text says what is missing
        run.find("not_in_documents", reason[:1].upper() + reason[1:] + ".")
    return Answer(
        run.question,
        NOT_IN_DOCUMENTS + named,
        "not_in_documents",
        findings=tuple(run.findings),
        nearest=tuple(run.hits[:_NEAREST]),
        generator="extractive",
        trace=Trace(tuple(run.stages)),
    )


def _written(
    run: _Run, evidence: EvidenceSet, model: Generator, how: AnswerOptions
) -> Coroutine[Event, None, Draft | None]:
    """Let the generator write; None when it could not, with a finding that says why."""
    aside = how.always_quotes(model.name)  # the quotes are the answer, and the draft stands behind them
    tokens = min(how.answer_tokens, _ASIDE) if aside else how.answer_tokens
    policy = POLICY if aside else f"{POLICY} {CITE}"
    prompt = build_prompt(run.question, evidence.items, generator=model, answer_tokens=tokens, policy=policy)
    options = how.drafting(tokens)
    run.findings += prompt.findings
    if not prompt.fits:
        run.find(
            "question_over_context",
            f"The question does not fit the {model.context_tokens} tokens that {model.name} reads.",
            "Ask in fewer words.",
        )
        return None
    try:
        pieces = draft(model, prompt.messages, options)
        while True:
            try:
                yield TokenEvent(next(pieces))
            except StopIteration as stop:
                written: Draft = stop.value
                break
    except GenerationError as error:
        run.find("generation_failed", f"{error} The answer is made of quotes.", error.fix)
        run.stage("draft", failed=type(error).__name__, prompt_tokens=prompt.tokens)
        return None
    run.stage(
        "draft",
        finish=written.reason,
        prompt_tokens=written.prompt_tokens or prompt.tokens,
        generated_tokens=written.generated_tokens,
        reused_tokens=written.reused_tokens,
        removed=prompt.removed,
    )
    if aside and written.reason == "length":
        return replace(written, text=_whole_sentences(written.text))
    if written.reason != "stop":
        why = {"length": "reached the limit of tokens", "deadline": "ran out of time", "dropped": "broke off"}[
            written.reason
        ]
        run.find(
            "draft_incomplete",
            f"{model.name} {why}, so its text is incomplete.",
            "Raise answer_tokens or answer_seconds.",
        )
    return written


def _whole_sentences(text: str) -> str:
    """Leave out a last sentence that was cut off."""
    spans = sentences(text)
    unfinished = spans and not text[: spans[-1][1]].rstrip("\"'”’)»").endswith((".", "!", "?", "…", "。", "！", "？"))
    return text[: spans[-1][0]] if unfinished else text


def _assessed(run: _Run, ranking: Ranking, evidence: EvidenceSet, written: Draft | None) -> list[Assessed]:
    """Split the draft into claims and check each against the sentences that the generator was given."""
    claims = [claim for claim in split_claims(written.text) if claim.plain] if written is not None else []
    if not claims:
        return []
    inside = [i for i, sentence in enumerate(ranking.sentences) if _within(sentence, evidence.items)]
    vectors = None if ranking.vectors is None else ranking.vectors[np.array(inside, dtype=np.int64)]
    numbered = {item.number: item.passage.id for item in evidence.items}
    run.findings += unknown_citations(claims, numbered)
    assessed = assess(
        claims,
        [ranking.sentences[i] for i in inside],
        vectors,
        encoder=run.encoder,
        terms=run.terms,
        question=run.question,
        numbered=numbered,
        against=ranking.sentences,
        verifier=run.verifier if run.verifier is None or isinstance(run.verifier, Verifier) else run.verifier(),
    )
    verdicts = [item.check.verdict for item in assessed]
    run.stage("verify", claims=len(claims), **{name: verdicts.count(name) for name in get_args(Verdict)})
    return assessed


def _within(sentence: Sentence, items: Sequence[Evidence]) -> bool:
    """Tell whether a sentence lies in the evidence."""
    return any(
        item.passage.id == sentence.passage.id and item.start <= sentence.start and sentence.end <= item.end
        for item in items
    )


def _may_be_shown(check: Check, aside: bool, policy: str) -> bool:
    """Tell whether a claim of the draft gets into the answer; beside quotes only what is surely supported earns it."""
    carried = check.verdict in _CARRIED
    return carried and check.support >= _SURE if aside else carried or policy == "flag"


def _composed(
    run: _Run, ranking: Ranking, assessed: list[Assessed], how: AnswerOptions, model: Generator | None
) -> tuple[Writer, bool]:
    """Write the answer: the draft's claims that may be shown, then quotes; tell whether the generator wrote any."""
    writer = Writer()
    always = model is not None and how.always_quotes(model.name)
    said = [item for item in assessed if not _ABSTAINS.search(item.claim.plain)]
    if len(said) < len(assessed):
        run.find("generator_abstained", "The model says that the passages do not answer; judge by the quotes.")
    shown = [item for item in said if _may_be_shown(item.check, always, how.policy)]
    failing = [item for item in said if item.check.verdict not in _CARRIED]
    if how.policy == "strict" and failing:
        run.find("draft_left_out", f"{len(failing)} of {len(said)} sentences of the draft are not supported.")
        said, shown = failing, []
    for item in said:
        if item not in shown:
            problems = "; ".join(item.check.problems) or "the cited text carries it only weakly"
            run.find("claim_left_out", f"The model also wrote {item.claim.plain!r}: {problems}.")
    quotes = best_quotes(ranking, limit=how.quote_limit)
    contrary = [conflict for item in shown for conflict in item.conflicts]
    if always:
        contrary += _write_quotes(run, writer, quotes, ranking)
    for index, item in enumerate(shown):
        _write_claim(run, writer, item, "\n\n" if always and not index else item.claim.gap or " ")
    if not always and all(item.check.verdict not in _CARRIED for item in shown):
        contrary += _write_quotes(run, writer, quotes, ranking)
    run.findings += conflict_findings(contrary)
    return writer, bool(shown)


def _write_quotes(run: _Run, writer: Writer, quotes: Sequence[Sentence], ranking: Ranking) -> list[Conflict]:
    """Append quotes, each on a line of its own; give what other sources say against them."""
    told = []
    for index, quote in enumerate(quotes):
        contrary = conflicts(quote.text, [quote], ranking.sentences, run.terms)
        spans = [quote, *(conflict.theirs for conflict in contrary)]
        writer.write(quote.text, spans, contested(_QUOTED, contrary), separator="\n" if index else "\n\n")
        told += contrary
    return told


def _write_claim(run: _Run, writer: Writer, item: Assessed, separator: str) -> None:
    """Append one claim of the draft, with citations only where they carry something."""
    if not item.cited:
        run.findings.append(uncited(item.claim.plain))
    writer.write(item.claim.plain, item.cited, item.check, separator=separator)


def _told(
    run: _Run,
    writer: Writer,
    gate: Sufficiency,
    evidence: EvidenceSet,
    text_of: Callable[[Passage], str],
    generator: str,
) -> Iterator[Event]:
    """Check the quotes, then tell citations, verdicts and the whole answer."""
    run.findings += writer.unresolved(text_of)
    run.stage("cite", citations=len(writer.citations))
    for citation in writer.citations:
        yield CitationEvent(citation)
    for claim in writer.claims:
        yield VerdictEvent(claim)
    yield DoneEvent(
        Answer(
            run.question,
            writer.text,
            gate.outcome,
            tuple(writer.claims),
            writer.citations,
            tuple(run.findings),
            evidence.items,
            evidence.dropped,
            generator=generator,
            trace=Trace(tuple(run.stages)),
        )
    )
