"""Two ranked lists become one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pincite.acquire.language import detect_language
from pincite.models.protocols import Pieces
from pincite.types import Candidate

Fusion = Literal["convex", "rrf"]
WEIGHT = 0.75  # of the cosine; chosen leaving one collection out: bench/quality/results/fusion.json
SIBLINGS = 0.2  # share of the document's other passages in a passage's score; chosen in the same way
RRF_K = 60

UNREAD_WEIGHT = 0.3  # of the cosine of a question that the encoder does not read: bench/quality/results/languages.json
# Letters in a piece, where the vocabulary knows the language. The medians of XQuAD's questions with all-MiniLM-L6-v2:
# English 4.0, German 2.7, languages that it spells 1.0 to 1.3; Thai 28, for an unknown word is one piece, however long.
_LETTERS, _MOST_LETTERS = 3.3, 6.0
_DENSE_LETTERS = 1.35  # least, where a character says more
_DENSE = ("zh", "ja", "ko", "th", "lo", "km", "my")


def fuse(
    vector: Sequence[Candidate],
    keyword: Sequence[Candidate],
    *,
    method: Fusion = "convex",
    weight: float = WEIGHT,
    depth: int = 0,
    owners: Mapping[int, int] | None = None,
    siblings: float = SIBLINGS,
) -> list[Candidate]:
    """Merge the candidates of both retrievers.

    "convex" is ``weight * cosine + (1 - weight) * score / best score`` (Bruch et al. 2023, arXiv:2210.11934: better
    than reciprocal ranks, and how the scores are normalised hardly matters). Reciprocal ranks forget how much better
    one passage is than the next. Then each passage is drawn towards the mean of its document's candidates (passage and
    document evidence together: Callan 1994): among alike passages, that of the document that is about it comes first.

    Args:
        vector: by cosine, -1 to 1, best first.
        keyword: by BM25, above 0, best first.
        method: how.
        weight: of the cosine, 0 to 1; for "convex".
        depth: how many candidates each list was asked for. A passage that a full list lacks scores at most as much as
            the list's last and is given that much; one that a shorter list lacks has nothing to score and is given 0.
        owners: key of a passage -> key of its document; a passage that is not there stands alone. For "convex".
        siblings: share of the mean over the document, 0 to 1. The order within a document stays.

    Returns:
        Every candidate once, by (-score, key). If one list is empty and there are no owners, the order is that of the
        other.
    """
    if method == "rrf":
        return rrf(vector, keyword)
    cosines = {candidate.key: candidate.score for candidate in vector}
    best = max((candidate.score for candidate in keyword), default=1.0)
    shares = {candidate.key: candidate.score / best for candidate in keyword} if best > 0 else {}
    no_cosine, no_share = _floor(cosines.values(), depth), _floor(shares.values(), depth)
    scores = {
        key: weight * cosines.get(key, no_cosine) + (1 - weight) * shares.get(key, no_share)
        for key in {**cosines, **shares}  # in the order of the lists, not of a set: sums depend on it
    }
    if owners:
        scores = _with_siblings(scores, owners, siblings)
    return ranked(scores)


def rrf(*lists: Sequence[Candidate]) -> list[Candidate]:
    """Add ``1 / (60 + rank)``, ranks from 1, over the lists (Cormack et al. 2009). By (-score, key)."""
    scores: dict[int, float] = defaultdict(float)
    for candidates in lists:
        for rank, candidate in enumerate(candidates, start=1):
            scores[candidate.key] += 1 / (RRF_K + rank)
    return ranked(scores)


def ranked(scores: Mapping[int, float]) -> list[Candidate]:
    """Sort passages, key -> score, by (-score, key): a total order."""
    return [Candidate(key, -score) for score, key in sorted((-score, key) for key, score in scores.items())]


def weight_for(question: str, pieces: Pieces, languages: Sequence[str]) -> float:
    """Choose the weight of the cosine: small when the encoder's vocabulary does not know the question's language.

    Such an encoder spells the words or takes them for unknown ones, and its cosine says little, while keyword search is
    right for any script.

    Args:
        question: any text.
        pieces: the encoder's.
        languages: ISO 639-1 codes of the documents, most frequent first; the first counts when the question's own
            language is not plain.

    Returns:
        ``WEIGHT`` or ``UNREAD_WEIGHT``.
    """
    letters = len("".join(question.split())) / max(1, pieces.count(question))
    if _LETTERS <= letters <= _MOST_LETTERS:
        return WEIGHT
    language = detect_language(question) or next(iter(languages), "")
    read = language in ("", "en") or (language in _DENSE and _DENSE_LETTERS <= letters <= _MOST_LETTERS)
    return WEIGHT if read else UNREAD_WEIGHT


def _with_siblings(scores: Mapping[int, float], owners: Mapping[int, int], share: float) -> dict[int, float]:
    """Draw each passage towards the mean of its document's candidates."""
    owner = {key: owners.get(key, -key) for key in scores}
    counts, sums = Counter(owner.values()), dict.fromkeys(owner.values(), 0.0)
    for key, score in scores.items():
        sums[owner[key]] += score
    pull = {name: share * (total / counts[name]) for name, total in sums.items()}
    return {key: (1 - share) * score + pull[owner[key]] for key, score in scores.items()}


def _floor(scores: Iterable[float], depth: int) -> float:
    """Give what a passage scores that is not in the list."""
    known = list(scores)
    return min(known) if depth and len(known) >= depth else 0.0
