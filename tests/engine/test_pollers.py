"""Any number of pollers, no leader: each due time is recorded exactly once."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from threading import Event

import pytest
from django.db import OperationalError
from django.utils import timezone

from accounts.models import Tenant
from jobs.models import Execution, Job
from jobs.states import Status
from scheduler_project.loop import in_a_thread
from scheduling.due import record_due
from scheduling.index import get_due_index
from scheduling.poller import SHORTEST_REST
from scheduling.processes import make_poller
from tests.engine.system import together
from tests.whole.processes import eventually

SECOND = timedelta(seconds=1)
JOBS = 60


@pytest.fixture
def due_jobs(team: Tenant) -> list[Job]:
    """Half due once, half due for the third time in a row."""
    now = timezone.now()
    once = {"type": "once", "run_at": (now - SECOND).isoformat()}
    each_second = {"type": "interval", "seconds": 1, "start_at": (now - 10 * SECOND).isoformat()}
    jobs = [
        Job(tenant=team, task="send_email", schedule=schedule, next_run_at=now - back * SECOND)
        for schedule, back in ((once, 1), (each_second, 3))
        for _ in range(JOBS // 2)
    ]
    Job.objects.bulk_create(jobs)
    get_due_index().put({job.id: job.next_run_at for job in jobs})
    return jobs


def assert_each_due_time_once(jobs: list[Job]) -> None:
    recorded = Counter(Execution.objects.values_list("job_id", "due_at"))
    assert set(recorded.values()) == {1}
    for job in jobs:
        current = Job.objects.get(pk=job.pk)
        due = sorted(at for pk, at in recorded if pk == job.pk)
        assert due[0] == job.next_run_at
        if job.schedule["type"] == "interval":
            # No due time is skipped between the first one and the next one.
            assert due == [due[0] + n * SECOND for n in range(len(due))]
            assert current.next_run_at == due[-1] + SECOND


def test_pollers_that_run_at_once_record_each_due_time_once(due_jobs) -> None:
    def poll() -> None:
        poller = make_poller()
        for _ in range(6):
            poller.tick()

    together(poll)

    assert_each_due_time_once(due_jobs)


def test_even_pollers_given_the_same_jobs_record_each_due_time_once(due_jobs) -> None:
    """Leases save work; what makes a due time unique is the row."""
    ids, now = [job.id for job in due_jobs], timezone.now()

    together(lambda: record_due(ids, now=now, misfire_grace=60 * SECOND, publish_patience=SECOND) and None)

    assert_each_due_time_once(due_jobs)


def test_a_poller_whose_jobs_have_moved_on_records_nothing(due_jobs) -> None:
    ids, now = [job.id for job in due_jobs], timezone.now()
    Job.objects.filter(pk__in=ids).update(next_run_at=now + 60 * SECOND)

    recorded = record_due(ids, now=now, misfire_grace=60 * SECOND, publish_patience=SECOND)

    assert recorded.executions == [] and set(recorded.next_due.values()) == {now + 60 * SECOND}
    assert not Execution.objects.exists()


def test_a_job_whose_schedule_cannot_be_read_stops_nobody_else(due_jobs) -> None:
    broken = due_jobs[0]
    Job.objects.filter(pk=broken.pk).update(schedule={"type": "lunar"})

    recorded = record_due(
        [job.id for job in due_jobs], now=timezone.now(), misfire_grace=60 * SECOND, publish_patience=SECOND
    )

    assert len(recorded.executions) == len(due_jobs) - 1
    assert broken.id not in recorded.next_due
    broken.refresh_from_db()
    assert broken.next_run_at


def test_what_waits_is_marked_as_queued_and_what_was_claimed_is_not_touched(system, new_job, recorder) -> None:
    claimed, waiting = new_job(), new_job()
    system.poller.tick()
    Execution.objects.filter(job=claimed).update(status=Status.RUNNING, attempt=1)

    system.poller.stop()

    assert waiting.executions.get().status == Status.QUEUED and waiting.executions.get().queued_at
    assert claimed.executions.get().status == Status.RUNNING and claimed.executions.get().queued_at is None


def test_a_later_round_marks_what_waits(system, new_job, recorder) -> None:
    job = new_job()
    system.poller.tick()
    assert job.executions.get().status == Status.SCHEDULED

    eventually(lambda: system.poller.tick() or job.executions.get().status == Status.QUEUED)


def test_a_poller_stops_also_while_the_database_is_away(system, new_job, recorder, monkeypatch) -> None:
    def away(*_, **__):
        raise OperationalError("gone")

    job = new_job()
    system.poller.tick()
    with monkeypatch.context() as patch:
        patch.setattr("jobs.ledger.mark_queued", away)
        system.poller.stop()

    Execution.objects.update(wake_at=timezone.now() - SECOND)  # as it is in a while
    system.run_until(lambda: job.executions.filter(status=Status.COMPLETED))
    assert len(recorder.runs) == 1


LONGEST = timedelta(seconds=30)


@pytest.mark.parametrize(
    ("ahead", "shortest", "longest"),
    [
        (None, LONGEST, LONGEST),  # nothing is due
        (timedelta(hours=1), LONGEST, LONGEST),
        (timedelta(seconds=20), timedelta(seconds=10), timedelta(seconds=20.01)),
        (timedelta(milliseconds=1), SHORTEST_REST, SHORTEST_REST),  # many may follow at once
    ],
)
def test_an_idle_poller_rests_until_the_next_job_is_due(new_job, ahead, shortest, longest) -> None:
    poller = make_poller()
    assert poller.tick() == 0
    if ahead is not None:
        new_job({"type": "once", "run_at": (timezone.now() + ahead).isoformat()})

    assert shortest <= poller.rest(LONGEST) <= longest


def test_a_job_that_is_due_within_a_nap_is_not_kept_waiting_for_its_end(new_job) -> None:
    poller, stop = make_poller(), Event()
    job = new_job({"type": "once", "run_at": (timezone.now() + 2 * SECOND).isoformat()})
    thread = in_a_thread(poller, interval=60 * SECOND, stop=stop, beats=False, rest=poller.rest)
    try:
        eventually(job.executions.exists)
    finally:
        stop.set()
        thread.join()


def test_a_due_time_that_was_recorded_before_keeps_no_other_from_being_recorded(due_jobs) -> None:
    terms = {"now": timezone.now(), "misfire_grace": 60 * SECOND, "publish_patience": SECOND}
    again, *others = due_jobs
    record_due([again.id], **terms)
    Job.objects.filter(pk=again.id).update(status=again.status, next_run_at=again.next_run_at)  # as by hand

    recorded = record_due([job.id for job in due_jobs], **terms)

    assert {one.job_id for one in recorded.executions} == {job.id for job in others}
    assert recorded.next_due.keys() == {job.id for job in due_jobs}
    assert_each_due_time_once(due_jobs)
