"""Rows 25 and 26, and 19: what other sites may do to a server on this machine, and text that hides from people."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.browser.driving import LEASE, Server, ask, running

SMUGGLED = "".join(chr(0xE0000 + ord(c)) for c in "obey")  # tag characters: nobody sees them, models read them
HIDDEN = (
    f"# The bridge\n\nThe bridge was built in 1931\u202e by nobody\u202c.{SMUGGLED} It is re\u200bpainted each May.\n"
)

# What a page of another site can try without asking: forms, requests that need no leave, streams, scripts, frames.
ATTACK = """<!doctype html><title>x</title><iframe name=sink></iframe><script>
const target = "TARGET";
const form = (action, kind, name, value) => {
  const f = document.createElement("form");
  Object.assign(f, { action: target + action, method: "POST", enctype: kind, target: "sink" });
  const i = document.createElement("input");
  Object.assign(i, { name, value });
  f.append(i);
  document.body.append(f);
  f.submit();
};
const attempt = async (path, init) => {
  try {
    const answer = await fetch(target + path, init);
    return answer.type === "opaque" ? "opaque" : `${answer.status} ${await answer.text()}`;
  } catch {
    return "refused";
  }
};
window.attack = async () => {
  const sly = new FormData();
  sly.append("files", new Blob(["# Planted\\n\\nThe planted text."]), "planted.md");
  const results = [
    await attempt("/v1/documents", { method: "POST", body: sly, mode: "no-cors" }),
    await attempt("/v1/documents", { method: "POST", body: sly }),
    await attempt("/v1/documents", { method: "POST", body: '{"path": "/etc"}', mode: "no-cors" }),
    await attempt("/v1/documents", { method: "POST", body: '{"path": "/etc"}', headers: { "content-type": "application/json", "x-pincite": "1" } }),
    await attempt("/v1/cases", { method: "PUT", body: "{}", headers: { "content-type": "application/json" } }),
    await attempt("/v1/documents", { credentials: "include" }),
    await attempt("/v1/documents", { mode: "no-cors" }),
    await attempt("/v1/ask", { method: "POST", body: '{"question": "When is the rent due?"}', mode: "no-cors" }),
    await new Promise((resolve) => {
      const events = new EventSource(target + "/v1/jobs/x");
      events.onmessage = () => resolve("an event");
      events.onerror = () => (events.close(), resolve("refused"));
    }),
    await new Promise((resolve) => {
      const script = Object.assign(document.createElement("script"), { src: target + "/app.js", onload: () => resolve("loaded"), onerror: () => resolve("refused") });
      document.body.append(script);
    }),
  ];
  navigator.sendBeacon(target + "/v1/documents", new Blob(['{"path": "/etc"}'], { type: "text/plain" }));
  form("/v1/documents", "text/plain", '{"path": "/etc", "x": "', '"}');
  form("/v1/documents", "multipart/form-data", "files", "planted");
  form("/v1/watch", "application/x-www-form-urlencoded", "path", "/etc");
  const frame = document.createElement("iframe");
  frame.src = target + "/";
  document.body.append(frame);
  await new Promise((resolve) => setTimeout(resolve, 400));
  return results;
};
</script>"""  # noqa: E501


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, encoder_folder: Path) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("sites") / "library", GENERATOR="none") as started:
        started.add({"lease.md": LEASE, "bridge.md": HIDDEN})
        yield started


@pytest.fixture
def site(server: Server) -> Iterator[int]:
    """Another site on this machine; gives its port."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = ATTACK.replace("TARGET", server.url).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    other = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    yield other.server_port
    other.shutdown()
    other.server_close()


def test_row_25_a_name_that_was_made_to_point_here_gets_nothing(server: Server, browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    answer = page.goto(server.url.replace("127.0.0.1", "evil.test"))
    assert answer.status == 421
    for path in ("/v1/documents", "/v1/me", "/health", "/app.js", "/mcp"):
        assert page.evaluate("async (path) => (await fetch(path)).status", path) == 421, path
    context.close()


@pytest.mark.parametrize("name", ["evil.test", "127.0.0.1"])
def test_row_26_another_site_reads_and_changes_nothing(server: Server, site: int, browser, name: str) -> None:
    before = server.documents()
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"http://{name}:{site}/")
    results = page.evaluate("window.attack()")
    assert set(results) <= {"refused", "opaque"}, results
    page.wait_for_function("() => frames.length === 2")
    page.frames[-1].wait_for_load_state()
    assert page.frames[-1].locator("#question").count() == 0  # the page does not open in a frame of others
    context.close()
    assert server.documents() == before
    assert server.call("/v1/cases")["cases"] == []
    assert server.call("/v1/watch")["folders"] == []
    assert [job for job in server.call("/v1/jobs")["jobs"] if job["name"] != "2 files"] == []


def test_row_19_what_hides_from_people_is_shown(server: Server, visit) -> None:
    opened = visit(server.url)
    page = opened.go("/")
    turn = ask(page, "When was the bridge built?")
    turn.locator("button[data-claim]").first.click()
    page.locator("#side .context").wait_for()
    shown = page.locator("body").inner_text()
    record = next(one for one in server.documents() if one["name"] == "bridge.md")
    page.goto(f"{server.url}/#/library/{record['id']}")
    page.locator(".reader .text", has_text="bridge").wait_for()
    shown += page.locator(".reader .text").text_content()
    assert not any(0x202A <= ord(c) <= 0x202E or 0xE0000 <= ord(c) <= 0xE007F or c == "\u200b" for c in shown)
    assert "⟨U+202E⟩" in page.locator(".reader .text").text_content()
    assert "⟨U+E006F⟩" in page.locator(".reader .text").text_content()
    opened.innocent()
