"""What a periodic task of django-celery-beat is here. No database in here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from jobs.new_jobs import NewJob
from jobs.policies import Misfire
from jobs.states import Priority
from scheduling.recurrence.instants import write_instant

TAG = "from:celery-beat"
OF_BEAT_ITSELF = "celery.backend_cleanup"
SHORTEST = timedelta(seconds=1)
LOW, HIGH = 3, 7  # Celery's priorities over RabbitMQ: 0 to 10, the highest first


class CannotBeTaken(Exception):
    """Something that has no counterpart here, and why."""


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
    priority: int | None = None
    queue: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """What it becomes."""

    job: NewJob
    paused: bool
    notes: list[str] = field(default_factory=list)  # what is not quite the same


def taken(one: Periodic, *, task: str, parameters: Sequence[str], now: datetime) -> Taken:
    """What becomes of it as a job of `task`, which has these parameters; raises CannotBeTaken."""
    notes: list[str] = []
    misfire = Misfire.RUN_ONCE
    if one.expire_seconds is not None:
        misfire = Misfire.SKIP
        notes.append(
            f"expire_seconds {one.expire_seconds}: a run that nobody looked at in time is skipped (misfire: skip); "
            "one that waits for an executor is not."
        )
    if one.queue:
        notes.append(f"queue {one.queue!r}: every task has a queue of its own here.")
    job = NewJob(
        task,
        _payload(one, parameters),
        _schedule(one, now, notes),
        name=one.name[:200],
        priority=_priority(one.priority),
        misfire=misfire,
        tags=(TAG,),
    )
    return Taken(job, paused=not one.enabled, notes=notes)


def _payload(one: Periodic, parameters: Sequence[str]) -> dict[str, Any]:
    if not isinstance(one.args, list) or not isinstance(one.kwargs, dict):
        raise CannotBeTaken("its args or kwargs are no JSON.")
    if len(one.args) > len(parameters):
        raise CannotBeTaken(
            f"it has {len(one.args)} positional arguments, and the task {len(parameters)} fields. Name them as kwargs."
        )
    named = dict(zip(parameters, one.args, strict=False))
    if twice := named.keys() & one.kwargs.keys():
        raise CannotBeTaken(f"{', '.join(sorted(twice))}: given both by position and by name.")
    return named | one.kwargs


def _schedule(one: Periodic, now: datetime, notes: list[str]) -> dict[str, Any]:
    match one.kind:
        case "crontab":
            return _crontab(one.schedule) | _bounds(one, now)
        case "interval":
            return _interval(one, now)
        case "clocked":
            at = one.schedule.get("clocked_time")
            if at is None or at <= now:
                raise CannotBeTaken("its one time is past.")
            return {"type": "once", "run_at": write_instant(at)}
        case "solar":
            event = one.schedule.get("event", "an event")
            raise CannotBeTaken(
                f"it goes by the sun ({event}), which no schedule here does. Have a daily job look the time up."
            )
    raise CannotBeTaken("it has no schedule.")


def _crontab(schedule: Mapping[str, Any]) -> dict[str, Any]:
    fields = [
        "".join(str(schedule.get(name) or "*").split())
        for name in ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
    ]
    _, _, day, _, weekday = fields
    if day != "*" and weekday != "*":
        raise CannotBeTaken(
            f"its days are limited twice (day of month {day}, weekday {weekday}). Celery runs it when both hold, cron "
            "and Punctual when either does. Create it by hand as what you mean."
        )
    return {"type": "cron", "expression": " ".join(fields), "timezone": str(schedule.get("timezone") or "UTC")}


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


def _bounds(one: Periodic, now: datetime) -> dict[str, Any]:
    bounds: dict[str, Any] = {}
    if one.start_time is not None and one.start_time > now:
        bounds["start_at"] = write_instant(one.start_time)
    if one.expires is not None:
        if one.expires <= now:
            raise CannotBeTaken("it has expired.")
        bounds["end_at"] = write_instant(one.expires)
    if one.one_off:
        if one.last_run_at is not None:
            raise CannotBeTaken("it was to run once, and has.")
        bounds["max_runs"] = 1
    return bounds


def _priority(given: int | None) -> Priority:
    if given is None:
        return Priority.NORMAL
    return Priority.LOW if given <= LOW else Priority.HIGH if given >= HIGH else Priority.NORMAL
