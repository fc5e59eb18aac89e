"""Starts Punctual's own processes against the database of the test that is running."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.db import connection

PATIENCE = 60.0  # seconds for something that should happen soon, on a machine with much else to do


def environment(**changes: str) -> dict[str, str]:
    """This process's environment, pointed at the test database."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        database = f"sqlite:///{name}"
    else:
        database = urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}"))
    return (
        os.environ
        | {"DATABASE_URL": database, "DJANGO_SETTINGS_MODULE": "scheduler_project.settings", "LOG_LEVEL": "WARNING"}
        | changes
    )


def start(*command: str, cwd: Path | None = None, stdin: int | None = None, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=cwd,
        env=environment(**env),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def typed(commands: str, *, seconds: float = 120, **env: str) -> subprocess.CompletedProcess[str]:
    """Do as a page says, in the folder it is about and with the Python that runs the tests."""
    env.setdefault("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return subprocess.run(
        ["bash", "-c", f"set -euo pipefail\n{commands}"],
        cwd=settings.BASE_DIR,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=seconds,
    )


@contextmanager
def everything(**env: str) -> Iterator[subprocess.Popen[str]]:
    """`run_all`, which need not be ready yet, until it is no longer needed."""
    process = start("manage.py", "run_all", "--port", str(free_port()), **env)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)


@contextmanager
def web_alone(**env: str) -> Iterator[str]:
    """The address of a web process that answers, with no other process beside it."""
    address = f"http://127.0.0.1:{(port := free_port())}"
    process = start("-m", "scheduler_project.serve", "127.0.0.1", str(port), "2", stdin=subprocess.PIPE, **env)
    try:
        eventually(lambda: _answers(f"{address}/healthz"))
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=5).close()
    except OSError:
        return False
    return True


def ready_address(process: subprocess.Popen[str]) -> str:
    """The address in the line that says everything runs."""
    lines = []
    for line in process.stdout or []:
        lines.append(line)
        if found := re.fullmatch(r"Ready: (http://\S+)\n", line):
            return found[1]
    raise AssertionError(f"it never got ready:\n{''.join(lines)}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
