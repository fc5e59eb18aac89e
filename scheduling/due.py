"""Turns due jobs into recorded executions, and says when each job is due next.

One transaction for a whole batch: the executions and the jobs' next runs are written
together or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from uuid import UUID

import structlog
from django.db import transaction

from jobs import ledger
from scheduling.recurrence import parse_schedule

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
        for pk, tenant, task, priority, schedule, due_at in ledger.lock_due(leased):
            if due_at is None or due_at > now:
                next_due[pk] = due_at
                continue
            try:
                following = next_run(schedule, due_at, now=now, misfire_grace=misfire_grace)
            except Exception as error:
                # Whatever is wrong with one job, the others are due. This one is left as it is, to come
                # back with its lease: better noisy than forgotten.
                logger.error("job.schedule_unreadable", job=str(pk), error=str(error), remedy="edit the job's schedule")
                del next_due[pk]
                continue
            executions.append(ledger.NewExecution(pk, tenant, task, priority, due_at))
            next_runs.append(ledger.NextRun(pk, following))
            next_due[pk] = following
        new = ledger.record(executions, next_runs, now=now, wake_at=now + publish_patience)
    return Recorded(new, next_due)


def next_run(schedule: str, due_at: datetime, *, now: datetime, misfire_grace: timedelta) -> datetime | None:
    """The due time after `due_at`. After a long absence the missed ones in between become one run: this one."""
    base = due_at if now - due_at <= misfire_grace else now
    return _next_after(schedule, base)


@lru_cache(maxsize=10_000)  # thousands of jobs share `0 * * * *` and its due time, and croniter takes 200 µs
def _next_after(schedule: str, base: datetime) -> datetime | None:
    return parse_schedule(json.loads(schedule), now=base, allow_past=True).next_after(base)
