"""Finds the browser that these tests drive: the one that is named, the one that is installed, or Debian's package.

The browser that playwright would download is never used: it comes from a host that many machines cannot reach.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tests.servers.debian import install_package
from tests.servers.order import Unavailable

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGE = "chromium"
ARGUMENTS = (
    "--no-sandbox",  # tests may run as root, and see nothing but our own pages
    "--headless=new",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",  # containers have little of it
    "--disable-gpu",
    "--no-first-run",
    "--hide-scrollbars",
)


def find() -> Path:
    """The browser's program, installed if need be; raises Unavailable with the remedy."""
    if named := os.environ.get("CHROMIUM"):
        if found := shutil.which(named):
            return Path(found)
        raise Unavailable(f"CHROMIUM names {named!r}, which is no program here", "name one that is, or unset CHROMIUM")
    return _installed() or _install()


def _installed() -> Path | None:
    return next((Path(found) for name in NAMES if (found := shutil.which(name))), None)


def _install() -> Path:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Unavailable("there is no Chromium here", f"have root run: apt-get install {PACKAGE}")
    print(f"Browser tests: installing {PACKAGE} with apt-get ...", file=sys.stderr, flush=True)
    install_package(PACKAGE)
    if found := _installed():
        return found
    raise Unavailable(f"the package {PACKAGE} was installed and brought no program", "set CHROMIUM to its path")
