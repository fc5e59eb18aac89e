"""Makes django-celery-beat's tables with its own migrations, and fills them through its own models.

    python fill.py DATABASE_URL < tasks.json

Runs where django-celery-beat is installed, and Punctual is not. For each crontab it prints the times at which Celery
itself would run it, as JSON.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta

import dj_database_url
import django
from django.conf import settings
from django.core.management import call_command

FIELDS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
START = datetime(2026, 1, 1, tzinfo=UTC)
TIMES = 40
TIMESTAMPS = ("start_time", "expires", "last_run_at")


def main(url: str) -> None:
    settings.configure(
        DATABASES={"default": dj_database_url.parse(url)},
        INSTALLED_APPS=["django_celery_beat"],
        USE_TZ=True,
        TIME_ZONE="UTC",
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        SECRET_KEY="x",
    )
    django.setup()
    call_command("migrate", verbosity=0)
    print(json.dumps({task["name"]: made(task) for task in json.load(sys.stdin)}))


def made(task: dict) -> list[str]:
    from django_celery_beat import models

    kinds = {
        "crontab": models.CrontabSchedule,
        "interval": models.IntervalSchedule,
        "clocked": models.ClockedSchedule,
        "solar": models.SolarSchedule,
    }
    [kind] = kinds.keys() & task.keys()
    schedule, _ = kinds[kind].objects.get_or_create(**task.pop(kind))
    # As it is saved in the admin; `last_run_at` and the count are the scheduler's to write.
    ran = {name: task.pop(name) for name in ("last_run_at", "total_run_count") if name in task}
    periodic = models.PeriodicTask(**{kind: schedule}, **{name: value(name, one) for name, one in task.items()})
    periodic.full_clean(exclude=["last_run_at"])
    periodic.save()
    models.PeriodicTask.objects.filter(pk=periodic.pk).update(**{name: value(name, one) for name, one in ran.items()})
    return due_times(schedule) if kind == "crontab" else []


def value(name: str, given: object) -> object:
    return datetime.fromisoformat(given) if name in TIMESTAMPS and isinstance(given, str) else given


def due_times(schedule: object) -> list[str]:
    """By Celery's own arithmetic, as if its clock were in UTC."""
    from celery.schedules import crontab

    now, times = START, []
    rule = crontab(**{name: getattr(schedule, name) for name in FIELDS}, nowfun=lambda: now)
    while len(times) < TIMES:
        now += rule.remaining_estimate(now)
        now = now.replace(microsecond=0)
        times.append(now.isoformat())
        now += timedelta(seconds=1)
    return times


if __name__ == "__main__":
    main(sys.argv[1])
