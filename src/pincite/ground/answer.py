"""From ranked hits to a checked answer: evidence, gate, draft, claims, citations, verdicts; every part is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Generator as Coroutine
from contextlib import closing
from typing import Any

from pincite.errors import DiskFull, GenerationError, ModelError, ModelUnknown
from pincite.generate.evidence import Ranking, pack, rank_sentences
from pincite.generate.form import ASKED
from pincite.generate.prompt import BRIEF, POLICY, Prompt, build_prompt
from pincite.generate.relevance import Terms
from pincite.generate.reply import Draft, draft, reply
from pincite.ground.claims import split_claims
from pincite.ground.run import AnswerOptions, LazyVerifier, Run
from pincite.ground.sufficiency import Sufficiency, judge
from pincite.ground.telling import Telling
from pincite.ground.verify import calibrated
from pincite.models.protocols import Encoder, Form, GenerationOptions, Generator
from pincite.types import Answer, DoneEvent, Event, EvidenceSet, Hit, Passage, TokenEvent, Trace

LazyGenerator = Generator | Callable[[], Generator | None] | None

NOT_IN_DOCUMENTS = "These documents do not answer this question."
_NEAREST = 3
_ASIDE = 30  # tokens of a small model's draft: one short sentence
_BROKEN = {
    "length": "reached the limit of tokens",
    "deadline": "ran out of time",
    "dropped": "broke off",
    "malformed": "left the form that was asked for",
}
# Sentences that a small and a large model are given. From the best one alone, in a message of its own, SmolLM2-135M
# writes the gold answer as often as from four (38 and 34 of 100 drafts), in 0.58 instead of 0.91 s of processor time
# (bench/quality/prompt_layout.py).
_FEW, _MANY = 1, 12


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
        A small model's quotes first, as CitationEvent and VerdictEvent; TokenEvent while the generator writes
        (unchecked), and each claim's citations and verdict when it is complete; last DoneEvent. A generator that cannot
        be loaded, fails or is late leads to quotes and a finding, not to an error.
    """
    run = Run(question, hits, encoder, Terms(languages), verifier, AnswerOptions(**options))
    ranking = rank_sentences(question, hits, encoder=encoder, terms=run.terms)
    run.stage("rank_sentences", sentences=len(ranking.sentences))
    cosines = calibrated(encoder)
    gate = judge(question, hits, ranking, terms=run.terms, strictness=run.how.strictness, cosines=cosines)
    run.stage("sufficiency", outcome=gate.outcome, score=round(gate.score, 4), missing=", ".join(gate.missing))
    _tell_instructions(run, ranking)
    if gate.outcome == "not_in_documents":
        yield _refusal(run, gate)
        return
    if gate.outcome == "partial":
        run.find("partly_in_documents", f"No passage found mentions {', '.join(gate.missing)}.")
    yield from _answered(run, ranking, gate, _loaded(run, generator), text_of)


def _answered(
    run: Run, ranking: Ranking, gate: Sufficiency, model: Generator | None, text_of: Callable[[Passage], str]
) -> Iterator[Event]:
    """Answer what the documents answer: evidence, quotes and draft, checked."""
    first = model is not None and run.how.always_quotes(model.name)
    evidence = pack(
        ranking,
        budget_tokens=run.how.evidence_tokens,
        count=_words if model is None else model.count,
        limit=_FEW if first else _MANY,
    )
    run.stage("evidence", items=len(evidence.items), tokens=evidence.tokens, dropped=len(evidence.dropped))
    telling = Telling(run, ranking, evidence.items, quotes_first=first)
    yield from telling.begin()
    written = "" if model is None else (yield from _written(run, evidence, model, telling))
    yield from telling.end(written)
    writer, by = telling.writer, model.name if telling.by_model and model else "extractive"
    run.findings += writer.findings(text_of)
    run.stage("cite", citations=len(writer.citations))
    parts = {"claims": tuple(writer.claims), "citations": writer.citations}
    yield _done(run, gate, writer.text, by, **parts, evidence=evidence.items, dropped=evidence.dropped)


def _tell_instructions(run: Run, ranking: Ranking) -> None:
    """Report sentences that address a language model; they were left out of the evidence."""
    for sentence in [sentence for sentence in ranking.sentences if sentence.instruction][:_NEAREST]:
        run.find(
            "instruction_in_document",
            f"{sentence.passage.uri} tells a language model what to do; it was not passed on: {sentence.text[:120]!r}.",
            "Look at that document if you do not expect such a sentence there.",
        )


def _words(text: str) -> int:
    """Estimate tokens where no generator counts them."""
    return len(text) // 3 + 1


def _loaded(run: Run, generator: LazyGenerator) -> Generator | None:
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


def _refusal(run: Run, gate: Sufficiency) -> DoneEvent:
    """Say that the documents do not answer."""
    named = f" No passage found mentions {', '.join(gate.missing)}." if gate.missing else ""
    for reason in gate.reasons[bool(gate.missing) :]:  # the text says what is missing
        run.find("not_in_documents", reason[:1].upper() + reason[1:] + ".")
    return _done(run, gate, NOT_IN_DOCUMENTS + named, "extractive", nearest=tuple(run.hits[:_NEAREST]))


def _done(run: Run, gate: Sufficiency, text: str, generator: str, **rest: Any) -> DoneEvent:
    """Give the whole answer; the rest are further fields of it."""
    findings, trace = tuple(run.findings), Trace(tuple(run.stages))
    answer = Answer(run.question, text, gate.outcome, findings=findings, generator=generator, trace=trace, **rest)
    return DoneEvent(answer)


def _written(run: Run, evidence: EvidenceSet, model: Generator, telling: Telling) -> Coroutine[Event, None, str]:
    """Let the generator write, and tell claims as they are complete; give the draft, "" with a finding if it failed."""
    aside, how = telling.quotes_first, run.how
    tokens = min(how.answer_tokens, _ASIDE) if aside else how.answer_tokens
    options = GenerationOptions(tokens, how.temperature, how.seed, seconds=how.answer_seconds)

    def asked(form: Form) -> Prompt:
        policy = BRIEF if aside else f"{POLICY} {ASKED[form]}"
        return build_prompt(run.whole, evidence.items, generator=model, answer_tokens=options.max_tokens, policy=policy)

    prompt = asked("json")  # the longest
    run.findings += prompt.findings
    if not prompt.fits:
        run.find(
            "question_over_context",
            f"The question does not fit the {model.context_tokens} tokens that {model.name} reads.",
            "Ask in fewer words.",
        )
        return ""
    numbers = [item.number for item in prompt.evidence]
    try:
        written = yield from _heard(
            draft(model, prompt.messages, options)
            if aside
            else reply(model, lambda form: asked(form).messages, options, numbers),
            telling,
        )
    except GenerationError as error:
        rest = "Its text is incomplete." if telling.by_model else "The answer is made of quotes."
        run.find("generation_failed", f"{error} {rest}", error.fix)
        run.stage("draft", held=telling.seconds, failed=type(error).__name__, prompt_tokens=prompt.tokens)
        return ""
    _trace_draft(run, written, prompt, telling.seconds)
    return _ended(run, written, model.name, aside)


def _trace_draft(run: Run, written: Draft, prompt: Prompt, checking: float) -> None:
    """Record how the draft was written."""
    run.stage(
        "draft",
        held=checking,
        finish=written.reason,
        form=written.form,
        prompt_tokens=written.prompt_tokens or prompt.tokens,
        generated_tokens=written.generated_tokens,
        reused_tokens=written.reused_tokens,
        removed=prompt.removed,
    )


def _ended(run: Run, written: Draft, name: str, aside: bool) -> str:
    """Give the draft as far as it is whole, and report what is not."""
    if written.reason == "stop":
        if not written.text.strip():
            run.find("draft_empty", f"{name} wrote nothing; the answer is made of quotes.")
        return written.text
    whole = _whole_sentences(written.text)
    if aside and written.reason == "length":  # as intended: it has few tokens
        return whole
    rest = written.text[len(whole) :].strip()
    left_out = f"; left out is {rest[:80]!r}" if rest else ""
    run.find(
        "draft_incomplete",
        f"{name} {_BROKEN[written.reason]}, so its text is incomplete{left_out}.",
        "Raise answer_tokens or answer_seconds.",
    )
    return whole


def _heard(pieces: Coroutine[str, None, Draft], telling: Telling) -> Coroutine[Event, None, Draft]:
    """Pass on what is written, each claim that is complete with its verdict."""
    with closing(pieces):
        while True:
            try:
                piece = next(pieces)
            except StopIteration as stop:
                written: Draft = stop.value
                return written
            yield TokenEvent(piece)
            yield from telling.hear(piece)


def _whole_sentences(text: str) -> str:
    """Leave out a last sentence that was cut off: half a sentence may seem to be supported."""
    claims = split_claims(text)
    unfinished = claims and not claims[-1].plain.rstrip("\"'”’)»").endswith((".", "!", "?", "…", "。", "！", "？"))
    return text[: claims[-1].start] if unfinished else text
