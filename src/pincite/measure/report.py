"""A ceiling report as one HTML file: no script, nothing from elsewhere, every text in it escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from urllib.parse import unquote

from pincite.find.analyze import analyze
from pincite.reports import STAGES, Ceiling, Diagnosis, Why, places_of
from pincite.text import printable_surrogates
from pincite.types import Hit

MOST_EXAMPLES = 100  # of a stage; the others are counted, and are in the JSON
_HITS, _TEXT = 5, 600  # hits of an example, characters of each
# Phase, as the style sheet calls it -> what it is for people, and the stages at which it loses answers.
_PHASES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "library": ("held by the library", ("document_missing", "document_stale", "text_not_extracted", "filtered_out")),
    "search": (
        "found by the search",
        ("split_across_passages", "not_a_candidate", "lost_in_fusion", "lost_in_reranking"),
    ),
    "prompt": ("in the evidence", ("refused", "cut_from_prompt")),
    "answer": ("answered", ("not_used", "unsupported")),
}
_PHASE_OF = {stage: phase for phase, (_, stages) in _PHASES.items() for stage in stages} | {"not_refused": "answer"}
_ROW, _LEFT, _WIDE, _RIGHT = 30, 210, 560, 110  # of the chart, in its own units
_FOOTER = (
    "<footer>Made by Pincite. Marked: <mark class=gold>what should have been found</mark>, <mark>words of the "
    "question</mark>. #3 is the third place in a stage's list.</footer>"
)
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_WORD = re.compile(r"\w+")


def report_html(found: Ceiling) -> str:
    """Write a report: the staircase from all questions to those answered, then each stage with its examples.

    Args:
        found: the ceiling report; what it holds may come from anywhere and is escaped.

    Returns:
        A whole HTML document, the same for the same report; to be saved as UTF-8.
    """
    style = files("pincite.measure").joinpath("report.css").read_text(encoding="utf-8")
    title = f"Where answers were lost: {found.name}"
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    body = "\n".join((_head(found), _gauges(found), _staircase(found), _unanswerable(found), *_sections(found)))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{_safe(title)}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>\n{style}</style>\n</head>\n'
        f"<body>\n{body}\n{_FOOTER}\n</body>\n</html>\n"
    )


def _head(found: Ceiling) -> str:
    """Say in two sentences how it went."""
    counts = found.counts
    worst = max((stage for _, stages in _PHASES.values() for stage in stages), key=lambda stage: counts[stage])
    lead = f"<b>{counts['answered']:,} of {found.answerable:,}</b> questions that the documents answer were answered."
    if counts[worst]:
        lead += f' Most were lost at <a href="#{worst}">{STAGES[worst][0]}</a>: {counts[worst]:,}.'
    writer = "answers made of quotes" if found.generator == "extractive" else f"answers by {found.generator}"
    out = f" {found.left_out:,} cases were left out." if found.left_out else ""
    return (
        f"<h1>Where answers were lost</h1>\n<p class=soft>{_safe(found.name)} · {len(found.cases):,} questions · "
        f"{_safe(found.mode)} search · {_safe(writer)}.{out}</p>\n<p class=lead>{lead}</p>"
    )


def _gauges(found: Ceiling) -> str:
    """Show the ceiling after each phase: no later one can answer more."""
    left, total = found.answerable, max(found.answerable, 1)
    cards = []
    for phase, (words, stages) in _PHASES.items():
        left -= sum(found.counts[stage] for stage in stages)
        tone = "right" if phase == "answer" else phase
        cards.append(f'<div class="gauge {tone}"><b>{_percent(left / total)}</b><span>{words}</span></div>')
    return f"<div class=gauges>{''.join(cards)}</div>"


def _staircase(found: Ceiling) -> str:
    """Draw what each stage takes away from all answerable questions, as SVG."""
    left, total = found.answerable, max(found.answerable, 1)
    rows = [_bar(0, "questions with an answer", "", 0, left, total, "")]
    for stage in (stage for _, stages in _PHASES.values() for stage in stages):
        lost = found.counts[stage]
        left -= lost
        if lost:
            rows.append(_bar(len(rows), STAGES[stage][0], _PHASE_OF[stage], left, lost, total, stage))
    rows.append(_bar(len(rows), "answered", "right", 0, left, total, "answered"))
    return f"<div class=chart>{_svg(rows, 'Answers lost at each stage')}</div>"


def _svg(rows: Sequence[str], label: str) -> str:
    """Put bars into a chart."""
    box = f"0 0 {_LEFT + _WIDE + _RIGHT} {len(rows) * _ROW}"
    return f'<svg viewBox="{box}" role="img" aria-label="{label}">{"".join(rows)}</svg>'


def _bar(row: int, label: str, phase: str, before: int, size: int, total: int, link: str) -> str:
    """Draw one step: what is left in grey, what this stage is about in its colour."""
    y, x = row * _ROW + 5, _LEFT + _WIDE * before / total
    wide = max(_WIDE * size / total, 1.5) if size else 0  # so that one of thousands can be seen
    fill = f"var(--{phase})" if phase else "var(--soft)"
    words = f'<text x="{_LEFT - 10}" y="{y + 14}" text-anchor="end">{label}</text>'
    words = f'<a href="#{link}">{words}</a>' if link and size else words  # a stage without cases has no section
    figure = f"{size:,} · {_percent(size / total)}"
    return (
        f'{words}<rect class="track" x="{_LEFT}" y="{y}" width="{_WIDE * before / total:.1f}" height="20" rx="3"/>'
        f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="20" rx="3" style="fill: {fill}"/>'
        f'<text class="figure" x="{_LEFT + _WIDE + 10}" y="{y + 14}">{figure}</text>'
    )


def _unanswerable(found: Ceiling) -> str:
    """Say how the questions went that the documents do not answer."""
    wrong, right = found.counts["not_refused"], found.counts["refused_rightly"]
    if not wrong + right:
        return ""
    rows = (
        _bar(0, "rightly refused", "right", 0, right, wrong + right, "refused_rightly"),
        _bar(1, "answered all the same", "answer", right, wrong, wrong + right, "not_refused"),
    )
    return f"<div class=chart><p>Questions that the documents do not answer:</p>{_svg(rows, 'Refusals')}</div>"


def _sections(found: Ceiling) -> Iterator[str]:
    """Give each stage that has cases a section, losses first."""
    for stage, (label, meaning) in STAGES.items():
        cases = [case for case in found.cases if case.why.stage == stage]
        if not cases:
            continue
        more = len(cases) - MOST_EXAMPLES
        rest = f"<p class=soft>… and {more:,} more, in the JSON.</p>" if more > 0 else ""
        share = _percent(len(cases) / len(found.cases))
        yield (
            f'<section id="{stage}" class="{_PHASE_OF.get(stage, "right")}"><h2>{label[0].upper()}{label[1:]} '
            f"<span class=soft>{len(cases):,} · {share}</span></h2>\n<p class=soft>{meaning}</p>\n"
            f"{''.join(map(_example, cases[:MOST_EXAMPLES]))}{rest}</section>"
        )


def _example(case: Diagnosis) -> str:
    """Show one case behind its question."""
    why = case.why
    terms = frozenset(term for word in (*why.matched, *why.lacking) for term in analyze(word, ""))
    rows = {
        "What happened": _safe(why.reason),
        "To do": _safe(why.fix),
        "Should be in": _safe(_name(why.uri)) + (f" · version {why.version}" if why.version else ""),
        "Words": f"<blockquote><mark class=gold>{_safe(why.quote)}</mark></blockquote>" if why.quote else "",
        "Expected": " · ".join(map(_safe, case.expected)),
        "Nearest text": f"<blockquote>{_safe(why.nearest)}</blockquote>" if why.nearest else "",
        "Places": "".join(f"<span class=chip>{_safe(str(place))}</span>" for place in why.places),
        "Terms": _terms(why),
        "Answer": f"<blockquote>{_safe(case.answer)}</blockquote>",
        "Evidence": _list(_marked(text, terms, ()) for text in case.evidence),
        "Best hits": _hits(case.hits, why, terms),
    }
    shown = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows.items() if value)
    summary = f"{_safe(why.question)}<small>{_safe(_short(why.reason))}</small>"
    return f"<details><summary>{summary}</summary><dl>{shown}</dl></details>\n"


def _hits(hits: Sequence[Hit], why: Why, terms: frozenset[str]) -> str:
    """List the best hits with the gold and the question's words marked."""
    items = []
    shown = [hit for hit in hits if hit.rank <= _HITS or hit.passage.id in why.passages]
    for hit in shown:
        own = hit.passage.uri == why.uri
        spans = [(a - hit.passage.start, b - hit.passage.start) for a, b in why.spans] if own else []
        chips = "".join(f"<span class=chip>{_safe(str(place))}</span>" for place in places_of(hit))
        tone = " class=hit-gold" if hit.passage.id in why.passages else ""
        text = _marked(hit.text[:_TEXT], terms, spans) + ("…" if len(hit.text) > _TEXT else "")
        items.append(f"<li{tone}><b>{hit.rank}. {_safe(unquote(hit.location))}</b> {chips}<br>{text}</li>")
    more = f"<li class=soft>… and {len(hits) - len(shown)} more</li>" if len(hits) > len(shown) else ""
    return f"<ol>{''.join(items)}{more}</ol>" if items else ""


def _list(items: Iterable[str]) -> str:
    """List texts that are safe already; "" when there are none."""
    rows = "".join(f"<li>{item}</li>" for item in items)
    return f"<ol>{rows}</ol>" if rows else ""


def _marked(text: str, terms: frozenset[str], gold: Iterable[tuple[int, int]]) -> str:
    """Escape a text and mark the gold spans in it, and outside them the words that have one of the terms."""
    parts: list[str] = []
    done = 0
    for start, end in sorted(gold):
        start, end = max(start, done), min(end, len(text))
        if start < end:
            parts += (_words(text[done:start], terms), f"<mark class=gold>{_safe(text[start:end])}</mark>")
            done = end
    return "".join((*parts, _words(text[done:], terms)))


def _words(text: str, terms: frozenset[str]) -> str:
    """Escape a text and mark the words that have one of the terms."""
    parts: list[str] = []
    done = 0
    for match in _WORD.finditer(text):
        if terms.intersection(analyze(match[0], "")):
            parts += (_safe(text[done : match.start()]), f"<mark>{_safe(match[0])}</mark>")
            done = match.end()
    return "".join((*parts, _safe(text[done:])))


def _terms(why: Why) -> str:
    """Show which terms of the question the passage has and lacks."""
    has = "".join(f"<span class=chip>{_safe(term)}</span>" for term in why.matched)
    return has + "".join(f'<span class="chip lacks">{_safe(term)}</span>' for term in why.lacking)


def _name(uri: str) -> str:
    """Write a URI for people."""
    return unquote(uri.removeprefix("file://"))


def _short(text: str) -> str:
    """Shorten to a line."""
    return text if len(text) <= 140 else text[:139] + "…"


def _percent(share: float) -> str:
    """Write a share."""
    return f"{100 * share:.1f} %"


def _safe(text: str) -> str:
    """Escape for HTML; what cannot be saved or could turn the text round is shown as U+FFFD."""
    return html.escape(_UNSEEN.sub("\ufffd", printable_surrogates(text)))
