"""Text becomes search terms: one analysis for every script, for the index and for questions.

Words are folded (NFKC, case, accents) and stemmed by the Snowball stemmer of their script and the document's language;
scripts without spaces become n-grams; compounds are kept in parts and whole. A term never holds white space, and there
is no query language: every string is a valid question.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.metadata import version
from itertools import chain

import regex

from pincite.acquire.language import detect_language
from pincite.find.stems import fold, lowered, stem
from pincite.find.stopwords import STOP_WORDS

# Whatever changes terms must change this: an index made by another analyzer is made anew.
ANALYZER = f"pincite-1/snowball-{version('snowballstemmer')}/unicode-{unicodedata.unidata_version}"

_LONGEST = 64  # code points of a term; longer ones are cut, in documents and questions alike
_WHOLE_PARTS = 4  # a compound of more parts than this (a path, a URL) has no term for the whole
_KEPT_CHUNK, _KEPT_CHUNKS = 32, 100_000  # code points; longer chunks are rarely seen twice. At most 40 MB

_CJK = r"\p{Han}\p{Hiragana}\p{Katakana}\u30FC"
_DENSE = r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_CHARACTER = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_CJK}\p{{Hangul}}{_DENSE}]]"
_ATOM = rf"{_CHARACTER}+(?:\+\+(?!\p{{L}})|\#(?![\p{{L}}\p{{N}}]))?"  # C++ and C# are names
_TOKEN = regex.compile(
    rf"""(?P<dotnet>(?<![\p{{L}}\p{{N}}.])\.(?i:net)(?![\p{{L}}\p{{N}}]))
       | (?P<compound>{_ATOM}(?:(?:[-_.'@&]|[:/\\=?]{{1,3}}|(?<=\d),(?=\d{{3}})){_ATOM})*)
       | (?P<cjk>[{_CJK}]+|\p{{Hangul}}+)
       | (?P<dense>[{_DENSE}][{_DENSE}\p{{M}}]*)
       | (?P<emoji>\p{{Regional_Indicator}}{{2}}|\p{{Extended_Pictographic}})""",
    regex.VERBOSE | regex.VERSION1,
)
_OUTER = regex.compile(r"[@&:/\\=?]+")
_INNER = regex.compile(r"[-_.',]")
_GROUPED = regex.compile(r"\d{1,3}(?:[,'_]\d{3})+(?:\.\d+)?")  # 1,000 and 1'000.5
_VERSION = regex.compile(r"[vV]?(\d+(?:\.\d+)+)")
_QUANTITY = regex.compile(r"(\d+)(\p{L}{2,})")  # 10mg
_HUMPED = regex.compile(r"\p{Ll}\p{Lu}|\p{Lu}{2}(?!s$)\p{Ll}")  # camelCase and HTTPServer, but not PDFs
_PLURAL = regex.compile(r"(\p{Lu}{2,})s")  # PDFs, which the English stemmer leaves alone
_HUMP = regex.compile(r"\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{M}]+|[^\p{Lu}\p{Ll}]+")
_CLUSTER = regex.compile(r"\X")
_PLAIN = regex.compile(r"[\p{L}\p{M}]+")
_CLITICS = frozenset(("s", "re", "ve", "ll", "d", "m", "t"))
_INITIALS = 8  # letters
_ELIDED = 2  # letters: l'homme and qu'il are found by homme and il, and whole

_UNSEEN = regex.compile(r"[\p{Cf}\uFE00-\uFE0F]+")  # soft hyphens, zero-width and direction marks, emoji styles
_OPTIONAL = regex.compile(r"[\u0640\u064B-\u065F\u0670\u0591-\u05BD\u05BF-\u05C7\U0001F3FB-\U0001F3FF]+")  # Arabic
# and Hebrew vowel points, the Arabic stretching stroke, skin tones: written or not, it is the same word
_MARKS = regex.compile(r"(\p{M}{30})\p{M}+")  # normalising is quadratic in a run of marks; 30: UAX 15, stream-safe text
_GROUP_SPACE = regex.compile(r"(?<=\d)[\u00A0\u2009\u202F](?=\d{3}(?!\d))")
_DIGITS = regex.compile(r"(?![0-9])\p{Nd}")
_ALIKE = str.maketrans(dict.fromkeys("‐‑‒–−﹘﹣", "-") | dict.fromkeys("‘’‛′ʼ＇", "'"))
_EDGES = "\"'()[]{}<>.,;:!?¿¡“”„‘’«»…-–—؟،؛。、！？「」"


def analyze(text: str, language: str) -> list[str]:
    """Turn a document's text into terms, in order, repeated as often as they occur.

    Args:
        text: any string; lone surrogates, NUL and unassigned characters separate words.
        language: ISO 639-1; it chooses the stemmer for words in its script, other words get their script's usual one;
            "" counts as English.

    Returns:
        Terms of 1 to 64 code points, without white space.
    """
    kept = _kept(language, False)
    return list(chain.from_iterable(kept[chunk] for chunk in _chunks(text)))


def analyze_query(text: str, languages: Sequence[str], *, repeats: bool = False) -> list[str]:
    """Turn a question into distinct terms, in order: those that ``analyze`` makes of what it asks for.

    It differs from ``analyze`` where a part would find too much: stop words are left out unless there is nothing
    else, and `.NET`, a version number or a run of Chinese characters is asked for whole.

    Args:
        text: any string.
        languages: ISO 639-1 codes of the documents to search, most frequent first; none counts as English. A question
            whose own language is plain is analysed for that, the first of these and English; another one for all.
        repeats: give the terms of a word again each time that the question has it: long questions repeat what they
            are about, and BM25 adds it up.

    Returns:
        Terms; [] when the text holds no letter, digit or emoji.
    """
    asked = detect_language(text)
    first = languages[0] if languages else ""
    # Stems of languages that are neither the question's nor the library's are in few documents, often those whose
    # language was mistaken, and would lift them for being rare.
    wanted = (asked, first, "") if asked else tuple(languages) or ("",)
    # Stop words of the question's language only: in another one they may be content (the French "son", "war").
    stops = STOP_WORDS.get(asked or first or "en", frozenset())
    chunks = _chunks(text)
    telling = [chunk for chunk in chunks if _bare_word(chunk) not in stops]
    terms = _question_terms(telling, wanted) or _question_terms(chunks, wanted)
    return terms if repeats else list(dict.fromkeys(terms))


def _question_terms(chunks: list[str], languages: Sequence[str]) -> list[str]:
    """Collect the terms word by word, those of one word once, in whichever languages it has them."""
    words = (dict.fromkeys(term for code in languages for term in _kept(code, True)[chunk]) for chunk in chunks)
    return list(chain.from_iterable(words))


def _chunks(text: str) -> list[str]:
    """Split at white space, but not inside a number whose thousands a no-break space groups."""
    return (text if text.isascii() else _GROUP_SPACE.sub("", text)).split()


def _bare_word(chunk: str) -> str:
    """Give a chunk without the punctuation around it, in lower case, for the lookup of stop words."""
    return chunk.strip(_EDGES).casefold().replace("’", "'").removesuffix("'s")


class _Chunks(dict[str, tuple[str, ...]]):
    """The terms of what stands between white space, analysed when first seen."""

    def __init__(self, language: str, question: bool) -> None:
        super().__init__()
        self._language, self._question = language, question

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        terms = _terms(_normal(chunk), self._language, self._question)
        found = tuple(term[:_LONGEST] for term in terms if term)
        if len(chunk) <= _KEPT_CHUNK:
            if len(self) >= _KEPT_CHUNKS:
                self.clear()
            self[chunk] = found
        return found


@lru_cache(maxsize=32)
def _kept(language: str, question: bool) -> _Chunks:
    """Give what was analysed before in a language."""
    return _Chunks(language, question)


def _normal(text: str) -> str:
    """Bring a text to one form: no invisible characters, NFKC, one hyphen, one apostrophe, ASCII digits."""
    if text.isascii():
        return text
    text = _MARKS.sub(r"\1", _UNSEEN.sub("", text))
    text = _OPTIONAL.sub("", unicodedata.normalize("NFKC", text)).translate(_ALIKE)
    return str(_DIGITS.sub(lambda found: str(unicodedata.digit(found[0], found[0])), text))


def _terms(text: str, language: str, question: bool) -> Iterator[str]:
    """Cut normalised text into terms."""
    for token in _TOKEN.finditer(text):
        if token.lastgroup == "compound":
            yield from _compound(token[0], language, question)
        elif token.lastgroup == "cjk":
            yield from _grams(token[0], (2,) if question else (1, 2))
        elif token.lastgroup == "dense":
            yield from _grams(_CLUSTER.findall(token[0]), (2, 3))
        elif token.lastgroup == "emoji":
            yield token[0]
        else:
            yield from (".net",) if question else (".net", "net")


def _grams(units: Sequence[str], sizes: tuple[int, ...]) -> Iterator[str]:
    """Give all n-grams of each size; a run shorter than the smallest size is one term."""
    if len(units) < min(sizes):
        yield "".join(units)
    for size in sizes:
        for i in range(len(units) - size + 1):
            yield "".join(units[i : i + size])


def _compound(text: str, language: str, question: bool) -> Iterator[str]:
    """Give the parts of a compound such as ``user@example.com``, then its whole."""
    outer = _OUTER.split(text)
    parts: list[str] = []
    for piece in outer:
        found = list(_dotted(piece, language, question))
        yield from found
        parts.extend(_INNER.split(piece))
    if len(outer) > 1 and len(parts) <= _WHOLE_PARTS:
        yield from _whole(parts, language)


def _dotted(text: str, language: str, question: bool) -> Iterator[str]:
    """Analyse words joined by hyphens, underscores, full stops or apostrophes."""
    if _GROUPED.fullmatch(text):
        yield regex.sub("[,'_]", "", text)
        return
    numbered = _VERSION.fullmatch(text)
    if numbered:
        yield from _version(numbered[1], question)
        return
    text = _untied(text)
    atoms = _INNER.split(text)
    parts = [part for atom in atoms for part in _humps(atom)]
    initials = 1 < len(atoms) <= _INITIALS and all(len(atom) == 1 for atom in atoms)  # U.S.A. is one word
    for i, part in enumerate(parts):
        elided = "'" in text and len(part) <= _ELIDED
        if not initials and (not elided or i + 1 == len(parts)):
            yield from _word(part, language)
    if 1 < len(parts) <= _WHOLE_PARTS or initials:
        yield from _whole(parts, language)


def _untied(text: str) -> str:
    """Take off what an apostrophe ties to the end of a word: Alice's, we'll; don't is one word."""
    left, tie, right = text.rpartition("'")
    if not tie or right.casefold() not in _CLITICS:
        return text
    return left.replace("'", "") + right if right in "tT" else left


def _version(number: str, question: bool) -> Iterator[str]:
    """Give 1.2.3 whole; a document that has it is also found by 1.2, and 1.2.4 does not find it."""
    yield number
    if not question:
        numbers = number.split(".")
        for size in range(2, min(len(numbers), _WHOLE_PARTS)):
            yield ".".join(numbers[:size])


def _humps(atom: str) -> list[str]:
    """Split camelCase."""
    plural = _PLURAL.fullmatch(atom)
    if plural:
        return [plural[1]]
    return list(_HUMP.findall(atom)) if _HUMPED.search(atom) else [atom]


def _word(part: str, language: str) -> Iterator[str]:
    """Analyse one word, name or number."""
    word = lowered(part[:_LONGEST], language)
    if _PLAIN.fullmatch(word):
        yield from stem(word, language)
        return
    yield fold(word)
    quantity = _QUANTITY.fullmatch(word)
    if quantity:
        yield quantity[1]
        yield from stem(quantity[2], language)
    if word[-1] in "+#" and len(word.rstrip("+#")) > 1:  # notepad++ is also a notepad, C++ is no C
        yield from stem(word.rstrip("+#"), language)


def _whole(parts: Sequence[str], language: str) -> Iterator[str]:
    """Join the parts, so that data-base, dataBase and database are one; digits keep a dot between them."""
    word = ""
    for part in parts:
        dot = "." if word[-1:].isdigit() and part[:1].isdigit() else ""
        word += dot + lowered(part, language)
    if _PLAIN.fullmatch(word):
        yield from stem(word, language)
    elif word:
        yield fold(word)
