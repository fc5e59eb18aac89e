"""Finds the task of each, says what would be created, and creates it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from accounts.models import Tenant, User
from execution.registry import Task, UnknownTask, registry
from jobs import services
from jobs.celery_beat.periodic import OF_BEAT_ITSELF, TAG, CannotBeTaken, Periodic, Taken, taken
from jobs.clock import database_now
from jobs.ids import new_job_id
from jobs.models import Job
from jobs.new_jobs import Maker


@dataclass(frozen=True, slots=True)
class Plan:
    taken: list[Taken] = field(default_factory=list)
    there: list[str] = field(default_factory=list)  # names of those that were taken over before
    left: list[tuple[str, str]] = field(default_factory=list)  # a name, and why it stays behind


def plan(found: Iterable[Periodic], tenant: Tenant, names: Mapping[str, str]) -> Plan:
    """What would become of each. `names` are tasks as they are called here, by what they are called in Celery."""
    now = database_now()
    maker = Maker(tenant=tenant, actor=None, now=now)
    known = set(Job.objects.for_tenant(tenant).kept().tagged(tenant, [TAG]).values_list("name", flat=True))
    made = Plan()
    for one in found:
        if one.name[:200] in known:
            made.there.append(one.name)
            continue
        try:
            task = _task(one.task, names)
            wanted = taken(one, task=task.name, parameters=_parameters(task), now=now)
            refusal = maker.made_or_refused(wanted.job, new_job_id())
        except (CannotBeTaken, UnknownTask) as error:
            made.left.append((one.name, str(error)))
            continue
        if isinstance(refusal, Job):
            made.taken.append(wanted)
        else:
            made.left.append((one.name, str(refusal)))
    return made


def carry_out(made: Plan, *, tenant: Tenant, actor: User | None) -> int:
    """Create them all, or none; those that were disabled are paused."""
    with transaction.atomic():
        jobs = services.create_jobs([one.job for one in made.taken], tenant=tenant, actor=actor)
        for job, one in zip(jobs, made.taken, strict=True):
            if not isinstance(job, Job):
                raise job
            if one.paused:
                services.pause_job(job, actor=actor)
    return len(jobs)


def _task(name: str, names: Mapping[str, str]) -> Task:
    """By the name it was given for the import, its own, or the last part of that: `shop.tasks.remind` is `remind`."""
    if name == OF_BEAT_ITSELF:
        raise CannotBeTaken("it tidies up Celery's own results, of which there are none here.")
    if name in names:
        return registry.get(names[name])
    short = name.rpartition(".")[2]
    here = next((one for one in (name, short) if one in registry.names()), None)
    if here is None:
        raise UnknownTask(
            f"no task here is called {name!r} or {short!r}. Register it (docs/writing-a-task.md), or name another with "
            f"--map {name}=…."
        )
    return registry.get(here)


def _parameters(task: Task) -> Sequence[str]:
    return list(task.payload.model_fields) if not task.remote else []
