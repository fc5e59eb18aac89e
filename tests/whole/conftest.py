"""Real processes on the servers of the mode under test, and a real mail server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from punctual import Punctual

from tests.engine.conftest import empty_servers, no_names_left_on_the_servers  # noqa: F401
from tests.whole.mailserver import MailServer
from tests.whole.person import DORA, Person
from tests.whole.processes import PATIENCE, everything, ready_address, start

Run = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def mailserver() -> Iterator[MailServer]:
    server = MailServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def run(mailserver: MailServer) -> Iterator[Run]:
    """Start `manage.py …` in the folder of a release. By the end, none of them may have met what it did not expect."""
    started: list[subprocess.Popen[str]] = []

    def begin(folder: Path, *command: str, **env: str) -> subprocess.Popen[str]:
        usual = {"EMAIL_URL": mailserver.url, "RETRY_BASE": "0.1", "EXTRA_APPS": "tests.chores"}
        started.append(start("manage.py", *command, cwd=folder, **usual | env))
        return started[-1]

    yield begin
    for process in started:
        process.terminate()
    told = [process.communicate(timeout=PATIENCE)[0] for process in started]
    assert [text for text in told if "Traceback" in text] == []


@pytest.fixture
def database() -> Iterator[str]:
    """The address of an empty one, on PostgreSQL."""
    server = os.environ["DATABASE_URL"]
    name = f"punctual_walk_{os.getpid()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def running(django_db_setup: None) -> Iterator[str]:
    """The address of everything under one command."""
    with everything(EXTRA_APPS="tests.chores") as process:
        yield ready_address(process)


@pytest.fixture
def dora(running: str) -> Person:
    """Registered there, and signed in."""
    return Person(running)


@pytest.fixture
def punctual(running: str, dora: Person) -> Iterator[Punctual]:
    with Punctual(running, username=DORA["username"], password=DORA["password"]) as punctual:
        yield punctual
