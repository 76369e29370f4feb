"""Folders of the server are followed as they change, also after a restart."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import httpx

from pincite.library import Library
from pincite.serve.keys import Keys
from tests.serve.http.conftest import serving
from tests.serve.http.documents import finished, listed


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_folder_is_followed_until_it_is_left_and_after_a_restart(library: Library, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "a.txt").write_text("The first words.")
    with serving(library) as address, httpx.Client(base_url=address, timeout=20) as client:
        assert client.get("/v1/watch").json() == {"folders": [], "allowed": True}
        job = finished(client, client.post("/v1/watch", json={"path": str(folder)}))
        assert job["summary"] == {"indexed": 1}
        until(lambda: client.get("/v1/watch").json()["folders"][0]["watching"])
        time.sleep(0.3)  # the system begins to tell
        (folder / "b.txt").write_text("The second words.")
        until(lambda: "b.txt" in listed(client))
    (folder / "c.txt").write_text("Written while no server ran.")
    with serving(library) as address, httpx.Client(base_url=address, timeout=20) as client:
        until(lambda: "c.txt" in listed(client))
        [one] = client.get("/v1/watch").json()["folders"]
        assert (one["path"], one["documents"], one["watching"]) == (str(folder), 3, True)
        left = client.request("DELETE", "/v1/watch", json={"path": str(folder)})
        assert left.json() == {"removed": str(folder)}
        assert client.get("/v1/watch").json()["folders"] == []
        assert client.request("DELETE", "/v1/watch", json={"path": str(folder)}).status_code == 404
        assert "c.txt" in listed(client)


def test_a_folder_that_is_gone_says_so_and_what_is_none_is_refused(library: Library, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    library.store.note("watched", f'["{folder}"]')
    folder.rmdir()
    with serving(library) as address, httpx.Client(base_url=address, timeout=20) as client:
        until(lambda: client.get("/v1/watch").json()["folders"][0]["reason"] != "")
        assert not client.get("/v1/watch").json()["folders"][0]["watching"]
        for path in (folder, "relative", "/etc/passwd"):
            assert client.post("/v1/watch", json={"path": str(path)}).status_code in (400, 404)
        folder.mkdir()
        finished(client, client.post("/v1/watch", json={"path": str(folder)}))
        [one] = client.get("/v1/watch").json()["folders"]
        assert (one["watching"], one["reason"]) == (True, "")
        time.sleep(0.3)  # the system begins to tell
        (folder / "a.txt").write_text("Written after it was there again.")
        until(lambda: "a.txt" in listed(client))


def test_only_who_sees_everything_follows_folders_and_only_in_the_roots(
    serve: Callable[..., str], library: Library, tmp_path: Path
) -> None:
    keys = Keys(library.path)
    tokens = {"all": keys.add("all", "admin", None), "some": keys.add("some", "admin", ["hr"])}
    tokens["editor"] = keys.add("editor", "editor", None)
    address = serve(keys=keys, roots=(tmp_path / "root",))
    (tmp_path / "root").mkdir()
    for name, token in tokens.items():
        with httpx.Client(base_url=address, timeout=20, headers={"authorization": f"Bearer {token}"}) as client:
            assert client.get("/v1/watch").json() == {"folders": [], "allowed": name == "all"}
            assert client.post("/v1/watch", json={"path": str(tmp_path)}).status_code == 403
            inside = client.post("/v1/watch", json={"path": str(tmp_path / "root")})
            assert inside.status_code == (202 if name == "all" else 403)
            if name == "all":
                finished(client, inside)
                client.request("DELETE", "/v1/watch", json={"path": str(tmp_path / "root")})
