"""How much an executor takes on, how it keeps it, and how it lets go."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from threading import Event
from uuid import UUID, uuid4

import pytest
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone
from structlog.testing import capture_logs

from execution import bookkeeper
from execution.broker import get_broker
from execution.broker.base import Message
from execution.executor import Executor
from execution.processes import make_executor
from jobs.models import Execution
from jobs.states import AttemptOutcome, Priority, Status
from tests.whole.processes import eventually

SOON = timedelta(seconds=5)


class Gate:
    """A handler that waits until it is let through."""

    __qualname__ = "gate"

    def __init__(self) -> None:
        self.opened = Event()
        self.started: list[str] = []

    def __call__(self, payload, run):
        self.started.append(run.idempotency_key)
        assert self.opened.wait(30)


@pytest.fixture
def gate() -> Iterator[Gate]:
    from execution.registry import registry, task
    from tests.engine.conftest import Anything

    gate = Gate()
    task("record", payload=Anything)(gate)
    yield gate
    gate.opened.set()
    del registry._tasks["record"]


@pytest.fixture
def executor(gate: Gate) -> Iterator[Executor]:
    executor = make_executor(threads=2)
    executor.start()
    yield executor
    gate.opened.set()
    executor.stop(SOON)


@pytest.fixture
def waiting(system, team):
    from jobs import services
    from jobs.services import NewJob

    def create(count: int, **rest) -> None:
        for _ in range(count):
            services.create_job(NewJob("record", {}, **rest), tenant=team, actor=None)
        system.poller.tick()
        system.poller.tick()

    return create


@pytest.fixture
def backlog(system, team):
    """Executions of one job that wait in the broker."""
    from jobs import ledger, services
    from jobs.services import NewJob

    def create(count: int, priority: Priority) -> list[UUID]:
        schedule = {"type": "interval", "seconds": 3600}
        job = services.create_job(NewJob("record", {}, schedule, priority=priority), tenant=team, actor=None)
        now = timezone.now()
        new = [
            ledger.NewExecution(job.id, team.id, "record", priority, now - timedelta(milliseconds=age))
            for age in range(count, 0, -1)
        ]
        ledger.record(new, [], now=now, wake_at=now + SOON)
        system.poller.outbox.send(new)
        return [one.id for one in new]

    return create


def claim(executor: Executor, count: int) -> None:
    """Tick until it holds this number of executions: RabbitMQ delivers them one after the other."""

    def step() -> bool:
        executor.tick(wait=timedelta(milliseconds=20))
        return executor.holding == count

    eventually(step)


def test_no_more_is_claimed_than_there_are_threads(executor, gate, waiting) -> None:
    waiting(5)

    while executor.tick(wait=timedelta(milliseconds=300)):
        pass

    eventually(lambda: len(gate.started) == 2)
    assert Execution.objects.filter(status=Status.RUNNING).count() == 2
    assert Execution.objects.waiting().count() == 3


def test_one_high_overtakes_a_backlog_of_a_thousand_low(executor, gate, system, backlog) -> None:
    backlog(1000, Priority.LOW)
    gate.opened.set()
    while len(gate.started) < 50:
        executor.tick()

    [high] = backlog(1, Priority.HIGH)
    begun = len(gate.started)
    while str(high) not in gate.started:
        executor.tick()

    # What had reached the executor before may still go first: a message a thread, each of moments.
    assert gate.started.index(str(high)) <= begun + executor.threads * executor._outbox.pace.most


def test_what_was_interrupted_goes_before_its_like_but_not_before_the_urgent(executor, gate, system, backlog) -> None:
    [interrupted] = backlog(1, Priority.LOW)
    executor.tick()
    eventually(lambda: gate.started)
    Execution.objects.update(wake_at=timezone.now() - SOON, not_before=timezone.now() - SOON)
    executor._lose(list(executor._held))
    backlog(20, Priority.LOW)
    backlog(3, Priority.NORMAL)

    system.recoverer.tick()
    gate.opened.set()
    while len(gate.started) < 25:
        executor.tick()

    urgent = {str(one) for one in Execution.objects.filter(priority=Priority.NORMAL).values_list("pk", flat=True)}
    place = gate.started.index(str(interrupted), 1)
    # Besides the urgent, only what had reached an idle thread already may be before it.
    assert place <= len(urgent) + executor.threads + 1


def test_a_lease_is_kept_alive_while_the_work_goes_on(executor, gate, waiting) -> None:
    waiting(1)
    executor.tick()
    before = Execution.objects.get().wake_at

    executor._heart.beat(executor._leases())

    assert Execution.objects.get().wake_at > before


def test_a_lost_lease_is_noticed(executor, gate, waiting) -> None:
    waiting(1)
    executor.tick()
    Execution.objects.update(attempt=2)

    executor._heart.beat(executor._leases())

    assert executor._leases() == []


def test_stopping_finishes_what_runs_and_takes_nothing_new(executor, gate, waiting) -> None:
    waiting(3)
    executor.tick()
    eventually(lambda: len(gate.started) >= 1)
    started = len(gate.started)
    gate.opened.set()

    executor.stop(SOON)

    assert Execution.objects.filter(status=Status.COMPLETED).count() >= started
    assert not Execution.objects.filter(status=Status.RUNNING).exists()


def test_a_database_away_for_a_moment_costs_no_outcome(executor, gate, waiting, monkeypatch) -> None:
    waiting(2)
    settle, failures = bookkeeper.ledger.settle, [OperationalError("gone"), OperationalError("still gone")]

    def flaky(outcomes):
        if failures:
            raise failures.pop()
        return settle(outcomes)

    monkeypatch.setattr(bookkeeper.ledger, "settle", flaky)
    monkeypatch.setattr(bookkeeper, "TRY_AGAIN", 0.01)
    gate.opened.set()

    executor.tick()
    executor.tick()

    assert executor.drain(SOON) == 0
    assert Execution.objects.filter(status=Status.COMPLETED).count() == 2 and failures == []


def test_an_outcome_that_comes_too_late_changes_nothing(executor, gate, waiting) -> None:
    waiting(1)
    executor.tick()
    Execution.objects.update(status=Status.CANCELLED, finished_at=timezone.now())

    gate.opened.set()

    assert executor.drain(SOON) == 0
    assert Execution.objects.get().status == Status.CANCELLED


def test_an_attempt_without_an_outcome_is_given_back(executor, gate, waiting, monkeypatch) -> None:
    waiting(1)

    def broken(claim):
        raise SystemError

    monkeypatch.setattr(type(executor.runner), "run", lambda self, claim, run: broken(claim))
    eventually(executor.tick)

    assert executor.drain(SOON) == 0
    eventually(lambda: Execution.objects.get().status == Status.QUEUED)  # given back, and sent again


def test_only_attempts_that_their_handler_has_ended_count_as_concluded(executor, gate, waiting, monkeypatch) -> None:
    waiting(1)

    def broken(runner, claim, run):
        raise SystemError

    with monkeypatch.context() as patched, capture_logs():
        patched.setattr(type(executor.runner), "run", broken)
        eventually(executor.tick)
        assert executor.drain(SOON) == 0
    assert executor.concluded == 0  # given back: nothing was done

    eventually(lambda: Execution.objects.get().status == Status.QUEUED)
    gate.opened.set()
    eventually(executor.tick)
    assert executor.drain(SOON) == 0
    assert executor.concluded == 1


def test_executions_held_past_their_time_limit_are_counted(executor, gate, waiting, monkeypatch) -> None:
    waiting(2)
    claim(executor, 2)
    limit = executor.runner.limits.time_limit
    assert executor.overrun(-limit / 2) == 0 and executor.overrun(-limit) == 2


def test_an_attempt_that_had_no_memory_for_its_outcome_does_not_count_and_runs_alone(
    executor, gate, waiting, monkeypatch
) -> None:
    waiting(1)

    def broken(claim):
        raise MemoryError

    monkeypatch.setattr(type(executor.runner), "run", lambda self, claim, run: broken(claim))
    eventually(executor.tick)

    assert executor.drain(SOON) == 0
    eventually(lambda: Execution.objects.get().status == Status.RETRYING)
    execution = Execution.objects.get()
    assert execution.forgiven == 1 and execution.attempts.get().outcome == AttemptOutcome.CRASHED


def test_no_new_work_is_taken_while_outcomes_pile_up(executor, gate, waiting, monkeypatch) -> None:
    monkeypatch.setattr("execution.executor.MOST_UNWRITTEN", 2)
    monkeypatch.setattr(executor._bookkeeper, "note", lambda finished: None)  # as if the database hung
    gate.opened.set()
    waiting(5)

    for _ in range(6):
        executor.tick(wait=timedelta(milliseconds=100))

    assert len(gate.started) == 2
    executor._let_go(list(executor._held))  # so that stopping need not wait for them


def test_no_new_work_is_taken_while_the_payloads_held_take_much_memory(executor, gate, waiting, monkeypatch) -> None:
    monkeypatch.setattr("execution.executor.MAX_PAYLOADS", 1)
    waiting(1)
    while not gate.started:
        executor.tick(wait=timedelta(milliseconds=100))
    waiting(1)

    for _ in range(6):
        executor.tick(wait=timedelta(milliseconds=100))
    assert len(gate.started) == 1, "a thread is free, but there is no room for another payload"

    gate.opened.set()
    eventually(lambda: executor.tick(wait=timedelta(milliseconds=100)) or len(gate.started) == 2)
    assert executor.drain(SOON) == 0 and executor._held.characters == 0


def test_a_broker_that_does_not_answer_keeps_no_result_from_being_written(executor, gate, waiting, monkeypatch) -> None:
    answered = Event()
    monkeypatch.setattr(executor._bookkeeper.outbox, "send_later", lambda retries: answered.wait(30))
    gate.opened.set()
    waiting(2)

    while executor.tick(wait=timedelta(milliseconds=300)):
        executor.drain(SOON)

    assert Execution.objects.filter(status=Status.COMPLETED).count() == 2
    answered.set()


def test_work_that_could_not_be_started_is_given_back(executor, gate, waiting, monkeypatch) -> None:
    waiting(1)

    def no_processes(claims):
        raise OSError("out of processes")

    monkeypatch.setattr(executor.workshop, "submit", no_processes)
    with pytest.raises(OSError):
        executor.tick()

    assert executor.drain(SOON) == 0
    assert Execution.objects.get().status in (Status.SCHEDULED, Status.QUEUED)


@pytest.mark.skipif(not settings.AMQP_URL, reason="Without RabbitMQ there are no messages")
def test_a_message_about_an_execution_that_no_row_knows_is_dropped_with_a_line(executor) -> None:
    broker, unknown = get_broker(), uuid4()
    broker.publish([Message("record", (unknown,), Priority.NORMAL)])

    with capture_logs() as logs:
        eventually(lambda: executor.tick() or logs)

    assert [line for line in logs if line["event"] == "executor.passed_over"] == [
        {"event": "executor.passed_over", "log_level": "info", "executions": 1, "some": [str(unknown)]}
    ]
    eventually(lambda: broker.depth("record") == 0)
    assert executor.holding == 0
