"""The page in a real Chromium, before a real server process over a real small library."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.browser.driving import DESKTOP, HERE, SPY, Opened, Watched

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def chromium() -> str:
    """The path of a Chromium; the test is skipped where there is none."""
    found = os.environ.get("PINCITE_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if not found:
        pytest.skip("no Chromium here: install one, or name it in PINCITE_CHROMIUM")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium, for one module: its event loop would be in the way of other tests."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--host-resolver-rules=MAP evil.test 127.0.0.1"]  # a name that its owner made to point here
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            arguments.append("--no-sandbox")
        opened = playwright.chromium.launch(executable_path=path, args=arguments)
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Opened]]:
    """``visit(url, **context)`` gives a page of its own, watched; what would leave this machine is stopped."""
    with ExitStack() as stack:

        def opened(url: str, **options: Any) -> Opened:
            usual = {"viewport": DESKTOP, "locale": "en-GB", "color_scheme": "light", "reduced_motion": "reduce"}
            context = browser.new_context(**usual | options)
            stack.callback(context.close)
            watched = Watched()
            context.expose_function("tell", lambda what, detail: watched.told.append((what, detail)))
            context.add_init_script(SPY)
            context.route(lambda address: not address.startswith(HERE), lambda route: route.abort())
            context.on("request", lambda request: watched.note(request.url))
            context.on("page", watched.attach)
            page = context.new_page()
            page.set_default_timeout(20_000)
            return Opened(page, watched, url)

        yield opened
