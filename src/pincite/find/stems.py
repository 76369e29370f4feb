"""Words to stems: the Snowball stemmer of the word's script, then accents folded away."""

from __future__ import annotations

import threading
import unicodedata
from functools import cache, lru_cache
from typing import Protocol

# language -> (script, Snowball algorithm); a script's first row is for documents in languages of other scripts.
ALGORITHMS: dict[str, tuple[str, str]] = {
    "en": ("Latin", "english"),
    "ca": ("Latin", "catalan"),
    "cs": ("Latin", "czech"),
    "da": ("Latin", "danish"),
    "de": ("Latin", "german"),
    "eo": ("Latin", "esperanto"),
    "es": ("Latin", "spanish"),
    "et": ("Latin", "estonian"),
    "eu": ("Latin", "basque"),
    "fi": ("Latin", "finnish"),
    "fr": ("Latin", "french"),
    "ga": ("Latin", "irish"),
    "hu": ("Latin", "hungarian"),
    "id": ("Latin", "indonesian"),
    "it": ("Latin", "italian"),
    "lt": ("Latin", "lithuanian"),
    "nl": ("Latin", "dutch"),
    "no": ("Latin", "norwegian"),
    "pl": ("Latin", "polish"),
    "pt": ("Latin", "portuguese"),
    "ro": ("Latin", "romanian"),
    "sv": ("Latin", "swedish"),
    "tr": ("Latin", "turkish"),
    "ru": ("Cyrillic", "russian"),
    "sr": ("Cyrillic", "serbian"),
    "ar": ("Arabic", "arabic"),
    "fa": ("Arabic", "persian"),
    "el": ("Greek", "greek"),
    "hi": ("Devanagari", "hindi"),
    "ne": ("Devanagari", "nepali"),
    "hy": ("Armenian", "armenian"),
    "ta": ("Tamil", "tamil"),
    "yi": ("Hebrew", "yiddish"),
}
_DEFAULTS: dict[str, str] = {}
for _script, _name in ALGORITHMS.values():
    if _script != "Hebrew":  # Hebrew itself has no stemmer
        _DEFAULTS.setdefault(_script, _name)

_SCRIPTS = (
    (0x0041, 0x024F, "Latin"),
    (0x0370, 0x03FF, "Greek"),
    (0x0400, 0x052F, "Cyrillic"),
    (0x0530, 0x058F, "Armenian"),
    (0x0590, 0x05FF, "Hebrew"),
    (0x0600, 0x06FF, "Arabic"),
    (0x0900, 0x097F, "Devanagari"),
    (0x0B80, 0x0BFF, "Tamil"),
    (0x1E00, 0x1EFF, "Latin"),
    (0x1F00, 0x1FFF, "Greek"),
)
# Letters that no normal form takes apart, and letters that Arabic and Persian keyboards write differently.
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t", "ё": "е"}
    | {"ی": "ي", "ى": "ي", "ک": "ك", "أ": "ا", "إ": "ا", "آ": "ا", "ς": "σ"}
)
_BREVE_LETTERS = "йўї"  # a letter of its own, not an accent


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...


_LOCK = threading.Lock()  # a Snowball stemmer keeps its word in itself


def script_of(word: str) -> str:
    """Name the script of a word's first letter, "" when no stemmer knows it."""
    code = ord(word[0])
    return next((script for first, last, script in _SCRIPTS if first <= code <= last), "")


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
    if script_of(word) in ("Latin", "Greek", "Cyrillic"):
        kept = (c if c in _BREVE_LETTERS else _bare(c) for c in word)
        word = "".join(kept)
    return word.translate(_LETTERS)


@lru_cache(maxsize=100_000)
def stem(word: str, language: str) -> tuple[str, ...]:
    """Stem a lower-case word: its folded stem, and the stem of the folded word where that is another one.

    Two, because a stemmer needs the accents to see the ending, and people leave them out when they ask.
    """
    algorithm = _algorithm_for(script_of(word), language)
    if not algorithm:
        return (fold(word),)
    first = fold(_stemmed(word, algorithm))
    if word.isascii():
        return (first,)
    second = fold(_stemmed(fold(word), algorithm))
    return (first,) if first == second else (first, second)


def _algorithm_for(script: str, language: str) -> str:
    """Choose the document's stemmer if it is one for this script, otherwise the script's usual one, "" if none."""
    own_script, algorithm = ALGORITHMS.get(language, ("", ""))
    return algorithm if own_script == script else _DEFAULTS.get(script, "")


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
