"""Separate processes, as many of each kind as wanted, on a database and names of their own, gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.request import urlopen

import psycopg

from benchmarks.scratch import own_database
from tests.servers import names
from tests.whole.processes import free_port

START_PATIENCE = 60  # seconds for the web server's first answer
STOP_PATIENCE = 30  # seconds
WEB_THREADS = 4  # as many as by default
BESIDES = ("REDIS_URL", "AMQP_URL")  # the servers besides the database
TASK = "nothing"
SIMULATED = ("demo_ping", "demo_report", "demo_sync", "demo_charge")  # tasks of `manage.py simulate`
QUEUES = (TASK, *SIMULATED, "send_email", "http_request", "image_thumbnail")  # that some process may have declared


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
        # The pipe is never written to. The web server ends when its other end is closed: with us, however we went.
        self.processes.append(subprocess.Popen([sys.executable, *command], env=self.env, stdin=subprocess.PIPE))

    def start_pollers(self, count: int = 1) -> None:
        for _ in range(count):
            self.start("manage.py", "run_poller")

    def start_executors(self, count: int = 1, *, concurrency: int = 16, tasks: Sequence[str] = (TASK,)) -> None:
        for _ in range(count):
            self.start("manage.py", "run_executor", "--tasks", ",".join(tasks), "--concurrency", str(concurrency))

    def start_recoverer(self) -> None:
        self.start("manage.py", "run_recoverer")

    def start_watcher(self) -> None:
        self.start("manage.py", "run_watcher")

    def start_web(self) -> str:
        """Start a web server, and return its address once it answers."""
        host, port = "127.0.0.1", free_port()
        self.start("-m", "scheduler_project.serve", host, str(port), str(WEB_THREADS))
        address = f"http://{host}:{port}"
        deadline = time.monotonic() + START_PATIENCE
        while not _answers(f"{address}/healthz"):
            self.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"The web server did not answer within {START_PATIENCE} s.")
            time.sleep(0.1)
        return address

    @property
    def pids(self) -> list[int]:
        """Of the processes, in the order in which they were started."""
        return [process.pid for process in self.processes]

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


def _answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=2):
            return True
    except OSError:
        return False


@contextmanager
def fleet(*, database_only: bool = False, **settings: str) -> Iterator[Fleet]:
    """An empty installation in the mode that the environment describes, or on its database alone, migrated."""
    with tempfile.TemporaryDirectory(prefix="punctual-bench-") as folder, own_database() as database:
        prefix = f"bench-{os.getpid()}."
        env = os.environ | database
        if database_only:
            env = {name: value for name, value in env.items() if name not in BESIDES}
        env |= {"PUNCTUAL_VAR": folder, "NAME_PREFIX": prefix, "LOG_LEVEL": "WARNING", "EXTRA_APPS": "benchmarks"}
        env |= {"DJANGO_SETTINGS_MODULE": "scheduler_project.settings"}
        made = Fleet(env | settings, prefix)
        made.run("manage.py", "migrate", "-v0")
        try:
            yield made
        finally:
            made.stop()
            if url := made.env.get("REDIS_URL"):
                names.wipe_redis(url, prefix)
            if url := made.env.get("AMQP_URL"):
                names.delete_queues(url, prefix, QUEUES)
