"""Questions over HTTP: the same answers as the library's own."""

from __future__ import annotations

import json

import httpx

from pincite.library import Library
from pincite.serve import shapes

QUESTION = "What does a KV cache store?"


def events_of(response: httpx.Response) -> list[tuple[str, dict]]:
    found = []
    for block in response.text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def without_times(answer: dict) -> dict:
    return {key: value for key, value in answer.items() if key != "trace"}


def test_an_answer_is_that_of_the_library(client: httpx.Client, library: Library) -> None:
    answer = client.post("/v1/ask", json={"question": QUESTION, "extract": True}).json()
    own = json.loads(shapes.to_json(shapes.answer_json(library.ask(QUESTION, extract=True))))
    assert without_times(answer) == without_times(own)
    assert answer["outcome"] == "answered"
    [citation] = answer["citations"]
    text = library.document(citation["uri"], citation["version"]).text
    assert text[citation["start"] : citation["end"]] == citation["quote"]


def test_a_stream_ends_with_the_whole_answer(client: httpx.Client) -> None:
    streamed = client.post("/v1/ask", json={"question": QUESTION, "stream": True})
    assert streamed.headers["content-type"].startswith("text/event-stream")
    events = events_of(streamed)
    assert [name for name, _ in events] == ["citation", "verdict", "done"]
    whole = client.post("/v1/ask", json={"question": QUESTION}).json()
    assert without_times(events[-1][1]["answer"]) == without_times(whole)


def test_an_empty_question_is_an_error_in_both_forms(client: httpx.Client) -> None:
    whole = client.post("/v1/ask", json={"question": " "})
    assert whole.status_code == 400
    assert whole.json()["error"]["code"] == "empty_question"
    [(name, error)] = events_of(client.post("/v1/ask", json={"question": " ", "stream": True}))
    assert name == "error"
    assert error == whole.json()
