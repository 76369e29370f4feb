"""BERT-family networks, compiled for the CPU and fed in batches: what encoders and rerankers share."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Lock
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
_WARM = 16  # pieces of a row by which the weights are laid out: a usual question's
# One text: all threads together, in 4.5 ms instead of 6.6 on two idle cores, though in 1.3 times the processor time.
_ONE_STREAM = 1
_MUCH = 8 * BATCH_PIECES  # from here on it is worth 0.3 s to compile the streams; less work takes what there is
# Somebody waits for few texts, a question or the sentences of an answer; nobody for the many of an ``add``. So batches
# of many wait for the few, but never long, and are small then; beside each other both would take several times as long.
_MANY = 2 * BATCH_PIECES  # more are many
_JUST_NOW = 0.05  # seconds since the last of the few, in which more are expected
_LONGEST_WAIT = 0.1  # seconds that a batch waits
_LATELY = 2.0  # seconds since the last of the few, in which batches are small


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
        self._turns = _Turns()

    @property
    def precision(self) -> str:
        """The precision of matrix products: "bf16" or "f32"."""
        if self._precision != "auto":
            return self._precision
        return "bf16" if "BF16" in _core().get_property("CPU", "OPTIMIZATION_CAPABILITIES") else "f32"

    def prepare(self, *, many: bool = False) -> None:
        """Build and compile now, and lay the weights out for a question; otherwise the first ``compute`` does it.

        Args:
            many: for many rows at a time, otherwise for one.

        Raises:
            ModelError: the weights cannot be used.
        """
        if many and self._threads != 1:
            self._compiled(_MOST_STREAMS)
        else:
            self.compute([[self._padding] * _WARM], [[0] * _WARM])

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
        streams, many = self._streams_for(lengths), sum(lengths) > _MANY
        share = sum(lengths) // streams.count
        most = _LEAST_PIECES if many and self._turns.lately else BATCH_PIECES
        chosen = list(batches(lengths, max(_LEAST_PIECES, min(most, share))))

        def fill(batch: list[int]) -> None:
            inputs = [
                padded([rows[index] for index in batch], self._padding),
                padded([[1] * lengths[index] for index in batch], 0),
            ]
            if self._head != "vector":
                inputs.append(np.minimum(padded([kinds[index] for index in batch], 0), self._config.kinds - 1))
            computed = streams.infer(inputs)
            if self._head == "tokens":
                results[batch, : computed.shape[1]] = computed
            else:
                results[batch] = computed

        chosen.reverse()  # longest first: so streams end at about the same time
        width = streams.count if many else len(chosen)
        for start in range(0, len(chosen), width):
            with self._turns.many() if many else self._turns.few():
                if width == 1:
                    fill(chosen[start])
                else:  # no thread of these waits for a turn: the others need them
                    list(streams.workers.map(fill, chosen[start : start + width]))
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


class _Turns:
    """Lets few texts go before many, and neither beside the other."""

    def __init__(self) -> None:
        """Nothing runs."""
        self._changed = Condition()
        self._few_wait = self._few_run = self._many_run = 0
        self._last = -math.inf  # when the last few ended

    @property
    def lately(self) -> bool:
        """Whether there were few texts, a moment ago."""
        return self._are_few_within(_LATELY)

    @contextmanager
    def few(self) -> Iterator[None]:
        """Compute few, as soon as no batches of many are being computed."""
        with self._changed:
            self._few_wait += 1
            try:
                self._changed.wait_for(lambda: not self._many_run)
            finally:
                self._few_wait -= 1
            self._few_run += 1
        try:
            yield
        finally:
            with self._changed:
                self._few_run -= 1
                self._last = time.monotonic()
                self._changed.notify_all()

    @contextmanager
    def many(self) -> Iterator[None]:
        """Compute batches of many when there are no few, or after a while before those that have not come yet.

        Never before few that wait: these wait for nothing but many, and would until of many callers none runs.
        """
        until = time.monotonic() + _LONGEST_WAIT
        with self._changed:
            while self._few_wait or (self._are_few_within(_JUST_NOW) and time.monotonic() < until):
                self._changed.wait(0.01)
            self._many_run += 1
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._few_run)
            yield
        finally:
            with self._changed:
                self._many_run -= 1
                self._changed.notify_all()

    def _are_few_within(self, seconds: float) -> bool:
        """Tell whether there are few, or were so many seconds ago."""
        return self._few_wait + self._few_run > 0 or time.monotonic() - self._last < seconds


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
