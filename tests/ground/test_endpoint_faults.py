"""Whatever an endpoint does, an answer comes in time: what came is checked and marked, and quotes stand in."""

from __future__ import annotations

import json
import socket
import time

import pytest

from pincite.ground.answer import answer_events
from pincite.models.generators.endpoint import EndpointGenerator
from pincite.types import CitationEvent, TokenEvent, VerdictEvent
from tests.ground.fakes import hits, text_of
from tests.ground.test_answer import KV, LORA, QUESTION, check_contract
from tests.models.test_generator_endpoint import (  # noqa: F401 - no_waiting is a fixture
    DONE,
    delta,
    http_reply,
    no_waiting,
    sends,
    serving,
)

SENTENCES = (
    "The KV cache keeps the keys and values of earlier tokens.",
    "They are not computed again for each new token.",
    "It was invented by Napoleon in 1815.",
)
WHOLE = {
    "json": json.dumps({"sentences": [{"passages": [1], "text": sentence} for sentence in SENTENCES]}),
    "lines": "\n".join(f"[1] {sentence}" for sentence in SENTENCES),
    "prose": " ".join(f"{sentence} [1]" for sentence in SENTENCES),
}
SECONDS = 1.0


def tokens(text, count=50):
    """Cut a text into so many tokens."""
    return [text[len(text) * at // count : len(text) * (at + 1) // count] for at in range(count)]


def answered(url, form="json", seconds=30.0):
    generator = EndpointGenerator("m", base_url=url, api_key="")
    generator.reply_form = form
    begun = time.monotonic()
    told = list(
        answer_events(
            QUESTION, hits(KV, LORA), generator=generator, encoder=None, text_of=text_of, answer_seconds=seconds
        )
    )
    assert time.monotonic() - begun < 1.25 * seconds + 2
    answer = told[-1].answer
    check_contract(answer)
    assert [e.claim for e in told if isinstance(e, VerdictEvent)] == list(answer.claims)
    assert [e.citation for e in told if isinstance(e, CitationEvent)] == list(answer.citations)
    carried = [claim for claim in answer.claims if claim.verdict == "supported"]
    assert carried and all(claim.citations for claim in carried)  # in 100 % of cases there is something to rely on
    assert all(claim.verdict == "unsupported" for claim in answer.claims if "Napoleon" in claim.text)
    draft = "".join(event.text for event in told if isinstance(event, TokenEvent))
    return (
        answer,
        draft,
        {finding.kind for finding in answer.findings} - {"partly_in_documents", "claim_without_citation"},
    )


@pytest.mark.parametrize("form", WHOLE)
def test_a_whole_reply_is_the_answer(form):
    with serving(sends(*map(delta, tokens(WHOLE[form])), delta("", "stop"), DONE)) as server:
        answer, _, found = answered(server.url, form)
    assert [claim.text.split(" [")[0] for claim in answer.claims] == list(SENTENCES)
    assert [claim.verdict for claim in answer.claims] == ["supported", "supported", "unsupported"]
    assert found == set()


@pytest.mark.parametrize("form", WHOLE)
@pytest.mark.parametrize("kept", range(51))
def test_a_drop_after_some_tokens_keeps_checks_and_marks_what_came(form, kept):
    reply = [delta(token) for token in tokens(WHOLE[form])[:kept]]
    with serving(sends(*reply)) as server:
        answer, draft, found = answered(server.url, form)
    if kept == 0:
        assert found == {"generation_failed"}
    else:
        assert found == {"draft_incomplete"}
    whole = [sentence for sentence in SENTENCES if sentence in draft]
    assert [claim.text.split(" [")[0] for claim in answer.claims][: len(whole)] == whole
    assert bool(whole) or KV in answer.text


def dripping(connection):
    http_reply()(connection)
    while True:
        connection.sendall(b"d")
        time.sleep(0.05)


def dripping_tokens(connection):
    http_reply()(connection)
    for token in tokens(WHOLE["json"], 500):
        connection.sendall(delta(token).encode())
        time.sleep(0.02)


def hanging(connection):
    connection.recv(1)  # until the other side hangs up


HUGE = 'data: {"choices":[{"delta":{"content":"' + "x" * 10_000_000
FAULTS = {
    "hang": (hanging, "generation_failed"),
    "hang after the headers": (lambda connection: (http_reply()(connection), hanging(connection)), "generation_failed"),
    "drip of bytes": (dripping, "generation_failed"),
    "drip of tokens": (dripping_tokens, "draft_incomplete"),
    "web page": (http_reply("<html>login</html>", kind="text/html"), "generation_failed"),
    "broken JSON": (http_reply("{broken", kind="application/json"), "generation_failed"),
    "broken event": (sends("data: {broken\n\n"), "generation_failed"),
    "wrong schema": (http_reply('{"choices": [{"text": 7}]}', kind="application/json"), "generation_failed"),
    "no JSON where it was asked for": (sends(delta("Well, it depends."), delta("", "stop"), DONE), "generation_failed"),
    "429, later": (http_reply("busy", 429, extra="Retry-After: 3600\r\n"), "generation_failed"),
    "429, now": (http_reply("busy", 429, extra="Retry-After: 0\r\n"), "generation_failed"),
    "500": (http_reply("oops", 500), "generation_failed"),
    "503": (http_reply("oops", 503), "generation_failed"),
    "400": (http_reply("no", 400), "generation_failed"),
    "token of 10 MB": (sends(HUGE), "generation_failed"),
    "token of 10 MB, later": (sends(*map(delta, tokens(WHOLE["json"])[:30]), HUGE), "draft_incomplete"),
    "invalid UTF-8": (sends(b'data: {"choices":[{"delta":{"content":"\xff\xfe"}}]}\n\n', DONE), "generation_failed"),
    "no text": (sends(DONE), "draft_empty"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_leads_to_quotes_in_time_and_says_so(fault):
    script, kind = FAULTS[fault]
    with serving(*[script] * 8) as server:
        answer, draft, found = answered(server.url, seconds=SECONDS)
    assert found == {kind}
    assert answer.citations[0].quote == KV
    assert "\ufffd" not in answer.text
    assert not draft or "[1]" in draft


def test_invalid_utf8_inside_a_sentence_is_shown_as_such_and_checked():
    raw = delta(WHOLE["lines"]).encode().replace(b"Napoleon", b"Napoleon \xff")
    with serving(sends(raw, delta("", "stop"), DONE)) as server:
        answer, _, found = answered(server.url, "lines")
    assert "Napoleon \ufffd" in answer.claims[-1].text
    assert found == set()


def test_no_server_and_no_tls_lead_to_quotes():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    answer, _, found = answered(f"http://127.0.0.1:{port}/v1")
    assert (answer.text.startswith(KV), found) == (True, {"generation_failed"})
    with serving(*[lambda connection: None] * 8) as server:
        answer, _, found = answered(server.url.replace("http:", "https:"))
    assert (answer.text.startswith(KV), found) == (True, {"generation_failed"})
