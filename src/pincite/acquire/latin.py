"""Which Latin code page? Statistics cannot tell à from ŕ in a short text; the letters that languages use can."""

from __future__ import annotations

import re
import unicodedata

_PAGES = {  # code page: the letters beyond ASCII of each language that is written in it
    "cp1252": (
        "àâæçèéêëîïôœùûüÿ",  # French
        "äöüßéẞ",  # German
        "áéíñóúü",  # Spanish
        "àáâãçéêíóôõúü",  # Portuguese
        "àèéìîòóù",  # Italian
        "åäæöøéüšž",  # Danish, Norwegian, Swedish, Finnish
        "äöõüšž",  # Estonian
        "áðéíóúýþæö",  # Icelandic
        "áéëïíóöúüàèçâêîôû",  # Dutch, Catalan, words taken from elsewhere
    ),
    "cp1250": (
        "ąćęłńóśźż",  # Polish
        "áčďéěíňóřšťúůýž",  # Czech
        "áäčďéíĺľňóôŕšťúýž",  # Slovak
        "áéíóöőúüű",  # Hungarian
        "ăâîşţșț",  # Romanian
        "čćđšž",  # Croatian, Slovene
    ),
    "cp1254": ("çğıöşüâîûi̇",),  # Turkish
    "cp1257": ("ąčęėįšųūž", "āčēģīķļņšūž", "äöõüšž"),  # Lithuanian, Latvian, Estonian
    "iso8859_3": ("ĉĝĥĵŝŭ", "ċġħżàèìòù"),  # Esperanto, Maltese
    "cp1258": ("àâăèéêìíòóôơùúưýđ\u0300\u0301\u0303\u0309\u0323",),  # Vietnamese, with its tones apart
}
_SAME_LETTERS = {  # by page: the one whose languages it is for
    **dict.fromkeys(("iso8859_2", "cp852", "mac_latin2", "iso8859_16"), "cp1250"),
    **dict.fromkeys(("iso8859_15", "mac_roman", "cp850"), "cp1252"),
    **dict.fromkeys(("iso8859_13", "iso8859_4", "iso8859_10"), "cp1257"),
}
_ASCII = b"Aa Zz 09"  # in EBCDIC it reads otherwise
_MARKS = frozenset("“”„‘’‚«»‹›–—…•·€£§©®°¿¡×´™²\u00a0\u00ad")


def best_latin(sample: bytes, guess: str) -> str:
    """Choose the code page whose letters make words of some language; the guess when the text is not Latin.

    Args:
        sample: bytes with characters beyond ASCII.
        guess: the encoding that statistics prefer. It also stays when it is as good as any.

    Returns:
        The name of a codec.
    """
    text = sample.decode(guess, "ignore")
    if _ASCII.decode(guess, "ignore") != _ASCII.decode() or not (_is_latin(text) or _is_among_latin(text)):
        return guess
    scores = {
        page: _coverage(sample, page, _PAGES[_SAME_LETTERS.get(page, page)]) for page in (*_PAGES, *_SAME_LETTERS)
    }
    return max(scores, key=lambda page: scores[page])  # the first of equals: cp1252 is by far the most frequent


def _is_latin(text: str) -> bool:
    """Tell whether most letters beyond ASCII are Latin."""
    letters = [char for char in text if char > "\x7f" and char.isalpha()]
    return 2 * sum(unicodedata.name(char, "").startswith("LATIN") for char in letters) >= len(letters)


def _is_among_latin(text: str) -> bool:
    """Tell whether most characters beyond ASCII touch an ASCII letter, as those of no other script do."""
    beyond = sum(char > "\x7f" for char in text)
    return 2 * len(re.findall(r"(?<=[a-zA-Z])[^\x00-\x7f]|[^\x00-\x7f](?=[a-zA-Z])", text)) > beyond


def _coverage(sample: bytes, page: str, alphabets: tuple[str, ...]) -> float:
    """Measure how much of the text beyond ASCII one language of the page explains: 0 to 1, -1 if undecodable."""
    try:
        beyond = [char for char in sample.decode(page).lower() if char > "\x7f"]
    except UnicodeDecodeError:
        return -1.0
    best = max(sum(char in alphabet or char in _MARKS for char in beyond) for alphabet in alphabets)
    return best / max(1, len(beyond))
