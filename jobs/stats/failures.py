"""What went wrong last: attempts that failed, whatever became of the execution, and executions that failed for good."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from accounts.models import Tenant
from jobs.models import Attempt
from jobs.states import Status
from jobs.stats.buckets import within
from jobs.stats.unfinished import name_jobs

LATEST = 500  # attempts of anybody
SHOWN = 8
MOST_COUNTED = 1_000  # dead letters
UNREAD = ("payload", "result")


@dataclass(frozen=True, slots=True)
class Failure:
    execution: UUID
    job: UUID
    name: str
    task: str
    status: Status  # of the execution now: RETRYING and COMPLETED are good news
    attempt: int
    error: str
    at: datetime


def latest_failures(scope: Tenant | None, shown: int = SHOWN) -> list[Failure]:
    """The latest first; of one execution, its latest failure."""
    attempts = Attempt.objects.order_by("-id").values_list("execution_id", "number", "error", "finished_at")[:LATEST]
    failed: dict[UUID, tuple[int, str, datetime]] = {}
    for execution, number, error, at in attempts:
        failed.setdefault(execution, (number, error, at))
    dead = list(within(scope).dead().defer(*UNREAD).order_by("-id")[:shown])
    ours = list(within(scope).filter(pk__in=list(failed)).defer(*UNREAD)) if failed else []
    rows = {row.pk: row for row in (*dead, *ours)}
    told = [(failed.get(row.pk) or (row.attempt, row.error, row.finished_at), row) for row in rows.values()]
    told = sorted(told, key=lambda one: one[0][2], reverse=True)[:shown]
    name_jobs([row for _, row in told])
    return [
        Failure(row.pk, row.job_id, row.job.name, row.task, Status(row.status), number, error, at)
        for (number, error, at), row in told
    ]


def count_dead(scope: Tenant | None) -> tuple[int, bool]:
    """How many dead letters there are, and whether there are more than were counted."""
    found = within(scope).dead().order_by("-id")[: MOST_COUNTED + 1].count()
    return min(found, MOST_COUNTED), found > MOST_COUNTED
