"""From a claim to an outcome: the executor's moves."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from jobs.ledger.batch import as_instant, as_uuid, run, waits
from jobs.limits import Limits
from jobs.models import Attempt
from jobs.states import FINAL, AttemptOutcome, Status

CLOCK_TOLERANCE = timedelta(milliseconds=50)  # a retry delivered this early is on time: clocks and timers differ
Attempted = tuple[UUID, int]  # an execution, and the number of an attempt at it


class Claim(NamedTuple):
    """The right to run an execution, until the lease ends or a higher `attempt` is given out."""

    execution_id: UUID
    attempt: int
    job_id: UUID
    tenant_id: UUID
    task: str
    priority: int
    forgiven: int
    payload: Any
    worker: str
    started_at: datetime | None
    limits: Limits  # as far as the job has its own
    suspect: bool  # the process of an earlier attempt ended under it, perhaps because of it

    @property
    def id(self) -> UUID:
        return self.execution_id

    @property
    def key(self) -> Attempted:
        return self.execution_id, self.attempt


class Outcome(NamedTuple):
    """What became of an attempt, told by whoever held it (or found its worker gone)."""

    execution_id: UUID
    attempt: int
    status: Status
    at: datetime
    wake_at: datetime | None = None
    retry_at: datetime | None = None
    result: Any = None
    error: str = ""
    traceback: str = ""
    worker: str = ""
    started_at: datetime | None = None
    ended: AttemptOutcome = AttemptOutcome.FAILED  # of one that did not complete: how
    forgiven: bool = False  # the attempt does not count
    took: float | None = None  # seconds in the handler, where it was called


def claim(ids: Collection[UUID], *, worker: str, now: datetime, until: datetime) -> list[Claim]:
    """Take those that are free and due, and return them; the others are somebody else's or finished.

    The attempt is counted here, so a payload that kills its worker runs out of attempts too.
    """
    won = run(
        f"""
        UPDATE jobs_execution SET status = %(running)s, attempt = attempt + 1, started_at = %(now)s,
            wake_at = %(until)s, worker = %(worker)s, queued_at = coalesce(queued_at, %(now)s)
        FROM r WHERE id = r.this AND not_before <= %(latest)s
            AND {waits("jobs_execution")}
        RETURNING id, attempt
        """,
        {"this": "uuid"},
        [(one,) for one in ids],
        lock="jobs_execution",
        running=Status.RUNNING.value,
        now=now,
        latest=now + CLOCK_TOLERANCE,
        until=until,
        worker=worker,
    )
    ours = {(as_uuid(one), attempt) for one, attempt in won}
    # Whoever is frozen before this second look, for longer than its lease, sees a number that is somebody else's.
    return [claim for claim in read_claims([one for one, _ in ours]) if claim.key in ours]


def read_claims(ids: Collection[UUID]) -> list[Claim]:
    """The claims that stand on these executions, most urgent first."""
    rows = run(
        """
        SELECT e.id, e.attempt, e.job_id, e.tenant_id, e.task, e.priority, e.forgiven, coalesce(e.payload, j.payload),
            e.worker, e.started_at, j.max_retries, j.retry_delay, j.retry_delay_cap, j.time_limit, j.lease
        FROM r JOIN jobs_execution e ON e.id = r.this JOIN jobs_job j ON j.id = e.job_id
        ORDER BY e.priority DESC, e.not_before
        """,
        {"this": "uuid"},
        [(one,) for one in ids],
    )
    suspects = _crashed([as_uuid(one) for one, attempt, *_ in rows if attempt > 1])
    return [
        Claim(
            as_uuid(one),
            attempt,
            as_uuid(job),
            as_uuid(tenant),
            task,
            priority,
            forgiven,
            json.loads(payload),
            worker,
            as_instant(started_at),
            _limits(*limits),
            as_uuid(one) in suspects,
        )
        for one, attempt, job, tenant, task, priority, forgiven, payload, worker, started_at, *limits in rows
    ]


def _crashed(tried: Collection[UUID]) -> set[UUID]:
    if not tried:
        return set()
    crashed = Attempt.objects.filter(outcome=AttemptOutcome.CRASHED, execution__in=tried)
    return set(crashed.values_list("execution_id", flat=True))


@lru_cache(maxsize=1000)  # most jobs have none of their own, and the others share a few
def _limits(max_retries: int | None, *seconds: float | None) -> Limits:
    return Limits(max_retries, *(None if value is None else timedelta(seconds=value) for value in seconds))


def heartbeat(leases: Sequence[tuple[UUID, int, datetime]]) -> dict[Attempted, bool]:
    """Extend leases (execution, attempt, until); return those still ours, and whether each is to be cancelled."""
    kept = run(
        """
        UPDATE jobs_execution SET wake_at = r.until
        FROM r WHERE id = r.this AND attempt = r.mine AND status = %(running)s
        RETURNING id, attempt, cancel_requested_at
        """,
        {"this": "uuid", "mine": "integer", "until": "timestamptz"},
        leases,
        lock="jobs_execution",
        running=Status.RUNNING.value,
    )
    return {(as_uuid(one), attempt): cancelled is not None for one, attempt, cancelled in kept}


def settle(outcomes: Sequence[Outcome]) -> dict[Attempted, Status]:
    """Write outcomes, and a row for each attempt that did not complete; return those that counted, with their status.

    An outcome of a worker that lost its lease changes nothing. One that would be tried again, or
    give up, ends as cancelled where that was asked for. Call it in a transaction.
    """
    moved = run(
        """
        UPDATE jobs_execution SET result = r.answer, error = r.complaint,
            status = CASE WHEN r.stays OR cancel_requested_at IS NULL THEN r.target ELSE %(cancelled)s END,
            wake_at = CASE WHEN r.stays OR cancel_requested_at IS NULL THEN r.wake END,
            finished_at = CASE WHEN r.stays OR cancel_requested_at IS NULL THEN r.done ELSE r.ended END,
            not_before = coalesce(r.again, not_before), forgiven = forgiven + r.pardon
        FROM r WHERE id = r.this AND attempt = r.mine AND status = %(running)s RETURNING id, attempt, status
        """,
        {
            "this": "uuid",
            "mine": "integer",
            "target": "text",
            "stays": "boolean",
            "answer": "jsonb",
            "complaint": "text",
            "wake": "timestamptz",
            "again": "timestamptz",
            "done": "timestamptz",
            "ended": "timestamptz",
            "pardon": "integer",
        },
        [
            (
                one.execution_id,
                one.attempt,
                one.status.value,
                one.status is Status.COMPLETED,
                None if one.result is None else json.dumps(one.result),
                one.error,
                one.wake_at,
                # One that may run again at once keeps its old place in the queue.
                one.retry_at if one.retry_at is not None and one.retry_at > one.at else None,
                one.at if one.status in FINAL else None,
                one.at,
                int(one.forgiven),
            )
            for one in outcomes
        ],
        lock="jobs_execution",
        running=Status.RUNNING.value,
        cancelled=Status.CANCELLED.value,
    )
    counted = {(as_uuid(one), attempt): Status(status) for one, attempt, status in moved}
    Attempt.objects.bulk_create(
        [
            Attempt(
                execution_id=one.execution_id,
                number=one.attempt,
                outcome=one.ended,
                error=one.error,
                traceback=one.traceback,
                worker=one.worker,
                started_at=one.started_at,
                finished_at=one.at,
            )
            for one in outcomes
            if (one.execution_id, one.attempt) in counted and one.error
        ],
        ignore_conflicts=True,
    )
    return counted
