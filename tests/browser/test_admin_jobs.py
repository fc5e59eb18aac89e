"""The admin's job form and lists as people use them, in a real browser."""

from __future__ import annotations

import json
from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.conftest import PageOf
from tests.browser.server import Server

ADD = "/admin/jobs/job/add/"
JOBS = "/admin/jobs/job/"
MAIL = {"to": ["you@example.com"], "subject": "Hello", "body": "There"}


def new_name(what: str) -> str:
    """A name of this test's own: all share one installation."""
    return f"{what} {uuid4().hex[:8]}"


def choose_task(page: Page, name: str) -> None:
    page.locator("#id_task").select_option(name)


def fill_mail(page: Page) -> None:
    page.get_by_label("To one a line", exact=True).fill("you@example.com")
    page.get_by_label("Subject", exact=True).fill("Hello")
    page.get_by_label("Body", exact=True).fill("There")


def kind(page: Page, name: str) -> None:
    page.get_by_role("group", name="Type of schedule").get_by_role("button", name=name).click()


def test_a_stranger_signs_in_to_the_admin_and_sees_the_jobs(page_of: PageOf, server: Server) -> None:
    page = page_of(None)

    page.goto("/admin/")
    page.get_by_label("Username").fill("admin")
    page.locator("#id_password").fill("admin")
    page.get_by_role("button", name="Log in").click()

    expect(page).to_have_url(f"{server.url}{JOBS}")
    expect(page.get_by_role("link", name="Dead letters")).to_be_visible()


def test_a_cron_job_is_made_with_its_runs_shown_before_it_is_saved(page_of: PageOf) -> None:
    page = page_of("admin")
    name = new_name("Nightly")

    page.goto(ADD)
    page.get_by_label("Name", exact=True).fill(name)
    choose_task(page, "send_email")
    fill_mail(page)
    kind(page, "Cron")
    page.get_by_label("Expression").fill("30 2 * * *")
    page.get_by_label("Time zone").fill("Europe/Berlin")

    preview = page.get_by_role("region", name="Preview")
    expect(preview).to_contain_text("02:30 every day")
    expect(preview.locator("time[data-yours]")).to_have_count(10)
    expect(preview.get_by_text("02:30").first).to_be_visible()
    expect(preview.locator("[data-load]")).not_to_be_empty()

    page.get_by_role("button", name="Save", exact=True).click()

    expect(page.get_by_label("How this job is doing")).to_contain_text("Berlin")
    expect(page.get_by_role("button", name="Run now")).to_be_visible()
    expect(page.get_by_label("Name", exact=True)).to_have_value(name)


def test_a_day_on_which_the_clocks_change_is_flagged(page_of: PageOf) -> None:
    page = page_of("admin")

    page.goto(ADD)
    kind(page, "JSON")
    spring = {"type": "cron", "expression": "30 2 * * *", "timezone": "Europe/Berlin"}
    page.locator("#id_schedule").fill(json.dumps(spring | {"start_at": "2030-03-29T00:00:00Z"}))

    expect(page.get_by_text("Clock change").first).to_be_visible()
    expect(page.get_by_text("02:30 does not exist").first).to_be_visible()


def test_what_is_wrong_is_told_beside_its_field_while_typing_and_when_saving(page_of: PageOf) -> None:
    page = page_of("admin")

    page.goto(ADD)
    choose_task(page, "send_email")
    page.get_by_label("To one a line", exact=True).fill("nowhere")
    kind(page, "Cron")
    expression = page.get_by_label("Expression")
    expression.fill("61 * * * *")

    expect(expression).to_have_attribute("aria-invalid", "true")
    expect(page.locator(".p-field", has=expression).get_by_role("alert")).to_contain_text("61")

    expression.fill("0 * * * *")
    expect(expression).to_have_attribute("aria-invalid", "false")
    page.get_by_role("button", name="Save", exact=True).click()

    subject = page.get_by_label("Subject", exact=True)
    expect(page.locator(".p-field", has=subject).get_by_role("alert")).to_have_text("is missing.")
    to = page.get_by_label("To one a line", exact=True)
    expect(to).to_have_value("nowhere")
    expect(to).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Expression")).to_have_value("0 * * * *")


def test_another_task_has_another_form_and_json_is_one_click_away(page_of: PageOf) -> None:
    page = page_of("admin")
    switch = page.get_by_role("group", name="How to edit the payload")

    page.goto(ADD)
    choose_task(page, "demo_sync")
    page.get_by_label("Failures").fill("3")
    switch.get_by_role("button", name="JSON").click()

    payload = page.locator("#id_payload")
    expect(payload).to_be_visible()
    assert json.loads(payload.input_value())["failures"] == 3

    payload.fill('{"failures": 5}')
    switch.get_by_role("button", name="Form").click()
    expect(page.get_by_label("Failures")).to_have_value("5")

    choose_task(page, "send_email")
    expect(page.get_by_label("Subject", exact=True)).to_be_visible()
    expect(page.get_by_label("Failures", exact=True)).to_have_count(0)


def test_jobs_are_paused_together_after_a_question_and_the_outcome_of_each_is_told(
    page_of: PageOf, server: Server
) -> None:
    name = new_name("Bulk")
    for number in (1, 2):
        hourly = {"type": "interval", "seconds": 3600}
        job = {"name": f"{name} {number}", "task": "send_email", "payload": MAIL, "schedule": hourly}
        server.ask("admin", "POST", "jobs", job)
    page = page_of("admin")

    page.goto(f"{JOBS}?q={name}")
    page.get_by_label("Select all objects on this page for an action").check()
    page.locator("select[name=action]").select_option("pause")
    page.get_by_role("button", name="Run", exact=True).click()

    expect(page.get_by_role("heading", name="Pause these 2?")).to_be_visible()
    page.get_by_role("button", name="Pause all 2").click()

    expect(page.get_by_role("heading", name="done for 2 of 2")).to_be_visible()
    page.get_by_role("link", name="Back to the list").click()
    expect(page.locator("#result_list .p-badge", has_text="Paused")).to_have_count(2)


def test_a_job_is_paused_and_resumed_from_its_page(page_of: PageOf, server: Server) -> None:
    hourly = {"type": "interval", "seconds": 3600}
    job = server.ask(
        "admin", "POST", "jobs", {"name": new_name("One"), "task": "send_email", "payload": MAIL, "schedule": hourly}
    )
    page = page_of("admin")
    summary = page.get_by_label("How this job is doing")

    page.goto(f"{JOBS}{job['id']}/change/")
    page.get_by_role("button", name="Pause").click()
    expect(summary.get_by_text("Paused", exact=True)).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(summary.get_by_text("Active", exact=True)).to_be_visible()
