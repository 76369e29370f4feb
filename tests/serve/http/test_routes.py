"""Search, check, why, passages and what the server tells of itself; the document that describes the routes is true."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest

from pincite.access import Principal
from pincite.library import Library
from pincite.serve import shapes
from pincite.serve.http.app import create_app
from pincite.serve.keys import Keys
from pincite.store.filters import Is
from pincite.types import Turn
from tests.serve.http.conftest import Serve

QUESTION = "What does a KV cache store?"
REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "http.md"


def own(shape: object) -> dict:
    return json.loads(shapes.to_json(shape))


def plain(shape: dict) -> dict:
    """Leave out what depends on the moment: times, and how old a look at the disk is."""
    left = {key: value for key, value in shape.items() if key not in ("trace", "stale")}
    return left | {"findings": [finding for finding in shape.get("findings", ()) if finding["kind"] != "stale"]}


def test_a_search_is_that_of_the_library(client: httpx.Client, library: Library) -> None:
    body = {"question": QUESTION, "limit": 1, "mode": "keyword", "explain": True}
    found = client.post("/v1/search", json=body).json()
    assert plain(found) == plain(own(shapes.search_json(library.search(QUESTION, limit=1, mode="keyword"), library)))
    [hit] = found["hits"]
    assert "cache" in " ".join(hit["matched"]).lower()


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ({"field": "title", "is": "Bread"}, {"bread.md"}),
        ({"field": "title", "in": ["Bread", "Caches"]}, {"bread.md", "caches.md"}),
        ({"field": "title", "from": "Bread", "to": "Bz"}, {"bread.md"}),
        ({"field": "path", "glob": "*/caches.md"}, {"caches.md"}),
        ({"not": {"field": "title", "is": "Bread"}}, {"caches.md"}),
        ({"and": [{"field": "language", "is": "en"}, {"field": "title", "is": "Bread"}]}, {"bread.md"}),
        ({"or": []}, set()),
        ({"and": []}, {"bread.md", "caches.md"}),
    ],
)
def test_a_filter_keeps_the_rest_out(client: httpx.Client, where: dict, names: set[str]) -> None:
    found = client.post("/v1/search", json={"question": "bread cache tokens oven", "where": where}).json()
    assert {hit["uri"].rpartition("/")[2] for hit in found["hits"]} == names


@pytest.mark.parametrize(
    "where",
    [
        {"field": "x"}, {"is": "x"}, {"field": "x", "is": "y", "in": []}, {"field": "", "is": "x"}, {"and": {}}, [],
        "x", {"field": "title", "from": 1, "to": "x"}, {"field": "title", "is": None}, {"not": {}},
        {"field": 1, "is": 1},
        {"field": "x') OR '1'='1", "is": {"a": 1}}, {"field": "title", "is": "x", "more": 1},
    ],
)  # fmt: skip
def test_a_filter_that_is_none_is_refused(client: httpx.Client, where: object) -> None:
    refused = client.post("/v1/search", json={"question": "x", "where": where})
    if where != {"field": "x"}:  # an open range: every document that has the field
        assert refused.status_code in (400, 422)
        assert set(refused.json()["error"]) == {"code", "message", "fix"}


@pytest.mark.parametrize("path", ["/v1/search", "/v1/ask", "/v1/check", "/v1/why"])
@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{}", b"{", b'"x"', b"\xff", b'{"question": 1}', b'{"question": "x", "evil": true}',
     b'{"text": "x", "model": "evil"}', b'{"question": "x", "target": "y", "encoder": "evil"}'],
)  # fmt: skip
def test_a_malformed_body_is_refused_in_the_one_form(client: httpx.Client, path: str, body: bytes) -> None:
    refused = client.post(path, content=body, headers={"content-type": "application/json"})
    assert refused.status_code in (400, 422)
    error = refused.json()["error"]
    assert set(error) == {"code", "message", "fix"}
    assert error["fix"]
    assert '"evil"' not in refused.text, "values are not repeated"


def test_a_check_is_that_of_the_library(client: httpx.Client, library: Library) -> None:
    text = "The oven is heated to 250 degrees. The oven is heated to 900 degrees."
    checked = client.post("/v1/check", json={"text": text}).json()
    assert plain(checked) == plain(own(shapes.check_json(text, library.check(text))))
    assert checked["claims"][0]["verdict"] == "supported"
    assert client.post("/v1/check", json={"text": "\n"}).json()["claims"] == []


def test_why_is_that_of_the_library(client: httpx.Client, library: Library) -> None:
    target = next(record.source.uri for record in library.list() if record.source.uri.endswith("bread.md"))
    why = client.post(
        "/v1/why", json={"question": "When does bread rise?", "target": target, "quote": "overnight"}
    ).json()
    assert plain(why) == plain(own(shapes.why_json(library.why("When does bread rise?", target, quote="overnight"))))
    assert why["uri"] == target
    question, history = "And at what temperature?", [{"question": "When does sourdough bread rise?"}]
    how = {"history": history, "where": {"field": "title", "is": "Bread"}, "mode": "keyword", "limit": 1}
    options = {"history": [Turn("When does sourdough bread rise?")], "where": Is("title", "Bread")}
    asked = {"question": question, "target": target, "quote": "24 degrees"}
    follow_up = client.post("/v1/why", json=asked | how).json()
    same = library.why(question, target, quote="24 degrees", mode="keyword", limit=1, **options)
    assert plain(follow_up) == plain(own(shapes.why_json(same)))
    assert follow_up["places"] != client.post("/v1/why", json=asked | how | {"history": []}).json()["places"]
    elsewhere = client.post("/v1/why", json=asked | {"where": {"not": {"field": "title", "is": "Bread"}}}).json()
    assert (elsewhere["found"], elsewhere["stage"]) == (False, "filtered_out")


def test_why_tells_a_reader_nothing_of_the_disk(serve: Serve, library: Library, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("The password is swordfish.")
    keys = Keys(library.path)
    headers = {"authorization": f"Bearer {keys.add('anna')}"}
    url = f"{serve(keys=keys)}v1/why"
    there, absent = (
        httpx.post(url, json={"question": "password?", "target": str(tmp_path / name)}, headers=headers).json()
        for name in ("secret.md", "absent.md")
    )
    for answer in (there, absent):
        assert answer["stage"] == "document_missing"
    assert there["reason"] == absent["reason"].replace("absent.md", "secret.md")


def test_a_passage_comes_with_what_stands_around_it(client: httpx.Client, library: Library) -> None:
    [hit, *_] = library.search(QUESTION).hits
    text = library.document(hit.passage.uri).text
    got = client.get(f"/v1/passages/{hit.passage.id}", params={"around": 7}).json()
    assert got["passage"] == own(shapes.passage_json(hit.passage))
    whole = got["before"] + got["passage"]["text"] + got["after"]
    start = hit.passage.start - len(got["before"])
    assert whole == text[start : start + len(whole)]
    assert len(got["before"]) == min(7, hit.passage.start)
    assert got["document"]["uri"] == hit.passage.uri
    assert not got["document"]["stale"]
    for wrong in ("x", f"{hit.passage.id}0", "../../etc/passwd", "%00", "é"):
        assert client.get(f"/v1/passages/{wrong}").status_code == 404
    assert client.get(f"/v1/passages/{hit.passage.id}", params={"around": -1}).status_code == 422


def test_text_that_is_no_unicode_text_travels(client: httpx.Client, library: Library) -> None:
    library.add_text("note:odd", "Gryphons \ud800 hoard \x00 gold in nests.", title="Odd \udfff")
    found = client.post("/v1/search", json={"question": "gryphons hoard gold"})
    assert found.status_code == 200
    hit = found.json()["hits"][0]
    assert hit["text"] == "Gryphons \ud800 hoard \x00 gold in nests."
    assert (
        client.get(f"/v1/passages/{hit['passage_id']}", params={"around": 9}).json()["document"]["title"]
        == "Odd \udfff"
    )
    answer = client.post("/v1/ask", json={"question": "What do gryphons hoard?"}).json()
    assert answer["citations"][0]["uri"] == "note:odd"
    question = b'{"question": "gryphons \\ud800?"}'
    assert client.post("/v1/ask", content=question, headers={"content-type": "application/json"}).status_code == 422


def test_a_history_helps_to_understand(client: httpx.Client) -> None:
    first = client.post("/v1/ask", json={"question": QUESTION}).json()
    turn = {"question": QUESTION, "answer": first["text"], "citations": first["citations"]}
    second = client.post("/v1/ask", json={"question": "And what does it avoid?", "history": [turn]})
    assert second.status_code == 200, second.text
    assert any(stage["name"] == "understand" for stage in second.json()["trace"]["stages"])


def test_what_the_server_tells_of_itself(client: httpx.Client) -> None:
    me = client.get("/v1/me").json()
    assert me == {"name": "owner", "role": "admin", "grants": None, "keys": False, "read_only": False}
    library = client.get("/v1/library").json()
    assert (library["documents"], library["stale"], library["models"]["generator"]) == (2, [], "none")
    ready = client.get("/ready")
    assert (ready.status_code, ready.json()) == (200, {"ready": True, "loading": []})


def test_counts_and_times_are_told_under_routes_not_paths(client: httpx.Client) -> None:
    for path in ("/v1/passages/secret@1:0-9", "/nothing/secret", "/v1/search"):
        client.get(path)
    text = client.get("/metrics").text
    assert 'pincite_requests_total{route="/v1/passages/{passage_id}",method="GET",status="404"} 1' in text
    assert 'pincite_requests_total{route="other",method="GET",status="404"} 1' in text
    assert "secret" not in text
    for line in text.splitlines():
        assert re.fullmatch(r"# TYPE \w+ (counter|histogram|gauge)|\w+(\{[^}]*(\{\w+\}[^}]*)*\})? [0-9.e+-]+", line), (
            line
        )


def test_grants_hold_on_these_routes(serve: Serve, library: Library) -> None:
    bread = next(record.source.uri for record in library.list() if record.source.uri.endswith("bread.md"))
    [passage, *_] = library.search("bread", mode="keyword").hits
    library.label(bread, ["kitchen"])
    keys = Keys(library.path)
    token = keys.add("anna")
    with httpx.Client(base_url=serve(keys=keys), headers={"authorization": f"Bearer {token}"}) as anna:
        assert anna.get("/v1/library").json()["documents"] == 1
        assert anna.get(f"/v1/passages/{passage.passage.id}").status_code == 404
        found = anna.post("/v1/search", json={"question": "sourdough bread oven"})
        assert "Sourdough" not in found.text
        seen = library.seen_by(Principal("anna"))
        assert plain(found.json()) == plain(own(shapes.search_json(seen.search("sourdough bread oven"))))


def test_every_route_is_documented_and_every_documented_route_exists() -> None:
    schema = create_app(Library.__new__(Library)).openapi()
    routes = {f"{method.upper()} {path}" for path, methods in schema["paths"].items() for method in methods}
    written = set(re.findall(r"`((?:GET|POST|PUT|DELETE) /[^`]*)`", REFERENCE.read_text()))
    assert written == routes


def test_the_openapi_document_knows_errors_and_keys(client: httpx.Client) -> None:
    schema = client.get("/openapi.json").json()
    for path, methods in schema["paths"].items():
        for operation in methods.values():
            assert "HTTPValidationError" not in json.dumps(operation), path
            assert operation["responses"]["4XX"]
            assert path in ("/health",) or "security" in operation or operation["tags"] == ["server"]
