"""A real browser on a real installation. One of each for all tests in this folder, so that they take seconds.

`server` is the installation, `page_of(user)` a page on which that user is signed in. However a test uses its pages, it
fails if one of them wrote an error to the console, or asked anybody but the installation for anything.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.browser import chromium
from tests.browser.server import Server
from tests.servers.order import Unavailable

PATIENCE = 60_000  # milliseconds for whatever should be seen soon, on a machine with much else to do
WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}

PageOf = Callable[..., Page]
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    try:
        program = chromium.find()
    except Unavailable as error:
        told = f"BROWSER TESTS CANNOT RUN: {error.reason}. {error.remedy}"
        if os.environ.get("CI") == "true":
            pytest.fail(told)
        print(f"\n{told}", file=sys.__stderr__, flush=True)
        pytest.skip(told)
    # Playwright's own event loop lives in this thread: Django would take all other tests here for asynchronous ones.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(chromium.ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server()
    server.start()
    yield server
    server.remove()


class Watch:
    """What pages did that they should not have."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.errors: list[str] = []
        self.outside: list[str] = []
        self._allowed: list[str] = []

    def allow(self, pattern: str) -> None:
        """Say that errors like this are what the test is about."""
        self._allowed.append(pattern)

    def over(self, page: Page) -> None:
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.errors.append(f"uncaught: {error}"))
        page.on("request", self._see)

    def check(self) -> None:
        errors = [error for error in self.errors if not any(re.search(one, error) for one in self._allowed)]
        assert not errors, f"the console has errors: {errors}"
        assert not self.outside, f"somebody else was asked: {self.outside}"

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(f"{message.type}: {message.text} ({message.location.get('url')})")

    def _see(self, request: Request) -> None:
        if not request.url.startswith((self.home, "data:", "blob:", "about:")):
            self.outside.append(request.url)


@pytest.fixture
def watch(server: Server) -> Iterator[Watch]:
    watch = Watch(server.url)
    yield watch
    watch.check()


@pytest.fixture(scope="session")
def signed_in() -> dict[str, Any]:
    """The cookies of those who have signed in: each does so once."""
    return {}


@pytest.fixture
def page_of(browser: Browser, server: Server, watch: Watch, signed_in: dict[str, Any]) -> Iterator[PageOf]:
    """`page_of("alice")` is a page with Alice signed in; she is registered if need be. `None` is a stranger.

    `page_of("alice", PHONE, dark=True, zone="Asia/Kolkata")` says what she holds it with and
    where. It starts at no address: `page.goto("/")`.
    """
    contexts = []

    def open_page(
        user: str | None, viewport: dict[str, int] = WIDE, *, dark: bool = False, zone: str | None = None
    ) -> Page:
        state = None if user is None else signed_in.get(user) or sign_in(browser, server, user)
        if user is not None:
            signed_in[user] = state
        context = browser.new_context(
            base_url=server.url,
            viewport=viewport,
            color_scheme="dark" if dark else "light",
            timezone_id=zone,
            reduced_motion="reduce",
            storage_state=state,
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        watch.over(page)
        return page

    yield open_page
    for context in contexts:
        context.close()


def sign_in(browser: Browser, server: Server, user: str) -> Any:
    server.register(user)
    context = browser.new_context(base_url=server.url)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto("/sign-in")
    page.get_by_label("Username").fill(user)
    page.get_by_label("Password").fill(server.password_of(user))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{server.url}/")
    state = context.storage_state()
    context.close()
    return state
