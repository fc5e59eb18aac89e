"""Who may run an execution: taking the right to, and keeping it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import connection

from jobs.ledger.batch import HERE, as_instant, as_uuid, reads_types, run, waits
from jobs.limits import Limits
from jobs.models import Attempt
from jobs.policies import ONE_OFF
from jobs.states import AttemptOutcome, Status

CLOCK_TOLERANCE = timedelta(milliseconds=50)  # a retry delivered this early is on time: clocks and timers differ
Attempted = tuple[UUID, int]  # an execution, and the number of an attempt at it


@dataclass(slots=True, eq=False)  # no two claims are the same one, whatever they say
class Claim:
    """The right to run an execution, until the lease ends or a higher `attempt` is given out."""

    execution_id: UUID
    attempt: int
    job_id: UUID
    tenant_id: UUID
    task: str
    priority: int
    forgiven: int
    payload: str  # JSON
    limits: Limits  # as far as the job has its own
    worker: str
    started_at: datetime | None
    request_id: str | None = None  # of what a person or API client asked for, and this came of
    traceparent: str | None = None  # where that request was traced: this goes on there
    linked: str | None = None  # where the request was traced that created its job, of one that recurs
    late: float | None = None  # seconds from when it might start to its first attempt: this one; to others if traced
    suspect: bool = False  # the process of an earlier attempt ended under it, perhaps because of it

    @property
    def id(self) -> UUID:
        return self.execution_id

    @property
    def key(self) -> Attempted:
        return self.execution_id, self.attempt

    def told(self) -> dict[str, Any]:
        """What lines of the log and spans say of it."""
        told = {
            "execution": str(self.execution_id),
            "job": str(self.job_id),
            "tenant": str(self.tenant_id),
            "task": self.task,
            "attempt": self.attempt,
            "worker": self.worker,
        }
        return told if self.request_id is None else told | {"request_id": self.request_id}


# Whether an attempt is still its worker's to speak for. Statements that ask this say what `running` is.
HELD = "locked.attempt = r.mine AND locked.status = %(running)s"
# What a claim needs to know. SQLite cannot return what it joined, and is asked again.
CLAIMED = """
    e.id, e.attempt, e.job_id, e.tenant_id, e.task, e.priority, e.forgiven,
    CAST(coalesce(e.payload, j.payload) AS text),
    j.max_retries, j.retry_delay, j.retry_delay_cap, j.time_limit, j.lease,
    coalesce(e.request_id, j.request_id), {traced},
    CASE WHEN e.attempt = 1 OR coalesce(e.traceparent, j.traceparent) IS NOT NULL THEN {late} END
"""
# Reckoned there: as numbers they are read in a tenth of the time that two instants take.
LATE = {
    "postgresql": "greatest(0, date_part('epoch', e.started_at - e.not_before))",
    "sqlite": "max(0.0, (julianday(e.started_at) - julianday(e.not_before)) * 86400.0)",
}
# Of a job that recurs, only who asks for a run of its own has it go on in its trace. The schedule of a job that was not
# traced is not even looked at.
TRACED = """
    coalesce(e.traceparent, CASE WHEN j.traceparent IS NOT NULL AND {type} IN {one_off} THEN j.traceparent END),
    CASE WHEN j.traceparent IS NOT NULL AND {type} NOT IN {one_off} THEN j.traceparent END
"""
TYPE = {"postgresql": "j.schedule ->> 'type'", "sqlite": "json_extract(j.schedule, '$.type')"}


def claim(ids: Collection[UUID], *, worker: str, now: datetime, until: datetime) -> list[Claim]:
    """Take those that are free and due, and return them; the others are somebody else's or finished.

    The attempt is counted here, so a payload that kills its worker runs out of attempts too.
    """
    at_once = connection.vendor == "postgresql"
    rows = run(
        f"""
        UPDATE {HERE} AS e SET status = %(running)s, attempt = e.attempt + 1, started_at = %(now)s,
            wake_at = %(until)s, worker = %(worker)s, queued_at = coalesce(e.queued_at, %(now)s)
        FROM r, jobs_job AS j WHERE e.id = r.this AND j.id = e.job_id
        RETURNING {_claimed() if at_once else "id, attempt"}
        """,
        {"this": "uuid"},
        [(one,) for one in ids],
        only=f"locked.not_before <= %(latest)s AND locked.waits_for IS NULL AND {waits('locked')}",
        running=Status.RUNNING.value,
        now=now,
        latest=now + CLOCK_TOLERANCE,
        until=until,
        worker=worker,
    )
    if at_once:
        return _ordered([_claim(row, worker, now) for row in rows])
    ours = {(as_uuid(one), attempt) for one, attempt in rows}
    # Whoever is frozen before this second look, for longer than its lease, sees a number that is somebody else's.
    return [claim for claim in read_claims([one for one, _ in ours]) if claim.key in ours]


def read_claims(ids: Collection[UUID]) -> list[Claim]:
    """The claims that stand on these executions, most urgent first."""
    rows = run(
        f"""
        SELECT {_claimed()}, e.worker, e.started_at
        FROM r JOIN {HERE} AS e ON e.id = r.this JOIN jobs_job AS j ON j.id = e.job_id
        """,
        {"this": "uuid"},
        [(one,) for one in ids],
    )
    return _ordered([_claim(row[:-2], *row[-2:]) for row in (rows if reads_types() else map(_read_back, rows))])


def _claimed() -> str:
    traced = TRACED.format(type=TYPE[connection.vendor], one_off=ONE_OFF)
    return CLAIMED.format(late=LATE[connection.vendor], traced=traced)


def _claim(row: tuple, worker: str, started_at: datetime | None) -> Claim:
    # A row is as `CLAIMED` has it: what it is; the limits; which request, where it was traced and how late.
    return Claim(*row[:8], _limits(row[8:13]), worker, started_at, *row[13:])


def _ordered(claims: list[Claim]) -> list[Claim]:
    """The most urgent first, each told whether it is a suspect."""
    claims.sort(key=lambda claim: (-claim.priority, claim.execution_id.int))  # numbers compare faster than ids
    if tried := [claim.execution_id for claim in claims if claim.attempt > 1]:
        crashed = _crashed(tried)
        for claim in claims:
            claim.suspect = claim.execution_id in crashed
    return claims


def _read_back(row: tuple) -> tuple:
    one, attempt, job, tenant, *told, begun = row
    return as_uuid(one), attempt, as_uuid(job), as_uuid(tenant), *told, as_instant(begun)


def _crashed(tried: Collection[UUID]) -> set[UUID]:
    crashed = Attempt.objects.filter(outcome=AttemptOutcome.CRASHED, execution__in=tried)
    return set(crashed.values_list("execution_id", flat=True))


@lru_cache(maxsize=1000)  # most jobs have none of their own, and the others share a few
def _limits(told: tuple) -> Limits:
    max_retries, *seconds = told
    return Limits(max_retries, *(None if value is None else timedelta(seconds=value) for value in seconds))


def heartbeat(leases: Sequence[tuple[UUID, int, datetime]]) -> dict[Attempted, bool]:
    """Extend leases (execution, attempt, until); return those still ours, and whether each is to be cancelled."""
    kept = run(
        f"""
        UPDATE {HERE} SET wake_at = r.until FROM r WHERE id = r.this
        RETURNING id, attempt, cancel_requested_at
        """,
        {"this": "uuid", "mine": "integer", "until": "timestamptz"},
        leases,
        only=HELD,
        running=Status.RUNNING.value,
    )
    return {(as_uuid(one), attempt): cancelled is not None for one, attempt, cancelled in kept}
