"""What django-celery-beat has scheduled is taken over, or it is said why not."""

from __future__ import annotations

import json
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

    def take(self, *options: str, left_out: int = 0) -> str:
        """What it says; its exit status has to tell whether something was left out."""
        out = StringIO()
        try:
            call_command("import_celery_beat", "--database-url", self.url, *options, stdout=out)
        except CommandError as error:
            assert left_out and error.returncode == 2 and str(error).startswith(f"{left_out} periodic task(s) left out")
        else:
            assert not left_out
        return out.getvalue()


@pytest.fixture
def beat(tmp_path, team) -> Beat:
    return Beat(tmp_path / "beat.sqlite3")


def test_without_apply_it_only_says_what_it_would_create(beat) -> None:
    beat.add("nightly", crontab_id=1)

    for told in (beat.take(), beat.take("--dry-run")):
        assert "+ nightly: shop.tasks.send_email becomes send_email" in told and "Nothing was created" in told
    assert not Job.objects.exists()
    with pytest.raises(CommandError, match="not allowed with"):
        call_command("import_celery_beat", "--dry-run", "--apply")


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
    assert "! expire_seconds 60: misfire: skip; " in told
    assert "! priority 9: high; " in told and "! enabled False: paused; Celery disables a one-off task" in told


def test_positional_arguments_are_given_their_names(beat) -> None:
    beat.add("by place", crontab_id=1, args='["a@example.com"]', kwargs='{"subject": "Hello", "body": "There"}')

    beat.take("--apply")

    assert Job.objects.get().payload["to"] == "a@example.com"


def test_a_task_can_be_called_otherwise_here(beat) -> None:
    beat.add("mapped", task="shop.tasks.remind", crontab_id=1)

    assert "--map shop.tasks.remind=" in beat.take(left_out=1)
    assert "1 job(s) created" in beat.take("--apply", "--map", "shop.tasks.remind=send_email")


def test_two_tasks_are_not_taken_for_one_because_their_last_names_are_the_same(beat) -> None:
    beat.add("ours", task="shop.tasks.send_email", crontab_id=1)
    beat.add("theirs", task="crm.tasks.send_email", crontab_id=1)

    told = beat.take("--apply", left_out=2)

    assert "crm.tasks.send_email and shop.tasks.send_email would both become 'send_email'" in told
    assert not Job.objects.exists()
    both = [word for one in ("crm", "shop") for word in ("--map", f"{one}.tasks.send_email=send_email")]
    assert "2 job(s) created" in beat.take("--apply", *both)


def test_overlap_and_retries_are_as_in_celery_unless_something_else_is_chosen(beat) -> None:
    beat.add("first", crontab_id=1)
    told = beat.take("--apply")
    beat.add("second", crontab_id=1)
    chosen = beat.take("--apply", "--overlap", "skip", "--max-retries", "task")
    beat.add("third", crontab_id=1)
    beat.take("--apply", "--overlap", "wait", "--max-retries", "5")

    assert "    overlap: allow\n    max_retries: 0\n" in told
    assert "! overlap allow: skip; chosen with --overlap" in chosen
    assert "! max_retries 0: as the task says; chosen with --max-retries" in chosen
    policies = dict(Job.objects.values_list("name", "overlap").order_by("name"))
    assert policies == {"first": "allow", "second": "skip", "third": "wait"}
    assert list(Job.objects.order_by("name").values_list("max_retries", flat=True)) == [0, None, 5]


def test_what_is_not_kept_is_told_field_by_field(beat) -> None:
    routing = {"queue": "slow", "exchange": "x", "routing_key": "r", "headers": '{"trace": "1"}'}
    beat.add("routed", crontab_id=1, priority=0, description="For the auditors.", **routing)

    told = beat.take("--json", "--reversed-priorities")

    [one] = json.loads(told)["create"]
    lost = {difference["field"]: (difference["was"], difference["becomes"]) for difference in one["differences"]}
    assert lost == {
        "priority": (0, "high"),
        "queue": ("slow", None),
        "exchange": ("x", None),
        "routing_key": ("r", None),
        "headers": ({"trace": "1"}, None),
        "description": ("For the auditors.", None),
    }
    assert all(difference["why"] for difference in one["differences"])
    assert "a@example.com" not in told, "what is in a payload may be secret"
    assert "! description For the auditors.: not kept; " in beat.take()


def test_what_is_left_out_on_purpose_does_not_fail_the_import(beat) -> None:
    beat.add("sunset", solar_id=1)
    beat.add("celery.backend_cleanup", task="celery.backend_cleanup", crontab_id=1)

    assert "! sunset: left out" in beat.take("--apply", left_out=1)
    assert "0 to create, 0 there already, 2 not needed, 0 left out" in beat.take("--apply", "--skip", "sunset")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--map", "shop.tasks.send_emial=send_email"], "no periodic task has the task shop.tasks.send_emial"),
        (["--map", "a=b", "--map", "a=c"], "given twice"),
        (["--map", "a"], "write it as old=new"),
        (["--skip", "nightyl"], "no periodic task has the name nightyl"),
        (["--max-retries", "101"], "from 0 to 100"),
        (["--max-retries", "-1"], "from 0 to 100"),
        (["--max-retries", "²"], "from 0 to 100"),
        (["--overlap", "never"], "invalid choice"),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused(beat, options, told) -> None:
    beat.add("nightly", crontab_id=1)

    with pytest.raises(CommandError, match=told) as refused:
        call_command("import_celery_beat", "--database-url", beat.url, "--apply", *options)

    assert refused.value.returncode == 1 and not Job.objects.exists()


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"solar_id": 1}, "goes by the sun (sunset)"),
        ({"crontab_id": 2}, "Celery requires both to match"),
        ({"interval_id": 2}, "whole number of seconds"),
        ({"clocked_id": 2}, "its time has passed without an execution"),
        ({"crontab_id": 1, "args": "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]"}, "positional arguments"),
        ({"crontab_id": 1, "kwargs": '{"to": "a@example.com"}'}, "subject: is missing"),
        ({"crontab_id": 1, "kwargs": "no json"}, "not a JSON object"),
        ({}, "it has no schedule"),
    ],
)
def test_what_cannot_be_taken_over_is_left_out_with_the_reason(beat, columns, why) -> None:
    beat.add("odd", **columns)
    beat.add("fine", crontab_id=1)

    told = beat.take("--apply", left_out=1)

    assert why in told and "! odd: left out" in told
    assert Job.objects.get().name == "fine"


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"clocked_id": 2, "one_off": 1, "total_run_count": 1}, "its time has passed."),
        ({"crontab_id": 1, "one_off": 1, "last_run_at": "2026-01-01 10:00:00"}, "is a one-off task that has run"),
        ({"crontab_id": 1, "expires": "2020-01-01 10:00:00"}, "has expired"),
        ({"crontab_id": 1, "task": "celery.backend_cleanup"}, "deletes Celery's own results"),
    ],
)
def test_what_would_not_run_in_celery_either_is_not_needed(beat, columns, why) -> None:
    beat.add("odd", **columns)

    told = beat.take("--apply")

    assert f"- odd: not needed, {why}" in told or f"- odd: not needed, it {why}" in told
    assert not Job.objects.exists()


def test_it_can_be_repeated(beat) -> None:
    beat.add("nightly", crontab_id=1)
    beat.take("--apply")

    assert "= nightly: already imported" in beat.take("--apply")
    assert Job.objects.count() == 1


def test_a_database_without_its_tables_is_told_plainly(tmp_path, team) -> None:
    sqlite3.connect(tmp_path / "empty.sqlite3").close()

    with pytest.raises(CommandError, match="--database-url"):
        call_command("import_celery_beat", "--database-url", f"sqlite:///{tmp_path / 'empty.sqlite3'}")
    for url in ("foo", "", "foo://host/name"):
        with pytest.raises(CommandError, match="Invalid --database-url"):
            call_command("import_celery_beat", "--database-url", url)
