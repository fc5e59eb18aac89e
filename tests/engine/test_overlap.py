"""A due time comes, and the run before it is still going: what happens is for the job to say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from execution.waiting import look_after
from jobs import ledger, services
from jobs.models import Execution, Job
from jobs.states import Status
from jobs.timeline import timeline
from scheduling.due import record_due
from scheduling.index import get_due_index
from tests.engine.system import System
from tests.whole.processes import eventually

SECOND = timedelta(seconds=1)
HOURLY = {"type": "interval", "seconds": 3600}


class Slow:
    """Runs that go on until they are let go, or asked to end."""

    def __init__(self) -> None:
        self.over = Event()
        self.going = 0
        self.most = 0

    def __call__(self, payload: Any, run: Any) -> None:
        self.going += 1
        self.most = max(self.most, self.going)
        try:
            while not self.over.wait(0.01):
                if run.cancelled:
                    raise RuntimeError("asked to end")
        finally:
            self.going -= 1


@pytest.fixture
def slow(recorder) -> Iterator[Slow]:
    slow = Slow()
    recorder.act = slow
    yield slow
    slow.over.set()


@pytest.fixture
def come_due(system: System, slow: Slow):
    """Have a job come due, and return what that made of it."""

    def due(job: Job) -> Execution:
        now = timezone.now()
        Job.objects.filter(pk=job.pk).update(next_run_at=now, due_for=None)
        get_due_index().put({job.id: now})

        def recorded() -> bool:
            system.poller.tick()  # which may be a moment behind, and find it not due yet
            return job.executions.filter(due_at=now).exists()

        eventually(recorded)
        return job.executions.get(due_at=now)

    return due


def start(system: System, execution: Execution) -> None:
    def runs() -> bool:
        system.executor.tick(wait=timedelta(milliseconds=50))
        return Execution.objects.filter(pk=execution.pk, status=Status.RUNNING).exists()

    eventually(runs)


def finish(system: System, slow: Slow, job: Job) -> None:
    slow.over.set()
    system.run_until(lambda: not job.executions.unfinished().exists())


def test_allow_lets_both_run(system, new_job, slow, come_due) -> None:
    job = new_job(HOURLY, overlap="allow")
    first, second = come_due(job), come_due(job)

    start(system, first)
    start(system, second)

    eventually(lambda: slow.most == 2)


@pytest.mark.parametrize("said", [{}, {"overlap": "skip"}])
def test_skip_which_is_the_default_of_recurring_jobs_skips_the_new_one(system, new_job, slow, come_due, said) -> None:
    job = new_job(HOURLY, **said)
    first = come_due(job)
    start(system, first)

    skipped = come_due(job)

    first.refresh_from_db()
    assert skipped.status == Status.SKIPPED and skipped.wake_at is None
    assert skipped.reason == (
        f"The previous run, {first.id}, due {first.due_at:%Y-%m-%d %H:%M:%S} UTC, is still RUNNING, "
        f"since {first.started_at:%Y-%m-%d %H:%M:%S} UTC (overlap: skip)."
    )
    assert timeline(skipped)[-1].detail == skipped.reason
    job.refresh_from_db()
    assert job.latest == first.id and job.runs == 1

    finish(system, slow, job)
    assert come_due(job).status == Status.SCHEDULED


def test_a_run_that_waits_for_its_retry_is_still_going(system, new_job, come_due) -> None:
    job = new_job(HOURLY)
    Execution.objects.filter(pk=come_due(job).pk).update(status=Status.RETRYING, wake_at=None)

    assert "is still RETRYING" in come_due(job).reason


def test_wait_runs_one_after_the_other_in_order(system, new_job, recorder, slow, come_due) -> None:
    job = new_job(HOURLY, overlap="wait")
    first = come_due(job)
    start(system, first)

    second, third = come_due(job), come_due(job)
    eventually(lambda: timezone.now() > third.wake_at)
    assert system.recoverer.tick() == 2, "both have looked, and go on waiting"
    system.executor.tick(wait=timedelta(milliseconds=50))

    assert (second.status, second.waits_for, third.waits_for) == (Status.SCHEDULED, first.id, second.id)
    assert ("waits", f"for {first.id} to be over") in [(one.event, one.detail) for one in timeline(second)]
    assert len(recorder.runs) == 1

    finish(system, slow, job)
    assert slow.most == 1
    done = list(job.executions.order_by("due_at"))
    assert {one.status for one in done} == {Status.COMPLETED} and {one.waits_for for one in done} == {None}
    assert done[0].finished_at <= done[1].started_at and done[1].finished_at <= done[2].started_at


def test_one_that_waits_cannot_be_claimed_whatever_message_comes(system, new_job, slow, come_due) -> None:
    job = new_job(HOURLY, overlap="wait")
    first, second = come_due(job), come_due(job)
    now = timezone.now()

    claims = ledger.claim([first.id, second.id], worker="w-1", now=now, until=now + SECOND)

    assert [claim.id for claim in claims] == [first.id]


def test_one_that_waits_starts_soon_after_the_other_is_over(system, new_job, slow, come_due) -> None:
    job = new_job(HOURLY, overlap="wait")
    first = come_due(job)
    start(system, first)
    second = come_due(job)

    finish(system, slow, job)

    first.refresh_from_db()
    second.refresh_from_db()
    assert second.started_at - first.finished_at < 3 * SECOND


@pytest.mark.parametrize(("running_for", "nap"), [(timedelta(0), SECOND / 2), (timedelta(seconds=60), 3 * SECOND)])
def test_the_first_in_line_looks_as_often_as_what_it_waits_for_may_end_however_long_the_line_was(
    system, new_job, slow, come_due, running_for, nap
) -> None:
    job = new_job(HOURLY, overlap="wait")
    first = come_due(job)
    start(system, first)
    second = come_due(job)
    now = timezone.now()
    Execution.objects.filter(pk=first.pk).update(started_at=now - running_for)
    Execution.objects.filter(pk=second.pk).update(recorded_at=now - timedelta(hours=1))
    second.refresh_from_db()

    with transaction.atomic():
        assert look_after([second], now=now, look=SECOND / 2, patience=timedelta(minutes=5)) == []

    second.refresh_from_db()
    assert second.wake_at == now + nap
    finish(system, slow, job)


def test_a_line_that_is_full_takes_no_more(system, new_job, slow, come_due, monkeypatch) -> None:
    monkeypatch.setattr("scheduling.overlap.MOST_WAITING", 2)
    job = new_job(HOURLY, overlap="wait")

    made = [come_due(job) for _ in range(5)]

    assert [one.status for one in made] == [Status.SCHEDULED] * 3 + [Status.SKIPPED] * 2
    assert made[3].reason == "2 runs of this job wait already for the one before them (overlap: wait)."
    job.refresh_from_db()
    assert job.latest == made[2].id


def test_who_stands_behind_one_that_is_cancelled_waits_for_what_that_one_waited_for(
    system, new_job, recorder, slow, come_due
) -> None:
    job = new_job(HOURLY, overlap="wait")
    first = come_due(job)
    start(system, first)
    second, third, fourth = come_due(job), come_due(job), come_due(job)

    assert services.cancel_execution(second, actor=None).status == Status.CANCELLED
    services.cancel_execution(fourth, actor=None)
    third.refresh_from_db()
    fifth = come_due(job)
    for _ in range(3):
        system.recoverer.tick()
        system.executor.tick(wait=timedelta(milliseconds=10))

    assert (third.waits_for, fifth.waits_for) == (first.id, third.id)
    assert len(recorder.runs) == 1, "what is cancelled lets nobody pass what still runs"
    finish(system, slow, job)
    assert slow.most == 1 and len(recorder.runs) == 3


def test_cancelling_a_job_empties_its_line(system, new_job, slow, come_due) -> None:
    job = new_job(HOURLY, overlap="wait")
    waiting = [come_due(job) for _ in range(4)]

    services.cancel_job(job, actor=None)

    assert set(job.executions.values_list("status", flat=True)) == {Status.CANCELLED}
    assert len(waiting) == 4


def test_cancel_previous_ends_the_one_and_then_runs_the_other(system, new_job, recorder, slow, come_due) -> None:
    job = new_job(HOURLY, overlap="cancel_previous")
    first = come_due(job)
    start(system, first)

    second = come_due(job)
    assert second.waits_for == first.id
    eventually(lambda: first.refresh_from_db() or first.status == Status.CANCELLED)
    eventually(lambda: system.recoverer.tick() and not Execution.objects.in_line().exists())
    start(system, second)
    finish(system, slow, job)

    second.refresh_from_db()
    assert first.reason == "the next run of its job came due (overlap: cancel_previous)"
    assert second.status == Status.COMPLETED and slow.most == 1 and len(recorder.runs) == 2


def test_a_previous_run_that_nobody_has_started_is_cancelled_on_the_spot(system, new_job, slow, come_due) -> None:
    job = new_job(HOURLY, overlap="cancel_previous")
    first = come_due(job)

    second = come_due(job)

    first.refresh_from_db()
    assert first.status == Status.CANCELLED and second.waits_for is None


def test_of_many_that_come_while_one_will_not_end_only_the_last_runs(system, new_job, recorder, slow, come_due) -> None:
    recorder.act = lambda payload, run: slow.over.wait(20)
    job = new_job(HOURLY, overlap="cancel_previous")
    first = come_due(job)
    start(system, first)

    second, third = come_due(job), come_due(job)

    second.refresh_from_db()
    assert second.status == Status.CANCELLED and third.waits_for == first.id
    finish(system, slow, job)
    assert len(recorder.runs) == 2


def test_runs_asked_for_by_hand_neither_count_nor_wait(system, new_job, slow, come_due) -> None:
    job = new_job(HOURLY)
    by_hand = services.run_job_now(job, actor=None)
    eventually(system.recoverer.tick)
    start(system, by_hand)

    scheduled = come_due(job)
    again = services.run_job_now(job, actor=None)

    assert scheduled.status == Status.SCHEDULED and again.waits_for is None


def test_jobs_that_do_not_mind_overlaps_cost_no_look(new_job, recorder, monkeypatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("jobs.ledger.waiting.run", lambda statement, columns, rows, **rest: asked.extend(rows) or [])
    jobs = [new_job(HOURLY, overlap="allow"), new_job(), new_job(HOURLY)]

    def poll() -> None:
        Job.objects.filter(status="ACTIVE").update(next_run_at=timezone.now())
        record_due([job.id for job in jobs], now=timezone.now(), misfire_grace=60 * SECOND, publish_patience=SECOND)

    poll()
    assert asked == [], "nobody has run before"
    poll()
    assert len(asked) == 1, "only the job that minds has its previous run looked up"
