"""The vocabulary of a GGUF file against openvino-genai's own tokenizer, and against hostile files and text."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.errors import ModelDamaged, ModelMissing
from pincite.models.generators.gguf import read_gguf
from pincite.models.generators.vocabulary import Vocabulary
from pincite.models.runtime import import_openvino

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>", "<filename>", "<file_sep>", "<empty_output>"]


@pytest.fixture(scope="module")
def vocabulary(generator_file: Path) -> Vocabulary:
    return Vocabulary(generator_file)


@pytest.fixture(scope="module")
def oracle(generator_file: Path):
    import_openvino()
    import openvino_genai

    return openvino_genai.Tokenizer(generator_file)


def decode(vocabulary: Vocabulary, ids: list[int]) -> str:
    step = vocabulary.decoder()
    return "".join(step(number) for number in ids)


TEXTS = [
    "A KV cache stores the keys and values of earlier tokens.",
    "x = 3.14159 # π\n\tif a<b: return -1",
    "1234567890 2026-11-30",
    "naïve Straße ΑΒΓ привет",
    "日本語のテキスト。ภาษาไทย",
    "👩‍👩‍👧‍👦 e\u0301 \u202eabc",
    "a\r\nb\n\n\n  c\u00a0d",
    "\x00\x01",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_those_of_an_independent_tokenizer(vocabulary, oracle, text):
    expected = oracle.encode(text, add_special_tokens=False).input_ids.data.ravel().tolist() if text else []
    assert vocabulary.encode(text) == expected
    assert vocabulary.count(text) == len(expected)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from([*CONTROL, "<s>", "[INST]", "system\n", "<|", "|>", "\ud800"]) | st.text(), max_size=8))
def test_no_text_ever_becomes_a_control_token_and_none_is_lost(vocabulary, parts):
    text = "".join(parts)
    assert all(vocabulary.is_plain(number) for number in vocabulary.encode(text))
    text = "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    text = "".join(character for character in text if not lacking(character))
    assert decode(vocabulary, vocabulary.encode(text)) == text


def lacking(character):
    """Whether SmolLM2's vocabulary lacks a byte of the character."""
    return character in "\x04\x06\x13\x14\x16\x1d" or character.encode()[0] in (0xF1, 0xF2)


def test_control_tokens_are_known_by_name_and_show_nothing(vocabulary):
    assert [vocabulary.control(token) for token in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")] == [0, 1, 2]
    assert vocabulary.control("the") is None
    assert vocabulary.control("<|no such|>") is None
    assert vocabulary.end_id == 2
    assert decode(vocabulary, [1, 2, 0]) == ""


def test_a_piece_never_splits_a_character(vocabulary):
    text = "日本👩‍👧é"
    step, pieces = vocabulary.decoder(), []
    for number in vocabulary.encode(text):
        pieces.append(step(number))
    assert "".join(pieces) == text
    assert "\ufffd" not in "".join(pieces)
    assert "" in pieces  # the test means nothing unless a token holds part of a character


def test_context_is_the_models(vocabulary):
    assert vocabulary.context_tokens == 8192


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GGUF",
        b"not a model at all, only text",
        struct.pack("<4sIQQ", b"GGUF", 9, 0, 0),
        struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + struct.pack("<Q", 1 << 62),
        struct.pack("<4sIQQ", b"GGUF", 3, 1 << 60, 0),
        struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + struct.pack("<Q1sIIQ", 1, b"k", 9, 8, 1 << 50),
        struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + struct.pack("<Q1sIIQ", 1, b"k", 9, 77, 1),
        struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + struct.pack("<Q1sI", 1, b"k", 9) + struct.pack("<IQ", 9, 1) * 5000,
    ],
)
def test_a_file_that_is_no_gguf_is_refused(tmp_path, data):
    file = tmp_path / "model.gguf"
    file.write_bytes(data)
    with pytest.raises(ModelDamaged) as caught:
        read_gguf(file)
    assert caught.value.fix


def test_a_torn_file_is_refused(tmp_path, generator_file):
    head = generator_file.read_bytes()[:400_000]
    (tmp_path / "model.gguf").write_bytes(head)
    with pytest.raises(ModelDamaged):
        Vocabulary(tmp_path / "model.gguf")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ModelMissing, match="no model file"):
        Vocabulary(tmp_path / "absent.gguf")


def test_another_kind_of_vocabulary_is_refused_not_guessed(tmp_path):
    def string(text):
        return struct.pack("<Q", len(text)) + text.encode()

    def texts(key, values):
        return string(key) + struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(string, values))

    pairs = [
        string("general.architecture") + struct.pack("<I", 8) + string("llama"),
        string("llama.context_length") + struct.pack("<II", 4, 64),
        string("tokenizer.ggml.pre") + struct.pack("<I", 8) + string("unheard-of"),
        texts("tokenizer.ggml.tokens", ["a", "b"]),
        texts("tokenizer.ggml.merges", []),
        string("tokenizer.ggml.token_type") + struct.pack("<IIQii", 9, 5, 2, 1, 1),
        string("tokenizer.ggml.eos_token_id") + struct.pack("<II", 4, 1),
    ]
    file = tmp_path / "model.gguf"
    file.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, len(pairs)) + b"".join(pairs))
    with pytest.raises(ModelDamaged, match="unheard-of"):
        Vocabulary(file)
    file.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, 2) + b"".join(pairs[:2]))
    with pytest.raises(ModelDamaged, match="vocabulary"):
        Vocabulary(file)


def test_tensors_are_where_the_reference_reader_says(generator_file):
    gguf = pytest.importorskip("gguf", reason="the reference reader of GGUF is not installed")
    reference = {
        t.name: (tuple(int(n) for n in reversed(t.shape)), int(t.tensor_type), int(t.data_offset))
        for t in gguf.GGUFReader(generator_file).tensors
    }
    _, tensors = read_gguf(generator_file)
    assert {name: (t.shape, t.kind, t.offset) for name, t in tensors.items()} == reference
