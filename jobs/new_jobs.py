"""A job as somebody asks for it, and what becomes of that: a job ready to be stored, or a refusal.

Nothing is stored here, and nothing is raised: among many, one that is refused is an answer like the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from accounts.models import Tenant, User
from execution.registry import InvalidPayload, UnknownTask, registry
from jobs.models import Job
from jobs.policies import InvalidPolicy, Misfire, check_policies, recurs
from jobs.states import Priority
from scheduling.recurrence import InvalidSchedule
from scheduling.upcoming import first_run, read_new

IMMEDIATELY = {"type": "now"}

Refusal = UnknownTask | InvalidPayload | InvalidSchedule | InvalidPolicy


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job as somebody asks for it."""

    task: str
    payload: Any = field(default_factory=dict)
    schedule: Any = None
    name: str = ""
    priority: int = Priority.NORMAL
    max_retries: int | None = None
    retry_delay: float | None = None
    retry_delay_cap: float | None = None
    time_limit: float | None = None
    lease: float | None = None
    misfire: str = Misfire.RUN_ONCE
    catch_up_window: int | None = None
    catch_up_max: int | None = None
    overlap: str | None = None


def made_or_refused(wanted: NewJob, *, pk: UUID, tenant: Tenant, actor: User | None, now: datetime) -> Job | Refusal:
    """The job as it is to be stored at `now`, or why it cannot be."""
    try:
        registry.get(wanted.task).read(wanted.payload)
        recurrence = read_new(IMMEDIATELY if wanted.schedule is None else wanted.schedule, job=pk, now=now)
        schedule = recurrence.to_dict()
        check_policies(wanted.misfire, wanted.overlap, recurring=recurs(schedule))
    except (UnknownTask, InvalidPayload, InvalidSchedule, InvalidPolicy) as error:
        return error
    first = first_run(recurrence, job=pk, now=now)
    return Job(
        id=pk,
        tenant_id=tenant.pk,
        owner=actor,
        name=wanted.name,
        task=wanted.task,
        payload=wanted.payload,
        schedule=schedule,
        priority=wanted.priority,
        max_retries=wanted.max_retries,
        retry_delay=wanted.retry_delay,
        retry_delay_cap=wanted.retry_delay_cap,
        time_limit=wanted.time_limit,
        lease=wanted.lease,
        misfire=wanted.misfire,
        catch_up_window=wanted.catch_up_window,
        catch_up_max=wanted.catch_up_max,
        overlap=wanted.overlap,
        next_run_at=first.start_at,
        due_for=first.due_for,
        created_at=now,
        updated_at=now,
    )
