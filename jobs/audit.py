"""Writes down who did what to which job, with what it looked like before and after."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

from pydantic_core import to_json

from accounts.models import User
from jobs import ledger
from jobs.clock import database_now
from jobs.models import AuditEvent, Job
from jobs.models.listing import MAX_LISTED
from jobs.redaction import redacted

LIMITS = ("max_retries", "retry_delay", "retry_delay_cap", "time_limit", "lease")
POLICIES = ("misfire", "catch_up_window", "catch_up_max", "overlap")
FIELDS = ("name", "tags", "task", "payload", "schedule", "priority", *LIMITS, *POLICIES, "status", "next_run_at")
OF_CREATION = ("tenant_id", "actor_id", "action", "job_id", "after", "at")
OF_CHANGE = (*OF_CREATION, "before")
KEPT_AS_IT_IS = tuple(name for name in FIELDS if name != "payload")
_read = attrgetter(*KEPT_AS_IT_IS)


def snapshot(job: Job) -> dict[str, Any]:
    """The job as an audit event keeps it: without its secrets, not even sealed.

    Of a job that an act on many has read, a long payload is not there: None, and `omitted` says so.
    """
    kept = dict(zip(KEPT_AS_IT_IS, _read(job), strict=True))
    kept["payload"] = redacted(job.listed("payload"))
    if job.omitted:
        kept["omitted"] = job.omitted
    kept["next_run_at"] = job.next_run_at.isoformat() if job.next_run_at else None
    return kept


def omit_unchanged(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Leave a long payload that an act has not changed out of both snapshots.

    Otherwise each act, such as a run, would store the payload twice.
    """
    if before["payload"] == after["payload"] and len(to_json(after["payload"])) > MAX_LISTED:
        for one in (before, after):
            one |= {"payload": None, "omitted": ["payload"]}


def write(
    action: str, job: Job, actor: User | None, *, before: dict[str, Any] | None, after: dict[str, Any] | None
) -> None:
    """Call it in the transaction of the act, so that neither stands without the other."""
    write_other(action, actor, tenant=job.tenant_id, job=job.pk, before=before, after=after)


def write_other(
    action: str,
    actor: User | None,
    *,
    tenant: UUID,
    job: UUID | None,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
) -> None:
    """The same for an act on something that is no job, though it may be about one."""
    AuditEvent.objects.create(
        tenant_id=tenant,
        actor=actor,
        action=action,
        job_id=job,
        before=before,
        after=after,
        at=database_now(),  # what a job was at some due time is told by these times
    )


def write_created(jobs: Sequence[Job], actor: User | None, *, now: datetime) -> None:
    """The same for any number of new jobs, in one statement."""
    actor_id = actor.pk if actor else None
    rows = [(job.tenant_id, actor_id, "create", job.id, snapshot(job), now) for job in jobs]
    ledger.insert(AuditEvent, OF_CREATION, rows)


def write_many(
    action: str, jobs: Sequence[Job], actor: User | None, *, before: Sequence[dict[str, Any]], now: datetime
) -> None:
    """The same act on any number of jobs, in one statement; `before` is what each of them looked like."""
    actor_id = actor.pk if actor else None
    rows = [
        (job.tenant_id, actor_id, action, job.id, snapshot(job), now, was)
        for job, was in zip(jobs, before, strict=True)
    ]
    ledger.insert(AuditEvent, OF_CHANGE, rows)
