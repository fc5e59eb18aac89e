"""Separate processes, as many of each kind as wanted, on a database and names of their own, gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg

from benchmarks.scratch import own_database
from tests.servers import names

STOP_PATIENCE = 30  # seconds
TASK = "nothing"


class ProcessEnded(Exception):
    """One that should still be running."""


@dataclass
class Fleet:
    """An installation to measure: where it is, and what runs there."""

    env: Mapping[str, str]
    prefix: str
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def database(self) -> str:
        return self.env["DATABASE_URL"]

    def run(self, *command: str) -> str:
        """Run a Python command to its end, and return what it printed."""
        return subprocess.run(
            [sys.executable, *command], env=self.env, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def start(self, *command: str) -> None:
        self.processes.append(subprocess.Popen([sys.executable, *command], env=self.env))

    def start_pollers(self, count: int = 1) -> None:
        for _ in range(count):
            self.start("manage.py", "run_poller")

    def start_executors(self, count: int = 1, *, concurrency: int = 16) -> None:
        for _ in range(count):
            self.start("manage.py", "run_executor", "--tasks", TASK, "--concurrency", str(concurrency))

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.database, autocommit=True)

    def check(self) -> None:
        """Make a process that ended by itself an error, instead of a long wait."""
        for process in self.processes:
            if process.poll() is not None:
                raise ProcessEnded(f"{process.args} ended with status {process.returncode}.")

    def tidy(self) -> None:
        """Give the planner the statistics that tables in use have, as the peers get them too."""
        with self.connect() as connection:
            connection.execute("VACUUM ANALYZE")

    def stop(self) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait(STOP_PATIENCE)
        self.processes.clear()


@contextmanager
def fleet() -> Iterator[Fleet]:
    """An empty installation in the mode that the environment describes, migrated."""
    with tempfile.TemporaryDirectory(prefix="punctual-bench-") as folder, own_database() as database:
        prefix = f"bench-{os.getpid()}."
        env = os.environ | database
        env |= {"PUNCTUAL_VAR": folder, "NAME_PREFIX": prefix, "LOG_LEVEL": "WARNING", "EXTRA_APPS": "benchmarks"}
        env |= {"DJANGO_SETTINGS_MODULE": "scheduler_project.settings"}
        made = Fleet(env, prefix)
        made.run("manage.py", "migrate", "-v0")
        try:
            yield made
        finally:
            made.stop()
            if url := os.environ.get("REDIS_URL"):
                names.wipe_redis(url, prefix)
            if url := os.environ.get("AMQP_URL"):
                names.delete_queues(url, prefix, [TASK])
