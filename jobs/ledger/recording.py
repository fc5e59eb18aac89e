"""From a due time to a queued execution: the poller's moves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from jobs.ids import execution_id
from jobs.ledger.batch import HERE, among_rows, as_instant, as_uuid, as_uuids, locking, reads_types, run, waits
from jobs.ledger.shelving import open_cohort
from jobs.policies import Overlap
from jobs.states import Cause, JobStatus, Status

Sent = tuple[UUID, int]  # an execution, and how many attempts had been made when it was sent


@dataclass(slots=True)
class NewExecution:
    """What is known of an execution before it is recorded."""

    job_id: UUID
    tenant_id: UUID
    task: str
    priority: int
    due_at: datetime
    cause: Cause = Cause.SCHEDULE
    attempt: int = 0
    not_before: datetime | None = None  # when it may start, where that is not its due time
    waits_for: UUID | None = None  # the execution that must be over first
    id: UUID = field(init=False)

    def __post_init__(self) -> None:
        self.id = execution_id(self.job_id, self.due_at, self.cause)


class DueJob(NamedTuple):
    """A job that the index calls due, as its row has it."""

    id: UUID
    tenant_id: UUID
    task: str
    priority: int
    schedule: str  # JSON
    start_at: datetime | None
    due_for: datetime | None  # the due time, where the start is later
    runs: int  # that its schedule has made so far
    misfire: str
    catch_up_window: int | None  # seconds
    catch_up_max: int | None
    overlap: str | None
    latest: UUID | None  # the execution that its schedule made last, of those meant to run, unless it allows overlaps


class NextRun(NamedTuple):
    """When a job starts again; never, when `at` is None."""

    job_id: UUID
    at: datetime | None
    due_for: datetime | None = None  # the due time, where the start is later
    runs: int = 1  # made this time
    latest: UUID | None = None  # the last of them, if that is to be remembered


def lock_due(ids: Collection[UUID]) -> list[DueJob]:
    """Lock these jobs, in one order so that two pollers cannot wait for each other; return what stands there now."""
    rows = run(
        f"""
        SELECT id, tenant_id, task, priority, CAST(schedule AS text), next_run_at, due_for, runs, misfire,
            catch_up_window, catch_up_max, overlap, CASE WHEN overlap = %(allow)s THEN NULL ELSE latest END
        FROM jobs_job
        WHERE {among_rows("id", "this")} ORDER BY id {locking("jobs_job")}
        """,
        {"this": "uuid"},
        [(one,) for one in ids],
        allow=Overlap.ALLOW.value,
    )
    return list(map(DueJob._make, rows if reads_types() else map(_read_back, rows)))


def _read_back(row: tuple) -> tuple:
    job, tenant, task, priority, schedule, start, due_for, *others, latest = row
    instants = as_instant(start), as_instant(due_for)
    return as_uuid(job), as_uuid(tenant), task, priority, schedule, *instants, *others, latest and as_uuid(latest)


def record(
    executions: Sequence[NewExecution],
    next_runs: Sequence[NextRun],
    *,
    now: datetime,
    wake_at: datetime,
    carried: Callable[[str], bool] = lambda task: False,
    all_new: bool = False,
) -> list[NewExecution]:
    """Write executions as SCHEDULED and their jobs' next runs; return those that were new.

    Call it in a transaction that holds the jobs' locks: both or neither. An execution recorded
    before is left as it is. Those of a task that is `carried` to executors need not be found here, and are
    looked after by their cohort for a start.

    Whoever expects them to be `all_new`, and they are not, gets an IntegrityError and starts again without: to ask for
    each whether it is costs a fifth more.
    """
    fresh = open_cohort(executions, carried, now=now, wake_at=wake_at)
    run(
        """
        UPDATE jobs_job SET next_run_at = r.next, due_for = r.nominal, runs = runs + r.made, leased_until = NULL,
            latest = coalesce(r.newest, latest),
            status = CASE WHEN r.next IS NULL THEN %(finished)s ELSE status END
        FROM r WHERE id = r.this
        """,
        {"this": "uuid", "next": "timestamptz", "nominal": "timestamptz", "made": "integer", "newest": "uuid"},
        next_runs,
        finished=JobStatus.FINISHED.value,
    )
    if all_new:
        _insert(executions, fresh, now=now, wake_at=wake_at)
        return list(executions)
    known = "ON CONFLICT (id) DO NOTHING RETURNING id"
    new = set(as_uuids(_insert(executions, fresh, now=now, wake_at=wake_at, but=known)))
    return [one for one in executions if one.id in new]


def _insert(
    executions: Sequence[NewExecution], fresh: Collection[str], *, now: datetime, wake_at: datetime, but: str = ""
) -> list[tuple]:
    return run(
        f"""
        INSERT INTO jobs_execution (id, job_id, tenant_id, task, priority, cause, status, attempt, forgiven,
            due_at, not_before, waits_for, wake_at, recorded_at, worker, error, reason, fresh)
        SELECT r.this, r.of_job, r.of_tenant, r.of_task, r.urgency, r.why, %(status)s, 0, 0,
            r.due, r.start, r.behind, %(wake_at)s, %(now)s, '', '', '', r.new
        FROM r WHERE true {but}
        """,
        {
            "this": "uuid",
            "of_job": "uuid",
            "of_tenant": "uuid",
            "of_task": "text",
            "urgency": "smallint",
            "why": "text",
            "due": "timestamptz",
            "start": "timestamptz",
            "behind": "uuid",
            "new": "boolean",
        },
        [
            (
                e.id,
                e.job_id,
                e.tenant_id,
                e.task,
                e.priority,
                e.cause.value,
                e.due_at,
                e.not_before or e.due_at,
                e.waits_for,
                e.task in fresh,
            )
            for e in executions
        ],
        status=Status.SCHEDULED.value,
        wake_at=wake_at,
        now=now,
    )


def mark_queued(sent: Collection[Sent], *, now: datetime, wake_at: datetime) -> None:
    """Note that the broker has confirmed these. One that was claimed meanwhile is past that already."""
    run(
        f"""
        UPDATE {HERE} SET queued_at = %(now)s, wake_at = %(wake_at)s, fresh = false,
            status = CASE WHEN status = %(scheduled)s THEN %(queued)s ELSE status END
        FROM r WHERE id = r.this
        """,
        {"this": "uuid", "made": "integer"},
        list(sent),
        only=f"locked.attempt = r.made AND {waits('locked')}",
        scheduled=Status.SCHEDULED.value,
        queued=Status.QUEUED.value,
        now=now,
        wake_at=wake_at,
    )


def tenants_of(ids: Collection[UUID]) -> list[tuple[UUID, UUID]]:
    """Return those of these executions that wait for a worker, each with its tenant, in the order given."""
    rows = run(
        f"SELECT e.id, e.tenant_id FROM r JOIN {HERE} AS e ON e.id = r.this WHERE {waits('e')}",
        {"this": "uuid"},
        [(one,) for one in ids],
    )
    tenants = {as_uuid(one): as_uuid(tenant) for one, tenant in rows}
    return [(one, tenants[one]) for one in dict.fromkeys(ids) if one in tenants]


def postpone(executions: Collection[tuple[UUID, datetime]]) -> None:
    """Have these wait, unclaimed, until the time given with each: then the recoverer sends them.

    The queue forgets them meanwhile, so QUEUED becomes SCHEDULED. One that was claimed meanwhile stays as it is.
    """
    run(
        f"""
        UPDATE {HERE} SET not_before = r.again, wake_at = r.again, queued_at = NULL, fresh = false,
            status = CASE WHEN status = %(queued)s THEN %(scheduled)s ELSE status END
        FROM r WHERE id = r.this
        """,
        {"this": "uuid", "again": "timestamptz"},
        list(executions),
        only=f"locked.not_before < r.again AND {waits('locked')}",
        scheduled=Status.SCHEDULED.value,
        queued=Status.QUEUED.value,
    )


def bring_back(postponed: Collection[tuple[UUID, datetime]], *, now: datetime) -> None:
    """Have executions that were postponed wait no longer: the recoverer sends them now.

    One that was sent or postponed again meanwhile stays as it is.
    """
    run(
        f"UPDATE {HERE} SET not_before = %(now)s, wake_at = %(now)s FROM r WHERE id = r.this",
        {"this": "uuid", "again": "timestamptz"},
        list(postponed),
        only=f"locked.not_before = r.again AND locked.not_before > %(now)s AND locked.queued_at IS NULL "
        f"AND {waits('locked')}",
        now=now,
    )


def let_rest(executions: Collection[tuple[UUID, Status]], *, wake_at: datetime | None) -> None:
    """Note that nothing needs to be done for these until `wake_at`, or ever, unless they have moved on."""
    run(
        f"UPDATE {HERE} SET wake_at = %(wake_at)s FROM r WHERE id = r.this",
        {"this": "uuid", "expected": "text"},
        [(one, status.value) for one, status in executions],
        only="locked.status = r.expected",
        wake_at=wake_at,
    )
