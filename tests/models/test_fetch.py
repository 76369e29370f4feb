"""Models arrive whole and checked, or not at all. The index and the hub are loopback servers and local folders."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pincite.errors import ModelDamaged, ModelDownload, ModelError, ModelMissing, ModelUnknown
from pincite.models import catalog, download, fetch
from pincite.models.catalog import CATALOG, Hub, Model, ModelFile, Wheel
from pincite.models.fetch import ensure, list_models

CONTENTS = {"config.json": b"{}", "tokenizer.json": b"[]", "model.safetensors": bytes(range(256)) * 4096}
NAME = "tiny"


def file_of(path: str, data: bytes) -> ModelFile:
    return ModelFile(path, hashlib.sha256(data).hexdigest(), len(data))


FILES = tuple(file_of(path, data) for path, data in CONTENTS.items())


def build_wheel(folder: Path, contents: dict[str, bytes], package: str = "tiny-model") -> Wheel:
    """Write a wheel that pip accepts, with code in it that must never run."""
    folder.mkdir(parents=True, exist_ok=True)
    module, info = package.replace("-", "_"), f"{package.replace('-', '_')}-1.0.dist-info"
    path = folder / f"{module}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{module}/__init__.py", "raise SystemExit('the code of a wheel was run')")
        for name, data in contents.items():
            archive.writestr(f"{module}/model/{name}", data)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    data = path.read_bytes()
    return Wheel(package, "1.0", hashlib.sha256(data).hexdigest(), len(data), f"{module}/model/")


@pytest.fixture
def wheelhouse(tmp_path, monkeypatch) -> Path:
    """A folder that pip takes wheels from, and no index."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return tmp_path / "wheels"


@pytest.fixture
def known(monkeypatch):
    """Put a model into the catalogue for one test."""

    def add(*sources: Wheel | Hub, files: tuple[ModelFile, ...] = FILES) -> Model:
        model = Model(NAME, "encoder", "MIT", files, sources)
        monkeypatch.setitem(CATALOG, NAME, model)
        return model

    return add


class Hubs(ThreadingHTTPServer):
    """A hub: files by path, and what was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.stall = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: Hubs

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        data = self.server.files.get(self.path)
        self.send_response(200 if data is not None else 404)
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        if data is None:
            return
        self.wfile.write(data[: len(data) // 2])
        self.wfile.flush()
        if self.server.stall.is_set():
            time.sleep(60)
        self.wfile.write(data[len(data) // 2 :])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def hub(monkeypatch):
    server = Hubs()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def serve(hub: Hubs, repository: str, contents: dict[str, bytes] = CONTENTS, revision: str = "main") -> None:
    hub.files |= {f"/{repository}/resolve/{revision}/{path}": data for path, data in contents.items()}


def holds(folder: Path) -> dict[str, bytes]:
    return {path: (folder / path).read_bytes() for path in CONTENTS if (folder / path).is_file()}


def leftovers(models_dir: Path) -> list[Path]:
    return list(models_dir.glob(".partial-*"))


# --- where it comes from


def test_wheel_gives_its_data_through_pip(wheelhouse, known, tmp_path):
    model = known(build_wheel(wheelhouse, CONTENTS))
    seen: list[tuple[str, int, int]] = []
    folder = ensure(NAME, models_dir=tmp_path / "m", progress=lambda *row: seen.append(row))
    assert holds(folder) == CONTENTS
    assert {path.name for path in folder.iterdir()} == {*CONTENTS, "pincite.json"}  # no code, no metadata
    assert seen[-1] == (NAME, model.sources[0].size, model.sources[0].size)
    assert [row[1] for row in seen] == sorted(row[1] for row in seen)
    assert leftovers(tmp_path / "m") == []


def test_hub_is_next_when_the_index_has_nothing(wheelhouse, known, hub, tmp_path):
    wheelhouse.mkdir()
    known(Wheel("tiny-model", "1.0", "0" * 64, 10, "x/"), Hub("org/tiny", "abc"))
    serve(hub, "org/tiny", revision="abc")
    seen: list[int] = []
    folder = ensure(NAME, models_dir=tmp_path / "m", progress=lambda _name, done, _total: seen.append(done))
    assert holds(folder) == CONTENTS
    assert seen[-1] == sum(map(len, CONTENTS.values()))


def test_without_pip_the_one_that_python_brings_is_used(known, wheelhouse, tmp_path, monkeypatch):
    import importlib.util

    if not list((Path(importlib.util.find_spec("ensurepip").origin).parent / "_bundled").glob("pip-*.whl")):
        pytest.skip("this Python was built without its own pip")
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "pip" else real(name, *rest))
    assert "ensurepip" in download._pip()[1]
    known(build_wheel(wheelhouse, CONTENTS))
    assert holds(ensure(NAME, models_dir=tmp_path / "m")) == CONTENTS


def test_without_any_pip_the_error_says_so(monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    with pytest.raises(ModelDownload, match="no pip"):
        download._pip()


def test_any_encoder_on_the_hub_by_its_name(hub, tmp_path):
    serve(hub, "org/other", {**CONTENTS, "1_Pooling/config.json": b"{}", "pytorch_model.bin": b"pickle"})
    folder = ensure("org/other", models_dir=tmp_path)
    assert holds(folder) == CONTENTS and (folder / "1_Pooling/config.json").is_file()
    assert not any(path.endswith(".bin") for path in hub.asked)
    asked = len(hub.asked)
    assert ensure("org/other", models_dir=tmp_path, offline=True) == folder and len(hub.asked) == asked
    assert "org/other" in {row.name for row in list_models(tmp_path)}
    (folder / "model.safetensors").write_bytes(b"changed")
    with pytest.raises(ModelDamaged):
        ensure("org/other", models_dir=tmp_path)


def test_hub_encoder_without_safetensors_is_refused(hub, tmp_path):
    serve(hub, "org/old", {"config.json": b"{}", "tokenizer.json": b"{}", "pytorch_model.bin": b"pickle"})
    with pytest.raises(ModelDownload, match=r"model\.safetensors answers 404"):
        ensure("org/old", models_dir=tmp_path)
    assert not (tmp_path / "org--old").exists() and leftovers(tmp_path) == []


def test_local_folder_and_file_are_taken_as_they_are(tmp_path):
    for path, data in CONTENTS.items():
        (tmp_path / path).write_bytes(data)
    assert ensure(str(tmp_path), models_dir=tmp_path / "m", offline=True) == tmp_path.resolve()
    (tmp_path / "own.gguf").write_bytes(b"GGUF")
    assert ensure(str(tmp_path / "own.gguf"), models_dir=tmp_path / "m") == (tmp_path / "own.gguf").resolve()
    with pytest.raises(ModelDamaged, match="neither a folder nor a GGUF"):
        ensure(str(tmp_path / "config.json"), models_dir=tmp_path / "m")
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(ModelDamaged, match=r"has no model\.safetensors"):
        ensure(str(tmp_path), models_dir=tmp_path / "m")
    assert not (tmp_path / "m").exists()


# --- what must not happen


def test_offline_asks_nobody_and_says_what_to_do(known, hub, tmp_path):
    known(Hub("org/tiny"))
    with pytest.raises(ModelMissing, match="tiny is not in") as caught:
        ensure(NAME, models_dir=tmp_path, offline=True)
    assert "pincite models pull tiny" in caught.value.fix
    assert hub.asked == [] and list(tmp_path.iterdir()) == []


def test_second_start_hashes_nothing(known, hub, tmp_path, monkeypatch):
    known(Hub("org/tiny"))
    serve(hub, "org/tiny")
    folder = ensure(NAME, models_dir=tmp_path)
    asked, hashed = len(hub.asked), []
    monkeypatch.setattr(fetch, "sha256_of", lambda path: hashed.append(path.name) or catalog.sha256_of(path))
    assert ensure(NAME, models_dir=tmp_path) == folder and hashed == []
    os.utime(folder / "config.json", (1, 1))  # touched, and the same: hashed once, then known again
    assert ensure(NAME, models_dir=tmp_path) == folder and hashed == ["config.json"]
    assert ensure(NAME, models_dir=tmp_path) == folder and hashed == ["config.json"]
    assert len(hub.asked) == asked
    assert fetch.known_sha256(folder / "config.json") == FILES[0].sha256 and hashed == ["config.json"]


def test_files_put_there_by_hand_are_checked_and_taken(known, hub, tmp_path):
    known(Hub("org/tiny"))
    (tmp_path / NAME).mkdir()
    for path, data in CONTENTS.items():
        (tmp_path / NAME / path).write_bytes(data)
    assert ensure(NAME, models_dir=tmp_path, offline=True) == tmp_path / NAME and hub.asked == []


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: b"\x01" + data[1:], lambda data: b""])
def test_damaged_file_is_named_with_both_hashes_and_pull_mends_it(known, hub, tmp_path, damage):
    known(Hub("org/tiny"))
    serve(hub, "org/tiny")
    path = ensure(NAME, models_dir=tmp_path) / "model.safetensors"
    path.write_bytes(damage(CONTENTS["model.safetensors"]))
    os.utime(path, (2, 2))
    actual, asked = hashlib.sha256(path.read_bytes()).hexdigest(), len(hub.asked)
    with pytest.raises(ModelDamaged) as caught:
        ensure(NAME, models_dir=tmp_path)
    assert all(part in str(caught.value) for part in (str(path), FILES[2].sha256, actual))
    assert "pincite models pull tiny" in caught.value.fix
    assert len(hub.asked) == asked  # nothing is downloaded behind one's back
    assert holds(ensure(NAME, models_dir=tmp_path, repair=True)) == CONTENTS


def test_removed_file_is_downloaded_again(known, hub, tmp_path):
    known(Hub("org/tiny"))
    serve(hub, "org/tiny")
    (ensure(NAME, models_dir=tmp_path) / "tokenizer.json").unlink()
    with pytest.raises(ModelMissing):
        ensure(NAME, models_dir=tmp_path, offline=True)
    assert holds(ensure(NAME, models_dir=tmp_path)) == CONTENTS


def test_other_content_is_never_kept(wheelhouse, known, hub, tmp_path):
    pinned = build_wheel(wheelhouse, CONTENTS)
    build_wheel(wheelhouse, {**CONTENTS, "config.json": b'{"evil": 1}'})  # the index now gives another one
    known(pinned, Hub("org/tiny"))
    serve(hub, "org/tiny", {**CONTENTS, "model.safetensors": b"x" * len(CONTENTS["model.safetensors"])})
    with pytest.raises(ModelDownload, match=r"tiny_model-1\.0.*SHA-256.*; .*model\.safetensors has SHA-256"):
        ensure(NAME, models_dir=tmp_path / "m")
    assert not (tmp_path / "m" / NAME).exists() and leftovers(tmp_path / "m") == []


def test_wheel_with_a_swollen_member_is_refused_before_it_fills_the_disk(wheelhouse, known, tmp_path):
    bomb = build_wheel(wheelhouse, {**CONTENTS, "model.safetensors": b"\0" * (64 << 20)})
    known(bomb)
    with pytest.raises(ModelDownload, match=r"model\.safetensors is larger than"):
        ensure(NAME, models_dir=tmp_path / "m")
    assert not (tmp_path / "m" / NAME).exists()


def test_wheel_that_lacks_a_file_is_refused(wheelhouse, known, tmp_path):
    known(build_wheel(wheelhouse, {"config.json": b"{}"}))
    with pytest.raises(ModelDownload, match=r"tokenizer\.json"):
        ensure(NAME, models_dir=tmp_path / "m")


def test_unreachable_network_says_so(known, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    known(Hub("org/tiny"))
    with pytest.raises(ModelDownload, match="cannot be reached") as caught:
        ensure(NAME, models_dir=tmp_path)
    assert "network" in caught.value.fix and leftovers(tmp_path) == []


def test_no_room_says_how_much_is_needed(known, hub, tmp_path, monkeypatch):
    known(Hub("org/tiny"))
    monkeypatch.setattr(fetch.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000})())
    with pytest.raises(ModelDownload, match=r"no room in .* for tiny: about 3 MB are needed .*1000 are free") as caught:
        ensure(NAME, models_dir=tmp_path)
    assert "PINCITE_MODELS" in caught.value.fix and hub.asked == []


def test_folder_that_cannot_be_made_says_so(known, tmp_path):
    known(Hub("org/tiny"))
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelError, match="cannot be used"):
        ensure(NAME, models_dir=tmp_path / "file" / "models")


def test_unknown_names_show_the_closest(tmp_path):
    with pytest.raises(ModelUnknown) as caught:
        ensure("all-MiniLM-L6", models_dir=tmp_path)
    assert caught.value.fix.startswith("Did you mean all-MiniLM-L6-v2")


# --- kills and company

PULL = """
import sys
from pathlib import Path
from pincite.models.catalog import CATALOG, Hub, Model, ModelFile
from pincite.models.fetch import ensure
files = tuple(ModelFile(*row) for row in {rows!r})
CATALOG["tiny"] = Model("tiny", "encoder", "MIT", files, (Hub("org/tiny"),))
ensure("tiny", models_dir=Path(sys.argv[1]))
"""


def start_pull(models_dir: Path) -> subprocess.Popen[bytes]:
    rows = [(file.path, file.sha256, file.size) for file in FILES]
    return subprocess.Popen([sys.executable, "-c", PULL.format(rows=rows), str(models_dir)])


def wait_for(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_kill_in_the_middle_leaves_nothing_that_looks_whole(known, hub, tmp_path):
    known(Hub("org/tiny"))
    serve(hub, "org/tiny")
    hub.stall.set()
    process = start_pull(tmp_path)
    wait_for(lambda: any(path.stat().st_size for path in tmp_path.glob(".partial-tiny.*/*")) or hub.asked)
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    assert leftovers(tmp_path) and list_models(tmp_path)[-1].status == "missing"
    with pytest.raises(ModelMissing):
        ensure(NAME, models_dir=tmp_path, offline=True)
    hub.stall.clear()
    assert holds(ensure(NAME, models_dir=tmp_path)) == CONTENTS
    assert leftovers(tmp_path) == []


def test_two_pulls_at_once_download_once(known, hub, tmp_path):
    known(Hub("org/tiny"))
    serve(hub, "org/tiny")
    processes = [start_pull(tmp_path) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert sorted(hub.asked) == sorted(f"/org/tiny/resolve/main/{path}" for path in CONTENTS)
    assert holds(tmp_path / NAME) == CONTENTS


def test_list_says_ready_missing_damaged(known, hub, tmp_path):
    known(Hub("org/tiny"))
    serve(hub, "org/tiny")

    def row():
        return next(row for row in list_models(tmp_path) if row.name == NAME)

    assert (row().status, row().path, row().size) == ("missing", "", sum(map(len, CONTENTS.values())))
    folder = ensure(NAME, models_dir=tmp_path)
    assert (row().status, row().path) == ("ready", str(folder))
    (folder / "model.safetensors").write_bytes(b"")
    assert row().status == "damaged"


def test_catalogue_is_complete():
    for model in CATALOG.values():
        assert all(len(file.sha256) == 64 and file.size > 0 for file in model.files)
        assert [type(source) for source in model.sources] == [Wheel, Hub]
        assert all(file.path.endswith((".json", ".safetensors", ".gguf")) for file in model.files)
