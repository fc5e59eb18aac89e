"""Nobody looked for an hour: each due time of it has the outcome that its job's policy says, and none has two."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from jobs import ledger
from jobs.models import Execution, Job
from jobs.states import Status
from scheduling import due
from scheduling.due import record_due
from scheduling.index import get_due_index
from tests.engine.system import together

SECOND = timedelta(seconds=1)
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
POLICIES = {
    "skip": {"misfire": "skip"},
    "run_once": {},
    "catch_up": {"misfire": "catch_up", "overlap": "allow"},
    "catch_up, one after the other": {"misfire": "catch_up", "overlap": "wait"},
    "catch_up, half an hour": {"misfire": "catch_up", "overlap": "allow", "catch_up_window": 1860},
    "catch_up, two": {"misfire": "catch_up", "overlap": "allow", "catch_up_max": 2},
}


@pytest.fixture
def missed(new_job):
    """A job that nobody has looked at since it began, an hour ago."""

    def create(every: timedelta = 10 * MINUTE, ago: timedelta = HOUR, **rest) -> Job:
        began = timezone.now() - ago
        schedule = {"type": "interval", "seconds": int(every.total_seconds()), "start_at": began.isoformat()}
        job = new_job(schedule | rest.pop("schedule", {}), **rest)
        Job.objects.filter(pk=job.pk).update(next_run_at=began, due_for=None)
        get_due_index().put({job.id: began})
        job.refresh_from_db()
        return job

    return create


def poll(*jobs: UUID, now: datetime | None = None):
    return record_due(jobs, now=now or timezone.now(), misfire_grace=MINUTE, publish_patience=SECOND)


def due_times(job: Job, status: Status) -> list[datetime]:
    return list(job.executions.filter(status=status).order_by("due_at").values_list("due_at", flat=True))


@pytest.mark.parametrize(
    ("policy", "ran"),
    [
        ("skip", []),
        ("run_once", [0]),
        ("catch_up", [0, 1, 2, 3, 4, 5, 6]),
        ("catch_up, one after the other", [0, 1, 2, 3, 4, 5, 6]),
        ("catch_up, half an hour", [3, 4, 5, 6]),
        ("catch_up, two", [0, 1]),
    ],
)
def test_an_hour_without_a_poller_ends_as_the_policy_says(system, missed, recorder, policy, ran) -> None:
    job = missed(**POLICIES[policy])
    began = job.next_run_at

    system.run_until(lambda: job.executions.exists() and not job.executions.unfinished().exists())

    expected = [began + number * 10 * MINUTE for number in range(7)]
    assert due_times(job, Status.COMPLETED) == [expected[number] for number in ran]
    assert due_times(job, Status.SKIPPED) == [at for number, at in enumerate(expected) if number not in ran]
    assert all("Missed" in one.reason and one.finished_at for one in job.executions.filter(status=Status.SKIPPED))
    job.refresh_from_db()
    assert job.next_run_at == expected[-1] + 10 * MINUTE and job.runs == len(ran) == len(recorder.runs)


def test_what_is_late_by_less_than_the_grace_just_runs(system, missed, recorder) -> None:
    job = missed(every=HOUR, ago=50 * SECOND, misfire="skip")

    system.run_until(lambda: due_times(job, Status.COMPLETED))

    assert job.executions.count() == 1


def test_an_hour_of_seconds_is_told_in_a_hundred_rows_the_last_of_which_covers_the_rest(missed) -> None:
    job = missed(every=SECOND)
    began, now = job.next_run_at, job.next_run_at + HOUR

    poll(job.id, now=now)

    skipped = due_times(job, Status.SKIPPED)
    assert skipped == [began + number * SECOND for number in range(1, 101)]
    last = job.executions.get(due_at=skipped[-1])
    assert last.covers_until == now
    assert not job.executions.exclude(pk=last.pk).filter(covers_until__isnull=False).exists()
    job.refresh_from_db()
    assert job.next_run_at == now + SECOND


def test_only_runs_count_for_the_maximum_of_a_schedule(system, missed, recorder) -> None:
    job = missed(misfire="skip", schedule={"max_runs": 1})

    poll(job.id)

    job.refresh_from_db()
    assert job.runs == 0 and job.status == "ACTIVE" and len(due_times(job, Status.SKIPPED)) == 7


def test_a_one_off_job_that_is_worthless_when_late_is_skipped(system, new_job, recorder) -> None:
    job = new_job({"type": "once", "run_at": (timezone.now() + HOUR).isoformat()}, misfire="skip")

    poll(job.id, now=job.next_run_at + 2 * MINUTE)

    job.refresh_from_db()
    assert job.executions.get().status == Status.SKIPPED and job.status == "FINISHED"


@pytest.mark.parametrize("policy", POLICIES)
def test_pollers_given_the_same_missed_jobs_give_each_due_time_one_outcome(missed, policy) -> None:
    jobs = [missed(**POLICIES[policy]) for _ in range(5)]
    now = timezone.now()

    together(lambda: poll(*(job.id for job in jobs), now=now) and None)

    assert set(Counter(Execution.objects.values_list("job_id", "due_at")).values()) == {1}
    for job in jobs:
        assert job.executions.count() == 7
        job.refresh_from_db()
        assert job.runs == job.executions.exclude(status=Status.SKIPPED).count()


@pytest.mark.parametrize("step", ["record", "skip"])
def test_a_poller_that_fails_half_way_has_written_nothing(missed, monkeypatch, step) -> None:
    job = missed()
    written = getattr(ledger, step)

    def fail(*arguments, **options):
        written(*arguments, **options)
        raise RuntimeError("gone")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr(ledger, step, fail)
        poll(job.id)
    assert not Execution.objects.exists()

    poll(job.id)
    assert job.executions.count() == 7


def test_after_a_long_absence_jobs_take_turns_and_none_waits_for_its_lease(system, missed, monkeypatch) -> None:
    monkeypatch.setattr(due, "MOST_OUTCOMES", 10)
    jobs = [missed() for _ in range(6)]

    for _ in range(3):  # two jobs have fourteen outcomes
        system.poller.tick()

    assert [job.executions.count() for job in jobs] == [7] * 6
