"""What the real django-celery-beat has stored, through its own models and migrations, is taken over."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from jobs.models import Job
from jobs.states import JobStatus, Priority
from scheduling.recurrence import parse_schedule
from tests import environments

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(bool(settings.REDIS_URL), reason="reads a database: as with the others"),
    pytest.mark.timeout(environments.PATIENCE),
]

BEAT = Path(__file__).parents[1] / "celery_beat"
START = datetime(2026, 1, 1, tzinfo=UTC)  # as in fill.py
MAIL = {"to": "a@example.com", "subject": "Hello", "body": "There"}
LATER, PAST = "2100-01-01T10:00:00+00:00", "2001-01-01T10:00:00+00:00"
CRONTABS = (
    "30 2 * * 1-5",
    "*/15 */2 * * *",
    "*/7 8-18 * * mon-fri",
    "0 22-4 * * *",
    "0 22-4/2 * * *",
    "50-10/5 */6 * * *",
    "0 9 * * monday",
    "0 9 * * Thursday,sun",
    "0 9 * * fri-mon",
    "0 9 * * */2",
    "0 9 * * */5",
    "0 9 * nov-feb *",
    "0 9 1 jan,jul *",
    "*/90 9 * * *",
    "0 */30 * * *",
    "0 9 */40 * mon",
    "0 9 1-7 * mon",
    "0 9 8-14 * tue,thursday",
    "0 9 22-28 * 0",
    "0 9 1,15 * mon",
    "0 9 1-10/3 * mon-wed",
    "0 9 13 * sun-tue",
    "0 9 */2 * mon",
    "0 9 5,20 * */2",
    "0 9 28-3 * *",
    "0 9 28-3 * sat",
    "0-59 9 1-31 1-12 0-6",
)


def crontab(fields: str, **more: Any) -> dict[str, Any]:
    order = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
    return {"crontab": dict(zip(order, fields.split(), strict=True)) | more}


def every(number: int, period: str) -> dict[str, Any]:
    return {"interval": {"every": number, "period": period}}


def stored(name: str, schedule: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "task": "shop.tasks.send_email", "kwargs": json.dumps(MAIL)} | schedule | more


HOURLY = every(1, "hours")
TASKS = [
    *(stored(fields, crontab(fields)) for fields in CRONTABS),
    stored("zoned", crontab("30 2 * * *", timezone="Europe/Berlin")),
    stored("days", every(2, "days")),
    stored("hours", HOURLY, last_run_at="2026-01-01T10:07:00+00:00", total_run_count=9),
    stored("minutes", every(15, "minutes")),
    stored("seconds", every(30, "seconds")),
    stored("whole microseconds", every(5_000_000, "microseconds")),
    stored("clocked", {"clocked": {"clocked_time": LATER}}, one_off=True),
    stored("one-off", HOURLY, one_off=True),
    stored("starts later", HOURLY, start_time=LATER),
    stored("ends", HOURLY, expires=LATER),
    stored("expires", HOURLY, expire_seconds=60),
    stored("disabled", HOURLY, enabled=False),
    stored("by place", HOURLY, args='["a@example.com"]', kwargs='{"subject": "Hello", "body": "There"}'),
    stored("routed", HOURLY, queue="slow", exchange="x", routing_key="r", headers='{"trace": "1"}', priority=9),
    stored("described", HOURLY, description="For the auditors."),
]
NOT_NEEDED = [
    stored("celery.backend_cleanup", crontab("0 4 * * *"), task="celery.backend_cleanup"),
    stored("expired", HOURLY, expires=PAST),
    stored("has run", HOURLY, one_off=True, last_run_at=PAST, total_run_count=1),
]
LEFT_OUT = [
    stored("sunset", {"solar": {"event": "sunset", "latitude": "52.5", "longitude": "13.4"}}),
    stored("too fast", every(500, "microseconds")),
    stored("forgotten", {"clocked": {"clocked_time": PAST}}, one_off=True),
    stored("Friday the 13th", crontab("0 9 13 * fri")),
    stored("unknown", HOURLY, task="shop.tasks.unheard_of"),
    stored("incomplete", HOURLY, kwargs="{}"),
]


@pytest.fixture(scope="module")
def bin_(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environments.made(tmp_path_factory.mktemp("celery") / "venv", "-r", str(BEAT / "requirements.txt"))


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database of its own, of the kind that this mode is about."""
    yield f"sqlite:///{tmp_path}/beat.sqlite3" if settings.EMBEDDED else request.getfixturevalue("database")


def filled(bin_: Path, url: str, tasks: list[dict[str, Any]]) -> dict[str, list[str]]:
    """When Celery would run each crontab, by its name."""
    command = [bin_ / "python", BEAT / "fill.py", url]
    done = subprocess.run(command, input=json.dumps(tasks), env=environments.alone(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def take(url: str, *options: str) -> tuple[dict[str, Any], int]:
    """What it says as JSON, and its exit status."""
    out = StringIO()
    try:
        call_command("import_celery_beat", "--database-url", url, "--json", *options, stdout=out)
    except CommandError as error:
        return json.loads(out.getvalue()), error.returncode
    return json.loads(out.getvalue()), 0


def test_tasks_of_all_kinds_come_due_when_they_did_and_differences_are_told(bin_: Path, url: str, team) -> None:
    due = filled(bin_, url, [*TASKS, *NOT_NEEDED, *LEFT_OUT])

    told, code = take(url, "--apply")

    jobs = {job.name: job for job in Job.objects.all()}
    assert code == 2 and told["created"] == len(TASKS)
    assert {one["name"] for one in told["create"]} == jobs.keys() == {task["name"] for task in TASKS}
    assert {one["name"] for one in told["not_needed"]} == {task["name"] for task in NOT_NEEDED}
    assert {one["name"]: bool(one["reason"]) for one in told["left_out"]} == {task["name"]: True for task in LEFT_OUT}
    for fields in CRONTABS:
        assert due_times(jobs[fields].schedule, len(due[fields])) == due[fields], (fields, jobs[fields].schedule)
    assert jobs["zoned"].schedule["timezone"] == "Europe/Berlin"
    lengths = {
        name: timedelta(seconds=job.schedule["seconds"]) for name, job in jobs.items() if "seconds" in job.schedule
    }
    assert [lengths[name] for name in ("days", "hours", "minutes", "seconds", "whole microseconds")] == [
        timedelta(days=2),
        timedelta(hours=1),
        timedelta(minutes=15),
        timedelta(seconds=30),
        timedelta(seconds=5),
    ]
    assert jobs["hours"].next_run_at.minute == 7
    assert jobs["clocked"].next_run_at == jobs["starts later"].next_run_at == datetime.fromisoformat(LATER)
    assert jobs["one-off"].schedule["max_runs"] == 1
    assert datetime.fromisoformat(jobs["ends"].schedule["end_at"]) == datetime.fromisoformat(LATER)
    assert jobs["expires"].misfire == "skip"
    assert [name for name, job in jobs.items() if job.status == JobStatus.PAUSED] == ["disabled"]
    assert all(job.payload == MAIL for job in jobs.values())
    assert jobs["routed"].priority == Priority.HIGH
    assert {(job.overlap, job.max_retries) for job in jobs.values()} == {("allow", 0)}
    differences = {one["name"]: {difference["field"] for difference in one["differences"]} for one in told["create"]}
    assert differences["routed"] == {"queue", "exchange", "routing_key", "headers", "priority"}
    assert differences["described"] == {"description"} and differences["expires"] == {"expire_seconds"}
    assert differences["0 22-4 * * *"] == {"crontab"} and differences["30 2 * * 1-5"] == set()


def test_taking_over_twice_changes_nothing(bin_: Path, url: str, team) -> None:
    filled(bin_, url, TASKS)
    planned, _ = take(url, "--dry-run")
    first, _ = take(url, "--apply")
    before = list(Job.objects.order_by("id").values())

    second, code = take(url, "--apply", "--overlap", "wait")

    assert planned["created"] is None and planned["create"] == first["create"]
    assert (code, second["created"], len(second["exists"])) == (0, 0, len(TASKS))
    assert list(Job.objects.order_by("id").values()) == before


def due_times(schedule: dict[str, Any], number: int) -> list[str]:
    rule = parse_schedule(schedule, now=START)
    instant, times = START, []
    for _ in range(number):
        instant = rule.next_after(instant)
        times.append(instant.isoformat())
    return times
