"""A name of a model never brings code along, and nothing is fetched before all else was refused."""

from __future__ import annotations

import json
import shutil
import socket

import pytest

import pincite
from pincite.errors import PinciteError, SettingError
from pincite.models.load import load_encoder, load_generator, load_reranker
from pincite.serve.cli.main import main


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Refuse and record every connection."""
    tried: list[object] = []

    def refuse(_self: socket.socket, address: object) -> None:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    return tried


@pytest.mark.parametrize("field", ["trust_remote_code", "revision", "code_revision", "auto_map"])
def test_row_10_there_is_no_setting_that_trusts_code(tmp_path, no_network, monkeypatch, field):
    with pytest.raises((SettingError, TypeError)):
        pincite.open(tmp_path / "l.pincite", encoder="attacker/model", **{field: True})
    monkeypatch.setenv(f"PINCITE_{field.upper()}", "true")
    assert main(["--library", str(tmp_path / "l.pincite"), "search", "x"]) == 2
    assert not no_network


@pytest.mark.parametrize(
    "name", ["../../etc", "a/../../b", "attacker/model", "file:///etc/passwd", "attacker/model\0", "", "-e git+x"]
)
def test_row_10_no_name_leads_outside_or_to_the_network_when_offline(tmp_path, no_network, name):
    for load in (load_encoder, load_reranker, load_generator):
        with pytest.raises(PinciteError) as caught:
            load(name, models_dir=tmp_path / "models", offline=True)
        assert caught.value.fix
    assert not no_network
    assert not (tmp_path / "models").exists() or not any((tmp_path / "models").rglob("*.py"))


def test_row_10_code_beside_the_weights_is_not_run(encoder_folder, tmp_path):
    folder, canary = tmp_path / "model", tmp_path / "canary"
    shutil.copytree(encoder_folder, folder)
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "modeling_evil.Evil", "AutoConfig": "modeling_evil.Evil"}
    (folder / "config.json").write_text(json.dumps(config))
    for name in ("modeling_evil.py", "__init__.py", "sitecustomize.py"):
        (folder / name).write_text(f"open({str(canary)!r}, 'w')")
    assert load_encoder(str(folder), models_dir=tmp_path, offline=True).encode(["weir"]).shape == (1, 384)
    assert not canary.exists()
