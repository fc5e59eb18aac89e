"""Backfills on the servers of each mode: they run, at their rate, and no due time twice, whoever else is at work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from random import Random

import pytest
from django.utils import timezone

from jobs import services
from jobs.backfill import backfill
from jobs.models import Job
from jobs.states import Cause, Status
from scheduling.due import record_due
from tests.engine.system import System, together

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
MINUTELY = {"type": "cron", "expression": "* * * * *"}


def runs_of_each_due_time(job: Job) -> Counter:
    rows = job.executions.exclude(status=Status.SKIPPED).exclude(cause=Cause.RUN_NOW)
    return Counter(rows.values_list("due_at", flat=True))


def at_once(*works: Callable[[], object]) -> None:
    waiting = list(works)
    together(lambda: waiting.pop()(), count=len(works))


def test_what_is_made_up_for_runs_once_each_with_the_present_payload(system, new_job, recorder) -> None:
    job = new_job(MINUTELY, payload={"n": 1})
    services.update_job(job, {"payload": {"n": 2}}, actor=None)
    until = timezone.now().replace(second=0, microsecond=0)

    made = backfill(job, start=until - 5 * MINUTE, end=until, rate=6000, actor=None)
    system.run_until(lambda: job.executions.filter(cause=Cause.BACKFILL, status=Status.COMPLETED).count() == 5)

    rows = job.executions.filter(cause=Cause.BACKFILL).order_by("due_at")
    assert [row.due_at for row in rows] == made.due_times == [until - n * MINUTE for n in (5, 4, 3, 2, 1)]
    by_key = {run.idempotency_key: payload for payload, run in recorder.runs}
    assert all(by_key[str(row.id)] == {"n": 2} and row.attempt == 1 for row in rows)


def test_none_starts_before_its_turn(system, new_job) -> None:
    job = new_job(MINUTELY)
    until = timezone.now().replace(second=0, microsecond=0)

    backfill(job, start=until - 4 * MINUTE, end=until, rate=120, actor=None)
    system.run_until(lambda: job.executions.filter(cause=Cause.BACKFILL, status=Status.COMPLETED).count() == 4)

    rows = list(job.executions.filter(cause=Cause.BACKFILL).order_by("due_at"))
    tolerance = timedelta(milliseconds=50)
    assert all(row.started_at >= row.not_before - tolerance for row in rows)
    recorded = {row.recorded_at for row in rows}
    assert [row.not_before for row in rows] == [at + n * SECOND / 2 for at in recorded for n in range(4)]


def test_a_stop_of_everything_loses_none(system, new_job) -> None:
    job = new_job(MINUTELY)
    until = timezone.now().replace(second=0, microsecond=0)
    backfill(job, start=until - 4 * MINUTE, end=until, rate=120, actor=None)
    system.run_until(lambda: job.executions.filter(cause=Cause.BACKFILL, status=Status.COMPLETED).exists())
    system.stop()

    again = System()
    again.run_until(lambda: job.executions.filter(cause=Cause.BACKFILL, status=Status.COMPLETED).count() == 4)
    again.stop()

    assert {row.attempt for row in job.executions.filter(cause=Cause.BACKFILL)} == {1}


def test_of_rival_backfills_each_due_time_goes_to_one(new_job) -> None:
    job = new_job(MINUTELY)
    until = timezone.now().replace(second=0, microsecond=0)
    made: list[int] = []

    def work(minutes: int) -> None:
        done = backfill(job, start=until - minutes * MINUTE, end=until, actor=None)
        made.append(len(done.due_times))

    at_once(*(lambda minutes=minutes: work(minutes) for minutes in (20, 30, 40, 30)))

    assert sum(made) == 40
    assert set(runs_of_each_due_time(job).values()) == {1} and len(runs_of_each_due_time(job)) == 40


@pytest.mark.parametrize("seed", range(3))
def test_a_due_time_is_a_pollers_or_a_backfills_and_never_both(life, seed) -> None:
    """Pollers that come late and so leave gaps, backfills up to this instant, and edits to the same due times."""
    every_second = {"type": "interval", "seconds": 1, "start_at": life.now.isoformat()}
    job = life.create(every_second)
    chance = Random(seed)

    def poll() -> None:
        grace = chance.choice([0, 60]) * SECOND
        record_due([job.id], now=life.now, misfire_grace=grace, publish_patience=SECOND)

    def fill() -> None:
        backfill(job, start=life.now - 20 * SECOND, end=life.now, actor=None)

    def edit() -> None:
        services.update_job(job, {"schedule": every_second}, actor=None)

    for _ in range(15):
        life.after(seconds=chance.choice([1, 3, 2.5]))
        at_once(*chance.sample([poll, poll, poll, fill, fill, edit], 5))

    counted = runs_of_each_due_time(job)
    assert set(counted.values()) == {1}
    assert {Cause.SCHEDULE, Cause.BACKFILL} == set(job.executions.values_list("cause", flat=True))
