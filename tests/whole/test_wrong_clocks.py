"""A process on a machine whose clock is an hour off fires nothing early and steals no lease: the database's counts."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import pytest
from django.db import connection

from jobs.clock import database_now
from jobs.models import Execution, Job
from jobs.states import Status
from scheduling.index import get_due_index
from scheduling.rebuild import rebuild
from tests.engine.conftest import new_job, recorder  # noqa: F401
from tests.whole.processes import eventually, start

HOUR = 3600  # seconds
MINUTE = timedelta(minutes=1)

pytestmark = pytest.mark.skipif(
    connection.vendor == "sqlite", reason="with SQLite the machine's clock is the database's"
)


@contextmanager
def wrong_by(seconds: int, *command: str) -> Iterator[subprocess.Popen[str]]:
    process = start("-m", "tests.whole.wrong_clock", str(seconds), *command)
    try:
        yield process
        assert process.poll() is None, "it should still run"
    finally:
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=30)
    assert process.returncode in (0, -signal.SIGTERM), output  # the latter, if it was not even ready


def once(at) -> dict:
    return {"type": "once", "run_at": at.isoformat()}


def hourly(at) -> dict:
    return {"type": "interval", "seconds": HOUR, "start_at": at.isoformat()}


def hold(jobs: list[Job], others: list[Job]) -> None:
    """Have a poller lease these jobs and be slow about it; the others are due as well, and free."""
    now = database_now()
    ids = [job.id for job in others]
    for at in (now + MINUTE, now):
        Job.objects.filter(pk__in=ids).update(next_run_at=at)
        get_due_index().put(dict.fromkeys(ids, at))
        if at > now:
            leased = get_due_index().lease(now=now, until=now + 10 * MINUTE, limit=10)
            assert set(leased) == {job.id for job in jobs}


@pytest.mark.parametrize("clocks", [(HOUR,), (-HOUR,), (HOUR, -HOUR)])
def test_pollers_an_hour_off_record_what_is_due_once_and_nothing_else(new_job, clocks) -> None:  # noqa: F811
    now = database_now()
    due = [new_job(once(now)) for _ in range(3)] + [new_job(hourly(now)) for _ in range(3)]
    later = [new_job(once(now + 30 * MINUTE)) for _ in range(3)] + [new_job(hourly(now + MINUTE)) for _ in range(3)]
    rebuild(get_due_index())
    held = [new_job(once(now)) for _ in range(3)]
    hold(held, due)

    with ExitStack() as stack:
        for seconds in clocks:
            stack.enter_context(wrong_by(seconds, "run_poller"))
        eventually(lambda: Execution.objects.filter(job__in=due).count() == len(due))
        for _ in range(5):  # which takes some rounds of each
            job = new_job(once(database_now()))
            eventually(lambda job=job: job.executions.count() == 1)
            due.append(job)

    recorded = list(Execution.objects.values_list("job_id", flat=True))
    assert sorted(recorded) == sorted(job.id for job in due), "once each, and nothing that is later or held"
    assert not Execution.objects.exclude(recorded_at__range=(now - MINUTE, database_now() + MINUTE)).exists()
    for job in later + held:
        before, after = job.next_run_at, Job.objects.get(pk=job.pk).next_run_at
        assert before == after


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_a_lease_that_is_over_is_over_for_pollers_an_hour_off_too(new_job, seconds) -> None:  # noqa: F811
    """One that runs behind must not wait for an hour before it takes on a dead poller's jobs."""
    job = new_job(once(database_now()))
    rebuild(get_due_index())
    now = database_now()
    assert get_due_index().lease(now=now, until=now + timedelta(seconds=1), limit=10) == [job.id]

    with wrong_by(seconds, "run_poller"):
        eventually(lambda: job.executions.count() == 1)


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_a_recoverer_an_hour_off_leaves_a_living_workers_execution_alone(new_job, seconds) -> None:  # noqa: F811
    now = database_now()
    job = new_job(once(now))
    waiting, running, lost = (
        Execution.objects.create(
            id=f"00000000-0000-8000-8000-00000000000{number}", job=job, tenant=job.tenant, task="record", priority=5,
            status=status, attempt=1, due_at=now, not_before=now, recorded_at=now, queued_at=now, started_at=now,
            worker="somebody", wake_at=wake_at,
        )
        for number, (status, wake_at) in enumerate(
            [(Status.RETRYING, now + 10 * MINUTE), (Status.RUNNING, now + 10 * MINUTE), (Status.RUNNING, now - MINUTE)]
        )
    )  # fmt: skip

    with wrong_by(seconds, "run_recoverer"):
        eventually(lambda: Execution.objects.get(pk=lost.pk).status == Status.RETRYING)

    for one in (waiting, running):
        current = Execution.objects.get(pk=one.pk)
        assert (current.status, current.wake_at, current.attempt) == (one.status, one.wake_at, 1)


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_an_executor_an_hour_off_runs_nothing_before_its_time(new_job, seconds) -> None:  # noqa: F811
    mail = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
    job = new_job(once(database_now() + 60 * MINUTE), task="send_email", payload=mail)
    now = database_now()
    ready, early = (
        Execution.objects.create(
            id=f"00000000-0000-8000-8000-00000000000{number}", job=job, tenant=job.tenant, task="send_email",
            priority=5, due_at=now, not_before=start, recorded_at=now, wake_at=start,
        )
        for number, start in enumerate([now, now + 30 * MINUTE])
    )  # fmt: skip

    with wrong_by(seconds, "run_executor"), wrong_by(seconds, "run_recoverer"):
        eventually(lambda: Execution.objects.get(pk=ready.pk).status == Status.COMPLETED)

    assert Execution.objects.get(pk=early.pk).status == Status.SCHEDULED
    finished = Execution.objects.get(pk=ready.pk).finished_at
    assert now - MINUTE < finished < database_now() + MINUTE
