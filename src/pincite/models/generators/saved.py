"""The form in which OpenVINO keeps a GGUF model: quick to load, and exact.

openvino-genai reads GGUF files itself, with two faults that are mended here, once, when the saved form is made:

- It rounds the zero points of 4-bit blocks to whole numbers, which moves the weights of a Q4_1 file by 8 to 9 % (root
  mean square) and with them the model: over 407 tokens its next token was that of the exact weights in 68 % of places
  (KL divergence .32). Rows of 8-bit numbers with one scale each keep 92 % (KL .008) through OpenVINO's own bf16 and
  8-bit arithmetic; 4-bit blocks with exact zero points keep 95 % (KL .003), but start slower. 45 MB more.
- It leaves the layers nameless, so that a LoRA adapter is silently not applied.
"""

from __future__ import annotations

import glob
import hashlib
import json
import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.models.generators.gguf import PROJECTIONS, Q4_1, Tensor, read_gguf
from pincite.models.runtime import import_openvino

BLOBS = "blobs"  # compiled forms, by OpenVINO
_RECORD = "pincite.json"  # written last: sizes of the files, so that a torn form is never taken for a whole one
_FORMAT = 1
_log = logging.getLogger(__name__)


@contextmanager
def saved_form(gguf: Path, cache_dir: Path) -> Iterator[Path]:
    """Have the saved form of a model while it is loaded; made when it is not there, in a scratch folder and then moved.

    Args:
        gguf: the model file.
        cache_dir: where saved forms are kept. Where it cannot be written, the form is made anew each time.

    Yields:
        A folder with ``openvino_model.xml`` and ``.bin``.

    Raises:
        RuntimeError: openvino-genai cannot read the file.
    """
    form: Path | None = _place(gguf, cache_dir)
    if form and is_whole(form):
        yield form
        return
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix="making-", dir=cache_dir))
    except OSError as error:
        _log.warning("the saved form of %s cannot be kept: %s", gguf.name, error)
        scratch, form = Path(tempfile.mkdtemp(prefix="pincite-")), None
    try:
        make(gguf, scratch)
        yield _moved(scratch, form) if form else scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def discard(gguf: Path, cache_dir: Path) -> None:
    """Remove the model's saved form, if there is one."""
    shutil.rmtree(_place(gguf, cache_dir), ignore_errors=True)


def is_whole(form: Path) -> bool:
    """Tell whether the folder holds a form that was completed and whose files still have their sizes."""
    try:
        record = json.loads((form / _RECORD).read_text(encoding="utf-8"))
        return all((form / name).stat().st_size == size for name, size in record["files"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def make(gguf: Path, folder: Path) -> None:
    """Make the saved form in an empty folder; takes about 5 s for 135M parameters.

    Args:
        gguf: the model file.
        folder: where to.

    Raises:
        RuntimeError: openvino-genai cannot read the file.
    """
    openvino = import_openvino()
    import openvino_genai

    with tempfile.TemporaryDirectory(dir=folder) as raw:
        link = Path(raw, "model.gguf")
        try:
            link.symlink_to(gguf.resolve())
        except OSError:  # no symbolic links here
            shutil.copyfile(gguf, link)
        openvino_genai.LLMPipeline(link, "CPU", ATTENTION_BACKEND="SDPA", enable_save_ov_model=True)
        model = openvino.Core().read_model(Path(raw, "openvino_model.xml"))
        mend(model, gguf)
        openvino.save_model(model, folder / "openvino_model.xml", compress_to_fp16=False)
        del model  # it maps the raw form's weights
    files = {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
    (folder / _RECORD).write_text(json.dumps({"files": files}), encoding="utf-8")


def mend(model: Any, gguf: Path) -> None:
    """Name the layers' matrix products as Hugging Face does, and give those from Q4_1 exact weights.

    A model that is not laid out as expected is left as it is: it works, less exactly, and takes no adapter.

    Args:
        model: of OpenVINO, as openvino-genai reads it; changed in place.
        gguf: the file that it came from.
    """
    metadata, tensors = read_gguf(gguf)
    architecture = metadata["general.architecture"]
    layers = metadata[f"{architecture}.block_count"]
    products = _products(model)[: layers * len(PROJECTIONS)]
    places = [(layer, *names) for layer in range(layers) for names in PROJECTIONS.items()]
    found = [tensors.get(f"blk.{layer}.{short}.weight") for layer, _, short in places]
    if [_shape(product) for product in products] != [tensor.shape if tensor else None for tensor in found]:
        _log.warning("%s is laid out in an unknown way: its weights are rounded, and adapters do not fit it", gguf.name)
        return
    heads = {"attn_q": metadata[f"{architecture}.attention.head_count"]}
    heads["attn_k"] = metadata.get(f"{architecture}.attention.head_count_kv", heads["attn_q"])
    for product, (layer, name, short), tensor in zip(products, places, found, strict=True):
        product.set_friendly_name(f"model.layers.{layer}.{name}")
        if tensor is not None and tensor.kind == Q4_1:
            weights = dequantize(gguf, tensor)
            if architecture == "llama" and short in heads:
                weights = unpermute(weights, heads[short])
            product.input(1).replace_source_output(_int8(weights))
    model.validate_nodes_and_infer_types()


def dequantize(gguf: Path, tensor: Tensor) -> NDArray[np.float32]:
    """Read a Q4_1 tensor: (rows, columns), float32; weight = scale * number + minimum, by blocks of 32."""
    rows, columns = tensor.shape
    blocks = np.memmap(gguf, np.uint8, "r", tensor.offset, (rows, columns // 32, 20))
    scale = blocks[..., 0:2].copy().view("<f2").astype(np.float32)
    minimum = blocks[..., 2:4].copy().view("<f2").astype(np.float32)
    packed = blocks[..., 4:]  # the low halves hold the first 16 numbers
    numbers = np.concatenate([packed & 15, packed >> 4], axis=-1)
    weights: NDArray[np.float32] = (scale * numbers + minimum).reshape(rows, columns)
    return weights


def unpermute(weights: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Undo the order of rows within each head that GGUF has for the llama architecture's rotary pairs."""
    rows = len(weights)
    return weights.reshape(heads, rows // heads // 2, 2, -1).swapaxes(1, 2).reshape(rows, -1)


def _int8(weights: NDArray[np.float32]) -> Any:
    """Give the weights as rows of 8-bit numbers with one scale each: an output of an OpenVINO graph, float32."""
    ops = import_openvino().opset13
    scale = np.maximum(np.abs(weights).max(axis=1, keepdims=True), np.float32(1e-8)) / np.float32(127)
    numbers = ops.convert(ops.constant(np.rint(weights / scale).astype(np.int8)), "f16")
    product = ops.multiply(numbers, ops.constant(scale.astype(np.float16)))
    return ops.convert(product, "f32").output(0)


def _products(model: Any) -> list[Any]:
    """List the matrix products with constant weights in the order in which openvino-genai made them."""
    products = [
        node
        for node in model.get_ordered_ops()
        if node.get_type_name() == "MatMul" and _origin(node.input_value(1).get_node()).get_type_name() == "Constant"
    ]
    numbered = [node for node in products if node.get_friendly_name().rpartition("_")[2].isdigit()]
    return sorted(numbered, key=lambda node: int(node.get_friendly_name().rpartition("_")[2]))


def _origin(node: Any) -> Any:
    """Follow first inputs to where a value comes from."""
    while node.get_input_size():
        node = node.input_value(0).get_node()
    return node


def _shape(product: Any) -> tuple[int, ...]:
    """Give the shape of a matrix product's weights."""
    return tuple(int(size) for size in product.input_value(1).get_shape())


def _place(gguf: Path, cache_dir: Path) -> Path:
    """Name the form after the file, and the versions of the file, of OpenVINO and of this module."""
    from importlib.metadata import version

    file = gguf.stat()
    facts = [_FORMAT, file.st_size, file.st_mtime_ns, version("openvino"), version("openvino-genai")]
    return cache_dir / f"{gguf.stem}-{hashlib.blake2b(json.dumps(facts).encode(), digest_size=6).hexdigest()}"


def _moved(scratch: Path, form: Path) -> Path:
    """Put a finished form in its place, unless another process was quicker; drop forms that it replaces."""
    if not is_whole(form):
        shutil.rmtree(form, ignore_errors=True)
        try:
            scratch.rename(form)
        except OSError:
            return form if is_whole(form) else scratch
    prefix = form.name.rpartition("-")[0]
    for other in form.parent.glob(f"{glob.escape(prefix)}-*"):
        if other != form and other.name.removeprefix(f"{prefix}-").isalnum():
            shutil.rmtree(other, ignore_errors=True)
    return form
