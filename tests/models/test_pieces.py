import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.errors import ModelDamaged, ModelMissing
from pincite.models.pieces import WINDOW, WordPieces
from pincite.models.protocols import Pieces


@pytest.fixture(scope="module")
def pieces(encoder_folder):
    return WordPieces(encoder_folder / "tokenizer.json")


def test_the_shipped_file_truncates_and_pads_and_we_do_not(encoder_folder, pieces):
    shipped = json.loads((encoder_folder / "tokenizer.json").read_text())
    assert shipped["truncation"]["max_length"] == 128  # the trap is there
    assert isinstance(pieces, Pieces)
    assert pieces.count("word " * 1000) == 1000
    assert pieces.count("word") == 1


def test_control_tokens_in_a_document_are_plain_text(pieces):
    encoding = pieces.tokenizer.encode("[CLS] a [SEP]", add_special_tokens=False)
    assert encoding.tokens == ["[", "cl", "##s", "]", "a", "[", "sep", "]"]
    assert pieces.count("[CLS] a [SEP]") == 8


def test_an_endless_word_is_one_piece(pieces):
    assert pieces.count("f0" * 100) == 1


def test_starts_are_code_points(pieces):
    assert pieces.starts("👍 naïve 中文\ud800 x").tolist() == [0, 2, 8, 9, 12]


@given(st.text(alphabet=st.characters(), max_size=200))
@settings(deadline=None)
def test_count_is_the_number_of_starts(pieces, text):
    starts = pieces.starts(text)
    assert starts.dtype == np.int64
    assert pieces.count(text) == len(starts)
    assert all(0 <= a <= b < len(text) for a, b in pairwise([0, *starts.tolist()]))


@given(st.lists(st.text(max_size=30), max_size=6), st.sampled_from([" ", "\n", "\t", "\r\n"]))
@settings(deadline=None)
def test_counts_add_up_across_white_space(pieces, texts, space):
    assert pieces.count(space.join(texts)) == sum(pieces.count(text) for text in texts)


def test_windows_change_nothing(pieces):
    text = " ".join(f"Antidisestablishmentarianism{i} ünïcode, 中文!" for i in range(3 * WINDOW // 40))
    assert len(text) > 2 * WINDOW
    whole = pieces.tokenizer.encode(text, add_special_tokens=False)
    assert pieces.starts(text).tolist() == [start for start, _ in whole.offsets]
    assert pieces.count(text) == len(whole)


def test_a_missing_or_damaged_file_says_what_to_do(tmp_path):
    with pytest.raises(ModelMissing) as missing:
        WordPieces(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ModelDamaged) as damaged:
        WordPieces(tmp_path / "tokenizer.json")
    assert missing.value.fix and damaged.value.fix
