"""Has a process kill or freeze itself at an exact point, once: `CHAOS_TRIP=point:kill` or `point:freeze`.

What a campaign only hits by luck, between two statements, a scenario hits every time. The code under test is
the real one; only the named function is wrapped, right before or right after it does its work. A frozen process is
woken by the scenario, so the file `tripped-<slot>` tells when it happened.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.chaos import tasks

Function = Callable[..., Any]


def apply(trip: str) -> None:
    point, _, action = trip.partition(":")
    wire = POINTS[point]
    mark = Path(os.environ["CHAOS_FOLDER"], f"tripped-{os.environ['CHAOS_SLOT']}")

    def go_off() -> None:
        try:
            mark.touch(exist_ok=False)
        except FileExistsError:
            return
        # The whole group: handlers may run in children, and it is the executor that is to be hit.
        os.killpg(0, signal.SIGKILL if action == "kill" else signal.SIGSTOP)

    wire(go_off)


def _after(owner: Any, name: str, go_off: Callable[[], None], *, when: Callable[[Any], bool] = bool) -> None:
    """Go off once `name` has returned something that matters."""
    original: Function = getattr(owner, name)

    def wrapped(*arguments: Any, **options: Any) -> Any:
        answer = original(*arguments, **options)
        if when(answer):
            go_off()
        return answer

    setattr(owner, name, wrapped)


def _before(owner: Any, name: str, go_off: Callable[[], None]) -> None:
    """Go off when `name` is called with something to do."""
    original: Function = getattr(owner, name)

    def wrapped(*arguments: Any, **options: Any) -> Any:
        if any(arguments):
            go_off()
        return original(*arguments, **options)

    setattr(owner, name, wrapped)


def always(answer: Any) -> bool:
    return True


def leased(go_off: Callable[[], None]) -> None:
    """The poller has leased due jobs."""
    from scheduling.index.redis import RedisDueIndex

    _after(RedisDueIndex, "lease", go_off)


def next_runs_written(go_off: Callable[[], None]) -> None:
    """In the middle of the transaction: the jobs' next runs are written, their executions are not."""
    from jobs.ledger import recording

    original = recording.run

    def run(statement: str, columns: Any, rows: Any, **rest: Any) -> Any:
        answer = original(statement, columns, rows, **rest)
        if "UPDATE jobs_job" in statement and rows:
            go_off()
        return answer

    recording.run = run


def settled(go_off: Callable[[], None]) -> None:
    """The poller has ended its leases."""
    from scheduling.index.redis import RedisDueIndex

    _after(RedisDueIndex, "settle", go_off, when=always)


def published(go_off: Callable[[], None]) -> None:
    """The broker has confirmed messages, and nobody has noted it."""
    from execution.broker.rabbitmq import RabbitMQBroker

    _after(RabbitMQBroker, "publish", go_off)


def marked(go_off: Callable[[], None]) -> None:
    """It is noted that messages are confirmed."""
    from jobs import ledger

    _after(ledger, "mark_queued", go_off, when=always)


def offered(go_off: Callable[[], None]) -> None:
    """The executor has received ids, and not claimed them."""
    from jobs import ledger

    _before(ledger, "claim", go_off)


def claimed(go_off: Callable[[], None]) -> None:
    """The claim is committed, and the executor does not know yet."""
    from jobs.ledger import claiming

    original = claiming.run

    def run(statement: str, columns: Any, rows: Any, **rest: Any) -> Any:
        answer = original(statement, columns, rows, **rest)
        if "attempt = e.attempt + 1" in statement and answer:
            go_off()
        return answer

    claiming.run = run


def read(go_off: Callable[[], None]) -> None:
    """The executor has its claims, and has not begun any."""
    from jobs import ledger

    _after(ledger, "claim", go_off)


def running(go_off: Callable[[], None]) -> None:
    """A handler has begun."""
    tasks.trips["running"] = go_off


def ran(go_off: Callable[[], None]) -> None:
    """A handler has done its work, and nobody knows."""
    tasks.trips["ran"] = go_off


POINTS: dict[str, Callable[[Callable[[], None]], None]] = {
    point.__name__: point
    for point in (leased, next_runs_written, settled, published, marked, offered, claimed, read, running, ran)
}
