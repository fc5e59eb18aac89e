"""When a job runs, as the server wants to be told."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

Schedule = dict[str, Any]


def at(instant: datetime) -> Schedule:
    """Once. The instant needs a zone: which three o'clock would it be?"""
    if instant.tzinfo is None:
        raise ValueError(f"{instant} has no time zone. Add one, such as `tzinfo=UTC`.")
    return {"type": "once", "run_at": instant.isoformat()}


def every(interval: timedelta | int, **more: Any) -> Schedule:
    """Every so often, counted from the job's creation or from `start_at`; whole seconds."""
    seconds = interval.total_seconds() if isinstance(interval, timedelta) else interval
    if seconds != int(seconds):
        raise ValueError(f"{seconds} is not a whole number of seconds.")
    return {"type": "interval", "seconds": int(seconds), **_plain(more)}


def cron(expression: str, timezone: str = "UTC", **more: Any) -> Schedule:
    return {"type": "cron", "expression": expression, "timezone": timezone, **_plain(more)}


def _plain(options: dict[str, Any]) -> Schedule:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in options.items()}
