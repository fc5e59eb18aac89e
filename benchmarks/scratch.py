"""A whole system for a measurement: real processes, on a database and names of its own, gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests.servers import names
from tests.whole.person import Person
from tests.whole.processes import free_port, ready_address


@contextmanager
def running_system() -> Iterator[Person]:
    """`run_all` in the mode that the environment describes, with a registered client."""
    with tempfile.TemporaryDirectory(prefix="punctual-bench-") as folder, own_database() as database:
        prefix = f"bench-{os.getpid()}."
        environment = os.environ | database | {"PUNCTUAL_VAR": folder, "NAME_PREFIX": prefix, "LOG_LEVEL": "WARNING"}
        subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], env=environment, check=True)
        process = subprocess.Popen(
            [sys.executable, "manage.py", "run_all", "--port", str(free_port())],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            yield Person(ready_address(process))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            leave_nothing(prefix)


def leave_nothing(prefix: str) -> None:
    if url := os.environ.get("REDIS_URL"):
        names.wipe_redis(url, prefix)
    if url := os.environ.get("AMQP_URL"):
        names.delete_queues(url, prefix, ["send_email"])


@contextmanager
def own_database() -> Iterator[dict[str, str]]:
    url = os.environ.get("DATABASE_URL", "")
    if not url:
        yield {}
        return
    name = f"bench_punctual_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield {"DATABASE_URL": urlunsplit(urlsplit(url)._replace(path=f"/{name}"))}
        finally:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
