"""Turns due jobs into recorded executions, and says when each job is due next.

One transaction for a whole batch: the executions and the jobs' next runs are written
together or not at all.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import transaction

from jobs import ledger
from scheduling.upcoming import next_run

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a batch of leased jobs became."""

    executions: list[ledger.NewExecution]  # new ones only
    next_due: dict[UUID, datetime | None]  # for every job whose lease is over


def record_due(
    leased: Collection[UUID], *, now: datetime, misfire_grace: timedelta, publish_patience: timedelta
) -> Recorded:
    """Record one execution for each leased job that really is due.

    The row decides, not the index: a job edited, paused or recorded since it was leased
    is left alone, and its lease ends with what the row says.
    """
    executions: list[ledger.NewExecution] = []
    next_runs: list[ledger.NextRun] = []
    next_due: dict[UUID, datetime | None] = dict.fromkeys(leased)
    with transaction.atomic():
        for job in ledger.lock_due(leased):
            if job.start_at is None or job.start_at > now:
                next_due[job.id] = job.start_at
                continue
            due_at = job.due_for or job.start_at
            # After a long absence the missed due times in between become one run: this one.
            after = due_at if now - job.start_at <= misfire_grace else now
            try:
                following = next_run(job.schedule, after, job=job.id, runs=job.runs + 1)
            except Exception as error:
                # Whatever is wrong with one job, the others are due. This one is left as it is, to come
                # back with its lease: better noisy than forgotten.
                logger.error(
                    "job.schedule_unreadable", job=str(job.id), error=str(error), remedy="edit the job's schedule"
                )
                del next_due[job.id]
                continue
            executions.append(
                ledger.NewExecution(job.id, job.tenant_id, job.task, job.priority, due_at, not_before=job.start_at)
            )
            next_runs.append(ledger.NextRun(job.id, *following))
            next_due[job.id] = following.start_at
        new = ledger.record(executions, next_runs, now=now, wake_at=now + publish_patience)
    return Recorded(new, next_due)
