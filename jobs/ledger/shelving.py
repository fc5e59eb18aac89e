"""Who looks after executions: the cohort that they were recorded in, for a start, and then each for itself.

Every execution that is not over must be found when its time to be woken has come. Nearly all are over within moments,
so to list each of them for that, and to strike it off, would be most of what the database does. A cohort is listed in
their place, in the same transaction that records them. When it is looked at, whatever is not over is listed by itself
and the cohort is gone, again in one transaction: at no time is an execution that is not over on neither list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING

from django.db import connection

from jobs.ledger.arrays import array
from jobs.ledger.batch import HERE, among_rows, execute, run
from jobs.states import Status

if TYPE_CHECKING:
    from jobs.ledger.recording import NewExecution

BEFORE_A_LOOK = timedelta(seconds=3)  # nearly all are over by then, and who wants to see them looks through no more


def open_cohort(
    executions: Sequence[NewExecution], carried: Callable[[str], bool], *, now: datetime, wake_at: datetime
) -> set[str]:
    """Have those whose tasks are carried looked after together; return these tasks. Call it where they are recorded."""
    if connection.vendor == "sqlite":  # where a move costs the same, whatever is listed
        return set()
    fresh = {task for task in {one.task for one in executions} if carried(task)}
    if ids := [one.id for one in executions if one.task in fresh]:
        execute(
            "INSERT INTO jobs_cohort (look_at, executions) VALUES (%(look_at)s, %(r_ids)s::uuid[])",
            {"r_ids": array("uuid", ids)},
            look_at=min(wake_at, now + BEFORE_A_LOOK),
        )
    return fresh


def shelve(now: datetime, limit: int) -> int:
    """Look at `limit` cohorts whose time has come, and return how many there were. Call it in a transaction.

    Those that somebody else is looking at are passed over. What has completed stays as it is: it never moves again.
    """
    if connection.vendor == "sqlite":
        return 0
    looked_at = execute(
        """
        DELETE FROM jobs_cohort WHERE id = ANY(ARRAY(
            SELECT id FROM jobs_cohort WHERE look_at <= %(now)s ORDER BY look_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        )) RETURNING executions
        """,
        now=now,
        limit=limit,
    )
    ids = [(one,) for one in chain.from_iterable(ids for (ids,) in looked_at)]
    # Nearly all have completed. To ask first costs less than to lock each of them.
    left = run(
        f"SELECT id FROM {HERE} AS e WHERE {among_rows('id', 'this')} AND fresh AND {not_completed('e')}",
        {"this": "uuid"},
        ids,
    )
    run(
        f"UPDATE {HERE} SET fresh = false FROM r WHERE id = r.this",
        {"this": "uuid"},
        left,
        only=f"locked.fresh AND {not_completed('locked')}",
    )
    return len(looked_at)


def not_completed(table: str) -> str:
    return f"{table}.status <> '{Status.COMPLETED}'"
