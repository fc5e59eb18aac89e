"""Runs one attack after another, each against a system of its own, and says what the others noticed."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from tests.attacks import connections, tenants
from tests.attacks.people import Client
from tests.attacks.probes import HealthProbe, percentile
from tests.misbehaving import MisbehavingServer

HEALTH_BOUND = 0.1  # seconds, for 99 of 100 answers
WORK_BOUND = 2.0  # seconds that another tenant's executions may start late
WORK_EVERY = 0.5  # seconds between Bob's executions
AFTERWARDS = 5.0  # seconds in which what the attack has left behind still runs
PATIENCE = 120.0  # seconds for Bob's executions to be over

HEADING = f"{'attack':26} {'healthz p50':>11} {'p99':>8} {'worst':>8} {'starts late':>11} {'web MB':>7} {'answers'}"

Attack = Callable[[Client, float], Any]
PREPARED: dict[Attack, Callable[[Client], None]] = {  # what an attacker does at leisure before
    tenants.large_pages: tenants.make_large_jobs,
    tenants.forecasts: tenants.make_many_schedules,
}


@dataclass(frozen=True)
class Outcome:
    name: str
    health: list[float]  # seconds
    late: list[float]  # seconds, of each of Bob's executions
    memory: int  # bytes, of the web process afterwards
    told: object

    @property
    def bearable(self) -> bool:
        return percentile(self.health, 0.99) <= HEALTH_BOUND and max(self.late) <= WORK_BOUND

    def line(self) -> str:
        health = [percentile(self.health, part) * 1000 for part in (0.5, 0.99, 1)]
        told = dict(self.told) if isinstance(self.told, Counter) else self.told
        return (
            f"{self.name:26} {health[0]:8.1f} ms {health[1]:5.0f} ms {health[2]:5.0f} ms {max(self.late):9.2f} s "
            f"{self.memory / 1e6:7.0f} {told}{'' if self.bearable else '   NOT BEARABLE'}"
        )


def run(*, only: str = "", seconds: float = 15) -> Iterator[Outcome]:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    with tempfile.TemporaryDirectory() as place:
        os.environ["PUNCTUAL_VAR"] = place
        import django
        from django.test.utils import setup_databases, teardown_databases

        django.setup()
        databases = setup_databases(verbosity=0, interactive=False)
        target = MisbehavingServer()
        try:
            for name, attack in attacks(target.url("/silent")).items():
                if only in name:
                    yield _measured(name, attack, seconds, allowed=f"127.0.0.1:{target.port}")
        finally:
            target.stop()
            teardown_databases(databases, verbosity=0)


def attacks(silent: str) -> dict[str, Attack]:
    """Each by its name; `silent` is the address of a server that never answers."""
    quiet: dict[str, Attack] = {"nobody": lambda attacker, until: time.sleep(max(0.0, until - time.monotonic()))}
    held = (
        connections.silent_bodies,
        connections.slow_bodies,
        connections.slow_headers,
        connections.slow_readers,
    )
    asked = (
        tenants.templates_of_comments,
        tenants.templates_of_tags,
        tenants.templates_of_variables,
        tenants.loops_over_text,
        tenants.doubled_text,
        tenants.large_pages,
        tenants.padded_page_sizes,
        tenants.forecasts,
        tenants.secrets_everywhere,
        tenants.combining_addresses,
        tenants.long_lists,
        tenants.bulk_calls,
    )
    return (
        quiet
        | {one.__name__: _anonymous(one) for one in held}
        | {one.__name__: one for one in asked}
        | {"slow_requests": tenants.slow_requests(silent)}
    )


def _anonymous(attack: Callable[[connections.Address, float], int]) -> Attack:
    def strike(attacker: Client, until: float) -> int:
        place = urlsplit(attacker.address)
        return attack((place.hostname or "", place.port or 80), until)

    return strike


def _measured(name: str, attack: Attack, seconds: float, *, allowed: str) -> Outcome:
    from tests.emptying import empty

    empty()
    with _system(HTTP_ALLOWED_HOSTS=allowed) as (address, web):
        attacker, bob = Client(address, "attacker"), Client(address, "bob")
        if prepare := PREPARED.get(attack):
            prepare(attacker)
        _give_work(bob, seconds + AFTERWARDS)
        probe = HealthProbe(address, seconds + AFTERWARDS)
        told = attack(attacker, time.monotonic() + seconds)
        health = probe.taken()
        return Outcome(name, health, _lateness(), _memory(web), told)


def _give_work(bob: Client, seconds: float) -> None:
    """Mails of Bob's, due one after another for so long from now on."""
    now = time.time() + 1
    times = [now + number * WORK_EVERY for number in range(int(seconds / WORK_EVERY))]
    mail = {"to": "someone@example.com", "subject": "Hello", "body": "."}
    jobs = [
        {"name": "bob", "task": "send_email", "payload": mail, "schedule": {"type": "once", "run_at": _iso(at)}}
        for at in times
    ]
    bob.create(jobs)


def _lateness() -> list[float]:
    """How late each of Bob's executions completed, in seconds. One that is not over by the end counts from then."""
    from jobs.models import Execution, Job

    deadline = time.monotonic() + PATIENCE
    wanted = Job.objects.filter(name="bob").count()
    theirs = Execution.objects.filter(job__name="bob")
    while theirs.completed().count() < wanted and time.monotonic() < deadline:
        time.sleep(0.5)
    late = [(one.finished_at - one.due_at).total_seconds() for one in theirs.completed()]
    return late if len(late) == wanted else [*late, PATIENCE]


@contextmanager
def _system(**env: str) -> Iterator[tuple[str, int]]:
    """Everything under one command; its address, and the id of its web process."""
    from tests.whole.processes import free_port, ready_address, start

    everything = start("manage.py", "run_all", "--port", str(free_port()), LOG_LEVEL="ERROR", **env)
    try:
        address = ready_address(everything)
        Thread(target=everything.stdout.read, daemon=True).start()  # a full pipe would block the processes that log
        yield address, _web_of(everything.pid)
    finally:
        everything.send_signal(signal.SIGTERM)
        everything.wait(timeout=120)


def _web_of(parent: int) -> int:
    """The largest process below the one that serves: granian's worker."""
    serving = {one for one in _below(parent) if b"scheduler_project.serve" in _read(one, "cmdline")}
    return max(serving, key=_memory)


def _below(parent: int) -> set[int]:
    children = {
        int(one) for path in Path(f"/proc/{parent}/task").glob("*/children") for one in path.read_text().split()
    }
    return children.union(*map(_below, children))


def _memory(process: int) -> int:
    pages = int(_read(process, "statm").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _read(process: int, name: str) -> bytes:
    return Path(f"/proc/{process}/{name}").read_bytes()


def _iso(at: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at, UTC).isoformat()
