"""Takes the pictures of the admin that the documentation shows, of a new demo: `make screenshots`."""

from __future__ import annotations

from playwright.sync_api import Browser, Page

from tests.browser.screenshots import PHONE, WIDE, photograph, signed_in, take
from tests.browser.server import Server


def main() -> None:
    photograph(take_all, Server())


def take_all(browser: Browser, server: Server) -> None:
    [job, *_] = server.ask("admin", "GET", "jobs?name=warehouse")["results"]
    [dead, *_] = server.ask("admin", "GET", "executions?status=FAILED")["results"]
    wide, dark = signed_in(browser, server, WIDE), signed_in(browser, server, WIDE, dark=True)
    take(wide, "/admin/jobs/job/", "admin-jobs")
    take(dark, f"/admin/jobs/job/{job['id']}/change/", "admin-job-dark")
    wide.goto(f"/admin/jobs/execution/{dead['id']}/change/")
    wide.evaluate("document.querySelectorAll('details').forEach(one => one.open = false)")  # this machine's paths
    take(wide, "", "admin-execution")
    take(wide, "/admin/dead-letters/", "admin-dead-letters")
    take(dark, "/admin/calendar/?hours=72", "admin-calendar-dark")
    take(signed_in(browser, server, PHONE), f"/admin/jobs/job/{job['id']}/change/", "admin-phone")
    take_preview(wide)


def take_preview(page: Page) -> None:
    """A schedule as it is being written, with a change of the clocks ahead."""
    page.goto("/admin/jobs/job/add/")
    page.get_by_role("group", name="Type of schedule").get_by_role("button", name="JSON").click()
    schedule = '{"type": "cron", "expression": "30 2 * * *", "timezone": "Europe/Berlin", "start_at": '
    page.locator("#id_schedule").fill(schedule + '"2030-03-28T00:00:00Z"}')
    page.get_by_text("Clock change").first.wait_for()
    page.get_by_role("group", name="Type of schedule").get_by_role("button", name="Cron").click()
    page.locator("[data-preview]:not(.p-stale) table").wait_for()
    page.get_by_text("Clock change").first.wait_for()
    page.evaluate("document.querySelector('[data-schedule-editor]').scrollIntoView({block: 'start'})")
    take(page, "", "admin-schedule")


if __name__ == "__main__":
    main()
