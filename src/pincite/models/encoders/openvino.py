"""The default encoder: a BERT-family model on OpenVINO."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pincite.models.bert import build_graph, read_config
from pincite.models.fetch import known_sha256
from pincite.models.pieces import WordPieces
from pincite.models.protocols import Pieces
from pincite.models.runtime import import_openvino
from pincite.text import printable_surrogates

# Of a batch, padding included. Larger batches only pad more: measured 65 passages a second of processor time at 512 and
# 1,024 pieces, 61 at 2,048, 59 at 4,096; padding lengths to multiples of 8, for fewer shapes, costs another 6 %.
_BATCH_PIECES = 1024
_LEAST_PIECES = 256  # of a batch that was cut smaller so that every stream has one: below, calls cost too much
# Batches run beside each other, one a stream, with the machine's threads divided among them. Streams of one thread wait
# for nobody: against one stream of two threads, measured on two cores without AMX, 1.12 times the passages a second of
# processor time; on busy cores 1.7 times those of a clock second, and a question in 6 ms instead of 17.
_MOST_STREAMS = 8


class OpenVinoEncoder:
    """Texts to unit vectors, on the CPU. May be called from several threads.

    The vector space does not depend on the precision: bfloat16 turns a vector by a cosine of less than 1e-3, far less
    than what separates two passages. So one fingerprint covers both, and a library may move between machines.

    Attributes:
        name (str): as it was asked for.
        fingerprint (str): of the vector space.
        dimension (int): of a vector.
        max_pieces (int): per text, special tokens not included.
        pieces (Pieces): counts as the encoder does.
    """

    name: str
    fingerprint: str
    dimension: int
    max_pieces: int
    pieces: Pieces

    def __init__(
        self, folder: Path, *, name: str, precision: Literal["auto", "f32", "bf16"] = "auto", threads: int = 0
    ) -> None:
        """Read the configuration and the tokenizer; the network itself is built when first needed.

        Args:
            folder: the model's files.
            name: how the model is called in messages and in the fingerprint.
            precision: of matrix products. "auto" is bfloat16 where the processor multiplies it itself (AMX or
                AVX512-BF16), where it was measured 1.8 times as quick as float32, and float32 elsewhere.
            threads: 0 for as many as there are cores.

        Raises:
            ModelError: the model is of a kind that cannot be computed here.
        """
        self._folder = folder
        self._config = read_config(folder)
        self._threads = threads
        self._precision = precision
        self._lock = Lock()  # one thread compiles
        self._made: _Network | None = None
        self.name = name
        self.dimension = self._config.width
        pieces = WordPieces(folder / "tokenizer.json")
        self.pieces = pieces
        self._tokenizer = pieces.tokenizer
        special = len(self._tokenizer.encode("", add_special_tokens=True).ids)
        self.max_pieces = self._config.max_pieces - special
        self._padding = _padding_id(pieces)
        weights, tokenizer = (known_sha256(folder / part)[:16] for part in ("model.safetensors", "tokenizer.json"))
        form = f"{self._config.pooling} l2 prefix= max={self.max_pieces}"
        self.fingerprint = f"{name} weights={weights} tokenizer={tokenizer} {form}"

    @property
    def precision(self) -> str:
        """The precision of matrix products: "bf16" or "f32"."""
        if self._precision != "auto":
            return self._precision
        return "bf16" if "BF16" in _core().get_property("CPU", "OPTIMIZATION_CAPABILITIES") else "f32"

    def prepare(self) -> None:
        """Build and compile the network now; otherwise the first ``encode`` does it."""
        _ = self._network

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts in batches of nearly equal length, several at a time.

        Args:
            texts: any Unicode strings; control tokens such as ``[SEP]`` in them are plain text.

        Returns:
            (len(texts), dimension), float32, each row of length 1, in the order given.

        Raises:
            ValueError: a text is longer than ``max_pieces``; nothing is ever cut silently.
        """
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        if not texts:
            return vectors
        encodings = self._tokenizer.encode_batch_fast([printable_surrogates(text) for text in texts])
        rows = [encoding.ids for encoding in encodings]
        self._refuse_long(rows)
        network = self._network
        lengths = [len(row) for row in rows]
        share = sum(lengths) // network.streams
        batches = list(_batches(lengths, max(_LEAST_PIECES, min(_BATCH_PIECES, share))))

        def fill(chosen: list[int]) -> None:
            vectors[chosen] = network.infer(*_padded([rows[index] for index in chosen], self._padding))

        if len(batches) == 1:
            fill(batches[0])
        else:
            list(network.workers.map(fill, reversed(batches)))  # longest first: so streams end at about the same time
        return vectors

    @property
    def _network(self) -> _Network:
        """The compiled network, made when first needed."""
        with self._lock:
            if self._made is None:
                options: dict[str, Any] = {
                    "NUM_STREAMS": _MOST_STREAMS,  # it makes fewer where there are fewer cores
                    "ENABLE_CPU_PINNING": False,  # a pinned thread waits for its core while another one is free
                    "INFERENCE_PRECISION_HINT": self.precision,
                }
                if self._threads:
                    options["INFERENCE_NUM_THREADS"] = self._threads
                self._made = _Network(_core().compile_model(build_graph(self._folder, self._config), "CPU", options))
            return self._made

    def _refuse_long(self, rows: Sequence[Sequence[int]]) -> None:
        """Say which text is too long."""
        for index, row in enumerate(rows):
            if len(row) > self._config.max_pieces:
                over = len(row) - self._config.max_pieces + self.max_pieces
                raise ValueError(f"text {index} has {over} word pieces; {self.name} takes {self.max_pieces}")


class _Network:
    """A compiled network and its streams. May be used from several threads."""

    def __init__(self, compiled: Any) -> None:
        """Make one request and one thread for each stream; the threads start when first needed."""
        self.streams = int(compiled.get_property("NUM_STREAMS"))
        self.workers = ThreadPoolExecutor(self.streams, "pincite-encoder")
        self._idle: SimpleQueue[Any] = SimpleQueue()
        for _ in range(self.streams):
            self._idle.put(compiled.create_infer_request())

    def infer(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        """Compute one batch, (rows, padded length), on one stream; wait for one if none is idle."""
        request = self._idle.get()
        try:
            vectors: NDArray[np.float32] = request.infer([ids, mask], share_inputs=True)[0]
            return vectors
        finally:
            self._idle.put(request)


def _core() -> Any:
    """Give OpenVINO's entry point; making one is cheap, the plugins behind it are shared."""
    return import_openvino().Core()


def _padding_id(pieces: WordPieces) -> int:
    """Find the padding token's id; padding is masked, so that any id would do."""
    found = (pieces.tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>"))
    return next((identifier for identifier in found if identifier is not None), 0)


def _batches(lengths: Sequence[int], most: int = _BATCH_PIECES) -> Iterator[list[int]]:
    """Cut indices, sorted by length, into batches of at most ``most`` pieces, padding included, or of one text."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: (lengths[index], index)):
        if batch and (len(batch) + 1) * lengths[index] > most:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _padded(rows: Sequence[Sequence[int]], padding: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Make ids and mask, both (rows, padded length), int64, with padding at the end."""
    length = max(len(row) for row in rows)
    ids = np.full((len(rows), length), padding, dtype=np.int64)
    mask = np.zeros((len(rows), length), dtype=np.int64)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return ids, mask
