"""Reads django-celery-beat's tables, in our own database or in another one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler
from environ import Env

from jobs.celery_beat.periodic import Periodic

TASKS = "django_celery_beat_periodictask"
SCHEDULES = {
    "crontab": ("django_celery_beat_crontabschedule", "minute hour day_of_month month_of_year day_of_week timezone"),
    "interval": ("django_celery_beat_intervalschedule", "every period"),
    "clocked": ("django_celery_beat_clockedschedule", "clocked_time"),
    "solar": ("django_celery_beat_solarschedule", "event latitude longitude"),
}
COLUMNS = (
    "name task args kwargs expires expire_seconds enabled one_off start_time last_run_at total_run_count "
    "priority queue exchange routing_key headers description crontab_id interval_id clocked_id solar_id"
)
TIMES = ("expires", "start_time", "last_run_at", "clocked_time")
FLAGS = ("enabled", "one_off")


class NoCeleryBeat(Exception):
    """There are no such tables where we were told to look."""


@contextmanager
def connected(url: str | None) -> Iterator[BaseDatabaseWrapper]:
    """The database of this URL, or our own."""
    if url is None:
        yield connection
        return
    if urlsplit(url).scheme not in Env.DB_SCHEMES:
        raise NoCeleryBeat("Invalid --database-url. Use one like postgres://user:password@host/name.")
    try:
        other = ConnectionHandler({"default": dict(Env.db_url_config(url))})["default"]
    except ImproperlyConfigured as error:  # the driver of that kind of database is not installed
        [reason, *_] = str(error).splitlines()
        raise NoCeleryBeat(f"Cannot open the database of --database-url: {reason}") from None
    try:
        yield other
    finally:
        other.close()


def read(database: BaseDatabaseWrapper) -> list[Periodic]:
    """Every periodic task with its schedule, by name. Raises NoCeleryBeat."""
    try:
        schedules = {kind: _rows(database, *where) for kind, where in SCHEDULES.items()}
        tasks = _rows(database, TASKS, COLUMNS)
    except DatabaseError as error:
        raise NoCeleryBeat(
            f"django-celery-beat's tables cannot be read there: {str(error).strip()}. Name their database with "
            "--database-url, and migrate them to its latest release first."
        ) from None
    found = []
    for row in tasks.values():
        kind = next((kind for kind in SCHEDULES if row[f"{kind}_id"] is not None), "")
        found.append(_periodic(row, kind, schedules[kind].get(row[f"{kind}_id"], {}) if kind else {}))
    return sorted(found, key=lambda one: one.name)


def _periodic(row: dict[str, Any], kind: str, schedule: dict[str, Any]) -> Periodic:
    return Periodic(
        name=row["name"],
        task=row["task"],
        args=_document(row["args"], []),
        kwargs=_document(row["kwargs"], {}),
        kind=kind,
        schedule=schedule,
        enabled=row["enabled"],
        one_off=row["one_off"],
        start_time=row["start_time"],
        expires=row["expires"],
        expire_seconds=row["expire_seconds"],
        last_run_at=row["last_run_at"],
        total_run_count=row["total_run_count"] or 0,
        priority=row["priority"],
        queue=row["queue"] or "",
        exchange=row["exchange"] or "",
        routing_key=row["routing_key"] or "",
        headers=_document(row["headers"], {}),
        description=row["description"] or "",
    )


def _document(text: str, empty: Any) -> Any:
    try:
        return json.loads(text or "null") or empty
    except ValueError:
        return text


def _rows(database: BaseDatabaseWrapper, table: str, columns: str) -> dict[int, dict[str, Any]]:
    names = ["id", *columns.split()]
    with database.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(names)} FROM {table}")
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return {row["id"]: {name: _value(name, value) for name, value in row.items()} for row in rows}


def _value(name: str, value: Any) -> Any:
    """As PostgreSQL has it: SQLite keeps times as texts in UTC, and flags as numbers."""
    if name in TIMES and isinstance(value, str):
        value = datetime.fromisoformat(value)
    if name in TIMES and isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return bool(value) if name in FLAGS else value
