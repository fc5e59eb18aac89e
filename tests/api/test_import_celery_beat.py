"""What django-celery-beat has scheduled is taken over, or it is said why not."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from jobs.models import AuditEvent, Job
from jobs.states import JobStatus, Priority

pytestmark = pytest.mark.django_db

# As its migrations make them, less what we do not read.
TABLES = """
CREATE TABLE django_celery_beat_crontabschedule (id integer PRIMARY KEY, minute varchar(240), hour varchar(96),
    day_of_week varchar(64), day_of_month varchar(124), month_of_year varchar(64), timezone varchar(63));
CREATE TABLE django_celery_beat_intervalschedule (id integer PRIMARY KEY, every integer, period varchar(24));
CREATE TABLE django_celery_beat_clockedschedule (id integer PRIMARY KEY, clocked_time datetime);
CREATE TABLE django_celery_beat_solarschedule (id integer PRIMARY KEY, event varchar(24), latitude decimal,
    longitude decimal);
CREATE TABLE django_celery_beat_periodictask (id integer PRIMARY KEY AUTOINCREMENT, name varchar(200),
    task varchar(200), args text DEFAULT '[]', kwargs text DEFAULT '{}', queue varchar(200), exchange varchar(200),
    routing_key varchar(200), expires datetime, enabled bool DEFAULT 1, last_run_at datetime,
    total_run_count integer DEFAULT 0, date_changed datetime, description text, crontab_id integer,
    interval_id integer, solar_id integer, one_off bool DEFAULT 0, start_time datetime, priority integer,
    headers text DEFAULT '{}', clocked_id integer, expire_seconds integer);
INSERT INTO django_celery_beat_crontabschedule VALUES (1, '30', '2', '1-5', '*', '*', 'Europe/Berlin');
INSERT INTO django_celery_beat_crontabschedule VALUES (2, '0', '4', 'mon', '13', '*', 'UTC');
INSERT INTO django_celery_beat_intervalschedule VALUES (1, 15, 'minutes');
INSERT INTO django_celery_beat_intervalschedule VALUES (2, 500000, 'microseconds');
INSERT INTO django_celery_beat_clockedschedule VALUES (1, '2100-01-01 10:00:00');
INSERT INTO django_celery_beat_clockedschedule VALUES (2, '2001-01-01 10:00:00');
INSERT INTO django_celery_beat_solarschedule VALUES (1, 'sunset', 52.5, 13.4);
"""
KWARGS = '{"to": "a@example.com", "subject": "Hello", "body": "There"}'


class Beat:
    def __init__(self, path) -> None:
        self.url = f"sqlite:///{path}"
        self._database = sqlite3.connect(path)
        self._database.executescript(TABLES)

    def add(self, name: str, **columns) -> None:
        row = {"name": name, "task": "shop.tasks.send_email", "kwargs": KWARGS} | columns
        places = ", ".join("?" * len(row))
        self._database.execute(
            f"INSERT INTO django_celery_beat_periodictask ({', '.join(row)}) VALUES ({places})", list(row.values())
        )
        self._database.commit()

    def take(self, *options: str) -> str:
        out = StringIO()
        call_command("import_celery_beat", "--database-url", self.url, *options, stdout=out)
        return out.getvalue()


@pytest.fixture
def beat(tmp_path, team) -> Beat:
    return Beat(tmp_path / "beat.sqlite3")


def test_without_apply_it_only_says_what_it_would_create(beat) -> None:
    beat.add("nightly", crontab_id=1)

    told = beat.take()

    assert "+ nightly: send_email" in told and "Nothing was created" in told and not Job.objects.exists()


def test_a_crontab_keeps_its_time_zone(beat) -> None:
    beat.add("nightly", crontab_id=1)

    beat.take("--apply")

    job = Job.objects.get()
    assert job.schedule == {"type": "cron", "expression": "30 2 * * 1-5", "timezone": "Europe/Berlin"}
    assert job.payload["to"] == "a@example.com" and job.next_run_at is not None
    assert AuditEvent.objects.get().action == "create"


def test_an_interval_goes_on_from_its_last_run(beat) -> None:
    beat.add("often", interval_id=1, last_run_at="2026-01-01 10:07:00")

    beat.take("--apply")

    job = Job.objects.get()
    assert job.schedule["seconds"] == 900
    assert job.next_run_at.minute % 15 == 7


def test_a_clocked_one_runs_once(beat) -> None:
    beat.add("later", clocked_id=1, one_off=1)

    beat.take("--apply")

    assert Job.objects.get().next_run_at == datetime(2100, 1, 1, 10, tzinfo=UTC)


def test_what_was_disabled_is_paused_and_the_rest_of_its_options_are_kept(beat) -> None:
    beat.add("off", crontab_id=1, enabled=0, priority=9, one_off=1, expires="2100-01-01 00:00:00", expire_seconds=60)

    told = beat.take("--apply")

    job = Job.objects.get()
    assert (job.status, job.priority, job.misfire) == (JobStatus.PAUSED, Priority.HIGH, "skip")
    assert job.schedule["max_runs"] == 1 and job.schedule["end_at"].startswith("2100-01-01")
    assert "expire_seconds 60" in told


def test_positional_arguments_are_given_their_names(beat) -> None:
    beat.add("by place", crontab_id=1, args='["a@example.com"]', kwargs='{"subject": "Hello", "body": "There"}')

    beat.take("--apply")

    assert Job.objects.get().payload["to"] == "a@example.com"


def test_a_task_can_be_called_otherwise_here(beat) -> None:
    beat.add("mapped", task="shop.tasks.remind", crontab_id=1)

    assert "--map shop.tasks.remind=" in beat.take()
    assert "1 job(s) created" in beat.take("--apply", "--map", "shop.tasks.remind=send_email")


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"solar_id": 1}, "goes by the sun (sunset)"),
        ({"crontab_id": 2}, "limited twice"),
        ({"interval_id": 2}, "whole number of seconds"),
        ({"clocked_id": 2}, "its one time is past"),
        ({"crontab_id": 1, "one_off": 1, "last_run_at": "2026-01-01 10:00:00"}, "was to run once, and has"),
        ({"crontab_id": 1, "expires": "2020-01-01 10:00:00"}, "has expired"),
        ({"crontab_id": 1, "args": "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]"}, "positional arguments"),
        ({"crontab_id": 1, "kwargs": '{"to": "a@example.com"}'}, "subject: is missing"),
        ({"crontab_id": 1, "kwargs": "no json"}, "no JSON"),
        ({"crontab_id": 1, "task": "celery.backend_cleanup"}, "tidies up Celery's own results"),
        ({}, "it has no schedule"),
    ],
)
def test_what_cannot_be_taken_over_is_left_out_with_the_reason(beat, columns, why) -> None:
    beat.add("odd", **columns)
    beat.add("fine", crontab_id=1)

    told = beat.take("--apply")

    assert why in told and "! odd: left out" in told
    assert Job.objects.get().name == "fine"


def test_it_can_be_repeated(beat) -> None:
    beat.add("nightly", crontab_id=1)
    beat.take("--apply")

    assert "= nightly: taken over before" in beat.take("--apply")
    assert Job.objects.count() == 1


def test_a_database_without_its_tables_is_told_plainly(tmp_path, team) -> None:
    sqlite3.connect(tmp_path / "empty.sqlite3").close()

    with pytest.raises(CommandError, match="--database-url"):
        call_command("import_celery_beat", "--database-url", f"sqlite:///{tmp_path / 'empty.sqlite3'}")
