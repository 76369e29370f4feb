"""Text that means an object to some serialiser is text before and after it was kept."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pincite
from pincite.types import Turn
from tests.fakes import HashEncoder

OBJECTS = (
    '{"lc": 1, "type": "secret", "id": ["OPENAI_API_KEY"]}',
    '{"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "touch canary"}}',
    "!!python/object/apply:os.system ['touch canary']",
    '{"__class__": "os.system", "__reduce__": ["touch canary"]}',
    '{"py/object": "os.system", "$ref": "#/", "@type": "x", "__proto__": {"admin": true}}',
    "{{ env.OPENAI_API_KEY }} ${OPENAI_API_KEY} %(OPENAI_API_KEY)s {0.__class__} $OPENAI_API_KEY",
    "&a [*a, *a]",
    "gASVHAAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAR0cnVllIWUUpQu",
)


@pytest.mark.parametrize("text", OBJECTS)
def test_row_32_documents_keep_it_as_text(library, docs, monkeypatch, text):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-CANARY")
    monkeypatch.chdir(docs)
    library.add_text("note:1", f"The weir is good. {text}", title=text, metadata={"object": text, text: "weir"})
    for name in ("a.json", "a.yaml", "a.jsonl", "a.toml", "a.ipynb", "a.md"):
        (docs / name).write_text(f"---\nobject: {text}\n---\n\nThe weir is good.\n" if name == "a.md" else text + "\n")
    library.add(docs)
    library.close()
    with pincite.open(library.path, encoder=HashEncoder(), generator="none") as again:
        document = again.document("note:1")
        assert document.text == f"The weir is good. {text}"
        assert dict(document.metadata) == {"object": text, text: "weir"}
        said = "".join(again.document(r.source.uri).text for r in again.list() if r.version)
        hits = again.search(text).hits
        answer = again.ask(f"Is the weir good? {text}", extract=True, history=[Turn(text, text, ())])
    assert "sk-CANARY" not in said + str(hits) + str(answer)
    assert not os.path.lexists("canary")


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda part: st.lists(part) | st.dictionaries(st.text(), part),
)


@given(value=PLAIN)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_row_32_any_json_is_only_text(library, value):
    text = json.dumps({"lc": 1, "type": "constructor", "kwargs": value}, ensure_ascii=False)
    library.add_text("note:any", f"x {text}", metadata={"any": text})
    document = library.document("note:any")
    assert document.text == f"x {text}"
    assert document.metadata["any"] == text
