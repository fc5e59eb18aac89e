"""What a preview promises is what the poller then does, over a year of fake time.

The clock jumps from one due time to the next, as it does in no test that waits. What is asked for is what the API asks
for; what is done is done by the poller's own transaction, on real rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs import services
from jobs.models import Execution, Job
from jobs.states import JobStatus
from scheduling.due import record_due
from scheduling.recurrence import InvalidSchedule, preview
from scheduling.upcoming import stored
from tests.schedules import ZONES, recurrences

BEGIN = datetime(2027, 1, 1, 0, 0, 30, tzinfo=UTC)
YEAR = timedelta(days=366)
MOST_RUNS = 400  # of one schedule: each day of the year
FEWER_RUNS = 60  # of one that was drawn at random, and may run each second
LATE = timedelta(milliseconds=40)  # what a poller takes to notice

Create = Any


@pytest.fixture
def new_job_at(new_job, monkeypatch) -> Create:
    """Make a job at another time than now."""

    def create(schedule: dict, now: datetime) -> Job:
        with monkeypatch.context() as patch:
            patch.setattr(services, "database_now", lambda: now)
            return new_job(schedule, overlap="allow")  # nothing is run here, so that each would find the one before

    return create


def done_by_the_poller(job: Job, until: datetime, most: int) -> Iterator[Execution]:
    """Go from start to start, each a little late, until the year is over or the job has had its last run."""
    for _ in range(most):
        job.refresh_from_db()
        if job.next_run_at is None or job.next_run_at > until:
            return
        [new] = record_due(
            [job.id],
            now=job.next_run_at + LATE,
            misfire_grace=timedelta(minutes=1),
            publish_patience=timedelta(seconds=1),
        ).executions
        yield Execution.objects.get(pk=new.id)


def assert_kept(job: Job, now: datetime, most: int = MOST_RUNS) -> int:
    schedule = stored(json.dumps(job.schedule), job.id)
    promised = [run.at for run in preview(schedule, after=now, count=most + 1)]

    executions = list(done_by_the_poller(job, now + YEAR, most))

    due = [one.due_at for one in executions]
    assert due == promised[: len(due)]
    assert [one.not_before for one in executions] == [schedule.not_before(at, key=str(job.id)) for at in due]
    job.refresh_from_db()
    if len(due) < min(len(promised), most):
        assert schedule.not_before(promised[len(due)], key=str(job.id)) > now + YEAR, (
            "what is left is no longer its year"
        )
    assert (job.status == JobStatus.FINISHED) == (len(due) == len(promised)), "finished with the last run promised"
    return len(due)


def cron(expression: str, **rest: Any) -> dict:
    return {"type": "cron", "expression": expression} | rest


WEEKLY_IN_THE_NIGHT = [cron("30 2 * * 0", timezone=zone) for zone in ZONES]  # Sundays, when most clocks change
SCHEDULES = [
    *WEEKLY_IN_THE_NIGHT,
    *[cron("15 0 * * 0", timezone=zone, on_gap="skip", on_repeat="run_twice") for zone in ZONES],
    *[cron("*/20 1-3 28-31 3,10 *", timezone=zone) for zone in ("Europe/Paris", "Europe/Dublin", "Antarctica/Troll")],
    cron("*/30 * 3-4 4,10 *", timezone="Australia/Lord_Howe"),
    cron("30 2 * * *", timezone="Europe/Paris"),
    cron("30 1 * * *", timezone="America/New_York", on_repeat="run_twice"),
    cron("0 0 L * *"),
    cron("0 12 * * 5#2", timezone="America/New_York"),
    cron("H H * * 1,4", timezone="Europe/Paris"),
    cron("H H(1-5) H * *"),
    cron("H/20 H * * 0", timezone="America/Havana", jitter=900),
    cron("0 9 * * 1-5", timezone="Asia/Kathmandu", jitter=3600, max_runs=100),
    cron("0 */6 * * *", start_at="2027-03-01T03:00:00Z", end_at="2027-03-20T12:00:00Z"),
    cron("*/5 2 * * *", timezone="Europe/Paris", start_at="2027-03-26T00:00:00Z", max_runs=40),
    {"type": "interval", "seconds": 86_400 * 7},
    {"type": "interval", "seconds": 7777, "max_runs": 50},
    {"type": "interval", "seconds": 86_400, "jitter": 86_400, "end_at": "2027-02-20T00:00:00Z"},
    {"type": "interval", "seconds": 3600, "jitter": 3600, "start_at": "2027-03-27T23:30:00.000001Z", "max_runs": 60},
    {"type": "once", "run_at": "2027-10-31T01:30:00Z"},
]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda one: " ".join(map(str, one.values())))
def test_a_year_goes_as_the_preview_said(schedule, new_job_at) -> None:
    job = new_job_at(schedule, BEGIN)

    assert assert_kept(job, BEGIN) > 0


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recurrences, st.datetimes(datetime(2026, 1, 1), datetime(2036, 1, 1), timezones=st.just(UTC)))
def test_any_schedules_year_goes_as_its_preview_said(new_job_at, recurrence, now) -> None:
    try:
        job = new_job_at(recurrence.to_dict(), now)
    except InvalidSchedule:
        return  # nothing to come: refused, and so nothing is promised

    first = job.next_run_at
    assert first is not None
    assert_kept(job, min(now, first - timedelta.resolution), FEWER_RUNS)
