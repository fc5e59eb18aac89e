"""Executions that were due some time ago, with whatever has become of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from jobs.ids import execution_id
from jobs.models import Execution, Job
from jobs.states import UNFINISHED, Cause, Status


def past(job: Job, age: timedelta, status: Status = Status.COMPLETED, **rest: Any) -> Execution:
    """One that came of the job's schedule so long ago, and that is over since then if its status says so."""
    due = timezone.now() - age
    over, wake = (None, due) if status in UNFINISHED else (due, None)
    return Execution.objects.create(
        id=execution_id(job.id, due, Cause.SCHEDULE),
        job=job,
        tenant_id=job.tenant_id,
        task=job.task,
        priority=job.priority,
        status=status,
        **{"due_at": due, "not_before": due, "recorded_at": due, "finished_at": over, "wake_at": wake} | rest,
    )
