"""Where an answer was lost: from a question and what it should have found to one stage of the way."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from pincite.errors import UsageError
from pincite.find.explain import Searched, found_or_lost
from pincite.find.held import Held, Target, held
from pincite.measure.cases import Case, Gold
from pincite.measure.spans import Place, span_scores
from pincite.reports import STAGES, Ceiling, Diagnosis, Why
from pincite.store.protocol import Store
from pincite.text import quoted_places
from pincite.types import Answer, Citation, Claim, Evidence

Wanted = tuple[Place, float]
"""Where evidence or a citation must lie, and the share of it that it must hold."""

_HALF = 0.5  # of a span's characters: what holds or cites so much of it counts as holding or citing it
_ANY = 1e-9  # any part of a passage
_ORDER = {stage: number for number, stage in enumerate(STAGES)}
_ARTICLES = frozenset(("a", "an", "the"))
_WORD = re.compile(r"\w+")
_LONG = 8  # words of an expected answer, from which on it is not compared: many others say the same
_BARE = frozenset(("yes", "no", "true", "false"))  # answers that no document holds as such


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, as it went through the library."""

    searched: Searched
    answer: Answer


def why(target: Target, asked: Asked, store: Store) -> Why:
    """Say what became of a target: found and cited, or the first stage at which it was lost, with what to do."""
    target = replace(target, quote=target.quote.strip())
    base = Why(asked.searched.question, target.uri, "answered", "", quote=target.quote)
    there = held(target, store, base)
    if isinstance(there, Why):
        return there
    base = found_or_lost(base, there, asked.searched, store)
    return base if base.stage != "answered" else _in_answer(base, _wanted(target.uri, there, asked), asked.answer)


def ceiling(
    name: str,
    cases: Sequence[Case],
    *,
    ask: Callable[[str], Asked],
    store: Store,
    uri_of: Callable[[str], str],
    generator: str = "extractive",
    drafts: bool = False,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Ceiling:
    """Ask every case, and say for each that failed where its answer was lost.

    A case is right when the answer cites half of a gold span, or says one of the expected answers in a claim that is
    not unsupported; expected answers of more than 8 words are not compared. Where nothing tells a place in a gold
    document, its spans are those of the expected answers, or all of it if there are none. A case that the documents do
    not answer is right when the answer says so. A case with several golds failed where the gold that came furthest was
    lost.

    Cases that nobody accepted (drafts count if they are wanted), or that hold no question or nothing to look for, are
    left out and counted; UsageError if none is left. ``uri_of`` turns a gold's source into a URI; ``generator`` is who
    writes, for the report; ``progress`` is called with (what, done, in all).
    """
    wanted = ("accepted", "draft") if drafts else ("accepted",)
    asking = [case for case in cases if case.question.strip() and (case.gold or not case.answerable)]
    kept = [case for case in asking if case.status in wanted]
    if not kept:
        fix = "Accept some with `pincite cases review`, or take drafts too with --drafts."
        raise UsageError(f"No case of {name} can be asked.", fix=fix)
    found = []
    mode = ""
    for number, case in enumerate(kept, start=1):
        asked = ask(case.question)
        mode = asked.searched.mode
        found.append(diagnose(case, asked, store, uri_of))
        progress("cases", number, len(kept))
    return Ceiling(name, mode, generator, tuple(found), len(cases) - len(kept))


def diagnose(case: Case, asked: Asked, store: Store, uri_of: Callable[[str], str]) -> Diagnosis:
    """Send one case to one stage."""
    answer = asked.answer
    if not case.answerable:
        refused = answer.outcome == "not_in_documents"
        stage, reason = ("refused_rightly", answer.text) if refused else ("not_refused", "It was answered.")
        verdict = Why(case.question, "", stage, reason)
    else:
        verdict = _furthest(why(target, asked, store) for target in _targets(case, uri_of))
        if verdict.stage != "answered" and says(answer, case.answers):
            verdict = replace(verdict, stage="answered", reason="The answer says what was expected.", fix="")
    evidence = tuple(item.text for item in answer.evidence)
    return Diagnosis(case.id, case.answers, verdict, answer.text, evidence, asked.searched.hits)


def says(answer: Answer, expected: Iterable[str]) -> bool:
    """Tell whether a claim that is not unsupported says an expected answer: its words in a row, whatever the case."""
    carried = [claim for claim in answer.claims if claim.verdict != "unsupported"]
    said = f" {_plain(' '.join(claim.text for claim in carried))} "
    return any(f" {_plain(one)} " in said for one in _comparable(expected))


def _comparable(expected: Iterable[str]) -> tuple[str, ...]:
    """Take the expected answers that an answer, or a document, can be looked through for."""
    return tuple(one for one in expected if 0 < len(_plain(one).split()) <= _LONG and _plain(one) not in _BARE)


def _plain(text: str) -> str:
    """Reduce a text to its words, as SQuAD compares answers: no case, marks or articles; CJK characters are words."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    spaced = re.sub(r"([\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f])", r" \1 ", folded)
    return " ".join(word for word in _WORD.findall(spaced) if word not in _ARTICLES)


def _targets(case: Case, uri_of: Callable[[str], str]) -> list[Target]:
    """Give the distinct targets of a case."""

    def target(gold: Gold) -> Target:
        words = _comparable(case.answers) if gold.start is None and not gold.quote else ()
        return Target(uri_of(gold.source), gold.quote, gold.start, gold.end, words)

    return list(dict.fromkeys(target(gold) for gold in case.gold))


def _furthest(whys: Iterable[Why]) -> Why:
    """Take the one that came furthest, the first of equals; no more are looked at once one is answered."""
    best: Why | None = None
    for one in whys:
        if best is None or _ORDER[one.stage] > _ORDER[best.stage]:
            best = one
        if one.stage == "answered":
            break
    if best is None:
        raise ValueError("a case without gold has no place where it was lost")
    return best


def _wanted(uri: str, there: Held, asked: Asked) -> list[Wanted]:
    """Give the places of a target: its own, and those in hits that stand for a near duplicate of its passages."""
    wanted: list[Wanted] = [((uri, start, end), _HALF) for start, end in there.spans]
    wanted += [] if there.spans else [((uri, passage.start, passage.end), _ANY) for passage in there.passages]
    keys = {passage.key for passage in there.passages}
    for hit in asked.searched.hits:
        twin, home = hit.passage, len(wanted)
        for passage in (passage for passage in hit.also if passage.key in keys):
            for start, end in there.spans:
                words = passage.text[max(0, start - passage.start) : max(0, end - passage.start)]
                places = quoted_places(twin.text, words)
                wanted += [((twin.uri, twin.start + first, twin.start + last), _HALF) for first, last in places]
            if len(wanted) == home:  # no span, or other words for it
                wanted.append(((twin.uri, twin.start, twin.end), _ANY))
    return wanted


def _in_answer(base: Why, wanted: list[Wanted], answer: Answer) -> Why:
    """Say what became of a passage that was found: refused, cut, not used, or cited."""
    if answer.outcome == "not_in_documents":
        reason = "The gate said that these documents do not answer: " + " ".join(f.message for f in answer.findings)
        fix = "Ask with the words of the document, or set strictness lower."
        return replace(base, stage="refused", reason=reason.strip(": ") + ("" if answer.findings else "."), fix=fix)
    cited = [c for c in _cited(answer) if _holds([c], wanted)]
    if cited:
        numbers = ", ".join(f"[{citation.number}]" for citation in cited)
        return replace(base, reason=f"The answer cites it: {numbers}, {cited[0].location}.")
    if not _holds(answer.evidence, wanted):
        if _holds(answer.dropped, wanted):
            reason = "The passage was found, but its words did not fit into the evidence beside better ones."
            fix = "Raise evidence_tokens, or name a larger generator: it is given more sentences."
            return replace(base, stage="cut_from_prompt", reason=reason, fix=fix)
        reason = "The passage was found, but its sentences score too low against the question to be evidence."
        fix = "Ask with the words of the passage, or name a generator and ask for more."
        return replace(base, stage="cut_from_prompt", reason=reason, fix=fix)
    if answer.unsupported:
        claimed = " ".join(claim.text for claim in answer.unsupported)
        reason = f"The words were evidence, and the answer claims without support: {claimed}"
        return replace(base, stage="unsupported", reason=reason, fix="Use --policy drop, or a larger generator.")
    items = ", ".join(str(item.number) for item in answer.evidence if _holds([item], wanted))
    reason = f"The words are in the evidence (item {items}), and the answer does not use them."
    writer = "let a generator answer" if answer.generator == "extractive" else "name a larger generator"
    fix = f"Ask for one thing at a time, or {writer}."
    return replace(base, stage="not_used", reason=reason, fix=fix)


def _cited(answer: Answer) -> list[Citation]:
    """Give the citations of claims that are not unsupported."""
    carried: Iterable[Claim] = (claim for claim in answer.claims if claim.verdict != "unsupported")
    numbers = {number for claim in carried for number in claim.citations}
    return [citation for citation in answer.citations if citation.number in numbers]


def _holds(items: Sequence[Evidence | Citation], wanted: list[Wanted]) -> bool:
    """Tell whether some spans lie where they must."""
    uris = (item.uri if isinstance(item, Citation) else item.passage.uri for item in items)
    have = [(uri, item.start, item.end) for uri, item in zip(uris, items, strict=True)]
    return any(span_scores(have, [place]).recall >= share for place, share in wanted)
