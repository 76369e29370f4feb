"""What a question and a sentence have in common: content terms and cosine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from pincite.find.analyze import analyze, analyze_query
from pincite.find.search import within
from pincite.models.protocols import Encoder

# Words of a question that carry none of its content, beyond the stop words that the search leaves out: they must count
# neither as covered nor as missing.
_ASKING = (
    "many much kind kinds sort type types name named names tell give explain describe call called known use used using "
    "get find list define definition mean means meaning document documents passage passages viel viele wieviel combien "
    "cuántos cuántas cuánto quanti quanto quantos hoeveel"
)


class Terms:
    """Reads the content terms of texts, as the search does, in some languages."""

    def __init__(self, languages: Sequence[str] = ("en",)) -> None:
        """Take the documents' languages: ISO 639-1; none counts as English."""
        self.languages = tuple(languages) or ("en",)
        self._asking = frozenset(analyze_query(_ASKING, self.languages))

    def wanted(self, text: str) -> list[str]:
        """Give the distinct terms that another text must have to say the same, in order; stop words are left out."""
        terms = analyze_query(text, self.languages)
        return [term for term in terms if term not in self._asking] or terms

    def found(self, text: str) -> frozenset[str]:
        """Give all terms that a text has, parts of compounds included."""
        return frozenset(term for language in self.languages for term in analyze(text, language))


def coverage(wanted: Iterable[str], found: frozenset[str]) -> float:
    """Give the share of wanted terms that were found, 0 to 1; 0 when none is wanted."""
    terms = set(wanted)
    return len(terms & found) / len(terms) if terms else 0.0


def encode_within(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Encode texts for scoring, each cut to what the encoder reads: (len(texts), dimension), unit rows.

    The vectors serve to rank and compare only; what is shown is never cut.
    """
    if not texts:
        return np.zeros((0, encoder.dimension), dtype=np.float32)
    return encoder.encode([within(text, encoder) for text in texts])
