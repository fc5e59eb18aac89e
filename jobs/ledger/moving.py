"""Jobs that are paused, resumed, cancelled or deleted by the batch."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from jobs.ledger.batch import run
from jobs.states import JobStatus


class JobMove(NamedTuple):
    """What a job becomes, and when it runs next."""

    job_id: UUID
    status: JobStatus
    next_run_at: datetime | None = None
    due_for: datetime | None = None  # the due time, where the start is later
    deleted_at: datetime | None = None


def move_jobs(moves: Sequence[JobMove], *, now: datetime) -> None:
    """Write moves of jobs, as a job's own verbs do for one. Call it in the transaction that has locked them."""
    run(
        """
        UPDATE jobs_job SET status = r.target, next_run_at = r.next, due_for = r.nominal, deleted_at = r.gone,
            version = version + 1, updated_at = %(now)s, leased_until = NULL
        FROM r WHERE id = r.this
        """,
        {"this": "uuid", "target": "text", "next": "timestamptz", "nominal": "timestamptz", "gone": "timestamptz"},
        [(one.job_id, one.status.value, *one[2:]) for one in moves],
        now=now,
    )
