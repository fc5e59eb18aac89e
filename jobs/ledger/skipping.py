"""Due times that do not run: a row for each, with the reason, so that none is unaccounted for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from jobs.ids import execution_id
from jobs.ledger.batch import run
from jobs.ledger.recording import DueJob
from jobs.states import Cause, Status


class NewSkip(NamedTuple):
    job: DueJob
    due_at: datetime
    reason: str
    covers_until: datetime | None = None  # the reason holds for every due time up to this one too


def skip(due_times: Sequence[NewSkip], *, now: datetime) -> None:
    """Write due times as SKIPPED. One that was recorded before, with whatever outcome, is left as it is."""
    run(
        """
        INSERT INTO jobs_execution (id, job_id, tenant_id, task, priority, cause, status, attempt, forgiven,
            due_at, not_before, covers_until, recorded_at, finished_at, worker, error, reason)
        SELECT r.this, r.of_job, r.of_tenant, r.of_task, r.urgency, %(cause)s, %(skipped)s, 0, 0,
            r.due, r.due, r.covered, %(now)s, %(now)s, '', '', r.why
        FROM r WHERE true
        ON CONFLICT (id) DO NOTHING
        """,
        {
            "this": "uuid",
            "of_job": "uuid",
            "of_tenant": "uuid",
            "of_task": "text",
            "urgency": "smallint",
            "due": "timestamptz",
            "covered": "timestamptz",
            "why": "text",
        },
        [
            (
                *(execution_id(one.job.id, one.due_at, Cause.SCHEDULE), one.job.id, one.job.tenant_id),
                *(one.job.task, one.job.priority, one.due_at, one.covers_until, one.reason),
            )
            for one in due_times
        ],
        cause=Cause.SCHEDULE.value,
        skipped=Status.SKIPPED.value,
        now=now,
    )
