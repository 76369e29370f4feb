"""Work stops soon after its client goes, its key is revoked, or the server ends; also while the model is silent."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx
import pytest

from pincite.library import Library
from pincite.models.protocols import Finish, GenerationOptions, Piece
from pincite.serve.keys import Keys
from pincite.stop import check_stop
from pincite.types import Message
from tests.serve.http.conftest import Serve, serving

QUESTION = {"question": "What does a KV cache store?"}
_SOON = 5.0  # seconds: a lone machine takes less than one


class Slow:
    """Says a word at a time for ever, or nothing at all, and knows when it was told to stop."""

    name = "slow"
    context_tokens = 4096

    def __init__(self, *, silent: bool) -> None:
        self.silent = silent
        self.began, self.ended = threading.Event(), threading.Event()

    def count(self, text: str) -> int:
        return len(text.split())

    def stream(self, messages: Sequence[Message], options: GenerationOptions) -> Iterator[Piece | Finish]:
        self.began.set()
        try:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                time.sleep(0.02)
                check_stop()
                if not self.silent:
                    yield Piece("word ")
            yield Finish("stop", 1, 1)
        finally:
            self.ended.set()


@pytest.fixture(params=[False, True], ids=["talking", "silent"])
def slow(request: pytest.FixtureRequest, library: Library) -> Slow:
    generator = Slow(silent=request.param)
    library.models.loaded["generator"] = generator
    return generator


def in_progress(client: httpx.Client) -> dict[str, int]:
    lines = [line for line in client.get("/metrics").text.splitlines() if line.startswith("pincite_in_progress")]
    return {line.split('"')[1]: int(line.split()[-1]) for line in lines}


def soon(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + _SOON
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("stream", [True, False])
def test_work_stops_when_the_client_goes(client: httpx.Client, slow: Slow, stream: bool) -> None:
    with httpx.Client(base_url=client.base_url, timeout=0.5) as other:
        sent = other.build_request("POST", "/v1/ask", json=QUESTION | {"stream": stream})
        if stream:
            answer = other.send(sent, stream=True)
            assert slow.began.wait(10)
            answer.close()
        else:
            with pytest.raises(httpx.ReadTimeout):
                other.send(sent)
            assert slow.began.is_set()
    assert slow.ended.wait(_SOON)
    assert soon(lambda: in_progress(client)["asks"] == 0)


@pytest.mark.parametrize("stream", [True, False])
def test_work_stops_when_the_key_is_revoked(serve: Serve, library: Library, slow: Slow, stream: bool) -> None:
    keys = Keys(library.path)
    headers = {"authorization": f"Bearer {keys.add('anna')}"}
    with httpx.Client(base_url=serve(keys=keys), headers=headers, timeout=20) as client:
        revoker = threading.Thread(target=lambda: (slow.began.wait(10), keys.revoke("anna")))
        revoker.start()
        answer = client.post("/v1/ask", json=QUESTION | {"stream": stream})
        revoker.join()
    assert slow.ended.wait(_SOON), "it may run in a thread of its own"
    if stream:
        *_, last = answer.text.strip().split("\n\n")
        assert last.startswith("event: error\n")
        error = json.loads(last.partition("data: ")[2])
    else:
        assert answer.status_code == 401
        error = answer.json()
    assert error["error"]["code"] == "unauthorized"


def test_the_server_ends_while_it_answers(library: Library, slow: Slow) -> None:
    texts = []
    with serving(library) as url:

        def read() -> None:
            texts.append(httpx.post(url + "v1/ask", json=QUESTION | {"stream": True}, timeout=20).text)

        reader = threading.Thread(target=read)
        reader.start()
        assert slow.began.wait(10)
    reader.join(10)
    assert slow.ended.is_set()
    assert '"stopping"' in texts[0]


def test_a_check_stops_between_sentences(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[float] = []
    search = Library.search

    def counted(library: Library, *args, **options):
        searches.append(time.monotonic())
        time.sleep(0.05)
        return search(library, *args, **options)

    monkeypatch.setattr(Library, "search", counted)
    text = " ".join(f"Bread number {n} rises overnight." for n in range(2_000))
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{client.base_url}v1/check", json={"text": text}, timeout=0.5)
    assert soon(lambda: in_progress(client)["asks"] == 0)
    count = len(searches)
    time.sleep(0.2)
    assert len(searches) == count < 2_000


def test_a_client_that_waited_for_its_turn_and_went_costs_nothing(serve: Serve, library: Library, slow: Slow) -> None:
    url = serve(asks=1)
    with httpx.Client(base_url=url) as client, client.stream("POST", "/v1/ask", json=QUESTION | {"stream": True}):
        assert slow.began.wait(10)
        slow.began.clear()
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(url + "v1/ask", json=QUESTION, timeout=0.3)
    with httpx.Client(base_url=url) as client:
        assert soon(lambda: in_progress(client)["asks"] == 0)
    assert not slow.began.is_set()


def test_nothing_of_a_revoked_key_is_served_from_an_open_connection(
    serve: Serve, library: Library, tmp_path: Path
) -> None:
    keys = Keys(library.path)
    keys.add("other")
    headers = {"authorization": f"Bearer {keys.add('anna')}"}
    with httpx.Client(base_url=serve(keys=keys), headers=headers) as client:
        assert client.get("/v1/me").status_code == 200
        keys.revoke("anna")
        assert client.get("/v1/me").status_code == 401


def test_a_generator_that_hangs_is_left_behind(client: httpx.Client, library: Library) -> None:
    hung, go = Slow(silent=True), threading.Event()
    hung.stream = lambda *_: iter(lambda: hung.began.set() or (go.wait(30) and None), 0)  # type: ignore[method-assign]
    library.models.loaded["generator"] = hung
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{client.base_url}v1/ask", json=QUESTION, timeout=0.5)
    assert hung.began.wait(10)
    assert soon(lambda: in_progress(client)["asks"] == 0)
    go.set()


def resources() -> tuple[int, int]:
    """Count what a process holds: threads, and open files where the system tells."""
    files = Path("/proc/self/fd")
    return threading.active_count(), len(list(files.iterdir())) if files.exists() else 0


@pytest.mark.parametrize("slow", [False], ids=["talking"], indirect=True)
def test_many_dropped_streams_leave_nothing_behind(client: httpx.Client, slow: Slow) -> None:
    def drop() -> None:
        with httpx.Client(base_url=client.base_url) as other:
            slow.began.clear()
            slow.ended.clear()
            with other.stream("POST", "/v1/ask", json=QUESTION | {"stream": True}):
                slow.began.wait(10)
        assert slow.ended.wait(10)

    for _ in range(3):
        drop()
    assert soon(lambda: in_progress(client)["asks"] == 0)
    time.sleep(0.2)
    threads, files = resources()
    for _ in range(40):
        drop()
    assert soon(lambda: in_progress(client)["asks"] == 0)
    assert soon(lambda: resources()[0] <= threads + 2)
    assert soon(lambda: resources()[1] <= files + 2)
