"""Finds the task of each, says what would be created, and creates it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import transaction

from accounts.models import Tenant, User
from execution.registry import Task, UnknownTask, registry
from jobs import services
from jobs.celery_beat.periodic import (
    OF_BEAT_ITSELF,
    TAG,
    CannotBeTaken,
    Choices,
    NotNeeded,
    Periodic,
    Taken,
    taken,
)
from jobs.clock import database_now
from jobs.ids import new_job_id
from jobs.models import Job
from jobs.new_jobs import Maker


@dataclass(frozen=True, slots=True)
class Plan:
    taken: list[Taken] = field(default_factory=list)
    there: list[Periodic] = field(default_factory=list)  # those that were taken over before
    not_needed: list[tuple[Periodic, str]] = field(default_factory=list)  # with the reason
    left: list[tuple[Periodic, str]] = field(default_factory=list)  # those that stay behind, with the reason


class UnknownName(ValueError):
    """An option names something that is not in the database."""


def plan(
    found: Sequence[Periodic],
    tenant: Tenant,
    *,
    names: Mapping[str, str] | None = None,
    skipped: Collection[str] = (),
    choices: Choices | None = None,
) -> Plan:
    """What would become of each. `names` are tasks as they are called here, by what they are called in Celery."""
    names = names or {}
    _check("--map", names, {one.task for one in found}, "task")
    _check("--skip", skipped, {one.name for one in found}, "name")
    now = database_now()
    maker = Maker(tenant=tenant, actor=None, now=now)
    known = set(Job.objects.for_tenant(tenant).kept().tagged(tenant, [TAG]).values_list("name", flat=True))
    called = _called({one.task for one in found}, names)
    made = Plan()
    for one in found:
        if one.name in skipped:
            made.not_needed.append((one, "it is left out with --skip."))
            continue
        if one.name[:200] in known:
            made.there.append(one)
            continue
        try:
            task = _task(one.task, names, called)
            wanted = taken(one, task=task.name, parameters=_parameters(task), choices=choices or Choices(), now=now)
        except NotNeeded as error:
            made.not_needed.append((one, str(error)))
            continue
        except (CannotBeTaken, UnknownTask) as error:
            made.left.append((one, str(error)))
            continue
        refusal = maker.made_or_refused(wanted.job, new_job_id())
        if isinstance(refusal, Job):
            made.taken.append(wanted)
        else:
            made.left.append((one, str(refusal)))
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


def _check(option: str, given: Iterable[str], there: Collection[str], what: str) -> None:
    if unknown := sorted(set(given) - set(there)):
        raise UnknownName(f"{option}: no periodic task has the {what} {', '.join(unknown)}.")


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _called(tasks: Iterable[str], names: Mapping[str, str]) -> dict[str, list[str]]:
    """What each task here is called there: by its own name, by --map, or by the last part of its name."""
    called: dict[str, list[str]] = {}
    for name in sorted(tasks):
        here = names.get(name) or (name if name in registry.names() else _short(name))
        called.setdefault(here, []).append(name)
    return called


def _task(name: str, names: Mapping[str, str], called: Mapping[str, Sequence[str]]) -> Task:
    """By the name it was given for the import, its own, or the last part of that: `shop.tasks.remind` is `remind`."""
    if name == OF_BEAT_ITSELF:
        raise NotNeeded("it deletes Celery's own results, which Punctual does not have.")
    if name in names:
        return registry.get(names[name])
    if name in registry.names():
        return registry.get(name)
    short = _short(name)
    if short not in registry.names():
        raise UnknownTask(
            f"no task here is called {name!r} or {short!r}. Register it (docs/writing-a-task.md), or name another with "
            f"--map {name}=…."
        )
    if others := [other for other in called[short] if other != name]:
        raise CannotBeTaken(
            f"{name} and {', '.join(others)} would both become {short!r}. Map each of them: --map {name}=…."
        )
    return registry.get(short)


def _parameters(task: Task) -> Sequence[str]:
    return list(task.payload.model_fields) if not task.remote else []
