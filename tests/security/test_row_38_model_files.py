"""A model's file with one other byte, one missing, one longer: refused by name, and nothing is fetched unasked."""

from __future__ import annotations

import shutil
import socket

import pytest

from pincite.serve.cli.main import main

FILES = ("model.safetensors", "tokenizer.json", "config.json", "1_Pooling/config.json")


@pytest.fixture
def models(encoder_folder, tmp_path, monkeypatch):
    """A folder of models with the encoder; no network."""
    folder = tmp_path / "models"
    shutil.copytree(encoder_folder, folder / encoder_folder.name)
    monkeypatch.setenv("PINCITE_MODELS", str(folder))
    monkeypatch.setenv("PINCITE_GENERATOR", "none")

    def refuse(*_given):
        raise AssertionError("something was fetched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    return folder / encoder_folder.name


def change(path, way: str) -> None:
    data = bytearray(path.read_bytes())
    if way == "flipped":
        data[len(data) // 2] ^= 1
    elif way == "longer":
        data += b"\0"
    path.unlink()
    if way != "missing":
        path.write_bytes(data)


@pytest.mark.parametrize("way", ["flipped", "longer", "missing"])
@pytest.mark.parametrize("name", FILES)
def test_row_38_a_changed_file_is_refused_by_name(models, tmp_path, capsys, name, way):
    library = ["--library", str(tmp_path / "l.pincite"), "--offline"]
    (tmp_path / "a.md").write_text("The weir is good.")
    assert main([*library, "add", str(tmp_path / "a.md")]) == 0
    change(models / name, way)
    (tmp_path / "a.md").write_text("The weir is bad now.")
    assert main([*library, "add", str(tmp_path / "a.md")]) == 4
    said = capsys.readouterr()
    assert "pincite models pull" in said.out + said.err
    assert main([*library, "search", "weir", "--mode", "keyword"]) == 0  # what needs no model goes on
    assert main([*library, "doctor"]) == 4


def test_row_38_a_whole_model_is_used_without_the_network(models, tmp_path):
    (tmp_path / "a.md").write_text("The weir is good.")
    library = ["--library", str(tmp_path / "l.pincite")]
    assert main([*library, "add", str(tmp_path / "a.md")]) == 0
    assert main([*library, "search", "weir"]) == 0
