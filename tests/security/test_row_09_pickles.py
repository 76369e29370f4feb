"""Nothing is unpickled: not from the library's folder, not from a model's, and no line of the package could."""

from __future__ import annotations

import ast
import pickle
import shutil
from pathlib import Path

import pytest

import pincite
from pincite.errors import ModelError
from pincite.models.load import load_encoder, load_generator, load_reranker, load_verifier
from tests.fakes import HashEncoder
from tests.security.test_row_07_parser_code import Touch

PACKAGE = Path(pincite.__file__).parent
UNSAFE_MODULES = {
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "joblib",
    "shelve",
    "marshal",
    "yaml",
    "jsonpickle",
    "msgpack",
}
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__"}


def test_row_09_no_line_of_the_package_unpickles_or_evaluates():
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            where = f"{path.relative_to(PACKAGE)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Import):
                assert UNSAFE_MODULES.isdisjoint(alias.name.split(".")[0] for alias in node.names), where
            elif isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] not in UNSAFE_MODULES, where
            elif isinstance(node, ast.Call):
                assert not (isinstance(node.func, ast.Name) and node.func.id in UNSAFE_CALLS), where
                for word in node.keywords:
                    trusting = word.arg in ("allow_pickle", "trust_remote_code", "allow_dangerous_deserialization")
                    assert not trusting or (isinstance(word.value, ast.Constant) and word.value.value is False), where
                called = ast.unparse(node.func)
                assert called not in ("np.load", "numpy.load") or "allow_pickle=False" in ast.unparse(node), where
                assert not called.endswith("torch.load"), where
            elif isinstance(node, ast.Dict):  # options on their way to a call
                pairs = zip(node.keys, node.values, strict=True)
                for key, value in pairs:
                    if isinstance(key, ast.Constant) and key.value in ("trust_remote_code", "use_safetensors"):
                        assert ast.unparse(value) == str(key.value == "use_safetensors"), where


def test_row_09_pickles_in_place_of_the_derived_files_are_not_loaded(library, docs, tmp_path):
    canary = tmp_path / "canary"
    data = pickle.dumps(Touch(canary))
    for number in range(300):
        (docs / f"{number}.md").write_text(f"Weir {number} is good.")
    library.add(docs)
    library.close()
    derived = [path for path in library.path.rglob("*") if path.is_file() and not path.name.startswith("catalog")]
    assert len(derived) > 5
    for path in derived:
        path.write_bytes(data)
    (library.path / "index.pkl").write_bytes(data)
    with pincite.open(library.path, encoder=HashEncoder(), generator="none") as again:
        assert again.search("weir", limit=3).hits
    assert not canary.exists()


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin", "tokenizer.json", "config.json"])
def test_row_09_a_pickle_in_a_models_folder_is_refused(encoder_folder, tmp_path, name):
    canary, folder = tmp_path / "canary", tmp_path / "model"
    shutil.copytree(encoder_folder, folder)
    if name == "pytorch_model.bin":
        (folder / "model.safetensors").unlink()
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_bytes(pickle.dumps(Touch(canary)))
    for load in (load_encoder, load_reranker, load_verifier):
        with pytest.raises(ModelError) as caught:
            loaded = load(str(folder), models_dir=tmp_path, offline=True)
            loaded.encode(["a"]) if load is load_encoder else loaded.score("a", ["b"])
        assert caught.value.fix
    assert not canary.exists()


def test_row_09_a_pickle_as_a_generator_is_refused(tmp_path):
    canary, file = tmp_path / "canary", tmp_path / "model.gguf"
    file.write_bytes(pickle.dumps(Touch(canary)))
    with pytest.raises(ModelError):
        load_generator(str(file), models_dir=tmp_path, offline=True)
    assert not canary.exists()
