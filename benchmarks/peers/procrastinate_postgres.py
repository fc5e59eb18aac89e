"""Procrastinate on PostgreSQL alone: the jobs' table is queue and history in one."""

from __future__ import annotations

import os

from procrastinate import App, PsycopgConnector

from benchmarks.peers.inside import note

# Three of these are started. Tried on two cores, jobs a second at the better of the two figures of `run`: three workers
# of 10 at once 440, two of 4 at once 441, two of 10 at once 391, six of 4 at once 407.
WORKER = (
    *("procrastinate", "--app", "benchmarks.peers.procrastinate_postgres.app", "--log-level", "error"),
    *("worker", "--concurrency", "10"),
)
BATCH = 1000  # jobs deferred with one statement

app = App(connector=PsycopgConnector(conninfo=os.environ["DATABASE_URL"], min_size=4, max_size=12))


# A coroutine: a plain function would be sent to a thread, which costs more than the task.
@app.task(name="nothing")
async def nothing() -> None:
    note()


def prepare() -> None:
    app.open()
    app.schema_manager.apply_schema()


def enqueue(count: int) -> None:
    for start in range(0, count, BATCH):
        nothing.batch_defer(*[{}] * min(BATCH, count - start))
