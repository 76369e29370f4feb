"""The extractive answer: the sentences that speak to the question best, word for word."""

from __future__ import annotations

import regex

from pincite.generate.evidence import Ranking, Sentence, distinct, is_statement, relevant

_NEAR = 0.7  # of the best score: a further quote must be nearly as good as the first
_MOST = 3


def best_quotes(ranking: Ranking) -> list[Sentence]:
    """Give the one to three best sentences, best first, near duplicates once; questions only if they are all."""
    ranked = distinct(relevant(ranking))
    ranked = [sentence for sentence in ranked if is_statement(sentence.text)] or ranked
    floor = _NEAR * ranked[0].score if ranked else 0.0
    return [sentence for sentence in ranked if sentence.score >= floor][:_MOST]


# What keeps its lines: indented, list items, tables, headings, quotations, fences, breaks by two spaces or a backslash,
# code by its first word, its marks or its last character, rows of values.
_ITEM = regex.compile(r"[ \t]*(?:[-*+•–]|\d{1,9}[.)])[ ]")
_SHAPED = regex.compile(
    r"^(?:[ ]{2,}|\t|[ ]?(?:[>|]|\#{1,6}[ ]|```|~~~|\$[ ]|>>>))|^(?:import\s+[\w.]+$|from\s+\S+\s+import\b|\#include\b)"
    r"|(?:[ ]{2}|[\\;{}(\[])$|\||\t|[ ]{3}|[=!<>+]=|->|=>|[ ]=[ ]|\w\(\)|[^\s\d],\S+,\S"
)
_FIELD = regex.compile(r"[\w.-]+(?:[ ][\w.-]+)?:(?:[ ]|$)")  # "name: value"
_FENCE = regex.compile(r"^[ ]{0,3}(?:```|~~~)", regex.MULTILINE)
_BREAK = r"[ \t]*(?>\r\n|[\r\n])[ \t]*"
_UNSPACED = regex.compile(  # Chinese and Japanese write no space, nor does what is hyphenated
    rf"(?<=[\p{{Han}}\p{{Hiragana}}\p{{Katakana}}]){_BREAK}(?=[\p{{Han}}\p{{Hiragana}}\p{{Katakana}}])|(?<=\p{{L}}-){_BREAK}(?=\p{{Ll}})"
)
_SPACED = regex.compile(_BREAK)
_LINE = 50  # characters: the lines of verses and addresses are shorter


def flowing(quote: Sentence) -> str:
    """Give a quote as it is shown in a text: prose without the line breaks of its source, all else as it is.

    Its lines tell, not the kind of block that it is cut from: readers call verses, addresses, the header of a mail and
    tables in plain text paragraphs, too.
    """
    first, *rest = quote.text.splitlines()
    before = quote.passage.text[: quote.start - quote.passage.start]
    start = before.rpartition("\n")[2] + first
    if _ITEM.match(start):  # its further lines are indented
        start, rest = _ITEM.sub("", start, count=1), [line.strip() for line in rest]
    shaped = (
        len(_FENCE.findall(before)) % 2
        or any(_SHAPED.search(line) or _ITEM.match(line) for line in (start, *rest))
        or any(_FIELD.match(line) for line in rest)
        or (all(line[:1].isupper() for line in rest) and all(len(line) < _LINE for line in (start, *rest[:-1])))
    )
    return quote.text if shaped else _SPACED.sub(" ", _UNSPACED.sub("", quote.text))
