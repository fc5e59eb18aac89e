"""What an import would do or has done, for people and as JSON. Values of payloads may be secrets, and are not shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jobs.celery_beat.importing import Plan
from jobs.celery_beat.periodic import Taken
from jobs.states import Priority

AS_THE_TASK_SAYS = "as the task says"


def document(made: Plan, created: int | None) -> dict[str, Any]:
    """`created` is how many jobs were, or None if nothing was to be created yet."""
    return {
        "create": [_document(one) for one in made.taken],
        "exists": [{"name": one.name, "celery_task": one.task} for one in made.there],
        "not_needed": [{"name": one.name, "celery_task": one.task, "reason": why} for one, why in made.not_needed],
        "left_out": [{"name": one.name, "celery_task": one.task, "reason": why} for one, why in made.left],
        "created": created,
    }


def lines(made: Plan) -> Iterator[str]:
    for one in made.taken:
        job = _job(one)
        yield f"+ {one.job.name}: {one.source.task} becomes {job.pop('task')}{', paused' if one.paused else ''}"
        for field, value in job.items():
            yield f"    {field}: {_written(value)}"
        for field, was, becomes, why in one.differences:
            after = "not kept" if becomes is None else _written(becomes)
            yield f"    ! {field} {_written(was)}: {after}; {why}"
    for there in made.there:
        yield f"= {there.name}: already imported"
    for unneeded, why in made.not_needed:
        yield f"- {unneeded.name}: not needed, {why}"
    for left, why in made.left:
        yield f"! {left.name}: left out, {why}"
    yield (
        f"{len(made.taken)} to create, {len(made.there)} there already, {len(made.not_needed)} not needed, "
        f"{len(made.left)} left out."
    )


def _document(one: Taken) -> dict[str, Any]:
    differences = [difference._asdict() for difference in one.differences]
    return {
        "name": one.job.name,
        "celery_task": one.source.task,
        "job": _job(one) | {"paused": one.paused},
        "differences": differences,
    }


def _job(one: Taken) -> dict[str, Any]:
    job = one.job
    return {
        "task": job.task,
        "schedule": job.schedule,
        "payload_fields": sorted(job.payload),
        "priority": Priority(job.priority).name.lower(),
        "overlap": str(job.overlap),
        "max_retries": AS_THE_TASK_SAYS if job.max_retries is None else job.max_retries,
        "misfire": str(job.misfire),
        "time_limit": AS_THE_TASK_SAYS,
    }


def _written(value: Any) -> str:
    match value:
        case dict():
            return ", ".join(f"{name} {_written(one)}" for name, one in value.items())
        case list():
            return ", ".join(map(str, value)) or "none"
        case _:
            return str(value)
