"""How much an executor takes on, how it keeps it, and how it lets go."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from threading import Event

import pytest
from django.db import OperationalError
from django.utils import timezone

from execution import bookkeeper
from execution.executor import Executor
from execution.processes import make_executor
from jobs.models import Execution
from jobs.states import Priority, Status
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


def test_no_more_is_claimed_than_there_are_threads(executor, gate, waiting) -> None:
    waiting(5)

    while executor.tick(wait=timedelta(milliseconds=300)):
        pass

    eventually(lambda: len(gate.started) == 2)
    assert Execution.objects.filter(status=Status.RUNNING).count() == 2
    assert Execution.objects.filter(status=Status.QUEUED).count() == 3


def test_high_priority_starts_next(executor, gate, waiting) -> None:
    waiting(8, priority=Priority.LOW)
    waiting(1, priority=Priority.HIGH)
    high = Execution.objects.get(priority=Priority.HIGH)
    gate.opened.set()

    while executor.tick(wait=timedelta(milliseconds=300)):
        pass

    executor.drain(SOON)
    # What had reached the executor before, at most one message a thread, may still go first.
    assert gate.started.index(str(high.id)) <= 2


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
        raise MemoryError

    monkeypatch.setattr(type(executor.runner), "run", lambda self, claim, run: broken(claim))
    executor.tick()

    assert executor.drain(SOON) == 0
    eventually(lambda: Execution.objects.get().status == Status.QUEUED)  # given back, and sent again


def test_no_new_work_is_taken_while_outcomes_pile_up(executor, gate, waiting, monkeypatch) -> None:
    monkeypatch.setattr("execution.executor.MOST_UNWRITTEN", 2)
    monkeypatch.setattr(executor._bookkeeper, "note", lambda claim, outcome: None)  # as if the database hung
    gate.opened.set()
    waiting(5)

    for _ in range(6):
        executor.tick(wait=timedelta(milliseconds=100))

    assert len(gate.started) == 2


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
