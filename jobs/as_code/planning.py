"""Compares what a file says with what there is. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from accounts.mail_rights import MailRefused
from accounts.models import Tenant
from execution.registry import InvalidPayload, UnknownTask, registry
from jobs.as_code.files import InvalidFile, Wanted
from jobs.clock import database_now
from jobs.ids import new_job_id
from jobs.models import Job
from jobs.new_jobs import Maker, NewJob
from jobs.payloads import Stored, accepted, usable_task
from jobs.policies import InvalidPolicy, check_policies, recurs
from jobs.redaction import redacted
from jobs.sealing import get_seal
from jobs.states import JobStatus, Priority
from scheduling.recurrence import InvalidSchedule, parse_schedule

COMPARED = tuple(field.name for field in fields(NewJob) if field.name not in ("name", "payload", "schedule", "tags"))
NEW_SECRET = "another secret"


@dataclass(frozen=True, slots=True)
class Difference:
    """Of one field, as it may be shown."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Create:
    wanted: NewJob


@dataclass(frozen=True, slots=True)
class Update:
    job: Job
    changes: dict[str, Any]  # as the service takes them
    differences: list[Difference]


@dataclass(frozen=True, slots=True)
class Delete:
    job: Job


Change = Create | Update | Delete


def plan(wanted: Wanted, tenant: Tenant, *, adopt: bool = False) -> list[Change]:
    """What would have to be done for the tenant's jobs to be as the file says; raises InvalidFile.

    A job that nobody manages is in the way of one of the same name, unless it is to be adopted.
    """
    kept = Job.objects.for_tenant(tenant).kept().exclude(status=JobStatus.CANCELLED)
    managed = {job.name: job for job in kept.tagged(tenant, [wanted.marker])}
    others = _others(wanted, kept, managed)
    if others and not adopt:
        raise InvalidFile(
            f"{', '.join(map(repr, sorted(others)[:5]))}: a job of that name exists, and this file does not manage it. "
            "Rename one of them, or let the file have it with --adopt."
        )
    present = others | managed
    maker = Maker(tenant=tenant, actor=None, now=database_now())
    changes: list[Change] = []
    for one in wanted.jobs:
        job = present.get(one.name)
        change = _creation(one, maker) if job is None else _update(job, one)
        if change is not None:
            changes.append(change)
    names = {one.name for one in wanted.jobs}
    return changes + [Delete(job) for name, job in sorted(managed.items()) if name not in names]


def _others(wanted: Wanted, kept: Any, managed: dict[str, Job]) -> dict[str, Job]:
    names = [one.name for one in wanted.jobs if one.name not in managed]
    return {job.name: job for job in kept.filter(name__in=names)}


def _creation(one: NewJob, maker: Maker) -> Create:
    made = maker.made_or_refused(one, new_job_id())
    if not isinstance(made, Job):
        raise InvalidFile(f"{one.name}: {made}")
    return Create(one)


def _update(job: Job, one: NewJob) -> Update | None:
    try:
        found = list(_differences(job, one))
        check_policies(one.misfire, one.overlap, recurring=recurs(one.schedule))
        if any(difference.field in ("task", "payload") for difference, _ in found):
            usable_task(one.task, job.tenant_id)
    except (UnknownTask, MailRefused, InvalidPayload, InvalidSchedule, InvalidPolicy) as error:
        raise InvalidFile(f"{one.name}: {error}") from None
    if not found:
        return None
    return Update(job, {one.field: value for one, value in found}, [one for one, _ in found])


def _differences(job: Job, one: NewJob) -> Iterator[tuple[Difference, Any]]:
    """What differs, as it is shown and as it is to be."""
    for name in COMPARED:
        before, after = getattr(job, name), getattr(one, name)
        if before != after:
            yield Difference(name, _plain(name, before), _plain(name, after)), after
    if set(job.tags) != set(one.tags):
        yield Difference("tags", job.tags, list(one.tags)), list(one.tags)
    was, will_be = _schedules(job, one.schedule)
    if was != will_be:
        yield Difference("schedule", was, will_be), one.schedule
    seal = get_seal()
    before = seal.opened(job.payload, job.tenant_id)
    stored = Stored(job.task, job.payload)
    after = seal.opened(
        accepted(registry.get(one.task), one.payload, tenant=job.tenant_id, stored=stored), job.tenant_id
    )
    if before != after:
        shown, new = redacted(job.payload), redacted(one.payload)
        yield Difference("payload", shown, new if shown != new else NEW_SECRET), one.payload


def _schedules(job: Job, schedule: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both as they are stored. An interval that the file gives no start goes on from the one it has."""
    was = dict(job.schedule)
    will_be = dict(parse_schedule(schedule, now=database_now(), allow_past=True, seed=str(job.id)).to_dict())
    if was.get("type") == will_be.get("type") == "interval" and "start_at" not in schedule:
        was.pop("start_at", None)
        will_be.pop("start_at", None)
    return was, will_be


def _plain(name: str, value: Any) -> Any:
    return Priority(value).name.lower() if name == "priority" else value
