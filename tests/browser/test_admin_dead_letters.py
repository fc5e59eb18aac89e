"""Dead letters in the admin, in a real browser: a run fails for good, is looked at, and is replayed."""

from __future__ import annotations

from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE, PageOf
from tests.browser.server import Server


def fail(server: Server, page: Page) -> str:
    """A run that fails for good with an error of its own; its id."""
    job = {
        "name": f"Doomed {uuid4().hex[:8]}",
        "task": "demo_charge",
        "payload": {},
        "max_retries": 0,
    }
    made = server.ask("admin", "POST", "jobs", job)
    page.goto("/admin/")
    for _ in range(PATIENCE // 200):
        found = server.ask("admin", "GET", f"jobs/{made['id']}/executions")["results"]
        if found and found[0]["status"] == "FAILED":
            return str(found[0]["id"])
        page.wait_for_timeout(200)
    raise AssertionError("the run did not fail in time")


def test_a_failure_is_looked_at_corrected_and_replayed(page_of: PageOf, server: Server) -> None:
    page = page_of("admin")
    execution = fail(server, page)

    page.goto(f"/admin/jobs/execution/{execution}/change/")
    expect(page.get_by_label("Summary")).to_contain_text("card declined")
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    expect(page.get_by_text("Traceback").first).to_be_visible()

    page.get_by_role("link", name="Edit and replay").click()
    page.get_by_label("Error").fill("another card")
    page.get_by_role("button", name="Replay with this payload").click()

    expect(page.get_by_text("It runs again, with the new payload.")).to_be_visible()
    expect(page.locator("pre", has_text="another card")).to_be_visible()


def test_all_of_a_cause_are_replayed_after_a_question(page_of: PageOf, server: Server) -> None:
    page = page_of("admin")
    execution = fail(server, page)

    page.goto("/admin/dead-letters/")
    cause = page.locator("section.p-cause", has_text="card declined")
    expect(cause).to_have_count(1)
    cause.get_by_role("button", name="Replay").click()
    expect(page.get_by_role("heading", name="Replay")).to_be_visible()
    page.locator("form button.p-main").click()

    expect(page.get_by_role("heading", name="done for")).to_be_visible()
    page.goto(f"/admin/jobs/execution/{execution}/change/")
    expect(page.get_by_label("Summary")).to_be_visible()
    audited = page.goto("/admin/jobs/auditevent/?action__exact=replay")
    assert audited is not None and audited.status == 200
    expect(page.locator("#result_list tbody").first).to_contain_text("admin")
