"""What a schedule says beyond its times is kept by the whole way from the API's service to the poller's rows."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from jobs import services
from jobs.models import Execution, Job
from jobs.states import JobStatus, Status
from scheduling.due import Recorded, record_due
from scheduling.index import get_due_index
from scheduling.rebuild import rebuild

SECOND = timedelta(seconds=1)


def poll(job: Job, now: datetime) -> Recorded:
    """What a poller does with the job at `now`, without waiting for it. What it made before is over by then."""
    Execution.objects.update(status=Status.COMPLETED, wake_at=None)
    return record_due([job.id], now=now, misfire_grace=60 * SECOND, publish_patience=SECOND)


def due_times(job: Job) -> list[datetime]:
    return list(job.executions.order_by("due_at").values_list("due_at", flat=True))


def test_a_job_is_finished_after_its_last_run(new_job) -> None:
    job = new_job({"type": "interval", "seconds": 60, "max_runs": 2})

    for _ in range(3):
        job.refresh_from_db()
        if job.next_run_at:
            poll(job, job.next_run_at)

    assert len(due_times(job)) == 2
    assert job.status == JobStatus.FINISHED and job.next_run_at is None


def test_a_run_asked_for_by_hand_is_none_of_the_schedules(new_job) -> None:
    job = new_job({"type": "interval", "seconds": 60, "max_runs": 2})

    services.run_job_now(job, actor=None)
    poll(job, job.next_run_at)

    job.refresh_from_db()
    assert job.runs == 1 and job.next_run_at is not None


def test_a_pause_does_not_forget_the_runs_before_it(new_job) -> None:
    job = new_job({"type": "interval", "seconds": 60, "max_runs": 2})
    poll(job, job.next_run_at)

    services.pause_job(job, actor=None)
    job = services.resume_job(job, actor=None).job
    poll(job, job.next_run_at)

    job.refresh_from_db()
    assert job.runs == 2 and job.status == JobStatus.FINISHED


def test_a_new_schedule_counts_from_the_beginning(new_job) -> None:
    schedule = {"type": "interval", "seconds": 60, "max_runs": 1}
    job = new_job(schedule)
    poll(job, job.next_run_at)

    job = services.update_job(job, {"schedule": schedule}, actor=None)

    assert job.runs == 0 and job.status == JobStatus.ACTIVE
    poll(job, job.next_run_at)
    job.refresh_from_db()
    assert job.status == JobStatus.FINISHED


def test_jitter_moves_the_start_and_not_the_due_time(new_job) -> None:
    anchor = (timezone.now() + 3600 * SECOND).replace(microsecond=0)
    job = new_job({"type": "interval", "seconds": 3600, "start_at": anchor.isoformat(), "jitter": 3000})

    assert anchor < job.next_run_at < anchor + 3000 * SECOND and job.due_for == anchor
    assert poll(job, anchor).executions == [], "its due time has come, its start has not"
    assert poll(job, job.next_run_at).next_due[job.id] > anchor + 3600 * SECOND

    execution = job.executions.get()
    assert (execution.due_at, execution.not_before) == (anchor, job.next_run_at)
    job.refresh_from_db()
    assert job.due_for == anchor + 3600 * SECOND


def test_jobs_with_the_same_jitter_start_apart(new_job) -> None:
    anchor = (timezone.now() + 3600 * SECOND).isoformat()
    jobs = [new_job({"type": "interval", "seconds": 3600, "start_at": anchor, "jitter": 600}) for _ in range(10)]

    assert len({job.next_run_at for job in jobs}) == 10


def test_an_h_is_the_same_for_the_poller_as_when_the_job_was_made(new_job) -> None:
    jobs = [new_job({"type": "cron", "expression": "H H * * *"}) for _ in range(5)]
    firsts = [job.next_run_at for job in jobs]

    for job in jobs:
        poll(job, job.next_run_at)

    assert len({(at.hour, at.minute) for at in firsts}) > 1, "each job has a time of its own"
    assert [Job.objects.get(pk=job.pk).next_run_at for job in jobs] == [at + timedelta(days=1) for at in firsts]


@pytest.mark.parametrize("bound", ["end_at", "max_runs"])
def test_a_bounded_job_leaves_the_index_with_its_last_run(new_job, bound) -> None:
    soon = (timezone.now() + 2 * SECOND).replace(microsecond=0)
    job = new_job(
        {"type": "interval", "seconds": 60, "start_at": soon.isoformat()}
        | {bound: {"end_at": (soon + 30 * SECOND).isoformat(), "max_runs": 1}[bound]}
    )

    rebuild(get_due_index())
    [leased] = get_due_index().lease(now=soon, until=soon + 60 * SECOND, limit=10)
    get_due_index().settle(poll(job, soon).next_due)

    assert leased == job.id and Execution.objects.count() == 1
    assert get_due_index().lease(now=soon + 120 * SECOND, until=soon + 240 * SECOND, limit=10) == []
