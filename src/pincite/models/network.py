"""BERT-family networks, compiled for the CPU and fed in batches: what encoders and rerankers share."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pincite.models.bert import BertConfig, Head, build_graph
from pincite.models.pieces import WordPieces
from pincite.models.runtime import import_openvino

Precision = Literal["auto", "f32", "bf16"]

# Of a batch, padding included. Larger batches only pad more: measured 65 passages a second of processor time at 512 and
# 1,024 pieces, 61 at 2,048, 59 at 4,096; padding lengths to multiples of 8, for fewer shapes, costs another 6 %.
BATCH_PIECES = 1024
_LEAST_PIECES = 256  # of a batch that was cut smaller so that every stream has one: below, calls cost too much
# Many texts: batches run beside each other, one a stream, with the machine's threads divided among them. Streams of one
# thread wait for nobody: against one stream of two threads, measured on two cores without AMX, 1.12 to 1.24 times the
# passages a second of processor time, and 1.3 times those of a clock second on busy cores.
_MOST_STREAMS = 8
# One text: all threads together, in 4.5 ms instead of 6.6 on two idle cores, though in 1.3 times the processor time.
_ONE_STREAM = 1
_MUCH = 8 * BATCH_PIECES  # from here on it is worth 0.3 s to compile the streams; less work takes what there is
# Somebody waits for few texts, a question or the sentences of an answer; nobody for the many of an ``add``. So their
# batches give way while few are computed, or were just now, but never long (bench/speed/serve.py).
_JUST_NOW = 0.05  # seconds since the last of the few
_LONGEST_WAIT = 0.15  # seconds that one batch gives way


class Network:
    """A network that is built when first needed. May be used from several threads."""

    def __init__(
        self,
        folder: Path,
        config: BertConfig,
        pieces: WordPieces,
        *,
        head: Head = "vector",
        labels: int = 1,
        precision: Precision = "auto",
        threads: int = 0,
    ) -> None:
        """Remember what to build.

        Args:
            folder: the model's files.
            config: what ``read_config`` gave for it.
            pieces: its tokenizer; says what pads.
            head: what the network gives for a row.
            labels: of the classifier, where that is the head.
            precision: of matrix products. "auto" is bfloat16 where the processor multiplies it itself (AMX or
                AVX512-BF16), where it was measured 1.8 times as quick as float32, and float32 elsewhere.
            threads: 0 for as many as there are cores.
        """
        self._folder, self._config, self._head = folder, config, head
        self._width = config.width if head == "vector" else labels
        self._padding = _padding_id(pieces)
        self._precision = precision
        self._threads = threads
        self._lock = Lock()  # one thread compiles
        self._made: dict[int, _Streams] = {}
        self._few = _Few()

    @property
    def precision(self) -> str:
        """The precision of matrix products: "bf16" or "f32"."""
        if self._precision != "auto":
            return self._precision
        return "bf16" if "BF16" in _core().get_property("CPU", "OPTIMIZATION_CAPABILITIES") else "f32"

    def prepare(self, *, many: bool = False) -> None:
        """Build and compile now; otherwise the first ``compute`` does it.

        Args:
            many: for many rows at a time, otherwise for one.

        Raises:
            ModelError: the weights cannot be used.
        """
        self._compiled(_MOST_STREAMS if many and self._threads != 1 else _ONE_STREAM)

    def compute(self, rows: Sequence[Sequence[int]], kinds: Sequence[Sequence[int]] = ()) -> NDArray[np.float32]:
        """Compute rows in batches of nearly equal length, several at a time.

        Args:
            rows: ids with special tokens, none longer than the model reads.
            kinds: for a network with a classifier, the token type of each id; what the model has no type for (RoBERTa
                has one) counts as its last.

        Returns:
            (len(rows), width of the vectors or number of labels), float32, in the order given; of tokens, (len(rows),
            length of the longest row, number of labels), and what stands behind a row's own length means nothing.

        Raises:
            ModelError: the weights cannot be used.
        """
        lengths = [len(row) for row in rows]
        longest = (max(lengths, default=0),) if self._head == "tokens" else ()
        results = np.zeros((len(rows), *longest, self._width), dtype=np.float32)
        if not rows:
            return results
        streams, many = self._streams_for(lengths), sum(lengths) > _MUCH
        share = sum(lengths) // streams.count
        chosen = list(batches(lengths, max(_LEAST_PIECES, min(BATCH_PIECES, share))))

        def fill(batch: list[int]) -> None:
            inputs = [
                padded([rows[index] for index in batch], self._padding),
                padded([[1] * lengths[index] for index in batch], 0),
            ]
            if self._head != "vector":
                inputs.append(np.minimum(padded([kinds[index] for index in batch], 0), self._config.kinds - 1))
            if many:
                self._few.give_way()
            computed = streams.infer(inputs)
            if self._head == "tokens":
                results[batch, : computed.shape[1]] = computed
            else:
                results[batch] = computed

        with nullcontext() if many else self._few:
            if len(chosen) == 1:
                fill(chosen[0])
            else:
                list(streams.workers.map(fill, reversed(chosen)))  # longest first: they end at about one time
        return results

    def _streams_for(self, lengths: Sequence[int]) -> _Streams:
        """Choose how to compute rows: a lone one by all threads together, unless another thread asks meanwhile."""
        if self._threads == 1:
            return self._compiled(_ONE_STREAM)
        if len(lengths) > 1 and (_MOST_STREAMS in self._made or sum(lengths) > _MUCH):
            return self._compiled(_MOST_STREAMS)
        together = self._compiled(_ONE_STREAM)
        return together if together.idle else self._compiled(_MOST_STREAMS)

    def _compiled(self, streams: int) -> _Streams:
        """Give the network compiled for at most so many streams, made when first needed."""
        with self._lock:
            if streams not in self._made:
                options: dict[str, Any] = {
                    "NUM_STREAMS": streams,  # it makes fewer where there are fewer cores
                    "ENABLE_CPU_PINNING": False,  # a pinned thread waits for its core while another one is free
                    "INFERENCE_PRECISION_HINT": self.precision,
                }
                if self._threads:
                    options["INFERENCE_NUM_THREADS"] = self._threads
                graph = build_graph(self._folder, self._config, self._head, self._width)
                self._made[streams] = _Streams(_core().compile_model(graph, "CPU", options))
            return self._made[streams]


class _Few:
    """Computations of few texts, for which somebody waits."""

    def __init__(self) -> None:
        """None so far."""
        self._lock, self._now, self._last = Lock(), 0, -math.inf

    def __enter__(self) -> None:
        with self._lock:
            self._now += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._now -= 1
            self._last = time.monotonic()

    def give_way(self) -> None:
        """Let them go first, for a while."""
        until = time.monotonic() + _LONGEST_WAIT
        while (self._now or time.monotonic() - self._last < _JUST_NOW) and time.monotonic() < until:
            time.sleep(0.005)


class _Streams:
    """A compiled network and its streams."""

    def __init__(self, compiled: Any) -> None:
        """Make one request and one thread for each stream; the threads start when first needed."""
        self.count = int(compiled.get_property("NUM_STREAMS"))
        self.workers = ThreadPoolExecutor(self.count, "pincite-network")
        self._idle: SimpleQueue[Any] = SimpleQueue()
        for _ in range(self.count):
            self._idle.put(compiled.create_infer_request())

    @property
    def idle(self) -> bool:
        """Whether a batch would be computed at once."""
        return not self._idle.empty()

    def infer(self, inputs: Sequence[NDArray[np.int64]]) -> NDArray[np.float32]:
        """Compute one batch, each input (rows, padded length), on one stream; wait for one if none is idle."""
        request = self._idle.get()
        try:
            results: NDArray[np.float32] = request.infer(inputs, share_inputs=True)[0]
            return results
        finally:
            self._idle.put(request)


def _core() -> Any:
    """Give OpenVINO's entry point; making one is cheap, the plugins behind it are shared."""
    return import_openvino().Core()


def _padding_id(pieces: WordPieces) -> int:
    """Find the padding token's id; padding is masked, so that any id would do."""
    found = (pieces.tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>"))
    return next((identifier for identifier in found if identifier is not None), 0)


def batches(lengths: Sequence[int], most: int = BATCH_PIECES) -> Iterator[list[int]]:
    """Cut indices, sorted by length, into batches of at most ``most`` pieces, padding included, or of one text."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: (lengths[index], index)):
        if batch and (len(batch) + 1) * lengths[index] > most:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def padded(rows: Sequence[Sequence[int]], value: int) -> NDArray[np.int64]:
    """Bring rows to the length of the longest, (rows, padded length), int64, with ``value`` at the end."""
    length = max(len(row) for row in rows)
    full = np.full((len(rows), length), value, dtype=np.int64)
    for index, row in enumerate(rows):
        full[index, : len(row)] = row
    return full
