"""Everybody can follow every link and press every button that they are offered: nothing fails, and all of it is a page.

For each role, each route is visited once with each set of query parameters, by the links that the pages have; then
each button is pressed once: a question is dismissed first and accepted the second time, what destroys comes last. A
page route that nobody reached fails the test, so that it cannot pass by visiting nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.conf import settings
from django.urls import Resolver404, get_resolver, resolve
from playwright.sync_api import Browser, Dialog, Page, Response
from playwright.sync_api import Error as PlaywrightError

from tests.api.test_routes import routes
from tests.browser.cast import MEMBERS, STAFF, SUPERUSER
from tests.browser.conftest import PATIENCE, WIDE, Watch, sign_in
from tests.browser.server import Server

ROLES = (None, "victor", "mary", "olga", "steve", "sue", SUPERUSER)  # who destroys most comes last
MOST_PAGES, MOST_BUTTONS = 150, 250  # of a role: a crawl that finds ever more is not bounded as it should be
DOWNLOADS = {"schema"}  # routes that answer with a file on purpose
DOCS, DOCS_RENDERED = "docs", "a[href='/api/schema']"  # Swagger UI, whose own buttons are not ours to test
SEVERAL = {"job": 4, "run": 6}  # of some routes, more than one: what they offer depends on the status
DESTROYS = re.compile(r"delete|remove|discard|revoke|cancel|sure", re.I)
SIGN_OUT = "Sign out"
LEAVES = re.compile(r"sign out|log out|sign in as|sign in|log in|create account|everywhere", re.I)  # the session
NEVER = re.compile(r"^(chrome|mailto|javascript):")
SUBMITTING = ("tenant", "status", "task")  # selects that send their form
UNVISITED = {  # routes that no link or button of ours leads to, and why
    "healthz": "probes",
    "readyz": "probes",
    "metrics": "Prometheus",
    "reset-password": "linked from mails",
    "verify-address": "linked from mails",
    "invitation": "linked from mails",
    "request-verification": "only where an address is not verified",
    "sign-out-everywhere": "ends the session, as the button does that ends each crawl",
    "admin:autocomplete": "asked while typing in a field",
    "admin:jobs_job_preview": "asked while typing in a field",
    "admin:jobs_job_load": "asked while typing in a field",
    "admin:search": "asked while typing in a field",
    "admin:index": "leads to the first list that somebody may see",
    "admin:app_list": "Django's own, the sidebar replaces it",
    "admin:jsi18n": "a script",
    "admin:view_on_site": "switched off",
    "admin:logout": "in a menu, for the same as the dashboard's sign-out",
    "admin:login": "tests/browser/test_admin_jobs.py",
    "admin:password_change_done": "after a changed password",
}
# Django registers these for each model: history is replaced by the audit trail, and history rows are read-only.
NOT_OFFERED = re.compile(
    r"admin:(.*_history|(execution_(destination|workerkey)|jobs_(execution|attempt|incident|auditevent))_(add|delete))"
)

LINKS = """() => [...document.querySelectorAll("a[href]")].map(one => {
    const href = one.getAttribute("href");
    if (URL.canParse(href, document.baseURI)) return new URL(href, document.baseURI).href;
    return one.checkVisibility() ? `invalid:${href}` : "javascript:";
})"""
# The words of each button without numbers, and where its form leads. The buttons themselves are kept in the page: an
# attribute as a mark would be taken away by the page's next update.
BUTTONS = """() => { const NAVIGATION = "Show or hide the navigation"; window.crawled = [
    ...document.querySelectorAll("button, input[type=submit], summary, [role=button], select[data-submits]")
]; return window.crawled.map((one, n) => {
    const label = one.matches("select") ? one.name : one.getAttribute("aria-label") || one.textContent || one.value;
    const words = (label || one.title || "").trim();
    const action = one.form && one.form.method === "post" ? one.form.getAttribute("action") || "" : null;
    const form = action === null ? "" : new URL(action, location).pathname;
    const seen = one.checkVisibility() && !one.disabled && !one.closest("[inert]");
    const everywhere = !!one.closest("header, nav, aside, #nav-sidebar") || words === NAVIGATION;
    const checked = form !== "" && "kept" in one.form.dataset; // its script asks first whether the session lasts
    const told = words.replace(/\\s+/g, " ").replace(/[0-9]+/g, "#").slice(0, 60);
    return {n, seen, checked, words: told, form, everywhere};
}); }"""
# What a form demands: without it, the browser would not send it.
FILL = """one => { for (const field of one.form ? one.form.elements : []) {
    if (!field.required || field.value || !field.checkVisibility()) continue;
    const values = {email: "crawl@example.com", number: "1", password: "correct horse battery"};
    if (field.tagName === "SELECT") field.selectedIndex = field.options.length - 1;
    else field.value = values[field.type] || "crawl";
} }"""


def route_of(url: str) -> str:
    try:
        return resolve(urlsplit(url).path or "/").view_name
    except Resolver404:
        return ""


def parts_of(url: str) -> set[tuple[str, ...]]:
    """What a link has that may be new: its route, with each of its parameters. Not each combination of them."""
    route = route_of(url)
    kind = urlsplit(url).path.rsplit("/", 2)[-2:-1] if route.endswith("_act") else ()
    names = {name for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True)} - {"_changelist_filters"}
    return {(route, *kind), *((route, *kind, name) for name in names)}


def order_of(button: tuple[str, ...]) -> tuple[int, int, int, tuple[str, ...]]:
    """What destroys comes after all else, and what ends the session at the very end, signing out first. Long words come
    first: an edited replay before the plain one that would leave nothing to edit. A job goes after its executions.
    """
    return (
        bool(LEAVES.search(button[1])) + bool(LEAVES.search(button[1].removeprefix(SIGN_OUT))),
        bool(DESTROYS.search(button[1])) + (button[2] == "act-on-job"),
        -len(button[1]),
        button,
    )


class Button(NamedTuple):
    address: str
    words: str
    opener: tuple[str, ...] | None  # the button that shows the page of this one, where a link does not


@dataclass
class Crawl:
    """One role's way through the pages."""

    home: str
    page: Page
    spared: re.Pattern[str]  # addresses not to go to: those of oneself as an object of the admin
    reached: set[str] = field(default_factory=set)  # routes
    seen: set[tuple[str, ...]] = field(default_factory=set)
    visited: list[str] = field(default_factory=list)
    ahead: list[str] = field(default_factory=list)
    buttons: dict[tuple[str, ...], Button] = field(default_factory=dict)
    pressed: set[tuple[str, ...]] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    answers: int = 0  # dialogs: the first of each button is dismissed
    posted: bool = False  # whether the page is the answer to a form
    destroyed: bool = False  # whether addresses may be gone by now

    def __post_init__(self) -> None:
        self.page.on("response", self._hear)
        self.page.on("dialog", self._answer)

    def go(self) -> None:
        self.follow(f"{self.home}/")
        while self.ahead:
            self.follow(self.ahead.pop(0))
            assert len(self.seen) < MOST_PAGES, f"ever more pages: {sorted(self.seen)}"
        while waiting := sorted(self.buttons.keys() - self.pressed, key=order_of):
            self.press(waiting[0])
            assert len(self.pressed) < MOST_BUTTONS, f"ever more buttons: {sorted(self.pressed)}"
            if LEAVES.search(waiting[0][1]):
                break  # what is left are other doors out

    def is_new(self, url: str) -> bool:
        route = route_of(url)
        alike = sum(route_of(one) == route for one in self.visited)
        return not parts_of(url) <= self.seen or (alike < SEVERAL.get(route, 0) and url not in self.visited)

    def follow(self, url: str) -> None:
        if not self.is_new(url):
            return
        self.seen |= parts_of(url)
        self.visited.append(url)
        if route_of(url) in DOWNLOADS:
            self.download(url)
            return
        self.reached.add(route_of(url))  # a route may lead on to another
        self.page.goto(url)
        self.look()

    def download(self, url: str) -> None:
        self.reached.add(route_of(url))
        response = self.page.request.get(url)
        if not response.ok or not response.body():
            self.faults.append(f"{url}: {response.status}, from {self.page.url}")

    def look(self, opener: tuple[str, ...] | None = None) -> None:
        """Take note of what the page offers; `opener` is the button that led to it."""
        self.page.wait_for_load_state("load")
        here = self.page.url
        self.reached.add(route_of(here))
        if route_of(here) == DOCS:
            self.page.wait_for_selector(DOCS_RENDERED)
        for url in self.page.evaluate(LINKS):
            if url.startswith(self.home) and not self.spared.search(url) and self.is_new(url):
                self.ahead.append(url)
            elif not url.startswith(self.home) and not NEVER.match(url):
                self.faults.append(f"{here} links to {url}")
        for one in self.page.evaluate(BUTTONS) if route_of(here) != DOCS else ():
            form = self.home + one["form"] if one["form"] else ""
            key = ("" if one["everywhere"] else route_of(here), one["words"], route_of(form) if form else "")
            if one["seen"] and key not in self.buttons and not self.spared.search(form):
                shown_by_it = opener and (self.posted or here == self.buttons[opener].address)
                self.buttons[key] = Button(here, one["words"], opener if shown_by_it else None)

    def press(self, key: tuple[str, ...]) -> None:
        self.pressed.add(key)
        self.destroyed = self.destroyed or bool(DESTROYS.search(key[1]))
        self.answers = 0
        for _ in range(2):
            if not self._press(key) or self.answers != 1:
                break  # it asked nothing, or was answered both ways
        self.look(key)
        while self.ahead:
            self.follow(self.ahead.pop(0))

    def _press(self, key: tuple[str, ...]) -> bool:
        """Whether the button was there."""
        address, words, opener = self.buttons[key]
        if opener is None or not self._press(opener):
            self.page.goto(address)
        self.page.wait_for_load_state("load")
        found = [one for one in self.page.evaluate(BUTTONS) if one["words"] == words and one["seen"]]
        if not found:
            return False  # others have been pressed meanwhile
        if found[0]["form"]:
            self.reached.add(route_of(self.home + found[0]["form"]))
        button = self.page.evaluate_handle("n => window.crawled[n]", found[0]["n"]).as_element()
        button.evaluate(FILL)
        if words in SUBMITTING:
            other = button.evaluate("one => one.selectedIndex ? 0 : one.options.length - 1")
            with self.page.expect_navigation():
                button.select_option(index=other)
            return True
        press = button.click
        try:
            button.click(timeout=5000, trial=True)  # presses nothing: a slow answer must not be a reason to press twice
        except PlaywrightError:  # something is in front of it, as a menu that another button has opened
            press = partial(button.evaluate, "one => one.click()")
        with self.page.expect_navigation() if found[0]["checked"] else nullcontext():
            press()
        self.page.wait_for_load_state("load")
        return True

    def _answer(self, dialog: Dialog) -> None:
        self.answers += 1
        if self.answers == 1:
            dialog.dismiss()
        else:
            dialog.accept()

    def _hear(self, response: Response) -> None:
        if not response.url.startswith(self.home):
            return
        gone = response.status == 404 and self.destroyed
        if response.status >= 400 and not gone:
            self.faults.append(f"{response.request.method} {response.url}: {response.status}, from {self.page.url}")
        elif response.request.is_navigation_request() and response.status < 300:
            self.posted = response.request.method == "POST"
            kind = response.headers.get("content-type", "")
            if not kind.startswith("text/html"):
                self.faults.append(f"{response.url} is {kind}, from {self.page.url}")


@pytest.fixture(scope="module")
def installation() -> Iterator[tuple[Server, dict[str, Any]]]:
    """One of its own: what is destroyed here, other tests need."""
    server = Server()
    server.start()
    try:
        yield server, server.run("tests.browser.cast")
    finally:
        server.remove()


@pytest.mark.timeout(1200)  # some six hundred pages and buttons: three minutes where nothing else runs
def test_every_role_can_follow_every_link_and_press_every_button(
    browser: Browser, installation: tuple[Server, dict[str, Any]]
) -> None:
    server, ids = installation
    for name in {**MEMBERS, **STAFF}:
        server.known(name)
    reached: dict[str | None, set[str]] = {}
    faults: dict[str | None, list[str]] = {}
    for role in ROLES:
        state = sign_in(browser, server, role) if role else None
        context = browser.new_context(base_url=server.url, viewport=WIDE, reduced_motion="reduce", storage_state=state)
        context.set_default_timeout(PATIENCE)
        page, watch = context.new_page(), Watch(server.url)
        watch.over(page)
        crawl = Crawl(server.url, page, re.compile(rf"/admin/accounts/user/{ids['superuser']}/"))
        crawl.go()
        reached[role] = crawl.reached
        faults[role] = [*crawl.faults, *watch.outside]
        if not crawl.destroyed:
            faults[role] += watch.errors
        else:  # of what is gone by then
            faults[role] += [error for error in watch.errors if "404" not in error]
        context.close()

    told = [f"{role}: {fault}" for role, found in faults.items() for fault in found]
    assert not told, "\n".join(told)
    pages = {name for name, _ in routes(get_resolver()) if not name.startswith("api:")}
    expected = {name for name in pages if name not in UNVISITED and not NOT_OFFERED.fullmatch(name)}
    assert expected - set().union(*reached.values()) == set()
    assert len(reached[SUPERUSER]) > len(reached["victor"]) > len(reached[None])
    assert settings.LOGIN_URL in reached[None]
