"""What people see on the dashboard, in a real browser."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import PageOf
from tests.browser.server import Server


def test_a_stranger_is_asked_to_sign_in_and_then_sees_the_dashboard(page_of: PageOf, server: Server) -> None:
    page = page_of(None)

    page.goto("/")
    expect(page).to_have_url(f"{server.url}/sign-in?next=%2F")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill("admin")
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
