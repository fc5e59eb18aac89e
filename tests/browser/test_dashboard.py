"""What people see on the dashboard, in a real browser."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE, PHONE, WIDE, PageOf, Watch
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
    expect(page.get_by_role("alert")).to_contain_text("Incorrect username or password")
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
    page.get_by_role("button", name="Replay", exact=True).click()

    expect(page.get_by_text("Replayed 1.")).to_be_visible()
    expect(page.get_by_text("card declined")).to_be_visible()  # it fails again, and comes back by itself
    page.get_by_role("link", name="edit its payload").click()
    expect(page.get_by_text("Traceback").first).to_be_visible()
    page.get_by_text("Edit and replay").click()
    page.get_by_label("Payload as JSON").fill('{"failures": "many"}')
    page.get_by_role("button", name="Replay with this payload").click()
    expect(page.get_by_role("alert")).to_contain_text("failures")
    expect(page.get_by_label("Payload as JSON")).to_have_value('{"failures": "many"}')


def test_a_job_is_paused_resumed_and_run_by_hand(page_of: PageOf, server: Server) -> None:
    hourly = {"type": "cron", "expression": "0 3 * * *", "timezone": "Asia/Jakarta"}
    job = server.ask("hana", "POST", "jobs", {"task": "demo_ping", "payload": {}, "name": "Ping", "schedule": hourly})
    page = page_of("hana")
    page.goto("/jobs")
    page.get_by_role("link", name="Ping").click()
    expect(page.locator("section", has_text="Next ten executions").locator("tbody tr")).to_have_count(10)

    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused. The job has no due times")).to_be_visible()
    assert server.ask("hana", "GET", f"jobs/{job['id']}")["status"] == "PAUSED"
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Run now").click()

    expect(page.locator("#rate")).to_have_text("100 %")
    page.locator("#latest a").first.click()
    expect(page.locator("#result")).to_contain_text("pong")


def test_logs_and_tooltips_show_the_time_of_the_reader(page_of: PageOf, server: Server) -> None:
    job = server.ask("hana", "POST", "jobs", {"task": "demo_report", "payload": {"seconds": 0.1}, "name": "Abroad"})
    page = page_of("hana", zone="Asia/Kolkata")
    page.goto(f"/jobs/{job['id']}")
    expect(page.locator("#latest .badge")).to_have_text("completed")
    [run] = server.ask("hana", "GET", f"jobs/{job['id']}/executions")["results"]
    [line, *_] = server.ask("hana", "GET", f"executions/{run['id']}/logs")["results"]
    due, said = (datetime.fromisoformat(at).astimezone(ZoneInfo("Asia/Kolkata")) for at in (run["due_at"], line["at"]))

    expect(page.locator("svg.strip title")).to_have_text(re.compile(f"{due.day} {due:%b %Y, %H:%M:%S}: completed"))
    page.goto(f"/executions/{run['id']}")
    expect(page.locator("#log")).to_contain_text(f"{said:%H:%M:%S} {line['text']}")
    page.goto("/?span=5m")
    expect(page.locator("section svg title").first).to_be_attached()
    told = page.locator("section svg title").all_text_contents()
    assert [one for one in told if "UTC" in one or not re.match(r"\d\d:\d\d", one)] == []


def test_messages_go_away_when_they_are_read_and_errors_when_they_are_dismissed(
    page_of: PageOf, server: Server
) -> None:
    hourly = {"type": "interval", "seconds": 3600}
    job = server.ask("iris", "POST", "jobs", {"task": "demo_ping", "payload": {}, "name": "Told", "schedule": hourly})
    page = page_of("iris")
    page.clock.install()
    message = page.locator("[data-message]")
    page.goto(f"/jobs/{job['id']}")
    page.get_by_role("button", name="Pause").click()
    expect(message).to_contain_text("Paused")

    page.clock.fast_forward(10_000)
    expect(message).to_have_count(0)
    page.goto(f"/jobs/{job['id']}")
    # As two people do who press at the same time: the page of one still has the button.
    server.ask("iris", "POST", f"jobs/{job['id']}/cancel")
    page.evaluate(
        """act => {
            const form = document.createElement("form");
            [form.method, form.action] = ["post", act];
            document.body.append(form);
            form.requestSubmit();
        }""",
        f"/jobs/{job['id']}/resume",
    )
    expect(message).to_contain_text("Only a paused job can be resumed")
    page.clock.fast_forward(60_000)
    expect(message).to_be_visible()
    message.get_by_role("button", name="Dismiss").click()
    expect(message).to_have_count(0)


def test_all_dead_letters_of_a_cause_are_replayed_only_after_a_question_that_says_how_many(
    page_of: PageOf, server: Server
) -> None:
    for name in ("one", "two"):
        server.ask("ida", "POST", "jobs", {"task": "demo_charge", "payload": {}, "name": name, "max_retries": 0})
    page, asked = page_of("ida"), []
    page.goto("/dead-letters")
    replay = page.get_by_role("button", name="Replay all 2")

    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    replay.click()
    assert asked == ["Replay 2 executions?"]
    page.once("dialog", lambda dialog: dialog.accept())
    replay.click()

    expect(page.get_by_text("Replayed 2.")).to_be_visible()


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


def test_buttons_of_an_open_page_work_after_updates_that_have_no_token(page_of: PageOf, server: Server) -> None:
    hourly = {"type": "interval", "seconds": 3600}
    job = server.ask("iris", "POST", "jobs", {"task": "demo_ping", "payload": {}, "name": "Open", "schedule": hourly})
    page = page_of("iris")
    with page.expect_response(re.compile("live")) as answer:
        page.goto(f"/jobs/{job['id']}")
    assert answer.value.status == 200
    tokens = page.locator("main [name=csrfmiddlewaretoken]")
    expect(tokens).to_have_count(0)  # the fragments have none

    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused. The job has no due times")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_a_page_that_stays_the_same_is_asked_for_less_often(page_of: PageOf) -> None:
    page = page_of("iris")
    page.goto("/dead-letters")

    delays = "[0, 59, 60, 1000].map(unchanged => Live.prototype.delay.call({failures: 0, unchanged}))"
    assert page.evaluate(delays) == [1000, 1000, 5000, 5000]


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

    for heading in ("Running now", "Latest failures", "Next executions", "Workers"):
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


def test_filters_show_what_is_applied_after_going_back(page_of: PageOf) -> None:
    page = page_of("hana")
    page.goto("/executions")
    status = page.get_by_label("Status")
    status.select_option("FAILED")
    page.wait_for_url("**/executions?status=FAILED*")
    page.go_back()
    expect(page).to_have_url(re.compile("/executions$"))
    expect(status).to_have_value("")


def test_reloading_the_page_of_a_new_key_creates_no_other(page_of: PageOf) -> None:
    page = page_of("alice")
    page.goto("/keys")
    page.get_by_label("Name").fill("reloaded")
    page.get_by_role("button", name="Create key").click()
    page.locator("#secret").wait_for()

    page.reload()

    assert page.locator("#secret").count() == 0
    assert page.get_by_role("row").filter(has_text="reloaded").count() == 1


def test_filters_can_be_chosen_with_the_keyboard(page_of: PageOf) -> None:
    page = page_of("hana")
    page.goto("/executions")
    status, show = page.get_by_label("Status"), page.locator("#filters").get_by_role("button", name="Show")
    expect(show).to_be_hidden()
    status.focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    chosen = status.input_value()
    expect(show).to_be_visible()
    expect(page).to_have_url(re.compile("/executions$"))

    show.focus()
    page.keyboard.press("Enter")

    page.wait_for_url(f"**/executions?status={chosen}*")


def test_a_text_that_is_being_typed_survives_the_end_of_the_session(
    page_of: PageOf, server: Server, watch: Watch
) -> None:
    watch.allow("401")
    server.ask("ella", "POST", "jobs", {"task": "demo_charge", "payload": {}, "name": "Doomed", "max_retries": 0})
    page = page_of("ella")
    page.goto("/dead-letters")
    page.get_by_role("link", name="edit its payload").click()
    page.get_by_text("Edit and replay").click()
    typed, state = page.get_by_label("Payload as JSON"), page.locator("[data-live-state]")
    typed.fill('{"failures": 7}')
    live(page)
    [session] = [cookie for cookie in page.context.cookies() if cookie["name"] == "sessionid"]

    page.context.clear_cookies(name="sessionid")
    expect(state).to_have_text("Signed out. Sign in again in another tab.")
    expect(typed).to_have_value('{"failures": 7}')
    page.context.add_cookies([session])
    live(page)

    page.get_by_text("Edit and replay").scroll_into_view_if_needed()
    typed.evaluate("field => (field.value = field.defaultValue)")
    page.context.clear_cookies(name="sessionid")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_text_that_is_sent_after_the_end_of_the_session_stays_on_the_page(
    page_of: PageOf, server: Server, watch: Watch
) -> None:
    watch.allow("401")
    server.ask("emma", "POST", "jobs", {"task": "demo_charge", "payload": {}, "name": "Doomed", "max_retries": 0})
    page = page_of("emma")
    page.goto("/dead-letters")
    page.get_by_role("link", name="edit its payload").click()
    page.get_by_text("Edit and replay").click()
    typed, send = page.get_by_label("Payload as JSON"), page.get_by_role("button", name="Replay with this payload")
    typed.fill('{"failures": ')
    send.click()
    expect(page.get_by_role("alert")).to_contain_text("not valid JSON")  # a page that is not live: nothing has told
    typed.fill('{"failures": 0}')
    [session] = [cookie for cookie in page.context.cookies() if cookie["name"] == "sessionid"]

    page.context.clear_cookies(name="sessionid")
    with page.expect_event("dialog") as refusal:
        page.once("dialog", lambda dialog: dialog.accept())
        send.click()
    assert "you are signed out" in refusal.value.message
    expect(typed).to_have_value('{"failures": 0}')
    page.context.add_cookies([session])
    send.click()

    expect(page.get_by_text("Replay started with the new payload.")).to_be_visible()
    expect(page.locator("pre.data").filter(has_text='"failures": 0')).to_be_visible()


def test_an_open_page_follows_the_tenant_that_was_chosen_in_another_tab(
    page_of: PageOf, server: Server, watch: Watch
) -> None:
    watch.allow("409")
    server.ask("tess", "POST", "tenants", {"name": "Second tenant"})
    server.ask("tess", "POST", "jobs", {"task": "demo_charge", "payload": {}, "name": "Doomed", "max_retries": 0})
    page = page_of("tess")
    page.goto("/dead-letters")
    chosen, cause = page.locator("#tenant option:checked"), page.get_by_text("card declined")
    expect(cause).to_be_visible()
    expect(chosen).to_have_text("tess")

    other = page.context.new_page()
    other.goto("/")
    other.locator("#tenant").select_option(label="Second tenant")
    expect(other.locator("#tenant option:checked")).to_have_text("Second tenant")

    expect(cause).to_have_count(0)  # what is shown and what is named belong together
    expect(chosen).to_have_text("Second tenant")


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_long_words_stay_within_the_page(page_of: PageOf, server: Server, size: dict[str, int]) -> None:
    hourly = {"type": "cron", "expression": "30 2 * * *", "timezone": "America/New_York"}
    wanted = {"task": "demo_charge", "payload": {}, "name": "W" * 200, "max_retries": 0}
    job = server.ask("lena", "POST", "jobs", {**wanted, "schedule": hourly})
    server.ask("lena", "POST", f"jobs/{job['id']}/run")
    page = page_of("lena", size)
    page.goto(f"/jobs/{job['id']}")
    expect(page.locator("#latest .badge")).to_have_text("failed")
    run = page.locator("#latest a").first.get_attribute("href")

    for path in (f"/jobs/{job['id']}", run, "/", "/jobs", "/executions", "/dead-letters"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], path
    page.goto(f"/jobs/{job['id']}")
    table = page.locator("section", has=page.get_by_role("heading", name="Next ten executions")).locator(".scroll")
    if size == WIDE:
        assert table.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_the_account_is_within_reach_on_a_phone(page_of: PageOf) -> None:
    page = page_of("hana", PHONE)
    page.goto("/")

    page.get_by_role("link", name="hana").click()

    expect(page.get_by_role("heading", name="Password")).to_be_visible()
