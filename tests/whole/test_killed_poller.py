"""A poller killed between any two of its steps loses nothing, and records no due time twice."""
# ruff: noqa: F811  (fixtures that are imported)

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.models import Execution
from jobs.states import JobStatus, Status
from tests.engine.conftest import new_job, recorder, system  # noqa: F401
from tests.whole.dying_poller import STEPS, Pollers
from tests.whole.processes import start

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def pollers(django_db_setup: None) -> Iterator[Pollers]:
    process = start("-m", "tests.whole.dying_poller", stdin=subprocess.PIPE)
    yield Pollers(process)
    process.communicate(timeout=30)


@pytest.mark.parametrize("step", STEPS)
def test_a_poller_killed_after_any_step_loses_nothing_and_repeats_nothing(
    pollers, step, system, new_job, recorder
) -> None:
    once = [new_job() for _ in range(3)]
    start_at = timezone.now() - timedelta(minutes=30)
    hourly = new_job({"type": "interval", "seconds": 3600, "start_at": start_at.isoformat()})
    due = timezone.now() - SECOND
    type(hourly).objects.filter(pk=hourly.pk).update(next_run_at=due)
    system.poller.index.put({hourly.pk: due})

    code, output = pollers.run(step)
    assert code == -signal.SIGKILL, output

    jobs = [*once, hourly]
    system.run_until(lambda: Execution.objects.filter(status=Status.COMPLETED).count() >= len(jobs))
    for _ in range(5):
        system.round()

    assert Execution.objects.count() == len(jobs)
    assert len(recorder.runs) == len(jobs)
    assert {run.idempotency_key for _, run in recorder.runs} == {str(one.id) for one in Execution.objects.all()}
    for job in jobs:
        job.refresh_from_db()
    assert {job.status for job in once} == {JobStatus.FINISHED}
    assert hourly.status == JobStatus.ACTIVE and hourly.next_run_at == start_at + timedelta(hours=1)


@pytest.mark.parametrize("step", STEPS)
def test_what_was_missed_has_one_outcome_whenever_the_poller_is_killed(
    pollers, step, system, new_job, recorder
) -> None:
    began = timezone.now() - 3 * HOUR - SECOND
    hourly = {"type": "interval", "seconds": 3600, "start_at": began.isoformat()}
    one_by_one = new_job(hourly, misfire="catch_up", overlap="wait", catch_up_max=3)
    one_for_all = new_job(hourly)
    jobs = [one_by_one, one_for_all]
    type(one_by_one).objects.filter(pk__in=[job.pk for job in jobs]).update(next_run_at=began)
    system.poller.index.put({job.pk: began for job in jobs})

    code, output = pollers.run(step)
    assert code == -signal.SIGKILL, output

    system.run_until(lambda: Execution.objects.filter(status=Status.COMPLETED).count() >= 4)
    for _ in range(5):
        system.round()

    for job, ran in ((one_by_one, 3), (one_for_all, 1)):
        outcomes = list(job.executions.order_by("due_at").values_list("due_at", "status"))
        assert outcomes == [
            (began + number * HOUR, Status.COMPLETED if number < ran else Status.SKIPPED) for number in range(4)
        ]
        job.refresh_from_db()
        assert job.next_run_at == began + 4 * HOUR and job.runs == ran
    assert len(recorder.runs) == 4
