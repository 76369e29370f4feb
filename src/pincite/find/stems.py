"""Words to stems: the Snowball stemmer of the word's script, then accents folded away."""

from __future__ import annotations

import threading
import unicodedata
from functools import cache, lru_cache
from typing import Protocol

from pincite.acquire.language import script_of

# Script -> language and Snowball algorithm; a script's first is for documents in languages of other scripts.
_SNOWBALL = {
    "Latin": (
        "en:english ca:catalan cs:czech da:danish de:german eo:esperanto es:spanish et:estonian eu:basque "
        "fi:finnish fr:french ga:irish hu:hungarian id:indonesian it:italian lt:lithuanian nl:dutch "
        "no:norwegian pl:polish pt:portuguese ro:romanian sv:swedish tr:turkish"
    ),
    "Cyrillic": "ru:russian sr:serbian",
    "Arabic": "ar:arabic fa:persian",
    "Greek": "el:greek",
    "Devanagari": "hi:hindi ne:nepali",
    "Armenian": "hy:armenian",
    "Tamil": "ta:tamil",
    "Hebrew": "yi:yiddish",
}
_ALGORITHMS = {script: dict(row.split(":") for row in rows.split()) for script, rows in _SNOWBALL.items()}
_NO_DEFAULT = ("Hebrew",)  # Hebrew itself has no stemmer

# Letters that no normal form takes apart, and letters that Arabic and Persian keyboards write differently.
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t", "ё": "е"}
    | {"ی": "ي", "ى": "ي", "ک": "ك", "أ": "ا", "إ": "ا", "آ": "ا", "ς": "σ"}
)
_BREVE_LETTERS = "йўї"  # a letter of its own, not an accent


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...


_LOCK = threading.Lock()  # a Snowball stemmer keeps its word in itself


def lowered(word: str, language: str) -> str:
    """Fold case; in Turkish a capital I without a dot becomes one without a dot."""
    if word.isascii() and language != "tr":
        return word.lower()
    if language == "tr":
        word = word.replace("İ", "i").replace("I", "ı")
    return word.casefold().replace("i̇", "i")


def fold(word: str) -> str:
    """Take accents off Latin, Greek and Cyrillic letters (not the breve of й), and join letters written in two ways."""
    if word.isascii():
        return word
    if script_of(word[0]) in ("Latin", "Greek", "Cyrillic"):
        kept = (c if c in _BREVE_LETTERS else _bare(c) for c in word)
        word = "".join(kept)
    return word.translate(_LETTERS)


@lru_cache(maxsize=100_000)
def stem(word: str, language: str) -> tuple[str, ...]:
    """Stem a lower-case word: its folded stem, and the stem of the folded word where that is another one.

    Two, because a stemmer needs the accents to see the ending, and people leave them out when they ask.
    """
    algorithm = _algorithm_for(script_of(word[0]), language)
    if not algorithm:
        return (fold(word),)
    first = fold(_stemmed(word, algorithm))
    if word.isascii():
        return (first,)
    second = fold(_stemmed(fold(word), algorithm))
    return (first,) if first == second else (first, second)


def _algorithm_for(script: str, language: str) -> str:
    """Choose the document's stemmer if it is one for this script, otherwise the script's usual one, "" if none."""
    known = _ALGORITHMS.get(script, {})
    usual = "" if script in _NO_DEFAULT else next(iter(known.values()), "")
    return known.get(language, usual)


def _bare(character: str) -> str:
    """Take the accents off one character."""
    if character.isascii():
        return character
    return "".join(c for c in unicodedata.normalize("NFD", character) if not unicodedata.combining(c))


@cache
def _stemmer(algorithm: str) -> _Stemmer:
    """Load a stemmer once."""
    import snowballstemmer

    made: _Stemmer = snowballstemmer.stemmer(algorithm)
    return made


def _stemmed(word: str, algorithm: str) -> str:
    """Stem, never to nothing."""
    with _LOCK:
        return _stemmer(algorithm).stemWord(word) or word
