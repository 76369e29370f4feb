"""Documents over HTTP: listed page by page, shown, removed, read again; added by path or URL where that is allowed."""

from __future__ import annotations

import base64
import os
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path

import httpx
import pytest

from pincite.access import Role
from pincite.acquire.fetch_url import fetch_url
from pincite.build import web
from pincite.library import Library
from pincite.reports import Pace
from pincite.serve.keys import Keys
from tests.acquire.test_fetch_url import ok, served
from tests.serve.http.documents import events, finished, idle, listed, upload

TRAVERSALS = ["..%2f..%2fetc%2fpasswd", "%2e%2e", "..%5cx", "%252e%252e", "file:%2F%2F%2Fetc%2Fpasswd", "%00", "a" * 12]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of a person with two files."""
    made = tmp_path / "mine"
    made.mkdir()
    (made / "cats.md").write_text("# Cats\n\nA cat sleeps sixteen hours a day.\n\n## Food\n\nIt eats fish.")
    (made / "dogs.txt").write_text("A dog barks.\n\nIt likes long walks in the rain.")
    return made


@pytest.fixture
def clients(serve, library: Library) -> Iterator[dict[str, httpx.Client]]:
    """Clients with keys: an admin, two editors that hold different labels, and a reader."""
    keys = Keys(library.path)
    roles = {"admin": ("admin", None), "hr": ("editor", ["hr"]), "it": ("editor", ["it"]), "reader": ("reader", [])}
    tokens = {name: keys.add(name, *role) for name, role in roles.items()}
    address = serve(keys=keys)
    made = {
        name: httpx.Client(base_url=address, timeout=20, headers={"authorization": f"Bearer {token}"})
        for name, token in tokens.items()
    }
    yield made
    for client in made.values():
        client.close()


# --- lists


@pytest.mark.parametrize("sort", ["name", "-name", "added", "-modified", "size", "-size"])
def test_pages_of_a_list_neither_repeat_nor_hide_what_stays(client: httpx.Client, library: Library, sort: str) -> None:
    for number in range(7):
        library.add_text(f"note:{number}", f"Number {number}. " * (number + 1), title=f"Note {number}")
    stay = {record.source.uri for record in library.list()} - {"note:3"}
    seen: list[str] = []
    cursor, pages = None, 0
    while pages == 0 or cursor:
        query = {"limit": 2, "sort": sort} | ({"cursor": cursor} if cursor else {})
        page = client.get("/v1/documents", params=query).json()
        assert len(page["documents"]) <= 2
        assert ("counts" in page) == (cursor is None)
        seen += [row["uri"] for row in page["documents"]]
        cursor = page["next"]
        if pages == 0:  # the list changes meanwhile
            library.add_text("note:between", "New.", title="Note 2b")
            library.remove("note:3")
        pages += 1
    assert len(seen) == len(set(seen))
    assert stay <= set(seen)


def test_a_list_is_narrowed_and_counted(client: httpx.Client, library: Library) -> None:
    finished(client, upload(client, ("Straße.txt", "Eine Straße."), ("song.mp3", b"ID3\0\0")))
    names = ["bread.md", "caches.md", "song.mp3", "Straße.txt"]
    assert sorted(listed(client), key=str.casefold) == names
    assert list(listed(client, q="STRASSE")) == ["Straße.txt"]
    assert list(listed(client, q="cach")) == ["caches.md"]
    assert list(listed(client, status="unsupported")) == ["song.mp3"]
    assert list(listed(client, media_type="text/plain")) == ["Straße.txt"]
    assert listed(client, stale=True) == {} == listed(client, label="hr") == listed(client, q="nowhere")
    library.label(listed(client)["Straße.txt"]["uri"], ["hr"])
    assert list(listed(client, label="hr")) == ["Straße.txt"]
    counts = client.get("/v1/documents", params={"q": "nowhere"}).json()["counts"]
    assert counts == {
        "all": 4,
        "stale": 0,
        "status": {"indexed": 3, "unsupported": 1},
        "media_type": {"text/markdown": 2, "text/plain": 1, "audio/mpeg": 1},
        "labels": {"hr": 1},
    }


def test_what_is_searched_in_an_older_version_is_stale_everywhere(client: httpx.Client, library: Library) -> None:
    library.add_text("note:old", "Some words.")
    for status in ("failed", "unsupported"):
        library.store.put_failure(library.record("note:old").source, status, "It cannot be read now.", "Mend it.")
        assert [row["uri"] for row in listed(client, stale=True).values()] == ["note:old"]
        assert client.get("/v1/documents").json()["counts"]["stale"] == 1
        assert [source["uri"] for source in client.get("/v1/library").json()["stale"]] == ["note:old"]


def test_a_passage_names_its_document_as_the_list_does(client: httpx.Client) -> None:
    finished(client, upload(client, ("Straße.txt", "Eine Straße.")))
    row = listed(client)["Straße.txt"]
    [passage] = client.get(f"/v1/documents/{row['id']}/passages").json()["passages"]
    assert client.get(f"/v1/passages/{passage['passage_id']}").json()["document"] == row


def test_a_malformed_query_is_refused(client: httpx.Client) -> None:
    cursors = [{"cursor": cursor} for cursor in ("x", "W10=", "WyJuYW1lIiwgMSwgInUiXQ==")]
    huge = base64.urlsafe_b64encode(b'["size", 9223372036854775808, "u"]').decode()
    cursors.append({"cursor": huge, "sort": "size"})
    others = [{"limit": 0}, {"limit": 201}, {"sort": "uri"}, {"limit": "x"}, {"stale": "x"}, {"q": "x" * 1_001}]
    for query in (*cursors, *others):
        assert client.get("/v1/documents", params=query).status_code in (400, 422), query


# --- one document


def test_a_document_has_an_outline_versions_and_text_in_parts(client: httpx.Client, folder: Path) -> None:
    finished(client, client.post("/v1/documents", json={"path": str(folder)}))
    cats = client.get(f"/v1/documents/{listed(client)['cats.md']['id']}").json()
    assert [(part["title"], part["level"]) for part in cats["outline"]] == [("Cats", 1), ("Food", 2)]
    assert [version["version"] for version in cats["versions"]] == [1]
    base = f"/v1/documents/{cats['id']}"
    whole = client.get(f"{base}/text").json()
    assert (whole["start"], whole["end"], whole["version"]) == (0, whole["length"], 1)
    for part in cats["outline"]:
        assert part["title"] in whole["text"][part["start"] : part["start"] + 12]
    for start, end in ((0, 6), (3, 3), (8, 2), (5, 10_000), (10_000, 20_000)):
        part = client.get(f"{base}/text", params={"start": start, "end": end}).json()
        assert part["text"] == whole["text"][part["start"] : part["end"]]
        assert part["text"] == whole["text"][start:end]
    passages = client.get(f"{base}/passages").json()["passages"]
    assert [(each["start"], each["end"]) for each in passages] == sorted((p["start"], p["end"]) for p in passages)
    for each in passages:
        assert client.get(f"/v1/passages/{each['passage_id']}").json()["passage"]["start"] == each["start"]
    assert client.get(f"{base}/passages", params={"version": 7}).json() == {"passages": []}
    assert client.get(f"{base}/text", params={"version": 7}).status_code == 404


def test_a_long_text_comes_in_parts(client: httpx.Client, library: Library) -> None:
    library.add_text("note:long", "word " * 50_000)
    [row] = [row for row in listed(client).values() if row["uri"] == "note:long"]
    part = client.get(f"/v1/documents/{row['id']}/text", params={"start": 7}).json()
    assert (part["end"] - part["start"], part["length"]) == (100_000, 250_000)


def test_names_and_texts_may_hold_what_is_no_unicode(client: httpx.Client, library: Library, folder: Path) -> None:
    try:
        (folder / os.fsdecode(b"\xff.txt")).write_text("Some words.")
    except OSError:
        pytest.skip("this file system takes no such name")
    library.add_text("note:odd\ud800", "text \ud800 \0 end", title="odd \udfff")
    job = finished(client, client.post("/v1/documents", json={"path": str(folder)}))
    assert "\udcff.txt" in {report["name"] for report in job["sources"]}
    rows = listed(client)
    assert {"note:odd\ud800", "\udcff.txt"} <= rows.keys()
    for name in ("note:odd\ud800", "\udcff.txt"):
        base = f"/v1/documents/{rows[name]['id']}"
        assert client.get(base).json()["name"] == name
        assert client.get(f"{base}/text").json()["length"] > 10
    assert client.get("/v1/documents/" + rows["\udcff.txt"]["id"] + "/original").text == "Some words."
    with client.stream("GET", f"/v1/jobs/{job['id']}", headers={"accept": "text/event-stream"}) as stream:
        assert "done" in {name for name, _ in events(stream.iter_lines())}


def test_row_15_an_original_is_saved_not_shown(client: httpx.Client) -> None:
    page = b"<html><body><script>alert(1)</script><p>Some words of a page.</p></body></html>"
    finished(client, upload(client, ("papers/Zo\u00eb's page.html", page)))
    [row] = listed(client, q="Zo\u00eb").values()
    response = client.get(f"/v1/documents/{row['id']}/original")
    assert response.content == page
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in response.headers["content-security-policy"]
    said = response.headers["content-disposition"]
    assert said.startswith('attachment; filename="Zo_')
    assert said.endswith("filename*=UTF-8''Zo%C3%AB%27s%20page.html")


def test_an_original_that_is_not_there_as_it_was_is_told(client: httpx.Client, folder: Path, library: Library) -> None:
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("inner.txt", "Words inside.")
    (folder / "all.zip").write_bytes(archive.getvalue())
    finished(client, client.post("/v1/documents", json={"path": str(folder)}))
    library.add_text("note:a", "No file.")
    rows = listed(client)
    (folder / "cats.md").write_text("Changed.")
    (folder / "dogs.txt").unlink()
    for name in ("cats.md", "dogs.txt", "inner.txt", "note:a"):
        response = client.get(f"/v1/documents/{rows[name]['id']}/original", params={"version": 1})
        assert response.status_code == 404, name
        assert response.json()["error"]["fix"]


def test_what_was_uploaded_is_deleted_with_its_file(client: httpx.Client, library: Library) -> None:
    finished(client, upload(client, ("secret.txt", "The canary sings.")))
    row = listed(client)["secret.txt"]
    removed = client.delete(f"/v1/documents/{row['id']}").json()["removed"]
    assert [(report["uri"], report["status"]) for report in removed] == [(row["uri"], "removed")]
    assert not list(library.uploads.folder.iterdir())
    assert client.get(f"/v1/documents/{row['id']}").status_code == 404
    assert client.delete(f"/v1/documents/{row['id']}").status_code == 404
    again = finished(client, upload(client, ("secret.txt", "The canary sings again.")))
    assert again["summary"] == {"indexed": 1}


def test_what_lies_in_a_folder_is_removed_and_stays_on_the_disk(client: httpx.Client, folder: Path) -> None:
    finished(client, client.post("/v1/documents", json={"path": str(folder)}))
    client.delete(f"/v1/documents/{listed(client)['cats.md']['id']}")
    assert (folder / "cats.md").exists()
    assert client.post("/v1/search", json={"question": "cat"}).status_code == 200
    assert "cats.md" not in listed(client)


def test_a_document_is_removed_while_others_are_read(client: httpx.Client, library: Library, monkeypatch) -> None:
    """The job holds the library for long; who removes something does not wait for its end."""
    finished(client, upload(client, ("old.txt", "Something old.")))
    row = listed(client)["old.txt"]
    removed: list[int] = []
    taking_in = Library.taking_in

    def slowly(self: Library, *args: object, **options: object) -> Iterator[object]:
        for report in taking_in(self, *args, **options):
            yield report
            for _ in range(500):  # until the other document is gone, which happens between two reports
                if removed:
                    break
                options["tell"](job_pace)

    job_pace = Pace()
    monkeypatch.setattr(Library, "taking_in", slowly)
    started = upload(client, *((f"{n}.txt", f"Number {n}.") for n in range(2)))
    removed.append(client.delete(f"/v1/documents/{row['id']}").status_code)
    assert removed == [200]
    assert finished(client, started)["state"] == "done"
    assert "old.txt" not in listed(client)


def test_what_failed_is_read_again(client: httpx.Client, folder: Path) -> None:
    (folder / "odd.txt").write_text("It was not to be read.")
    (folder / "odd.txt").chmod(0)
    if os.access(folder / "odd.txt", os.R_OK):
        pytest.skip("this user reads every file")
    finished(client, client.post("/v1/documents", json={"path": str(folder)}))
    row = listed(client)["odd.txt"]
    assert row["status"] == "failed" and "permission" in row["reason"] and row["fix"]
    (folder / "odd.txt").chmod(0o600)
    job = finished(client, client.post(f"/v1/documents/{row['id']}/retry"))
    assert [(report["name"], report["status"]) for report in job["sources"]] == [("odd.txt", "indexed")]


def test_what_is_well_is_not_read_again_and_a_given_text_cannot_be(client: httpx.Client, library: Library) -> None:
    library.add_text("note:a", "Words.")
    rows = listed(client)
    assert finished(client, client.post(f"/v1/documents/{rows['bread.md']['id']}/retry"))["sources"] == []
    job = finished(client, client.post(f"/v1/documents/{rows['note:a']['id']}/retry"))
    assert (job["state"], job["error"]["code"]) == ("failed", "usage_error")


def test_row_02_nothing_but_an_id_names_a_document(client: httpx.Client) -> None:
    routes = (
        "",
        "/text",
        "/passages",
        "/original",
        "/pages/1.png",
        "/pages/1/boxes?start=0&end=9",
        "/retry",
        "/labels",
    )
    for route in routes:
        method, body = {"/retry": ("POST", {}), "/labels": ("PUT", {"labels": []})}.get(route, ("GET", None))
        for identifier in TRAVERSALS:
            response = client.request(method, f"/v1/documents/{identifier}{route}", json=body)
            assert response.status_code == 404, response.text
            assert response.json()["error"]["code"] in ("not_found", "not_in_library")


# --- paths and pages of the web


def test_the_person_at_the_machine_adds_any_folder(client: httpx.Client, folder: Path) -> None:
    job = finished(client, client.post("/v1/documents", json={"path": str(folder)}))
    assert (job["name"], job["summary"]) == (str(folder), {"indexed": 2})
    assert {"cats.md", "dogs.txt"} <= listed(client).keys()
    missing = finished(client, client.post("/v1/documents", json={"path": str(folder / "nowhere")}))
    assert (missing["state"], missing["error"]["code"]) == ("failed", "path_missing")


@pytest.mark.parametrize(("name", "role"), [("e", "editor"), ("owner", "admin")])
def test_row_03_holders_of_keys_add_only_what_lies_in_the_roots(
    serve, library: Library, folder: Path, name: str, role: Role
) -> None:
    (folder / "inside").mkdir()
    (folder / "inside" / "a.txt").write_text("Some words.")
    (folder / "inside" / "link.md").symlink_to(folder / "cats.md")
    keys = Keys(library.path)
    headers = {"authorization": f"Bearer {keys.add(name, role, None)}"}
    with httpx.Client(base_url=serve(keys=keys, roots=(folder / "inside",)), headers=headers, timeout=20) as client:
        outside = [
            folder,
            folder / "inside" / ".." / "cats.md",
            folder / "inside" / "link.md",
            "/etc/passwd",
            "/nowhere",
        ]
        answers = [client.post("/v1/documents", json={"path": str(path)}) for path in outside]
        assert {(answer.status_code, answer.json()["error"]["message"]) for answer in answers} == {
            (403, "Paths there may not be added.")
        }
        assert client.post("/v1/documents", json={"path": "~"}).status_code == 400
        job = finished(client, client.post("/v1/documents", json={"path": str(folder / "inside")}))
        assert job["summary"] == {"indexed": 1, "skipped": 1}


@pytest.mark.parametrize(
    "path", ["~nobody-of-this-name/x", "/" + "a" * 4_000, "/" + "a/" * 2_000, "loop/x", "a\0b", "."]
)
def test_a_path_that_leads_nowhere_is_refused(serve, library: Library, tmp_path: Path, path: str) -> None:
    """Paths that Python's own functions raise for: an unknown home, names that are too long, links in a circle."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    path = str(tmp_path / path) if path.startswith("loop") else path
    keys = Keys(library.path)
    for given in (None, keys):
        headers = {"authorization": f"Bearer {keys.add('all', 'admin', None)}"} if given else {}
        address = serve(keys=given, roots=(tmp_path,))
        with httpx.Client(base_url=address, timeout=20, headers=headers) as client:
            for route in ("/v1/documents", "/v1/watch"):
                answer = client.post(route, json={"path": path})
                assert answer.status_code in (202, 400, 403, 404), answer.text
                assert answer.status_code != 202 or finished(client, answer)["state"] == "failed"
            why = client.post("/v1/why", json={"question": "x", "target": path})
            assert why.status_code == 200
            assert given is None or path.startswith("/") or why.json()["uri"] == path, "not where the server runs"


def test_pages_of_the_web_are_added_only_if_the_server_may(serve, library: Library, monkeypatch) -> None:
    monkeypatch.setattr(library, "settings", replace(library.settings, offline=False))
    here = partial(fetch_url, allow=lambda address: True, resolve=lambda host, port: ["127.0.0.1"])
    monkeypatch.setattr(web, "fetch_url", here)
    page = ok(b"<h1>Cats</h1><p>A cat sleeps.</p>", "Content-Type: text/html")
    with served(page, page) as (port, asked):
        url = f"http://cats.example:{port}/about"
        with httpx.Client(base_url=serve(), timeout=20) as client:
            refused = client.post("/v1/documents", json={"url": url})
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_allowed")
        assert not asked
        with httpx.Client(base_url=serve(allow_urls=True), timeout=20) as client:
            job = finished(client, client.post("/v1/documents", json={"url": url}))
            assert [(report["uri"], report["status"]) for report in job["sources"]] == [(url, "indexed")]
            row = listed(client)["about"]
            again = finished(client, client.post(f"/v1/documents/{row['id']}/retry"))
            assert again["summary"] == {"unchanged": 1}


def test_a_read_only_server_takes_nothing(serve) -> None:
    with httpx.Client(base_url=serve(read_only=True), timeout=20) as client:
        row = listed(client)["bread.md"]
        base = f"/v1/documents/{row['id']}"
        answers = [
            upload(client, ("a.txt", "x")),
            client.post("/v1/documents", json={"path": "/"}),
            client.delete(base),
            client.put(f"{base}/labels", json={"labels": ["x"]}),
            client.post(f"{base}/retry"),
            client.post("/v1/watch", json={"path": "/"}),
            client.put("/v1/cases", json={"cases": []}),
        ]
        assert {answer.status_code for answer in answers} == {403}
        assert {answer.json()["error"]["code"] for answer in answers} == {"read_only"}


# --- who may see what


def test_row_21_what_an_editor_uploads_is_seen_by_those_who_hold_his_labels(clients: dict[str, httpx.Client]) -> None:
    finished(clients["hr"], upload(clients["hr"], ("plan.txt", "The plan of HR.")))
    finished(clients["it"], upload(clients["it"], ("plan.txt", "The plan of IT.")))
    finished(clients["admin"], upload(clients["admin"], ("plan.txt", "The plan of all.")))
    texts = {
        name: {
            client.get(f"/v1/documents/{row['id']}/text").json()["text"]
            for row in client.get("/v1/documents", params={"q": "plan"}).json()["documents"]
        }
        for name, client in clients.items()
    }
    assert texts == {
        "hr": {"The plan of HR.", "The plan of all."},
        "it": {"The plan of IT.", "The plan of all."},
        "reader": {"The plan of all."},
        "admin": {"The plan of HR.", "The plan of IT.", "The plan of all."},
    }
    hidden = clients["hr"].get("/v1/documents", params={"label": "hr"}).json()["documents"][0]["id"]
    for client in (clients["it"], clients["reader"]):
        for route in ("", "/text", "/passages", "/original", "/pages/1.png"):
            answer, nothing = (client.get(f"/v1/documents/{each}{route}") for each in (hidden, "0" * 12))
            assert answer.status_code == nothing.status_code == 404
            assert answer.text.replace(hidden, "0" * 12) == nothing.text
    assert clients["it"].delete(f"/v1/documents/{hidden}").status_code == 404
    assert clients["it"].post(f"/v1/documents/{hidden}/retry").status_code == 404
    assert clients["reader"].delete(f"/v1/documents/{hidden}").status_code == 403
    assert upload(clients["reader"], ("a.txt", "x")).status_code == 403
    assert upload(clients["hr"], ("a.txt", "x"), labels="it").status_code == 403


def test_row_21_a_document_that_was_taken_away_is_not_overwritten(clients: dict[str, httpx.Client]) -> None:
    """An admin gives what HR uploaded another label; the same name again is another document then."""
    finished(clients["hr"], upload(clients["hr"], ("plan.txt", "The first plan.")))
    [row] = clients["hr"].get("/v1/documents", params={"q": "plan"}).json()["documents"]
    labelled = clients["admin"].put(f"/v1/documents/{row['id']}/labels", json={"labels": ["board"]}).json()
    assert labelled["labels"] == ["board"]
    assert clients["hr"].get(f"/v1/documents/{row['id']}").status_code == 404
    finished(clients["hr"], upload(clients["hr"], ("plan.txt", "The second plan.")))
    [own] = clients["hr"].get("/v1/documents", params={"q": "plan"}).json()["documents"]
    assert own["id"] != row["id"]
    assert clients["admin"].get(f"/v1/documents/{row['id']}/text").json()["text"] == "The first plan."
    assert clients["admin"].get(f"/v1/documents/{row['id']}/original").text == "The first plan."
    for name in ("hr", "it", "reader"):
        refused = clients[name].put(f"/v1/documents/{own['id']}/labels", json={"labels": []})
        assert refused.status_code in (403, 404)


def test_row_21_a_job_is_seen_by_who_started_it_and_by_who_sees_all(clients: dict[str, httpx.Client]) -> None:
    job = finished(clients["hr"], upload(clients["hr"], ("plan.txt", "The plan.")))
    seen = {name: client.get(f"/v1/jobs/{job['id']}").status_code for name, client in clients.items()}
    assert seen == {"hr": 200, "it": 404, "reader": 404, "admin": 200}
    assert clients["it"].get("/v1/jobs").json() == {"jobs": []}
    assert clients["it"].delete(f"/v1/jobs/{job['id']}").status_code == 404
    idle(clients["admin"])
