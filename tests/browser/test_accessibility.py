"""Every page can be read by a screen reader and used without a mouse: axe-core finds nothing, light and dark."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import PageOf
from tests.browser.server import Server

WITHOUT_SIGN_IN = ["/sign-in", "/register", "/forgot-password", "/nowhere"]
PAGES = ["/", "/jobs", "/executions", "/dead-letters", "/keys", "/account", "/account/password", "job", "run"]


def address(page: str, server: Server) -> str:
    if page == "job":
        return f"/jobs/{server.ask('admin', 'GET', 'jobs')['results'][0]['id']}"
    if page == "run":
        return f"/executions/{server.ask('admin', 'GET', 'executions?status=FAILED')['results'][0]['id']}"
    return page


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(page_of: PageOf, server: Server, watch, dark: bool) -> None:
    watch.allow("404")
    signed_in, stranger = page_of("admin", dark=dark), page_of(None, dark=dark)
    for name in PAGES + WITHOUT_SIGN_IN:
        page = stranger if name in WITHOUT_SIGN_IN else signed_in
        page.goto(address(name, server))
        assert not faults(page), name


def faults(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {node['html'][:200]} {node['any'][0]['message'] if node['any'] else ''}"
        for one in found
        for node in one["nodes"]
    ]


def test_the_pages_can_be_walked_through_with_the_keyboard(page_of: PageOf, server: Server) -> None:
    page = page_of("admin")
    page.goto("/")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.get_by_role("link", name="Jobs", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{server.url}/jobs")
