"""A person's cases over HTTP: kept, asked by a job, reported, and two runs compared."""

from __future__ import annotations

import httpx
import pytest

from pincite.library import Library
from tests.serve.http.documents import finished

CASES = [
    {"question": "What does a KV cache store?", "answers": [], "quote": "A KV cache stores the keys and values"},
    {"question": "How hot is the oven before baking?", "answers": ["250 degrees"], "quote": ""},
    {"question": "Which vaccines does a cat need?", "answerable": False},
]


@pytest.fixture
def cases(library: Library) -> list[dict]:
    uris = {record.title: record.source.uri for record in library.list()}
    return [CASES[0] | {"uri": uris["Caches"]}, CASES[1] | {"uri": uris["Bread"]}, CASES[2]]


def test_cases_are_kept_whole_and_get_ids(client: httpx.Client, cases: list[dict]) -> None:
    assert client.get("/v1/cases").json() == {"cases": []}
    kept = client.put("/v1/cases", json={"cases": cases}).json()["cases"]
    assert [case["question"] for case in kept] == [case["question"] for case in cases]
    assert len({case["id"] for case in kept}) == 3
    assert kept[2] == {"answers": [], "uri": "", "quote": "", **cases[2], "id": kept[2]["id"]}
    assert client.get("/v1/cases").json()["cases"] == kept
    assert client.put("/v1/cases", json={"cases": kept}).json()["cases"] == kept


@pytest.mark.parametrize(
    "body",
    [
        {"cases": [{"question": ""}]},
        {"cases": [{"question": "a", "unknown": 1}]},
        {"cases": [{"question": "a"}] * 1_001},
        {"cases": [{"question": "a", "id": "1"}, {"question": "b", "id": "1"}]},
        {},
    ],
)
def test_malformed_cases_are_refused_and_nothing_is_kept(client: httpx.Client, body: dict) -> None:
    assert client.put("/v1/cases", json=body).status_code in (400, 422)
    assert client.get("/v1/cases").json() == {"cases": []}


def test_a_run_tells_where_each_answer_was_lost(client: httpx.Client, cases: list[dict]) -> None:
    client.put("/v1/cases", json={"cases": cases})
    job = finished(client, client.post("/v1/evaluate", json={"name": "First"}))
    assert (job["kind"], job["state"], job["files"], job["files_found"]) == ("evaluate", "done", 3, 3)
    [listed] = client.get("/v1/evaluations").json()["evaluations"]
    assert (listed["id"], listed["name"], listed["questions"]) == (job["evaluation"], "First", 3)
    assert (listed["mode"], listed["generator"]) == ("hybrid", "extractive")
    whole = client.get(f"/v1/evaluations/{listed['id']}").json()
    assert {name: whole[name] for name in listed} == listed
    assert sum(stage["count"] for stage in whole["stages"]) == 3
    stages = {case["question"]: case["stage"] for case in whole["cases"]}
    assert listed["right"] == sum(
        stage in ("answered", "rightly_refused", "refused_rightly") for stage in stages.values()
    )
    assert stages[CASES[0]["question"]] == "answered"
    assert whole["metrics"]["right"] == pytest.approx(listed["right"] / 3)
    assert whole["metrics"]["success@1"] > 0
    assert whole["intervals"].keys() == whole["metrics"].keys()


def test_two_runs_are_compared_case_by_case(client: httpx.Client, library: Library, cases: list[dict]) -> None:
    first = finished(client, client.post("/v1/evaluate", json={"cases": cases[:2]}))["evaluation"]
    [bread] = [record for record in library.list() if record.title == "Bread"]
    client.delete(f"/v1/documents/{bread.document_id}")
    second = finished(client, client.post("/v1/evaluate", json={"cases": cases, "mode": "keyword"}))["evaluation"]
    told = client.get(f"/v1/evaluations/{first}/against/{second}").json()
    assert (told["a"]["id"], told["b"]["id"], told["only_a"], told["only_b"]) == (first, second, 0, 1)
    assert told["b"]["mode"] == "keyword"
    [changed] = told["changed"]
    assert changed["question"] == CASES[1]["question"]
    assert (changed["before"]["stage"], changed["after"]["stage"]) == ("answered", "document_missing")
    assert changed["after"]["label"] == "document missing"
    right = told["differences"]["right"]
    assert (right["difference"], right["questions"]) == (-0.5, 2)
    assert client.delete(f"/v1/evaluations/{first}").json() == {"removed": first}
    assert client.get(f"/v1/evaluations/{first}").status_code == 404
    assert client.get(f"/v1/evaluations/{first}/against/{second}").status_code == 404


def test_cases_that_say_nothing_to_look_for_are_left_out_or_refused(client: httpx.Client, cases: list[dict]) -> None:
    assert client.post("/v1/evaluate", json={"cases": [{"question": "What?"}]}).status_code == 400
    assert client.post("/v1/evaluate", json={}).status_code == 400
    job = finished(client, client.post("/v1/evaluate", json={"cases": [*cases, {"question": "What?"}]}))
    assert client.get(f"/v1/evaluations/{job['evaluation']}").json()["left_out"] == 1


@pytest.mark.parametrize("identifier", ["..%2fcases%2fx", "%2e%2e", "0" * 16, "..", "a/b", "%00", "x" * 3_000])
def test_row_02_no_other_file_is_an_evaluation(client: httpx.Client, identifier: str) -> None:
    for path in (f"/v1/evaluations/{identifier}", f"/v1/evaluations/{identifier}/against/{identifier}"):
        assert client.get(path).status_code == 404
    assert client.delete(f"/v1/evaluations/{identifier}").status_code in (404, 405)
