"""Whoever can write to Redis or RabbitMQ can have nothing run that is not due, and nothing run twice."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from execution.broker import get_broker
from execution.broker.base import Message
from jobs import services
from jobs.models import Execution
from jobs.states import Priority, Status

HOUR = timedelta(hours=1)


@pytest.mark.skipif(not settings.REDIS_URL, reason="The index is the rows themselves")
def test_a_job_that_the_index_names_too_early_does_not_run(system, new_job, recorder) -> None:
    job = new_job({"type": "once", "run_at": (timezone.now() + HOUR).isoformat()})
    system.poller.index.put({job.pk: timezone.now() - HOUR})

    assert system.poller.tick() == 1  # it was looked at
    system.round()

    assert recorder.runs == [] and not Execution.objects.exists()
    assert type(job).objects.get().next_run_at == job.next_run_at


@pytest.mark.skipif(not settings.AMQP_URL, reason="The queue is the rows themselves")
@pytest.mark.parametrize("state", ["done", "cancelled", "later"])
def test_a_message_about_what_is_over_or_not_due_runs_nothing(state, system, new_job, recorder) -> None:
    new_job()
    if state == "done":
        system.run_until(lambda: Execution.objects.filter(status=Status.COMPLETED))
    else:
        system.poller.tick()
    execution = Execution.objects.get()
    if state == "cancelled":
        services.cancel_execution(execution, actor=None)
    if state == "later":
        Execution.objects.update(not_before=timezone.now() + HOUR)
    before = (len(recorder.runs), Execution.objects.get().status, Execution.objects.get().attempt)

    get_broker().publish([Message("record", (execution.pk,), Priority.HIGH)] * 3)
    system.executor.run_waiting()

    assert (len(recorder.runs), Execution.objects.get().status, Execution.objects.get().attempt) == before
