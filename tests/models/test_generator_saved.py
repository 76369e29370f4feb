"""The saved form: made once, never half, remade when torn, done without where nothing can be written."""

from __future__ import annotations

import json
import shutil

import pytest

from pincite.errors import DiskFull, ModelDamaged
from pincite.models.generators import saved
from pincite.models.generators.openvino import OpenVinoGenerator
from pincite.models.generators.saved import is_whole, saved_form
from tests.models.lora import make_adapter


@pytest.fixture
def gguf(tmp_path):
    file = tmp_path / "tiny-model.gguf"
    file.write_bytes(b"GGUF")
    return file


@pytest.fixture
def made(monkeypatch):
    """Replace the slow making by a quick one, and count."""
    calls = []

    def make(gguf, folder):
        calls.append(folder)
        (folder / "openvino_model.xml").write_text("<net/>")
        (folder / "openvino_model.bin").write_bytes(bytes(100))
        files = {"openvino_model.xml": 6, "openvino_model.bin": 100}
        (folder / "pincite.json").write_text(json.dumps({"files": files, "model": str(gguf.resolve())}))

    monkeypatch.setattr(saved, "make", make)
    return calls


def test_a_form_is_made_once_and_left_nothing_beside_it(gguf, tmp_path, made):
    cache = tmp_path / "cache"
    with saved_form(gguf, cache) as first:
        assert is_whole(first)
    with saved_form(gguf, cache) as second:
        assert second == first
    assert len(made) == 1
    assert list(cache.iterdir()) == [first]


@pytest.mark.parametrize(
    "harm",
    [
        lambda form: (form / "openvino_model.bin").write_bytes(bytes(99)),
        lambda form: (form / "openvino_model.bin").unlink(),
        lambda form: (form / "pincite.json").unlink(),
        lambda form: (form / "pincite.json").write_text("{"),
        lambda form: (form / "pincite.json").write_text("[]"),
    ],
)
def test_a_torn_form_is_made_again(gguf, tmp_path, made, harm):
    with saved_form(gguf, tmp_path / "cache") as form:
        harm(form)
    assert not is_whole(form)
    with saved_form(gguf, tmp_path / "cache") as form:
        assert is_whole(form)
    assert len(made) == 2


def test_a_changed_model_replaces_its_form_but_no_other_models(gguf, tmp_path, made):
    cache, other = tmp_path / "cache", tmp_path / "elsewhere" / gguf.name
    other.parent.mkdir()
    other.write_bytes(b"GGUF other")
    with saved_form(other, cache) as kept, saved_form(gguf, cache) as old:
        pass
    gguf.write_bytes(b"GGUF changed")
    with saved_form(gguf, cache) as new:
        pass
    assert sorted(cache.iterdir()) == sorted([kept, new])
    assert new != old


def test_where_nothing_can_be_written_the_form_is_temporary(gguf, tmp_path, made):
    (tmp_path / "file").write_text("")
    with saved_form(gguf, tmp_path / "file" / "cache") as form:
        assert is_whole(form)
    assert not form.exists()


def test_a_full_disk_is_named_before_anything_is_made(gguf, tmp_path, made, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(100, 99, 1))
    with pytest.raises(DiskFull, match="MB left") as caught, saved_form(gguf, tmp_path / "cache"):
        pass
    assert "PINCITE_MODELS" in caught.value.fix
    assert made == []
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_failed_making_leaves_nothing(gguf, tmp_path, monkeypatch):
    def fails(gguf, folder):
        (folder / "openvino_model.xml").write_text("half")
        raise RuntimeError("no space")

    monkeypatch.setattr(saved, "make", fails)
    with pytest.raises(RuntimeError), saved_form(gguf, tmp_path / "cache"):
        pass
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_form_that_openvino_cannot_read_is_a_damaged_model_and_is_made_again(generator_file, tmp_path, made):
    """Right sizes, wrong content: the first load fails, the form goes, and the next making is asked for."""
    with pytest.raises(ModelDamaged) as caught:
        OpenVinoGenerator(generator_file, cache_dir=tmp_path / "cache")
    assert caught.value.fix
    assert len(made) == 2
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)


class Mute:
    """A model without any matrix product."""

    def get_ordered_ops(self):
        return []


def test_a_model_laid_out_in_another_way_is_left_alone_and_takes_no_adapter(generator_file, tmp_path, monkeypatch):
    from pincite.models.generators import mend, openvino

    assert mend.mend(Mute(), generator_file) is False

    def make(gguf, folder):
        (folder / "pincite.json").write_text(json.dumps({"files": {"pincite.json": 0}, "mended": False}))

    monkeypatch.setattr(saved, "make", make)
    with pytest.raises(ModelDamaged, match="no adapter fits"):
        OpenVinoGenerator(generator_file, cache_dir=tmp_path / "cache", adapter=make_adapter(tmp_path / "adapter"))
    assert openvino.takes_adapters(tmp_path) is False
