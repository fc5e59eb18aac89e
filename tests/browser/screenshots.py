"""Takes the pictures that the documentation shows, of a new demo: `make screenshots`."""

from __future__ import annotations

import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import chromium
from tests.browser.server import Server

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
LIVES = 75  # seconds of the demo before the first picture: then every part of it has something to show
COLOURS = 256  # of a picture: charts and text need no more, and it is a third of the size
WIDE, PHONE = (1280, 860), (390, 844)


def main() -> None:
    photograph(take_all, Server(ISOLATE_HANDLERS="true"))


def photograph(take_all: Callable[[Browser, Server], None], server: Server) -> None:
    """Start the server, let its demo live a little, and take pictures of it."""
    server.start()
    try:
        time.sleep(LIVES)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium.find(), args=list(chromium.ARGUMENTS))
            take_all(browser, server)
            browser.close()
    finally:
        server.remove()


def take_all(browser: Browser, server: Server) -> None:
    wide = signed_in(browser, server, WIDE)
    take(wide, "/?span=5m", "overview-light", whole=True)
    take(wide, "/dead-letters", "dead-letters")
    [job] = server.ask("admin", "GET", "jobs?name=stock")["results"]
    take(wide, f"/jobs/{job['id']}", "job", whole=True)
    runs = server.ask("admin", "GET", f"jobs/{job['id']}/executions?status=COMPLETED")["results"]
    take(wide, f"/executions/{runs[0]['id']}", "run")
    take(signed_in(browser, server, WIDE, dark=True), "/?span=5m", "overview-dark", whole=True)
    take(signed_in(browser, server, PHONE, dark=True), "/?span=5m", "overview-phone")


def signed_in(browser: Browser, server: Server, size: tuple[int, int], *, dark: bool = False) -> Page:
    width, height = size
    context = browser.new_context(
        base_url=server.url,
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto("/sign-in")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill("admin")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{server.url}/")
    return page


def take(page: Page, path: str, name: str, *, whole: bool = False) -> None:
    if path:  # or what is shown already
        page.goto(path)
    page.wait_for_timeout(1500)  # for the first update
    if name.startswith("overview"):
        page.locator("#h-now ~ ul li").first.wait_for()  # between two runs it would look idle
    picture = Image.open(BytesIO(page.screenshot(full_page=whole)))
    target = IMAGES / f"{name}.png"
    picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"Wrote {target.name}, {target.stat().st_size // 1024} KiB.")


if __name__ == "__main__":
    main()
