"""Whatever stopped moving is moved on."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from structlog.testing import capture_logs

from execution.broker import BrokerUnavailable
from execution.processes import make_gauges, make_recoverer
from jobs import ledger, services
from jobs.ledger import NewExecution
from jobs.models import Execution
from jobs.states import AttemptOutcome, Cause, Status
from tests.engine.system import together

SECOND = timedelta(seconds=1)


@pytest.fixture
def recorded(new_job):
    """An execution that is recorded and overdue, in any state."""

    def record(status: Status = Status.SCHEDULED, **changes) -> Execution:
        now = timezone.now()
        job = new_job({"type": "interval", "seconds": 3600}, max_retries=changes.pop("max_retries", 3))
        new = NewExecution(job.id, job.tenant_id, job.task, job.priority, now, Cause.RUN_NOW)
        ledger.record([new], [], now=now, wake_at=now - SECOND)
        Execution.objects.filter(pk=new.id).update(status=status, **changes)
        return Execution.objects.get(pk=new.id)

    return record


def test_an_execution_that_was_never_published_is(system, recorded, recorder) -> None:
    execution = recorded()

    assert system.recoverer.tick() == 1
    execution.refresh_from_db()
    assert execution.status == Status.QUEUED and execution.queued_at
    assert execution.wake_at > timezone.now() + 60 * SECOND

    system.run_until(lambda: recorder.runs)


def test_the_age_of_the_oldest_overdue_execution_is_measured(system, recorded) -> None:
    recorded(wake_at=timezone.now() - 40 * SECOND)

    assert 40 <= _oldest_overdue() < 60
    system.recoverer.tick()
    assert _oldest_overdue() == 0


def _oldest_overdue() -> float:
    gauges = make_gauges()
    gauges.look()
    [value] = [one.samples[0].value for one in gauges.collect() if one.name == "oldest_overdue_seconds"]
    return value


def test_a_lost_message_is_sent_again(system, recorded, recorder) -> None:
    recorded(Status.QUEUED)

    system.run_until(lambda: recorder.runs)


def test_an_overdue_retry_is_sent_again(system, recorded, recorder) -> None:
    recorded(Status.RETRYING, attempt=1)

    system.run_until(lambda: recorder.runs)
    assert recorder.runs[0][1].attempt == 2


def test_the_work_of_a_lost_worker_is_run_again_and_the_attempt_in_doubt_is_kept(system, recorded, recorder) -> None:
    execution = recorded(Status.RUNNING, attempt=1, worker="gone-1", started_at=timezone.now())

    system.run_until(lambda: recorder.runs)

    execution.refresh_from_db()
    attempt = execution.attempts.get()
    assert execution.status == Status.COMPLETED and execution.attempt == 2
    assert attempt.outcome == AttemptOutcome.UNKNOWN and attempt.worker == "gone-1"
    assert attempt.error == "WorkerLost: gone-1 has stopped answering"


def test_work_that_loses_every_worker_runs_out_of_attempts(system, recorded, recorder) -> None:
    execution = recorded(Status.RUNNING, attempt=2, max_retries=1, worker="gone-1")

    system.recoverer.tick()

    execution.refresh_from_db()
    assert execution.status == Status.FAILED and execution.wake_at is None
    assert system.poller.outbox.broker.dead_letters() == 1
    assert recorder.runs == []


def test_a_live_lease_is_left_alone(system, recorded) -> None:
    recorded(Status.RUNNING, attempt=1, wake_at=timezone.now() + 5 * SECOND)

    assert system.recoverer.tick() == 0


def test_a_dead_letter_that_was_not_buried_is(system, recorded) -> None:
    execution = recorded(Status.FAILED)

    system.recoverer.tick()

    execution.refresh_from_db()
    assert execution.wake_at is None


def test_what_waits_its_turn_in_a_backlog_is_not_sent_again(system, recorded) -> None:
    waiting = recorded()
    system.recoverer.tick()
    overdue = timezone.now() - SECOND
    Execution.objects.filter(pk=waiting.pk).update(wake_at=overdue)
    published = []
    broker = system.recoverer.outbox.broker
    original, broker.publish = broker.publish, lambda messages: published.extend(messages) or []

    try:
        system.recoverer.tick()
    finally:
        broker.publish = original

    waiting.refresh_from_db()
    assert published == []
    assert waiting.wake_at > timezone.now() + 60 * SECOND


def test_a_broker_out_of_reach_costs_time_and_nothing_else(system, recorded, recorder, monkeypatch) -> None:
    execution = recorded()
    broker = system.recoverer.outbox.broker

    def away(messages):
        raise BrokerUnavailable("nobody answers")

    with monkeypatch.context() as patch, capture_logs() as logs:
        patch.setattr(broker, "publish", away)
        for _ in range(3):
            Execution.objects.update(wake_at=timezone.now() - SECOND)
            system.recoverer.tick()
    execution.refresh_from_db()
    assert execution.status == Status.SCHEDULED and execution.wake_at > timezone.now()
    told = [line["event"] for line in logs if line["event"].startswith("outbox.")]
    assert told == ["outbox.not_sent"], "an outage is told once, not at each try"

    Execution.objects.update(wake_at=timezone.now() - SECOND)
    with capture_logs() as logs:
        system.run_until(lambda: recorder.runs)
    assert "outbox.sending_again" in [line["event"] for line in logs]


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time")
def test_two_recoverers_share_the_work_instead_of_doubling_it(recorded) -> None:
    for _ in range(40):
        recorded(Status.RUNNING, attempt=1, worker="gone-1")
    counts: list[int] = []

    together(lambda: counts.append(make_recoverer().tick()))

    assert sum(counts) == 40
    assert set(Execution.objects.values_list("status", flat=True)) == {Status.RETRYING}


def test_a_message_lost_from_a_busy_queue_is_sent_again_after_a_long_wait(system, recorded, monkeypatch) -> None:
    lost = recorded(Status.QUEUED, queued_at=timezone.now() - timedelta(hours=1))
    recent = recorded(Status.QUEUED, queued_at=timezone.now())
    broker = system.recoverer.outbox.broker
    published = []
    monkeypatch.setattr(broker, "depth", lambda task: 5)
    monkeypatch.setattr(broker, "publish", lambda messages: published.extend(messages) or messages)

    system.recoverer.tick()

    assert [message.executions for message in published] == [(lost.id,)]
    recent.refresh_from_db()
    assert recent.wake_at > timezone.now() + 60 * SECOND


def test_work_of_a_cancelled_job_is_not_run_again_when_its_worker_is_lost(system, recorded, recorder) -> None:
    execution = recorded(Status.RUNNING, attempt=1, worker="gone-1")
    services.cancel_job(execution.job, actor=None)

    system.recoverer.tick()

    execution.refresh_from_db()
    assert execution.status == Status.CANCELLED and execution.wake_at is None
    assert recorder.runs == []
