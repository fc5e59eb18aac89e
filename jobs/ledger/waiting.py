"""Executions that wait for another one of their job to be over, and whether it is.

They stand in line, each behind the one before it. Only the first has something to look out for; when it is let go,
the one behind it is the first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from jobs.ledger.batch import HERE, as_instant, as_uuid, goes_on, run
from jobs.models import Execution
from jobs.states import Status


class Going(NamedTuple):
    """An execution that is not over."""

    id: UUID
    job_id: UUID
    due_at: datetime
    status: Status
    since: datetime  # when its latest attempt started; before the first, when it was recorded
    waits_for: UUID | None
    line: int  # how many of its job wait, if it is one of them: then it is the last


class WaitingFor(NamedTuple):
    """What an execution waits for."""

    over: bool
    waits: bool  # itself, for another one
    since: (
        datetime | None
    )  # when its latest attempt started, or it was sent to have its first; None while it is neither


def going_on(ids: Collection[UUID]) -> list[Going]:
    """Those of these executions that are not over."""
    rows = run(
        f"""
        SELECT e.id, e.job_id, e.due_at, e.status, e.started_at, e.recorded_at, e.waits_for,
            CASE WHEN e.waits_for IS NULL THEN 0 ELSE (
                SELECT count(*) FROM jobs_execution AS w
                WHERE w.job_id = e.job_id AND w.waits_for IS NOT NULL AND w.shelf = %(scheduled)s
            ) END
        FROM r JOIN {HERE} AS e ON e.id = r.this WHERE {goes_on("e")}
        """,
        {"this": "uuid"},
        [(one,) for one in ids],
        scheduled=Status.SCHEDULED.value,
    )
    return [
        Going(
            as_uuid(one),
            as_uuid(job),
            as_instant(due_at),
            Status(status),
            as_instant(started_at or recorded_at),
            waits_for and as_uuid(waits_for),
            line,
        )
        for one, job, due_at, status, started_at, recorded_at, waits_for, line in rows
    ]


def waited_for(ids: Collection[UUID]) -> dict[UUID, WaitingFor]:
    """For each of these executions, how the one that it waits for stands. One that is gone is over."""
    # Looked up one by one: for a join PostgreSQL would plan to read every partition, where there are some.
    ahead = "SELECT {} FROM jobs_execution AS p WHERE p.id = e.waits_for"
    rows = run(
        f"""
        SELECT e.id, ({ahead.format(goes_on("p"))}), ({ahead.format("p.waits_for IS NOT NULL")}),
            ({ahead.format("p.started_at")}), ({ahead.format("p.queued_at")})
        FROM r JOIN {HERE} AS e ON e.id = r.this
        """,
        {"this": "uuid"},
        [(one,) for one in ids],
    )
    return {
        as_uuid(one): WaitingFor(not going, bool(waits), as_instant(started_at or queued_at))
        for one, going, waits, started_at, queued_at in rows
    }


def let_go(executions: Sequence[tuple[UUID, UUID]], *, now: datetime, wake_at: datetime) -> None:
    """Note that these (execution, job) wait no longer, and wake whoever is behind them. Call it in a transaction.

    Whoever lets them go has to send them; if that never happens, they wake at `wake_at`.
    """
    run(
        f"""
        UPDATE {HERE} SET waits_for = NULL, wake_at = %(wake_at)s
        FROM r WHERE id = r.this
        """,
        {"this": "uuid"},
        [(one,) for one, _ in executions],
        only="locked.status = %(scheduled)s",
        scheduled=Status.SCHEDULED.value,
        wake_at=wake_at,
    )
    behind = Execution.objects.in_line().filter(
        job__in={job for _, job in executions}, waits_for__in=[one for one, _ in executions]
    )
    # One that a rival is looking at is awake already; to wait for it could be to wait for each other.
    awake = behind.select_for_update(skip_locked=True, no_key=True).values_list("pk", flat=True)
    Execution.objects.filter(pk__in=list(awake)).update(wake_at=now)


def nap(executions: Sequence[tuple[UUID, datetime]]) -> None:
    """Let these wait until the time given with each, unless they have moved on."""
    run(
        f"UPDATE {HERE} SET wake_at = r.until FROM r WHERE id = r.this",
        {"this": "uuid", "until": "timestamptz"},
        executions,
        only="locked.status = %(scheduled)s",
        scheduled=Status.SCHEDULED.value,
    )
