"""Templates in model files are looked at, never run."""

from __future__ import annotations

import sys
import time

import pytest

from pincite.models.generators import chat

ATTACKS = (
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{% for x in range(10**12) %}{% endfor %}",
    "{{ cycler.__init__.__globals__.os.system('touch CANARY') }}",
    "{{ 'a' * 10**12 }}",
    "{% raw %}" + "{{" * 100_000,
    "<|im_start|>system\n" + "x" * 5_000_000,
)


@pytest.mark.parametrize("template", ATTACKS)
def test_row_11_a_template_of_a_gguf_file_is_text(tmp_path, monkeypatch, template):
    monkeypatch.setitem(sys.modules, "jinja2", None)  # nobody may import it
    monkeypatch.chdir(tmp_path)
    started = time.process_time()
    assert isinstance(chat.default_system(template.replace("CANARY", str(tmp_path / "canary"))), str)
    assert time.process_time() - started < 1
    assert not (tmp_path / "canary").exists()


def test_row_11_transformers_renders_in_a_sandbox_that_is_closed():
    """The extra hands templates to transformers: its sandbox must be the immutable one, in a version that holds."""
    utils = pytest.importorskip("transformers.utils.chat_template_utils", reason="the extra torch is not installed")
    jinja2 = pytest.importorskip("jinja2")
    assert tuple(int(part) for part in jinja2.__version__.split(".")[:3]) >= (3, 1, 6)
    compiled = utils._compile_jinja_template("{{ messages.append('x') }}{{ ''.__class__.__mro__ }}")
    with pytest.raises(jinja2.exceptions.SecurityError):
        compiled.render(messages=[])
