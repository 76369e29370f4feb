"""Every route and every tool, for random users, labels and documents: what is hidden might as well not exist.

The same requests go to a server whose library holds hidden documents, and to one whose library never held them. Status
and body must be the same, and nothing of a hidden document may stand in any byte. A route that no request is made for
here fails the test.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from starlette.testclient import TestClient

from pincite.access import Principal
from pincite.errors import PinciteError
from pincite.library import Library
from pincite.serve.http.app import create_app
from pincite.serve.http.options import ServeOptions
from pincite.serve.http.static import page_files
from pincite.serve.keys import Keys
from pincite.serve.mcp.tools import Call, tools
from pincite.store.hashing import document_id
from tests.access_worlds import WORDS, Made, documents, library_of
from tests.fakes import HashEncoder
from tests.security.routes import routes_of

CASES = 480  # in each run of the tests
MANY = 10_000
USERS = (
    Principal("open", "reader", frozenset()),
    Principal("hr", "editor", frozenset({"hr"})),
    Principal("both", "admin", frozenset({"board", "lab"})),
)
PDF = Path(__file__).parents[1] / "data" / "small.pdf"
VOLATILE = re.compile(  # times, ids by chance, and what depends on how busy the machine is
    rb'"(seconds|left_seconds|added|modified|checked|started|queries_per_second)": ?[^,}]+'
    rb'|"(created|created_at)": ?\d+|chatcmpl-\w+|\b[0-9a-f]{16}\b'
    rb"|pincite_(request\S*|in_progress\S*) [\d.e-]+|data: \{\"state\": \"(queued|running)\".*"
)
Answer = tuple[int, bytes]  # status; body


SEPARATOR = b"\n\n"


def body_of(answer: bytes) -> Any:
    """Read the JSON behind the headers."""
    return json.loads(answer.partition(SEPARATOR)[2])


@dataclass
class Scene:
    """One server, and what a user may know or guess of its documents."""

    made: list[Made]
    pdf: str  # its URI
    client: TestClient
    headers: dict[str, str]
    rng: random.Random
    jobs: list[str] = field(default_factory=list)  # ids: the user's own, the owner's, nobody's
    evaluations: list[str] = field(default_factory=list)

    def question(self) -> str:
        words = self.rng.choices(WORDS, k=self.rng.randint(1, 5))
        if self.rng.random() < 0.4:
            words += self.rng.choice(self.made).text.split()[: self.rng.randint(1, 6)]
        if self.rng.random() < 0.2:
            words.append(self.rng.choice(self.made).canary)
        return " ".join(words)

    def document(self) -> str:
        """Give the id of a document, hidden or not, or of none."""
        uris = [*(made.uri for made in self.made), self.pdf, self.pdf, "note:none"]
        return document_id(self.rng.choice(uris))

    def passage(self) -> str:
        made = self.rng.choice(self.made)
        return f"{document_id(made.uri)}@1:0-{len(made.text)}"

    def asked(self, **more: Any) -> dict[str, Any]:
        """Give the body of a question."""
        history = [{"question": self.question(), "answer": self.rng.choice(self.made).text}]
        body = {"question": self.question(), "mode": self.rng.choice(("hybrid", "vector", "keyword"))}
        body |= {"history": history} if self.rng.random() < 0.3 else {}
        if self.rng.random() < 0.3:
            body["where"] = self.rng.choice(
                (
                    {"field": "uri", "glob": f"*{self.rng.choice(self.made).canary}*"},
                    {"not": {"field": "uri", "is": self.rng.choice(self.made).uri}},
                    {"field": "words", "from": 100},
                )
            )
        return body | more

    def send(self, method: str, path: str, **options: Any) -> Answer:
        response = self.client.request(method, path, headers=self.headers, **options)
        told = {name: value for name, value in response.headers.items() if name != "content-length"}
        return response.status_code, json.dumps(told).encode() + SEPARATOR + response.content

    def followed(self, method: str, path: str, **options: Any) -> Answer:
        """Start a job; give what became of it."""
        status, body = self.send(method, path, **options)
        job = body_of(body).get("job") if status == 202 else None
        if job is None:
            return status, body
        self.jobs[0] = job if isinstance(job, str) else job["id"]
        for _ in range(2_000):
            status, body = self.send("GET", f"/v1/jobs/{self.jobs[0]}")
            if body_of(body)["state"] in ("done", "failed", "cancelled"):
                break
            time.sleep(0.005)
        self.evaluations[:1] = [body_of(body)["evaluation"] or "0" * 16]
        return status, body


def case_of(scene: Scene) -> dict[str, Any]:
    made = scene.rng.choice(scene.made)
    return {"id": "a", "question": scene.question(), "uri": made.uri, "quote": made.text[:30]}


def target_of(scene: Scene) -> str:
    made = scene.rng.choice(scene.made)
    return scene.rng.choice((made.uri, document_id(made.uri), "note:none", scene.pdf))


def chat(scene: Scene) -> Answer:
    messages = [{"role": "user", "content": scene.question()}]
    if scene.rng.random() < 0.3:
        messages = [*messages, {"role": "assistant", "content": scene.question()}, *messages]
    body = {"model": scene.rng.choice(("pincite", "pincite-extractive")), "messages": messages}
    return scene.send("POST", "/v1/chat/completions", json=body | {"stream": scene.rng.random() < 0.3})


def listed(scene: Scene) -> Answer:
    options = {
        "q": scene.rng.choice(("", "canary", scene.rng.choice(scene.made).canary)),
        "limit": scene.rng.choice((2, 200)),
        "sort": scene.rng.choice(("name", "-name", "-size")),
    }
    if scene.rng.random() < 0.3:
        options["label"] = scene.rng.choice(("hr", "board", "lab"))
    return scene.send("GET", "/v1/documents", params=options)


def added(scene: Scene) -> Answer:
    if scene.rng.random() < 0.5:
        files = [("files", (f"{scene.rng.choice('ab')}.md", f"The {scene.rng.choice(WORDS)} was uploaded.".encode()))]
        labels = {"labels": scene.rng.choice(("hr", "board"))} if scene.rng.random() < 0.4 else {}
        return scene.followed("POST", "/v1/documents", files=files, data=labels)
    body = scene.rng.choice(({"path": scene.pdf.removeprefix("file://")}, {"path": "/none"}, {"url": "http://x/"}))
    return scene.followed("POST", "/v1/documents", json=body)


def page(scene: Scene, what: str, **params: Any) -> Answer:
    number = scene.rng.choice((1, 1, 99))
    return scene.send("GET", f"/v1/documents/{scene.document()}/pages/{number}{what}", params=params)


def asked(scene: Scene) -> Answer:
    return scene.send("POST", "/v1/ask", json=scene.asked(stream=scene.rng.random() < 0.3, extract=True))


def searched(scene: Scene) -> Answer:
    limit = scene.rng.choice((1, 5, 100))
    return scene.send("POST", "/v1/search", json=scene.asked(limit=limit, explain=scene.rng.random() < 0.3))


def checked(scene: Scene) -> Answer:
    return scene.send("POST", "/v1/check", json={"text": scene.rng.choice(scene.made).text})


def folder_of(scene: Scene) -> str:
    return scene.rng.choice((str(Path(scene.pdf.removeprefix("file://")).parent), "/none"))


def why(scene: Scene) -> Answer:
    quote = scene.rng.choice(("", scene.rng.choice(scene.made).text[:20]))
    return scene.send(
        "POST", "/v1/why", json={"question": scene.question(), "target": target_of(scene), "quote": quote}
    )


def evaluated(scene: Scene) -> Answer:
    body = {"cases": [case_of(scene)]} if scene.rng.random() < 0.7 else {}
    status, found = scene.followed("POST", "/v1/evaluate", json=body)
    return status, found + scene.send("GET", f"/v1/evaluations/{scene.evaluations[0]}")[1]


def one_document(method: str, what: str, **options: Any) -> Callable[[Scene], Answer]:
    return lambda scene: scene.send(method, f"/v1/documents/{scene.document()}{what}", **options)


def one_of(method: str, kind: str, what: str = "") -> Callable[[Scene], Answer]:
    def send(scene: Scene) -> Answer:
        known = {"jobs": scene.jobs, "evaluations": scene.evaluations}[kind]
        return scene.send(method, f"/v1/{kind}/{scene.rng.choice(known)}{what.format(other=scene.rng.choice(known))}")

    return send


def get(path: str) -> Callable[[Scene], Answer]:
    return lambda scene: scene.send("GET", path)


# (method, path) -> a request, and how often it is made. What changes documents is rare.
REQUESTS: dict[tuple[str, str], tuple[Callable[[Scene], Answer], float]] = {
    ("GET", "/health"): (get("/health"), 0.2),
    ("GET", "/ready"): (get("/ready"), 0.2),
    ("GET", "/v1/me"): (get("/v1/me"), 0.2),
    ("GET", "/openapi.json"): (get("/openapi.json"), 0.05),
    ("GET", "/metrics"): (get("/metrics"), 0.5),
    ("GET", "/v1/library"): (get("/v1/library"), 1),
    ("POST", "/v1/search"): (searched, 6),
    ("POST", "/v1/ask"): (asked, 2),
    ("POST", "/v1/check"): (checked, 1),
    ("POST", "/v1/why"): (why, 2),
    ("GET", "/v1/passages/{passage_id}"): (
        lambda scene: scene.send("GET", f"/v1/passages/{scene.passage()}", params={"around": 50}),
        3,
    ),
    ("GET", "/v1/documents"): (listed, 3),
    ("POST", "/v1/documents"): (added, 0.3),
    ("GET", "/v1/documents/{document_id}"): (one_document("GET", ""), 3),
    ("DELETE", "/v1/documents/{document_id}"): (one_document("DELETE", ""), 0.3),
    ("GET", "/v1/documents/{document_id}/text"): (one_document("GET", "/text", params={"version": 1}), 2),
    ("GET", "/v1/documents/{document_id}/passages"): (one_document("GET", "/passages"), 2),
    ("GET", "/v1/documents/{document_id}/original"): (one_document("GET", "/original"), 1),
    ("PUT", "/v1/documents/{document_id}/labels"): (one_document("PUT", "/labels", json={"labels": ["lab"]}), 0.3),
    ("POST", "/v1/documents/{document_id}/retry"): (
        lambda scene: scene.followed("POST", f"/v1/documents/{scene.document()}/retry"),
        0.3,
    ),
    ("GET", "/v1/documents/{document_id}/pages/{number}.png"): (lambda scene: page(scene, ".png", scale=0.1), 1),
    ("GET", "/v1/documents/{document_id}/pages/{number}/boxes"): (
        lambda scene: page(scene, "/boxes", start=0, end=40),
        1,
    ),
    ("GET", "/v1/jobs"): (get("/v1/jobs"), 0.5),
    ("GET", "/v1/jobs/{job_id}"): (one_of("GET", "jobs"), 1),
    ("DELETE", "/v1/jobs/{job_id}"): (one_of("DELETE", "jobs"), 0.5),
    ("GET", "/v1/cases"): (get("/v1/cases"), 0.5),
    ("PUT", "/v1/cases"): (lambda scene: scene.send("PUT", "/v1/cases", json={"cases": [case_of(scene)]}), 0.5),
    ("POST", "/v1/evaluate"): (evaluated, 0.3),
    ("GET", "/v1/evaluations"): (get("/v1/evaluations"), 0.5),
    ("GET", "/v1/evaluations/{evaluation_id}"): (one_of("GET", "evaluations"), 1),
    ("DELETE", "/v1/evaluations/{evaluation_id}"): (one_of("DELETE", "evaluations"), 0.3),
    ("GET", "/v1/evaluations/{evaluation_id}/against/{other_id}"): (
        one_of("GET", "evaluations", "/against/{other}"),
        0.5,
    ),
    ("GET", "/v1/watch"): (get("/v1/watch"), 0.3),
    ("POST", "/v1/watch"): (lambda scene: scene.send("POST", "/v1/watch", json={"path": folder_of(scene)}), 0.05),
    ("DELETE", "/v1/watch"): (
        lambda scene: scene.send("DELETE", "/v1/watch", params={"path": folder_of(scene)}),
        0.1,
    ),
    ("GET", "/v1/models"): (get("/v1/models"), 0.2),
    ("GET", "/v1/models/{name:path}"): (get("/v1/models/pincite"), 0.2),
    ("POST", "/v1/chat/completions"): (chat, 2),
    ("POST", "/v1/embeddings"): (
        lambda scene: scene.send("POST", "/v1/embeddings", json={"model": "hash", "input": scene.question()}),
        0.5,
    ),
    ("POST", "/v1/rerank"): (
        lambda scene: scene.send(
            "POST", "/v1/rerank", json={"query": scene.question(), "documents": [m.text for m in scene.made[:3]]}
        ),
        0.5,
    ),
}
ELSEWHERE = {  # other transports of what is tested here: test_each_key_gets_its_own_tools_and_its_own_library
    ("POST", "/mcp"),
    ("DELETE", "/mcp"),
}
TOOLS: dict[str, Callable[[Scene], dict[str, Any]]] = {
    "search": lambda scene: {"question": scene.question(), "limit": scene.rng.choice((1, 20))},
    "read": lambda scene: {"target": scene.rng.choice((scene.passage(), target_of(scene)))},
    "ask": lambda scene: {"question": scene.question(), "extract": True},
    "check": lambda scene: {"text": scene.rng.choice(scene.made).text},
    "why": lambda scene: {"question": scene.question(), "target": target_of(scene)},
    "list": lambda scene: {"target": scene.rng.choice((None, scene.rng.choice(scene.made).uri, scene.pdf))},
    "add": lambda scene: {"paths": [scene.rng.choice((scene.pdf.removeprefix("file://"), "/none"))]},
}


def test_row_21_no_route_and_no_tool_is_left_out(library: Library) -> None:
    page_routes = {("GET", path) for path in page_files()} | {("GET", "/")}
    assert set(routes_of(create_app(library))) - page_routes == set(REQUESTS) | ELSEWHERE
    assert set(tools(read_only=False)) == set(TOOLS)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with library_of(tmp_path / "empty", [], HashEncoder()) as made:
        yield made


# --- the two servers


class Play:
    """What one user does in a world with hidden documents, and again in one without."""

    def __init__(self, folder: Path, seed: int, user: Principal) -> None:
        self.rng = random.Random(f"{seed} {user.name}")
        self.folder, self.seed, self.user = folder, seed, user
        self.made = documents(random.Random(seed), 12)
        self.pdf = folder / f"report{seed}.pdf"
        self.pdf_labels = random.Random(seed).choice(((), ("hr",), ("board",)))
        shutil.copyfile(PDF, self.pdf)
        assert user.grants is not None
        self.shown = [made for made in self.made if made.shown(user.grants)]
        self.canaries = [made.canary.encode() for made in self.made if made not in self.shown]
        self.sees_pdf = not self.pdf_labels or not user.grants.isdisjoint(self.pdf_labels)
        self.jobs = ["0" * 16]  # the owner's and nobody's
        self.evaluations = ["0" * 16, "1" * 16]

    def run(self, count: int, *, whole: bool) -> list[tuple[str, Answer]]:
        """Play it; the requests are those of the other run."""
        path = self.folder / "library"
        shutil.rmtree(path, ignore_errors=True)
        library = library_of(path, self.made if whole else self.shown, HashEncoder())
        if self.pdf_labels:
            library.store.put_labels(self.pdf.as_uri(), self.pdf_labels)
        if whole or self.sees_pdf:
            library.add(self.pdf)
        token = Keys(path).add(self.user.name, self.user.role, sorted(self.user.grants or ()))
        app = create_app(library, keys=Keys(path), options=ServeOptions(roots=(self.folder,)))
        library.patience = None  # else a busy machine says, now and then, how old is what it searched
        headers = {"authorization": f"Bearer {token}"}
        with TestClient(app, base_url="http://127.0.0.1:8765") as client:
            rng = random.Random(f"{self.seed} {self.user.name}")
            scene = Scene(self.made, self.pdf.as_uri(), client, headers, rng)
            scene.jobs, scene.evaluations = ["2" * 16, *self.jobs], [*self.evaluations]
            answers = list(self._play(scene, library, count))
        library.close()
        return answers

    def _play(self, scene: Scene, library: Library, count: int) -> Iterator[tuple[str, Answer]]:
        names, weights = list(REQUESTS), [weight for _, weight in REQUESTS.values()]
        seen, offered = library.seen_by(self.user), tools(read_only=not self.user.may("editor"))
        for number in range(count):
            scene.rng = random.Random(f"{self.seed} {self.user.name} {number}")
            if scene.rng.random() < 0.25:
                name = scene.rng.choice(sorted(offered))
                arguments = TOOLS[name](scene)
                yield f"{name} {arguments}", _called(offered[name], Call(seen, (self.folder,)), arguments)
            else:
                [route] = scene.rng.choices(names, weights)
                yield " ".join(route), REQUESTS[route][0](scene)


def _called(tool: Any, call: Call, arguments: dict[str, Any]) -> Answer:
    """Call a tool as its server does."""
    try:
        words, result = tool(call, tool.takes.model_validate(arguments))
    except ValidationError:
        return 422, b"wrong arguments"
    except PinciteError as error:
        return 400, f"{error} {error.fix}".encode()
    return 200, (words + json.dumps(result)).encode()


def plain(answer: Answer) -> Answer:
    return answer[0], VOLATILE.sub(b"", answer[1])


def parting(one: Answer, other: Answer) -> list[bytes]:
    """Show where two answers part."""
    bodies = [plain(one)[1], plain(other)[1]]
    place = next((n for n, pair in enumerate(zip(*bodies, strict=False)) if pair[0] != pair[1]), min(map(len, bodies)))
    return [body[max(0, place - 80) : place + 80] for body in bodies]


def play(folder: Path, cases: int) -> Counter[str]:
    """Play until there were so many cases; give how often each status came."""
    statuses: Counter[str] = Counter()
    seed = 0
    while statuses.total() < cases:
        for user in USERS:
            game = Play(folder, seed, user)
            count = 80
            real, ideal = game.run(count, whole=True), game.run(count, whole=False)
            for (name, with_hidden), (_, without) in zip(real, ideal, strict=True):
                assert plain(with_hidden) == plain(without), (seed, user.name, name, parting(with_hidden, without))
                words = [[word for word in game.canaries if word in body] for _, body in (with_hidden, without)]
                assert words[0] == words[1], "those in both came from the request"
                statuses[str(with_hidden[0])] += 1
        seed += 1
    return statuses


def test_row_21_hidden_documents_change_no_answer_of_any_route_or_tool(tmp_path: Path) -> None:
    statuses = play(tmp_path, CASES)
    assert set(statuses) >= {"200", "404", "403", "202"} - {"202"}
    assert statuses["200"] > statuses.total() / 3, "most requests are answered"


@pytest.mark.soak
def test_row_21_ten_thousand_requests(tmp_path: Path) -> None:
    play(tmp_path, MANY)
