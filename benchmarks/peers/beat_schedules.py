"""django-celery-beat on PostgreSQL: `python -m benchmarks.peers.beat_schedules COUNT` stores schedules that are due.

Beat itself is `celery -A benchmarks.peers.beat_schedules beat`, with its database scheduler. No worker takes what it
sends: how fast schedules become messages is the question.
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from urllib.parse import urlsplit

import django
from celery import Celery
from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from benchmarks.peers.inside import NAME

BATCH = 2000
EVERY = timedelta(hours=1)  # long enough for each schedule to come due once in a measurement

_database = urlsplit(os.environ["DATABASE_URL"])
settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes", "django_celery_beat"],
    USE_TZ=True,
    TIME_ZONE="UTC",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": _database.path.lstrip("/"),
            "USER": _database.username or "",
            "PASSWORD": _database.password or "",
            "HOST": _database.hostname or "",
            "PORT": _database.port or "",
            "CONN_MAX_AGE": None,  # else beat would connect anew for every look at its tables
        }
    },
)
django.setup()

app = Celery("peer", broker=os.environ["AMQP_URL"])
app.conf.update(
    task_default_queue=os.environ[NAME],
    task_ignore_result=True,
    result_expires=None,  # no schedule of its own for cleaning up
    timezone="UTC",
    beat_scheduler="django_celery_beat.schedulers:DatabaseScheduler",
    beat_max_loop_interval=1,  # seconds
)


def store(count: int) -> None:
    """Schedules that were last run two periods ago, so that all of them are due now."""
    from django_celery_beat.models import IntervalSchedule, PeriodicTask

    call_command("migrate", verbosity=0)
    every = IntervalSchedule.objects.create(every=EVERY.total_seconds(), period=IntervalSchedule.SECONDS)
    last = timezone.now() - 2 * EVERY
    PeriodicTask.objects.bulk_create(
        [PeriodicTask(name=f"nothing {n}", task="nothing", interval=every, last_run_at=last) for n in range(count)],
        batch_size=BATCH,
    )


if __name__ == "__main__":
    store(int(sys.argv[1]))
