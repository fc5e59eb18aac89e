"""What people see on the dashboard, in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE, PHONE, PageOf, Watch
from tests.browser.server import Server

MAIL = {"to": "you@example.com", "subject": "Hello", "body": "There"}


def figure(page: Page, name: str):
    return page.locator(f"#figure-{name}")


def live(page: Page) -> None:
    """Wait until the page has updated itself at least once."""
    expect(page.locator("[data-live-state]")).to_have_text("Live")


def test_a_stranger_is_asked_to_sign_in_and_then_sees_the_dashboard(page_of: PageOf, server: Server) -> None:
    page = page_of(None)

    page.goto("/")
    expect(page).to_have_url(f"{server.url}/sign-in?next=%2F")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("do not belong together")
    page.get_by_label("Password").fill("admin")
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_newcomer_registers_is_taught_and_watches_the_first_job_run(page_of: PageOf, server: Server) -> None:
    page = page_of(None)
    page.goto("/register")
    page.get_by_label("Username").fill("nora")
    page.get_by_label("Email").fill("nora@example.com")
    page.get_by_label("Password").fill(server.password_of("nora"))
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_role("heading", name="No jobs yet")).to_be_visible()

    loads = []
    page.on("load", lambda _: loads.append(1))
    server.known("nora")
    server.ask("nora", "POST", "jobs", {"task": "send_email", "payload": MAIL, "name": "My first job"})

    expect(figure(page, "completed")).to_have_text("1")
    expect(page.get_by_role("heading", name="No jobs yet")).to_be_hidden()
    assert not loads, "it was reloaded"


def test_a_failure_is_seen_and_replayed_from_the_dead_letters(page_of: PageOf, server: Server) -> None:
    page = page_of("fay")
    page.goto("/")
    server.ask("fay", "POST", "jobs", {"task": "demo_charge", "payload": {}, "name": "Doomed", "max_retries": 0})

    expect(figure(page, "failed")).to_have_text("1")
    expect(page.get_by_role("link", name="Doomed").first).to_be_visible()
    page.get_by_role("link", name="Dead letters").last.click()
    expect(page.get_by_text("card declined")).to_be_visible()
    page.get_by_role("button", name="Replay it").click()

    expect(page.get_by_text("Replayed 1.")).to_be_visible()
    expect(page.get_by_text("card declined")).to_be_visible()  # it fails again, and comes back by itself
    page.get_by_role("link", name="edit its payload").click()
    expect(page.get_by_text("Traceback").first).to_be_visible()
    page.get_by_text("Edit and replay").click()
    page.get_by_label("Payload as JSON").fill('{"failures": "many"}')
    page.get_by_role("button", name="Replay with this payload").click()
    expect(page.get_by_text("The payload was refused")).to_be_visible()


def test_a_job_is_paused_resumed_and_run_by_hand(page_of: PageOf, server: Server) -> None:
    hourly = {"type": "cron", "expression": "0 3 * * *", "timezone": "Asia/Jakarta"}
    job = server.ask("hana", "POST", "jobs", {"task": "demo_ping", "payload": {}, "name": "Ping", "schedule": hourly})
    page = page_of("hana")
    page.goto("/jobs")
    page.get_by_role("link", name="Ping").click()
    expect(page.locator("section", has_text="Next ten runs").locator("tbody tr")).to_have_count(10)

    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused. Nothing is due")).to_be_visible()
    assert server.ask("hana", "GET", f"jobs/{job['id']}")["status"] == "PAUSED"
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Run now").click()

    expect(page.locator("#rate")).to_have_text("100 %")
    page.locator("#latest a").first.click()
    expect(page.locator("#result")).to_contain_text("pong")


def test_an_open_page_keeps_focus_scroll_and_what_was_opened(page_of: PageOf, server: Server) -> None:
    job = server.ask("hana", "POST", "jobs", {"task": "demo_ping", "payload": {}, "name": "Steady"})
    page = page_of("hana", PHONE)
    page.goto(f"/jobs/{job['id']}")
    page.get_by_text("Payload", exact=True).click()
    page.get_by_role("button", name="Run now").focus()
    page.evaluate("window.scrollTo(0, 300)")
    before = page.evaluate("document.activeElement.textContent")

    server.ask("hana", "POST", f"jobs/{job['id']}/run")

    expect(page.locator("#latest li")).to_have_count(2)
    assert page.evaluate("document.activeElement.textContent") == before == "Run now"
    assert page.evaluate("window.scrollY") == 300
    expect(page.locator("pre.data").first).to_be_visible()


def test_a_hidden_tab_asks_for_nothing_and_catches_up_when_it_is_seen(page_of: PageOf) -> None:
    page = page_of("hana")
    page.goto("/")
    live(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    page.evaluate(
        """() => {
            Object.defineProperty(document, "hidden", {value: true, configurable: true});
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    expect(page.locator("[data-live-state]")).to_have_text("Paused")
    page.wait_for_load_state("networkidle")
    asked.clear()
    page.wait_for_timeout(2500)
    assert asked == []

    with page.expect_request(re.compile("live")):
        page.evaluate(
            """() => {
                Object.defineProperty(document, "hidden", {value: false, configurable: true});
                document.dispatchEvent(new Event("visibilitychange"));
            }"""
        )
    live(page)


def test_light_and_dark_are_a_choice_that_is_remembered(page_of: PageOf) -> None:
    page = page_of("hana")
    page.goto("/")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)

    page.get_by_role("button", name="Light or dark").click()
    dark = page.evaluate(ground)
    page.reload()

    assert light != dark == page.evaluate(ground)


@pytest.mark.parametrize("path", ["/", "/jobs", "/executions", "/dead-letters", "/keys"])
def test_nothing_is_wider_than_a_phone(page_of: PageOf, path: str) -> None:
    page = page_of("admin", PHONE)
    page.goto(path)

    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_every_part_of_the_demo_shows_something(page_of: PageOf) -> None:
    page = page_of("admin")
    page.goto("/?span=5m")

    for heading in ("Running now", "Latest failures", "Next runs", "Workers"):
        rows = page.locator("section", has=page.get_by_role("heading", name=heading)).locator("li")
        expect(rows.first).to_be_visible()
    for name in ("completed", "failed", "dead"):
        expect(figure(page, name)).not_to_have_text("0")
    for shown in (".plot path.completed", ".plot path.skipped", ".plot path.line", "svg.heat path.heat1"):
        expect(page.locator(shown).first).to_be_attached()


def test_a_page_survives_a_restart_of_the_server(page_of: PageOf, server: Server, watch: Watch) -> None:
    watch.allow("ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_SOCKET_NOT_CONNECTED")
    page = page_of("rita")
    page.goto("/")
    live(page)

    server.stop()
    try:
        expect(page.locator("[data-live-state]")).to_have_text("Reconnecting …", timeout=PATIENCE)
    finally:
        server.start()

    expect(page.locator("[data-live-state]")).to_have_text("Live", timeout=PATIENCE)
    server.ask("rita", "POST", "jobs", {"task": "send_email", "payload": MAIL, "name": "After it"})
    expect(figure(page, "completed")).to_have_text("1", timeout=PATIENCE)
