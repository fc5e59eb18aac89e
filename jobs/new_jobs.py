"""A job as somebody asks for it, and what becomes of that: a job ready to be stored, or a refusal.

Nothing is stored here, and nothing is raised: among many, one that is refused is an answer like the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS

from accounts.mail_rights import MailRefused
from accounts.models import Tenant, User
from accounts.quota import QuotaExceeded
from execution.registry import InvalidPayload, Task, UnknownTask
from jobs.models import Job
from jobs.payloads import accepted, usable_task
from jobs.policies import InvalidPolicy, Misfire, check_policies, recurs
from jobs.states import JobStatus, Priority
from jobs.terms import terms_of
from scheduler_project.origin import current_origin
from scheduling.recurrence import InvalidSchedule
from scheduling.upcoming import NewSchedules

IMMEDIATELY = {"type": "now"}
COLUMNS = tuple(field.attname for field in Job._meta.concrete_fields)
AT_FIRST = {field.attname: field.get_default() for field in Job._meta.concrete_fields if not field.primary_key}
AT_FIRST["status"] = JobStatus.ACTIVE.value  # as it comes out of the database, also for whoever writes it as JSON
OF_TERMS = ("job_id", "tenant_id", "term")
row_of = attrgetter(*COLUMNS)

Refusal = UnknownTask | MailRefused | InvalidPayload | InvalidSchedule | InvalidPolicy | QuotaExceeded


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
    tags: Sequence[str] = ()


def term_rows(jobs: Iterable[Job]) -> list[tuple[UUID, UUID, str]]:
    """What these jobs are found by; mostly nothing, because they have neither a name nor tags."""
    return [
        (job.id, job.tenant_id, term) for job in jobs if job.name or job.tags for term in terms_of(job.name, job.tags)
    ]


class Maker:
    """Makes jobs of what is asked for at one instant, for one tenant and by one person."""

    def __init__(self, *, tenant: Tenant, actor: User | None, now: datetime) -> None:
        self._schedules = NewSchedules(now)
        self._actor = actor
        self._tenant = tenant.pk
        self._tasks: dict[str, Task | UnknownTask | MailRefused] = {}  # asked for once, however many jobs want one
        owner = actor.pk if actor else None
        self._of_all = AT_FIRST | {
            "tenant_id": tenant.pk,
            "owner_id": owner,
            "created_at": now,
            "updated_at": now,
            **current_origin()._asdict(),
        }

    def made_or_refused(self, wanted: NewJob, pk: UUID) -> Job | Refusal:
        """The job as it is to be stored, or why it cannot be."""
        try:
            payload = accepted(self._task(wanted.task), wanted.payload, tenant=self._tenant)
            schedule, first = self._schedules.read(IMMEDIATELY if wanted.schedule is None else wanted.schedule, job=pk)
            check_policies(wanted.misfire, wanted.overlap, recurring=recurs(schedule))
        except (UnknownTask, MailRefused, InvalidPayload, InvalidSchedule, InvalidPolicy) as error:
            return error
        values = self._of_all | {
            "id": pk,
            "name": wanted.name,
            "task": wanted.task,
            "payload": payload,
            "schedule": schedule,
            "priority": int(wanted.priority),
            "max_retries": wanted.max_retries,
            "retry_delay": wanted.retry_delay,
            "retry_delay_cap": wanted.retry_delay_cap,
            "time_limit": wanted.time_limit,
            "lease": wanted.lease,
            "misfire": str(wanted.misfire),
            "catch_up_window": wanted.catch_up_window,
            "catch_up_max": wanted.catch_up_max,
            "overlap": wanted.overlap,
            "tags": list(wanted.tags),
            "next_run_at": first.start_at,
            "due_for": first.due_for,
        }
        # As if it came from the database, where it soon is: `Job(…)` takes eight times as long.
        job = Job.from_db(DEFAULT_DB_ALIAS, COLUMNS, [values[name] for name in COLUMNS])
        job.owner = self._actor
        return job

    def _task(self, name: str) -> Task:
        task = self._tasks.get(name)
        if task is None:
            try:
                task = usable_task(name, self._tenant)
            except (UnknownTask, MailRefused) as error:
                task = error
            self._tasks[name] = task
        if isinstance(task, Exception):
            raise task
        return task
