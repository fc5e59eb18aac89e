"""Fills the due index from the truth: all of it after a wipe, and what is overdue at any time."""

from __future__ import annotations

from datetime import datetime
from itertools import islice

import structlog

from jobs.models import Job
from scheduling.index import DueIndex

logger = structlog.get_logger(__name__)

BATCH = 2000


def rebuild(index: DueIndex) -> int:
    """Restore every scheduled job, earliest first, and return how many there were."""
    with index.rebuilding():
        jobs = Job.objects.scheduled().order_by("next_run_at").values_list("pk", "next_run_at").iterator(BATCH)
        restored = 0
        while batch := dict(islice(jobs, BATCH)):
            index.restore(batch)
            restored += len(batch)
    logger.info("index.rebuilt", jobs=restored)
    return restored


def restore_overdue(index: DueIndex, *, due_before: datetime, limit: int) -> int:
    """Restore jobs that should have been recorded by now: the index may not know them, or know them late."""
    overdue = Job.objects.due(due_before).order_by("next_run_at").values_list("pk", "next_run_at")
    jobs = dict(overdue[:limit])
    index.restore(jobs)
    return len(jobs)
