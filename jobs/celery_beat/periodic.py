"""What a periodic task of django-celery-beat is here. No database in here.

What Celery would do is kept where there is a way to say it. What differs is said, field by field, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from jobs.celery_beat.crontab import Unreadable, translated
from jobs.new_jobs import NewJob
from jobs.policies import Misfire, Overlap
from jobs.states import Priority
from scheduling.recurrence.instants import write_instant

TAG = "from:celery-beat"
OF_BEAT_ITSELF = "celery.backend_cleanup"
SHORTEST = timedelta(seconds=1)
LOW, HIGH = 3, 7  # Celery's priorities over RabbitMQ: 0 to 10, the highest first
HIGHEST = 10


class CannotBeTaken(Exception):
    """Something that has no counterpart here, and why."""


class NotNeeded(CannotBeTaken):
    """Something that would not run in Celery either."""


class Difference(NamedTuple):
    """A field that is not kept as it was, and why."""

    field: str
    was: Any
    becomes: Any
    why: str


@dataclass(frozen=True, slots=True)
class Periodic:
    """A row of django-celery-beat, with its schedule."""

    name: str
    task: str
    args: Any
    kwargs: Any
    kind: str  # of its schedule: crontab, interval, clocked or solar
    schedule: Mapping[str, Any]
    enabled: bool = True
    one_off: bool = False
    start_time: datetime | None = None
    expires: datetime | None = None
    expire_seconds: int | None = None
    last_run_at: datetime | None = None
    total_run_count: int = 0
    priority: int | None = None
    queue: str = ""
    exchange: str = ""
    routing_key: str = ""
    headers: Any = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Choices:
    """What Celery leaves to its workers, and the importing user decides for all tasks."""

    overlap: str = Overlap.ALLOW  # beat sends each message, whatever became of the one before
    max_retries: int | None = 0  # a Celery task is tried once, unless its code says otherwise; None: as the task says
    reversed_priorities: bool = False  # as over Redis, where 0 is the highest


@dataclass(frozen=True, slots=True)
class Taken:
    """What it becomes."""

    source: Periodic
    job: NewJob
    paused: bool
    differences: list[Difference]


def taken(one: Periodic, *, task: str, parameters: Sequence[str], choices: Choices, now: datetime) -> Taken:
    """What becomes of it as a job of `task`, which has these parameters; raises CannotBeTaken."""
    schedule, differences = _schedule(one, now)
    job = NewJob(
        task,
        _payload(one, parameters),
        schedule,
        name=one.name[:200],
        priority=_priority(one.priority, choices),
        max_retries=choices.max_retries,
        misfire=Misfire.RUN_ONCE if one.expire_seconds is None else Misfire.SKIP,
        overlap=choices.overlap,
        tags=(TAG,),
    )
    return Taken(one, job, not one.enabled, [*differences, *_chosen(one, job), *_not_kept(one)])


def _chosen(one: Periodic, job: NewJob) -> list[Difference]:
    """Options of which there are others here, or which are not the same."""
    found = []
    if job.overlap != Overlap.ALLOW:
        why = "chosen with --overlap. Celery starts each execution, whether or not the previous one is running."
        found.append(Difference("overlap", "allow", str(job.overlap), why))
    if job.max_retries != 0:
        becomes = "as the task says" if job.max_retries is None else job.max_retries
        why = "chosen with --max-retries. Celery does not retry unless the code of the task does."
        found.append(Difference("max_retries", 0, becomes, why))
    if one.priority is not None:
        name = Priority(job.priority).name.lower()
        why = "there are three priorities. Over Redis, 0 is the highest: give --reversed-priorities."
        found.append(Difference("priority", one.priority, name, why))
    if one.expire_seconds is not None:
        why = (
            "a due time that is found too late is skipped. An execution that waits for an executor for longer is not "
            "revoked, as Celery's message would be."
        )
        found.append(Difference("expire_seconds", one.expire_seconds, "misfire: skip", why))
    if not one.enabled and (one.one_off or one.kind == "clocked"):
        why = "Celery disables a one-off task once it has run: resume the job only if it has not."
        found.append(Difference("enabled", False, "paused", why))
    return found


def _not_kept(one: Periodic) -> list[Difference]:
    every_task = "each task has a queue of its own here."
    no_headers = "executions have no message headers. Put what the task reads into its payload."
    lost = {
        "queue": (one.queue, every_task),
        "exchange": (one.exchange, every_task),
        "routing_key": (one.routing_key, every_task),
        "headers": (one.headers, no_headers),
        "description": (one.description, "jobs have a name and tags, but no description. Keep it where the task is."),
    }
    return [Difference(field, was, None, why) for field, (was, why) in lost.items() if was]


def _payload(one: Periodic, parameters: Sequence[str]) -> dict[str, Any]:
    if not isinstance(one.args, list) or not isinstance(one.kwargs, dict):
        raise CannotBeTaken("its args are not a JSON array, or its kwargs not a JSON object.")
    if len(one.args) > len(parameters):
        raise CannotBeTaken(
            f"it has {len(one.args)} positional arguments, and the task {len(parameters)} fields. Name them as kwargs."
        )
    named = dict(zip(parameters, one.args, strict=False))
    if twice := named.keys() & one.kwargs.keys():
        raise CannotBeTaken(f"{', '.join(sorted(twice))}: given both by position and by name.")
    return named | one.kwargs


def _schedule(one: Periodic, now: datetime) -> tuple[dict[str, Any], list[Difference]]:
    match one.kind:
        case "crontab":
            schedule, differences = _crontab(one.schedule)
            return schedule | _bounds(one, now), differences
        case "interval":
            return _interval(one, now), []
        case "clocked":
            return _clocked(one, now), []
        case "solar":
            event = one.schedule.get("event", "an event")
            raise CannotBeTaken(
                f"it goes by the sun ({event}), which no schedule here does. Have a daily job look the time up."
            )
    raise CannotBeTaken("it has no schedule.")


def _crontab(schedule: Mapping[str, Any]) -> tuple[dict[str, Any], list[Difference]]:
    fields = [
        "".join(str(schedule.get(name) or "*").split())
        for name in ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
    ]
    try:
        expression, differs = translated(*fields)
    except Unreadable as error:
        raise CannotBeTaken(str(error)) from None
    written = {"type": "cron", "expression": expression, "timezone": str(schedule.get("timezone") or "UTC")}
    why = "the same times, as cron writes them."
    return written, [Difference("crontab", " ".join(fields), expression, why)] if differs else []


def _interval(one: Periodic, now: datetime) -> dict[str, Any]:
    try:
        length = timedelta(**{str(one.schedule["period"]): int(one.schedule["every"])})
    except (KeyError, TypeError, ValueError, OverflowError):
        raise CannotBeTaken("its interval cannot be read.") from None
    if length < SHORTEST or length % SHORTEST:
        raise CannotBeTaken(f"its interval is {length.total_seconds():g} s; here it is a whole number of seconds.")
    bounds = _bounds(one, now)
    if "start_at" not in bounds and one.last_run_at is not None and one.last_run_at <= now:
        # Celery counts from the last run: the next one comes when it would have come there.
        bounds["start_at"] = write_instant(one.last_run_at)
    return {"type": "interval", "seconds": int(length.total_seconds())} | bounds


def _clocked(one: Periodic, now: datetime) -> dict[str, Any]:
    at = one.schedule.get("clocked_time")
    if at is None:
        raise CannotBeTaken("it has no schedule.")
    if at <= now:
        if not one.enabled or one.total_run_count or one.last_run_at is not None:
            raise NotNeeded("its time has passed.")
        raise CannotBeTaken("its time has passed without an execution. Celery would run it now: run it by hand.")
    return {"type": "once", "run_at": write_instant(at)}


def _bounds(one: Periodic, now: datetime) -> dict[str, Any]:
    bounds: dict[str, Any] = {}
    if one.start_time is not None and one.start_time > now:
        bounds["start_at"] = write_instant(one.start_time)
    if one.expires is not None:
        if one.expires <= now:
            raise NotNeeded("it has expired.")
        bounds["end_at"] = write_instant(one.expires)
    if one.one_off:
        if one.total_run_count or one.last_run_at is not None:
            raise NotNeeded("it is a one-off task that has run.")
        bounds["max_runs"] = 1
    return bounds


def _priority(given: int | None, choices: Choices) -> Priority:
    if given is None:
        return Priority.NORMAL
    if choices.reversed_priorities:
        given = HIGHEST - given
    return Priority.LOW if given <= LOW else Priority.HIGH if given >= HIGH else Priority.NORMAL
