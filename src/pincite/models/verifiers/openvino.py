"""Classifiers of the BERT family that judge a claim against a text, on the same network as the default encoder.

Two kinds: of pairs (natural language inference: entailment, neutral, contradiction; or supported and not), and of
tokens (hallucination detectors such as LettuceDetect, arXiv:2502.17125: is a token of the claim carried or not).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pincite.errors import ModelDamaged, ModelError
from pincite.models.bert import Head, read_config
from pincite.models.network import Network, Precision
from pincite.models.pieces import WordPieces
from pincite.models.protocols import Judgement
from pincite.models.windows import join

_YES = ("entail", "support", "consistent", "faithful", "grounded")  # how labels begin that say: carried
_NO = ("contradict", "refut")
_NOT = ("not", "non", "un", "in", "hallucinat", "neutral")
_CARRIED = 0.5  # probability


class OpenVinoVerifier:
    """Judges claims against texts, on the CPU. May be called from several threads.

    Logits are those of transformers to 1e-3 in float32. A text that does not fit beside the claim is read in windows
    that overlap by a quarter, and the one that carries the claim best counts.
    """

    def __init__(self, folder: Path, *, name: str, precision: Precision = "auto", threads: int = 0) -> None:
        """Take what ``OpenVinoEncoder`` takes; the network is built when first needed.

        ModelError for a model of a kind that cannot be computed here, and for labels that do not say what they mean.
        """
        self.name = name
        try:
            self._config = read_config(folder)
        except ModelDamaged:
            raise
        except ModelError as error:
            raise ModelError(str(error), fix="Name a classifier of the BERT, RoBERTa or XLM-R family.") from error
        self._yes, self._no = _meaning(self._config.labels, self._config.tokens, name)
        pieces = WordPieces(folder / "tokenizer.json")
        self._tokenizer = pieces.tokenizer
        head: Head = "tokens" if self._config.tokens else "score"
        labels = len(self._config.labels)
        self._network = Network(
            folder, self._config, pieces, head=head, labels=labels, precision=precision, threads=threads
        )

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Judgement]:
        """Judge claims; ModelLimit for one of more than half the pieces that the model reads."""
        joined = [
            join(self._tokenizer, claim, [text], self._config.max_pieces, behind=True)[0] for text, claim in pairs
        ]
        rows = [row for windows in joined for row in windows]
        chances = _softmax(self._network.compute([row.ids for row in rows], [row.type_ids for row in rows]))
        judged, at = [], 0
        for windows, (_, claim) in zip(joined, pairs, strict=True):
            part = chances[at : at + len(windows)]
            judged.append(self._tokens(part, windows, claim) if self._config.tokens else self._whole(part))
            at += len(windows)
        return judged

    def _whole(self, chances: NDArray[np.float32]) -> Judgement:
        """Judge by the window, (windows, labels), that carries the claim best."""
        best = chances[int(np.argmax(chances[:, self._yes]))]
        return Judgement(float(best[self._yes]), 0.0 if self._no is None else float(best[self._no]))

    def _tokens(self, chances: NDArray[np.float32], windows: Sequence[object], claim: str) -> Judgement:
        """Judge by tokens, (windows, length, labels); a token is carried if it is in any window."""
        spans, carried = [], []
        for row, chance in zip(windows, chances, strict=True):
            mine = [i for i, sequence in enumerate(row.sequence_ids) if sequence == 1]  # type: ignore[attr-defined]
            spans = [row.offsets[i] for i in mine]  # type: ignore[attr-defined]
            carried.append(chance[mine, self._yes])
        best = np.max(carried, axis=0)
        if not len(best):
            return Judgement(0.0, 0.0)
        return Judgement(float(best.min()), 0.0, _runs(claim, spans, best < _CARRIED))


def _meaning(labels: Sequence[str], tokens: bool, name: str) -> tuple[int, int | None]:
    """Find the label that says "carried", and the one that says "contradicted" if there is one."""
    plain = [label.lower().replace("-", "_") for label in labels]
    yes = [i for i, label in enumerate(plain) if label.startswith(_YES)]
    no = [i for i, label in enumerate(plain) if label.startswith(_NO)]
    if len(yes) == 1:
        return yes[0], no[0] if no else None
    negative = [i for i, label in enumerate(plain) if label.startswith(_NOT)]
    if len(plain) == 2 and len(negative) == 1:
        return 1 - negative[0], None
    if len(plain) == 2 and tokens:  # LettuceDetect and its kin name no labels: 1 is a token that nothing carries
        return 0, None
    raise ModelError(
        f"The labels of {name} are {', '.join(labels)}, and none of them says that a text carries a claim.",
        fix="Name the labels in id2label of its config.json: entailment, neutral and contradiction, or supported.",
    )


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Turn logits into probabilities over the last axis."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    chances: NDArray[np.float32] = powers / powers.sum(axis=-1, keepdims=True)
    return chances


def _runs(text: str, spans: Sequence[tuple[int, int]], wrong: NDArray[np.bool_]) -> tuple[str, ...]:
    """Give the words of a text that lie in runs of wrong tokens."""
    runs: list[list[int]] = []
    for index, (start, end) in enumerate(spans):
        if wrong[index] and index and wrong[index - 1] and runs:
            runs[-1][1] = end
        elif wrong[index]:
            runs.append([start, end])
    return tuple(text[start:end] for start, end in runs if end > start)
