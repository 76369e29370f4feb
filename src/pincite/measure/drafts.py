"""Draft cases from a library's own passages, for a person to accept or reject."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import zip_longest

import regex

from pincite.find.stopwords import STOP_WORDS
from pincite.generate.evidence import is_statement, rank_sentences
from pincite.generate.prompt import clean
from pincite.generate.relevance import Terms, coverage
from pincite.measure.cases import Case, Gold
from pincite.models.protocols import GenerationOptions, Generator, Piece
from pincite.store.protocol import Store
from pincite.text import sentences
from pincite.types import Hit, Message, Passage

Made = tuple[str, int, int]
"""A question, and the span of the passage's text that answers it."""

_LOOKED_AT = 2_000  # passages, at most: enough to know which words are rare
_WORDS = (6, 60)  # of a sentence that may become a case
_PROSE = 0.8  # of its characters are letters and spaces; tables, addresses and code are not
_KEYWORDS = 3
_LEAST_COVERED = 0.75  # of the terms of a generated question, by its passage
_ASK = (
    "Write one short question that the text answers. Name the things it is about; do not say 'the text' or 'it'. "
    "Reply with the question only."
)
_EXAMPLES = (  # show small models what is meant
    ("The road bridge over the Tay was opened in August 1966. It is 2,250 metres long.", "How long is the Tay bridge?"),
    ("Refunds are paid within 14 days, if the goods come back in their box.", "When are refunds paid?"),
    ("Marie Curie discovered polonium, which she named after Poland.", "Who discovered polonium?"),
)
_POINTING = regex.compile(
    r"(?i)\b(?:text|passage|author|document|above|following|according to|it|this|these|they|you|how about)\b"
)
_DEFINITION = regex.compile(
    r"(?:(?P<article>The|An?)\s)?(?P<name>[\p{L}\p{N}][\p{L}\p{M}\p{N}.'’-]*(?:\s[\p{L}\p{N}][\p{L}\p{M}\p{N}.'’-]*){0,4})"
    r"\s(?P<verb>is|are|was|were|means|refers to|stands for|denotes)\s(?=(?:an?|the|one|any|those)\s|\p{Ll}+\s)"
)
_COUNTED = regex.compile(r"(?<![\p{L}\p{N}.,])\d[\d.,]*\s(?P<noun>\p{Ll}{2,}s)\b")
_YEAR = regex.compile(r"\b(?:in|since|until|by)\s(?:1[5-9]|20)\d\d\b")
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}'’+#-]*")


def draft_cases(
    store: Store,
    *,
    count: int = 50,
    generator: Generator | None = None,
    known: Collection[str] = (),
) -> list[Case]:
    """Make questions of passages, with the span that answers each.

    Questions are made by English templates from definitions ("What is X?") and numbers, by templates for any language
    from headings and rare words, and by a generator if there is one. A generated question is kept if it names what it
    asks about, and its passage has most of its terms.

    At most ``count`` cases with status "draft", spread over the documents, none ``known`` by its id and no question
    twice; the same for the same library. GenerationError if the generator failed.
    """
    passages, makers = _sample(store), dict(_MAKERS)
    words = _Rarity(passages, Terms(store.stats().languages))
    if generator is not None:
        makers["generated"] = partial(_generated, generator)
    kinds = list(makers)
    cases: dict[str, Case] = {}  # by question
    for turn in range(len(kinds)):  # each maker meets each passage once, and neighbours meet different ones
        for place, passage in enumerate(passages):
            if len(cases) >= count:
                break
            kind = kinds[(place + turn) % len(kinds)]
            made = makers[kind](passage, words)
            case = _case(made, kind, passage) if made else None
            if case and case.question not in cases and case.id not in known:
                cases[case.question] = case
    return list(cases.values())


def _case(made: Made, kind: str, passage: Passage) -> Case:
    question, start, end = made
    quote = passage.text[start:end]
    name = hashlib.blake2b(f"{passage.uri}\n{question}".encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    gold = Gold(passage.uri, passage.start + start, passage.start + end, quote)
    return Case(f"{kind}-{name}", question, (), (gold,), status="draft")


def _sample(store: Store) -> list[Passage]:
    """Take passages in an order that looks like chance but is always the same: one of each document, then the next."""
    uris = sorted((record.source.uri for record in store.sources() if record.passages), key=_shuffled)[:_LOOKED_AT]
    share = math.ceil(_LOOKED_AT / max(len(uris), 1))
    lists = [sorted(store.passages_of(uri), key=lambda passage: _shuffled(passage.id))[:share] for uri in uris]
    return [passage for turn in zip_longest(*lists) for passage in turn if passage is not None]


def _shuffled(name: str) -> str:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class _Rarity:
    """Knows in how many of the passages each term is."""

    def __init__(self, passages: Sequence[Passage], terms: Terms) -> None:
        self.terms = terms
        self._within = Counter(term for passage in passages for term in terms.found(passage.searched))
        self._headings = Counter(passage.heading_path[-1] for passage in passages if passage.heading_path)
        self._all = max(len(passages), 1)

    def of(self, word: str) -> float:
        """Give a word's inverse document frequency; 0 for stop words and what is in a tenth of the passages or more."""
        wanted = self.terms.wanted(word)
        if word.lower() in STOP_WORDS["en"] or not wanted:
            return 0.0
        within = min(self._within[term] for term in wanted)
        return math.log(self._all / max(within, 1)) if within * 10 <= self._all or self._all < 20 else 0.0

    def keywords(self, sentence: str, without: str = "") -> list[str]:
        """Give the rarest words of a sentence in their order; neighbours are one keyword."""
        found = [match for match in _WORD.finditer(sentence) if len(match[0]) > 2 and not match[0][0].isdecimal()]
        rated = [(self.of(match[0]), len(match[0]), -match.start(), match) for match in found if match[0] != without]
        best = sorted(
            (match for value, *_, match in sorted(rated, reverse=True)[: _KEYWORDS + 1] if value > 0),
            key=lambda match: match.start(),
        )
        joined: list[tuple[int, int]] = []
        for match in best:
            if joined and sentence[joined[-1][1] : match.start()] == " ":
                joined[-1] = (joined[-1][0], match.end())
            else:
                joined.append(match.span())
        return list(dict.fromkeys(sentence[start:end] for start, end in joined))[:_KEYWORDS]

    def heading(self, passage: Passage) -> str:
        """Give the passage's own heading, "" when it says nothing or other documents have it too often."""
        label = passage.heading_path[-1] if passage.heading_path else ""
        return label if 3 < len(label) < 80 and self._headings[label] <= 3 and self.terms.wanted(label) else ""


def _statements(passage: Passage) -> Iterator[tuple[int, int, str]]:
    """Give the sentences of a passage that say something by themselves."""
    for start, end in sentences(passage.text):
        text = passage.text[start:end]
        letters = sum(c.isalpha() or c.isspace() for c in text)
        in_prose = letters >= _PROSE * len(text) and "|" not in text and "\n\n" not in text
        if in_prose and is_statement(text) and _WORDS[0] <= len(text.split()) <= _WORDS[1]:
            yield start, end, text


def _definition(passage: Passage, words: _Rarity) -> Made | None:
    """Ask what something is that a sentence begins to define."""
    for start, end, text in _statements(passage):
        match = _DEFINITION.match(text)
        if not match or _POINTING.search(match["name"]) or not any(words.of(w) for w in match["name"].split()):
            continue
        if match["name"].split()[0].lower() in STOP_WORDS["en"]:
            continue
        article, name = match["article"], match["name"]
        if not article and name[1:].islower() and f" {name[0].lower()}{name[1:]}" in passage.text:
            name = name[0].lower() + name[1:]
        named = f"{article.lower()} {name}" if article else name
        if match["verb"] in ("is", "are", "was", "were"):
            return f"What {match['verb']} {named}?", start, end
        return f"What does {named} {'stand for' if match['verb'] == 'stands for' else 'mean'}?", start, end
    return None


def _number(passage: Passage, words: _Rarity) -> Made | None:
    """Ask for a number or a year of a sentence."""
    for start, end, text in _statements(passage):
        counted, year = _COUNTED.search(text), _YEAR.search(text)
        noun = counted["noun"] if counted and counted["noun"] not in STOP_WORDS["en"] else ""
        keywords = words.keywords(text, noun)
        if not keywords or not (noun or year):
            continue
        asked = f"How many {noun}" if noun else "Which year"
        return f"{asked}: {', '.join(keywords)}?", start, end
    return None


def _keywords(passage: Passage, words: _Rarity) -> Made | None:
    """Ask with the rarest words of the sentence that has the rarest, as people type into a search box."""
    rated = []
    for start, end, text in _statements(passage):
        keywords = words.keywords(text)
        if len(" ".join(keywords).split()) >= 2:
            rated.append(
                (sum(words.of(word) for keyword in keywords for word in keyword.split()), -start, end, keywords)
            )
    if not rated:
        return None
    _, start, end, keywords = max(rated)
    return " ".join(keywords), -start, end


def _heading(passage: Passage, words: _Rarity) -> Made | None:
    """Ask what a document says under a heading."""
    label = words.heading(passage)
    statements = list(_statements(passage))
    if not label or not statements:
        return None
    place = f" in {passage.title}" if passage.title and passage.title != label else ""
    return f"{label.rstrip('.:?!')}{place}", statements[0][0], statements[-1][1]


_MAKERS: dict[str, Callable[[Passage, _Rarity], Made | None]] = {
    "definition": _definition,
    "number": _number,
    "keywords": _keywords,
    "heading": _heading,
}


def _generated(generator: Generator, passage: Passage, words: _Rarity) -> Made | None:
    """Let a generator write a question; give it with the sentence that has most of it, if the passage answers it."""
    terms = words.terms
    messages = [Message("system", _ASK)]
    for text, asked in _EXAMPLES:
        messages += [Message("user", text), Message("assistant", asked)]
    messages.append(Message("user", clean(passage.searched)[0]))
    written = ""
    for event in generator.stream(messages, GenerationOptions(max_tokens=40, stop=("\n",))):
        written += event.text if isinstance(event, Piece) else ""
    question = " ".join(written.split("?")[0].split()) + "?"
    if not 4 <= len(question.split()) <= 25 or "?" not in written or _POINTING.search(question):
        return None
    wanted = terms.wanted(question)
    if len(wanted) < 2 or coverage(wanted, terms.found(passage.searched)) < _LEAST_COVERED:
        return None
    ranking = rank_sentences(question, [Hit(1, 1.0, passage)], encoder=None, terms=terms)
    best = ranking.sentences[0]
    if best.coverage < 0.5 or not is_statement(best.text):
        return None
    return question, best.start - passage.start, best.end - passage.start
