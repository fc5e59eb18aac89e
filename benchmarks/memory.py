"""How much memory each kind of process holds over a steady load: it must not grow.

The web server is asked for its pages meanwhile, and given jobs. Handlers' processes are copies of their executor, and
share part of its memory.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from benchmarks.burst import notice
from benchmarks.fleet import Fleet, fleet
from benchmarks.resident import resident
from benchmarks.sizes import Sizes
from benchmarks.steady import EVERY, SPREAD
from benchmarks.web import Client, job_of_tomorrow
from tests.whole.person import Person

KINDS = ("poller", "executor", "recoverer", "web")  # in the order in which they are started
BETWEEN_VISITS = 0.2  # seconds
STAYS = 600  # seconds before the visitor signs in anew: a token lasts for fifteen minutes
EXECUTED = "SELECT count(*) FROM jobs_execution WHERE status = 'COMPLETED'"


def measure(sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    with fleet() as on:
        on.start_pollers()
        on.start_executors()
        on.start_recoverer()
        address = on.start_web()
        jobs, ahead = str(sizes.repeating), str(notice(sizes.repeating))
        on.run("-m", "benchmarks.load", "recurring", jobs, ahead, str(EVERY), str(SPREAD))
        with visitor(address):
            time.sleep(sizes.settling_in)
            told = _looked_at(on, sizes, say)
        with on.connect() as connection:
            [executed] = connection.execute(EXECUTED).fetchone() or [0]
    lasted = sizes.settling_in + told["at_s"][-1]
    if executed < sizes.repeating * lasted * 0.9:
        raise RuntimeError(f"{executed} were executed where {sizes.repeating} a second were due for {lasted:.0f} s.")
    return {"per_s": sizes.repeating, "executed": executed, **told}


def _looked_at(on: Fleet, sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    begun = time.monotonic()
    seconds: list[float] = []
    mb: dict[str, list[float]] = {}
    for look in range(sizes.memory_looks + 1):
        time.sleep(max(0.0, begun + look * sizes.memory_every - time.monotonic()))
        on.check()
        seconds.append(round(time.monotonic() - begun, 1))
        for kind, held in resident(zip(KINDS, on.pids, strict=True)).items():
            mb.setdefault(kind, []).append(held)
        say(", ".join(f"{kind} {held[-1]:.0f} MB" for kind, held in mb.items()))
    return {"at_s": seconds, "mb": mb}


@contextmanager
def visitor(address: str) -> Iterator[None]:
    """Somebody who looks at lists and makes jobs for as long as the block lasts."""
    over, errors = Event(), []
    body = json.dumps(job_of_tomorrow()).encode()

    def visit() -> None:
        try:
            person = Person(address)
            client, leaves = Client(person), time.monotonic() + STAYS
            while not over.wait(BETWEEN_VISITS):
                client.get("/api/v1/jobs")
                client.get("/api/v1/executions")
                client.post("/api/v1/jobs", body)
                if time.monotonic() > leaves:
                    person.sign_in()
                    client, leaves = Client(person), time.monotonic() + STAYS
        except Exception as error:
            errors.append(error)

    thread = Thread(target=visit)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if errors:
        raise errors[0]
