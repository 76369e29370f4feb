"""BERT-family models as OpenVINO graphs, straight from their safetensors: no torch, no conversion.

Layer equations: Devlin et al. 2019, arXiv:1810.04805 (post-norm transformer); RoBERTa and XLM-R differ only in where
positions start (Liu et al. 2019, arXiv:1907.11692). What is made of the last layer is in the graph as well: one unit
vector a text (encoders), or the logits of a pair of texts (cross-encoders; Nogueira and Cho 2019, arXiv:1901.04085) or
of each of its tokens (token classifiers).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pincite.errors import ModelDamaged, ModelError
from pincite.models.runtime import import_openvino

Head = Literal["vector", "score", "tokens"]  # what the network gives for a row

_ACTIVATIONS = {"gelu": "erf", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh"}
_PREFIXES = ("bert.", "roberta.", "model.")
_FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert")


@dataclass(frozen=True, slots=True)
class BertConfig:
    """What the graph needs to know of a model, from its folder."""

    layers: int
    heads: int
    width: int
    epsilon: float  # of LayerNorm
    activation: str  # GELU's form: "erf" or "tanh"
    first_position: int  # 0 for BERT; the padding id + 1 for RoBERTa
    max_pieces: int  # per text, with special tokens
    pooling: str  # "mean" or "cls"
    kinds: int  # of tokens: 2 where the second text of a pair has its own
    labels: tuple[str, ...]  # of the classifier on top, by their number
    tokens: bool  # whether that classifies tokens, not texts


def read_config(folder: Path) -> BertConfig:
    """Read the sizes, the pooling and the length limit from a model's folder.

    Args:
        folder: holds ``config.json`` and, as sentence-transformers writes them, ``sentence_bert_config.json`` and
            ``1_Pooling/config.json``; without the latter, pooling is the mean.

    Returns:
        The configuration.

    Raises:
        ModelError: the model is of a kind that this runtime does not compute.
        ModelDamaged: a file is missing, or is not what it should be.
    """
    try:
        config = _json(folder / "config.json")
        family = config["model_type"]
        if family not in _FAMILIES or config.get("position_embedding_type", "absolute") != "absolute":
            raise _unsupported(folder, f"models of type {family!r}")
        if config["hidden_act"] not in _ACTIVATIONS:
            raise _unsupported(folder, f"the activation {config['hidden_act']!r}")
        first = 0 if family == "bert" else int(config["pad_token_id"]) + 1
        limits = [int(config["max_position_embeddings"]) - first]
        if (folder / "sentence_bert_config.json").is_file():
            limits.append(int(_json(folder / "sentence_bert_config.json").get("max_seq_length") or limits[0]))
        return BertConfig(
            layers=int(config["num_hidden_layers"]),
            heads=int(config["num_attention_heads"]),
            width=int(config["hidden_size"]),
            epsilon=float(config["layer_norm_eps"]),
            activation=_ACTIVATIONS[config["hidden_act"]],
            first_position=first,
            max_pieces=min(limits),
            pooling=_pooling(folder),
            kinds=int(config.get("type_vocab_size", 1)),
            labels=_labels(config),
            tokens=any(str(name).endswith("TokenClassification") for name in config.get("architectures") or ()),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, f"its configuration cannot be read ({error!r})") from error


def build_graph(folder: Path, config: BertConfig, head: Head = "vector", labels: int = 1) -> Any:
    """Build the graph from ``model.safetensors``; weights stay mapped to the file.

    Args:
        folder: the model's folder.
        config: what ``read_config`` gave for it.
        head: "vector" pools and normalises; "score" and "tokens" apply the classifier that the model comes with, to
            the whole row or to each token, and give its logits.
        labels: that the classifier must have.

    Returns:
        An ``openvino.Model``. Inputs ``input_ids`` and ``attention_mask``: (batch, length), int64, padding at the end,
        each row at least one real token; for a classifier also ``token_type_ids``, of the same shape. Output: float32,
        (batch, width), rows of length 1; for "score" (batch, labels); for "tokens" (batch, length, labels).

    Raises:
        ModelDamaged: the file is cut short, or lacks a weight.
        ModelError: the classifier has another number of labels, so that nothing says what they mean.
    """
    try:
        graph = _Graph(read_safetensors(folder / "model.safetensors"), config)
        if head != "vector" and (found := graph.labels()) != labels:
            raise _unsupported(folder, f"the choice among {found} labels")
        return graph.model(head)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, f"model.safetensors cannot be used ({error!r})") from error


def read_safetensors(path: Path, *, strict: bool = False) -> dict[str, NDArray[np.float32]]:
    """Map a safetensors file's floating-point tensors, without copying those that are float32.

    The format (github.com/huggingface/safetensors): 8 bytes, the header's size; the header, JSON, with each tensor's
    type, shape and place after it. The library of that name copies every tensor, which costs a start 50 ms for 90 MB.

    Args:
        path: the file. It is mapped copy-on-write, so nothing can change it.
        strict: refuse tensors of other types, instead of leaving them out.

    Returns:
        Tensors by name, as float32.

    Raises:
        ValueError: the file is not of this format, or is cut short, or holds what may not be left out.
    """
    raw: NDArray[np.uint8] = np.memmap(path, mode="c", dtype=np.uint8)
    size = int(raw[:8].view("<u8")[0])
    body = raw[8 + size :]
    header: dict[str, Any] = json.loads(raw[8 : 8 + size].tobytes())
    tensors = {}
    header.pop("__metadata__", None)
    for name, entry in header.items():
        if entry["dtype"] in ("F32", "F16", "BF16"):
            start, end = entry["data_offsets"]
            tensors[name] = _as_float32(body[start:end], entry["dtype"]).reshape(entry["shape"])
        elif strict:
            raise ValueError(f"{name} is of another type")
    return tensors


def _as_float32(raw: NDArray[np.uint8], dtype: str) -> NDArray[np.float32]:
    """Read bytes as float32; a bfloat16 is the upper half of one."""
    if dtype == "F32":
        return raw.view("<f4")
    if dtype == "F16":
        return raw.view("<f2").astype(np.float32)
    return (raw.view("<u2").astype(np.uint32) << np.uint32(16)).view(np.float32)


def _json(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    value = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(value, dict):
        raise TypeError(f"{path.name} is no JSON object")
    return value


def _labels(config: dict[str, Any]) -> tuple[str, ...]:
    """Read the labels' names; where transformers leaves them out there are two."""
    named = config.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
    return tuple(str(named[key]) for key in sorted(named, key=int))


def _pooling(folder: Path) -> str:
    """Read how token vectors become one; refuse what is neither their mean nor the first."""
    modules = folder / "modules.json"
    if modules.is_file() and any(module["type"].endswith(".Dense") for module in json.loads(modules.read_bytes())):
        raise _unsupported(folder, "a dense layer after pooling")
    path = folder / "1_Pooling" / "config.json"
    if not path.is_file():
        return "mean"
    chosen = {name.removeprefix("pooling_mode_") for name, on in _json(path).items() if on is True}
    chosen &= {"cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken"}
    if chosen == {"mean_tokens"}:
        return "mean"
    if chosen == {"cls_token"}:
        return "cls"
    raise _unsupported(folder, f"pooling by {' and '.join(sorted(chosen)) or 'nothing known'}")


def _unsupported(folder: Path, what: str) -> ModelError:
    """Make the error for a model that this runtime does not compute."""
    return ModelError(
        f"{folder} needs {what}, which the built-in runtime does not have.",
        fix=f"Install the extra with `pip install 'pincite[torch]'` and name it 'st:{folder}'.",
    )


def _damaged(folder: Path, what: str) -> ModelDamaged:
    """Make the error for files that are not what they should be."""
    return ModelDamaged(f"{folder} holds no usable model: {what}.", fix="Download the model again.")


class _Graph:
    """Builds the operations; one method a part of the network."""

    def __init__(self, weights: dict[str, NDArray[np.float32]], config: BertConfig) -> None:
        """Take the weights, by their names in a plain BERT."""
        self.ov = import_openvino()
        self.op = self.ov.opset13
        self.config = config
        self.weights = {_plain(name): value for name, value in weights.items()}

    def labels(self) -> int:
        """Count the classifier's outputs."""
        return len(self.weights[f"{self.classifier()[1]}.weight"])

    def classifier(self) -> tuple[str, str]:
        """Name the two layers of the classifier: those of BERT, or those of RoBERTa and its kin."""
        if "classifier.out_proj.weight" in self.weights:
            return "classifier.dense", "classifier.out_proj"
        return "pooler.dense", "classifier"

    def model(self, head: Head) -> Any:
        """Join the parts."""
        ids = self.op.parameter([-1, -1], np.int64, name="input_ids")
        mask = self.op.parameter([-1, -1], np.int64, name="attention_mask")
        real = self.op.convert(mask, "f32")
        # minus a thousand millions for padding: softmax gives it exactly 0, and bfloat16 still holds it
        bias = self.op.multiply(self.op.subtract(real, self.const(1.0, np.float32)), self.const(1e9, np.float32))
        bias = self.op.unsqueeze(bias, self.const([1, 2]))
        kinds = None if head == "vector" else self.op.parameter([-1, -1], np.int64, name="token_type_ids")
        hidden = self.embed(ids, kinds)
        for layer in range(self.config.layers):
            hidden = self.layer(hidden, bias, f"encoder.layer.{layer}.")
        if head != "vector":
            logits = self.score(hidden) if head == "score" else self.linear(hidden, "classifier")
            return self.ov.Model([logits], [ids, mask, kinds], "classifier")
        unit = self.op.normalize_l2(self.pool(hidden, real), self.const([1]), 1e-12, "max")
        return self.ov.Model([unit], [ids, mask], "encoder")

    def embed(self, ids: Any, kinds: Any | None) -> Any:
        """Sum the word, position and type embeddings, then normalise; without ``kinds`` all tokens are of the first."""
        first, one = self.config.first_position, self.const(1)
        length = self.op.gather(self.op.shape_of(ids), one, self.const(0))
        places = self.op.range(self.const(first), self.op.add(length, self.const(first)), one, "i64")
        words = self.op.gather(self.weight("embeddings.word_embeddings.weight"), ids, self.const(0))
        positions = self.op.gather(self.weight("embeddings.position_embeddings.weight"), places, self.const(0))
        types = "embeddings.token_type_embeddings.weight"
        if kinds is None:
            kind = self.const(self.weights[types][0], np.float32)
        else:
            kind = self.op.gather(self.weight(types), kinds, self.const(0))
        return self.norm(self.op.add(words, self.op.add(positions, kind)), "embeddings.LayerNorm")

    def layer(self, x: Any, bias: Any, name: str) -> Any:
        """Self-attention, then the feed-forward part, each with its residual."""
        queries, keys, values = (
            self.split(self.linear(x, f"{name}attention.self.{part}")) for part in ("query", "key", "value")
        )
        mixed = self.op.scaled_dot_product_attention(queries, keys, values, bias)
        mixed = self.op.transpose(mixed, self.const([0, 2, 1, 3]))
        mixed = self.op.reshape(mixed, self.const([0, 0, self.config.width]), True)
        mixed = self.linear(mixed, f"{name}attention.output.dense")
        x = self.norm(self.op.add(mixed, x), f"{name}attention.output.LayerNorm")
        wide = self.op.gelu(self.linear(x, f"{name}intermediate.dense"), self.config.activation)
        return self.norm(self.op.add(self.linear(wide, f"{name}output.dense"), x), f"{name}output.LayerNorm")

    def pool(self, hidden: Any, real: Any) -> Any:
        """Take the first token's vector, or the mean over the real ones: (batch, width)."""
        if self.config.pooling == "cls":
            return self.op.gather(hidden, self.const(0), self.const(1))
        weight = self.op.unsqueeze(real, self.const(-1))
        total = self.op.reduce_sum(self.op.multiply(hidden, weight), self.const([1]))
        return self.op.divide(total, self.op.reduce_sum(weight, self.const([1])))

    def score(self, hidden: Any) -> Any:
        """Apply the classifier to the first token's vector: (batch, labels)."""
        dense, out = self.classifier()
        first = self.op.gather(hidden, self.const(0), self.const(1))
        return self.linear(self.op.tanh(self.linear(first, dense)), out)

    def split(self, x: Any) -> Any:
        """(batch, length, width) to (batch, heads, length, width / heads)."""
        heads = self.config.heads
        x = self.op.reshape(x, self.const([0, 0, heads, self.config.width // heads]), True)
        return self.op.transpose(x, self.const([0, 2, 1, 3]))

    def linear(self, x: Any, name: str) -> Any:
        """Multiply by the weight, transposed as torch stores it, and add the bias."""
        product = self.op.matmul(x, self.weight(f"{name}.weight"), False, True)
        return self.op.add(product, self.weight(f"{name}.bias"))

    def norm(self, x: Any, name: str) -> Any:
        """LayerNorm over the last axis."""
        x = self.op.mvn(x, self.const([-1]), True, self.config.epsilon, "inside_sqrt")
        return self.op.add(self.op.multiply(x, self.weight(f"{name}.weight")), self.weight(f"{name}.bias"))

    def weight(self, name: str) -> Any:
        """Give a weight as a constant that shares the mapped file's memory."""
        return self.op.constant(self.weights[name], shared_memory=True)

    def const(self, value: Any, dtype: type[np.generic] = np.int64) -> Any:
        """Make a small constant."""
        return self.op.constant(np.array(value, dtype=dtype))


def _plain(name: str) -> str:
    """Drop the prefix that a model with a head on top gives its encoder's weights."""
    return next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), name)
