"""Every page of the admin for everybody: light and dark, wide and narrow, by eye and by screen reader.

Excepted from the last: Django's own forms for users and groups, which are Unfold's and not ours.
"""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, WIDE, PageOf
from tests.browser.server import Server

LISTS = {
    "jobs": "/admin/jobs/job/",
    "paused jobs": "/admin/jobs/job/?status__exact=PAUSED",
    "executions": "/admin/jobs/execution/",
    "dead letters": "/admin/dead-letters/",
    "calendar": "/admin/calendar/",
    "workers": "/admin/workers/",
    "audit": "/admin/jobs/auditevent/",
    "incidents": "/admin/jobs/incident/",
    "alerts": "/admin/jobs/alertrule/",
    "users": "/admin/accounts/user/",
    "tenants": "/admin/accounts/tenant/",
    "new job": "/admin/jobs/job/add/",
}


def addresses(server: Server) -> dict[str, str]:
    [job, *_] = server.ask("admin", "GET", "jobs?task=demo_ping")["results"]
    [execution, *_] = server.ask("admin", "GET", "executions")["results"]
    return LISTS | {
        "job": f"/admin/jobs/job/{job['id']}/change/",
        "execution": f"/admin/jobs/execution/{execution['id']}/change/",
        "question": f"/admin/jobs/job/{job['id']}/act/cancel/",
        "backfill": f"/admin/jobs/job/{job['id']}/backfill/",
    }


def visit(page: Page, address: str) -> None:
    answer = page.goto(address, wait_until="load")
    assert answer is not None and answer.status == 200, address
    if page.locator("[data-schedule-editor]").count():
        page.get_by_role("group", name="Type of schedule").get_by_role("button", name="Cron").click()
        page.locator("[data-preview]:not(.p-stale) table").wait_for()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_page_can_be_used_with_a_screen_reader(page_of: PageOf, server: Server, dark: bool) -> None:
    page = page_of("admin", WIDE, dark=dark)

    faults = {}
    for name, address in addresses(server).items():
        visit(page, address)
        found = Axe().run(page).response["violations"]
        if found:
            faults[name] = [(one["id"], one["nodes"][0]["html"][:200]) for one in found]

    assert not faults


def test_every_page_fits_a_phone(page_of: PageOf, server: Server) -> None:
    page = page_of("admin", PHONE)

    too_wide = {}
    for name, address in addresses(server).items():
        visit(page, address)
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > PHONE["width"]:
            too_wide[name] = width

    assert not too_wide


def test_names_of_jobs_stay_readable_beside_long_errors(page_of: PageOf, server: Server) -> None:
    name = "Search index, longer than its interval"
    job = server.ask("admin", "POST", "jobs", {"task": "demo_charge", "payload": {}, "name": name, "max_retries": 0})
    page = page_of("admin", WIDE)
    page.goto(f"/jobs/{job['id']}")
    expect(page.locator("#latest .badge")).to_have_text("failed")

    page.goto(f"/admin/jobs/execution/?job__id__exact={job['id']}")
    link, error = page.locator("#result_list .p-link"), page.locator("#result_list .p-clipped")
    error.evaluate("told => (told.textContent = 'x'.repeat(400))")

    assert link.bounding_box()["width"] > 120
