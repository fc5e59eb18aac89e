"""One tenant's long executions do not keep other tenants waiting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import timedelta
from threading import Condition

import pytest
from django.utils import timezone

from accounts.models import Tenant
from accounts.teams import create_tenant
from execution import spare
from execution.executor import Executor
from execution.metrics import POSTPONED
from execution.processes import make_executor
from jobs import ledger, services
from jobs.ledger import shelving
from jobs.models import Attempt, Execution
from jobs.services import NewJob
from jobs.states import Status
from tests.whole.processes import eventually

THREADS, SPARE = 2, 1
SOON = timedelta(seconds=5)


class Rooms:
    """A handler that waits until it is let out, and knows how many of each tenant are inside."""

    __qualname__ = "rooms"

    def __init__(self) -> None:
        self.inside: Counter = Counter()
        self.most: Counter = Counter()
        self._open = False
        self._changed = Condition()

    def __call__(self, payload, run) -> None:
        with self._changed:
            self.inside[run.tenant_id] += 1
            self.most[run.tenant_id] = max(self.most[run.tenant_id], self.inside[run.tenant_id])
            assert self._changed.wait_for(lambda: self._open, timeout=60)
            self.inside[run.tenant_id] -= 1

    def let_out(self) -> None:
        with self._changed:
            self._open = True
            self._changed.notify_all()


@pytest.fixture
def rooms() -> Iterator[Rooms]:
    from execution.registry import registry, task
    from tests.engine.conftest import Anything

    rooms = Rooms()
    task("record", payload=Anything)(rooms)
    yield rooms
    rooms.let_out()
    del registry._tasks["record"]


@pytest.fixture
def executor(rooms: Rooms, settings) -> Iterator[Executor]:
    settings.EXECUTOR_SPARE_THREADS = SPARE
    executor = make_executor(threads=THREADS)
    executor.start()
    yield executor
    rooms.let_out()
    executor.stop(SOON)


@pytest.fixture
def ask(system) -> Callable[[Tenant, int], None]:
    """Have the queue offer new executions of a tenant."""

    def create(tenant: Tenant, count: int) -> None:
        for _ in range(count):
            services.create_job(NewJob("record", {}), tenant=tenant, actor=None)
        while system.poller.tick():
            pass

    return create


def run_until(system, executor: Executor, happened: Callable[[], object]) -> None:
    def step() -> object:
        executor.tick(wait=timedelta(milliseconds=20))
        system.recoverer.tick()
        return happened()

    eventually(step)


def test_thirty_two_long_executions_do_not_delay_another_tenant(system, executor, rooms, ask, team, charlie) -> None:
    other = charlie.tenants.get()
    ask(team, 32)
    run_until(system, executor, lambda: rooms.inside[team.id] == THREADS)
    ask(other, 1)

    # Nothing of the first tenant ends meanwhile: only a spare thread can be what starts the other's.
    run_until(system, executor, lambda: rooms.inside[other.id] == 1)

    assert rooms.inside[team.id] == THREADS


def test_an_owner_of_many_tenants_does_not_hold_all_threads(system, executor, rooms, ask, team, alice, charlie) -> None:
    second, third, other = *(create_tenant(name="x", owner=alice).tenant for _ in range(2)), charlie.tenants.get()
    for tenant in (team, second, third):
        ask(tenant, 4)
    run_until(system, executor, lambda: sum(rooms.inside.values()) == THREADS)
    for _ in range(20):
        executor.tick(wait=timedelta(milliseconds=20))
        system.recoverer.tick()
    ask(other, 1)

    run_until(system, executor, lambda: rooms.inside[other.id] == 1)

    assert sum(rooms.inside.values()) == THREADS + SPARE


def test_tenants_of_the_only_owner_may_use_the_last_spare_thread(system, executor, rooms, ask, team, alice) -> None:
    second = create_tenant(name="x", owner=alice).tenant
    ask(team, 4)
    run_until(system, executor, lambda: rooms.inside[team.id] == THREADS)
    ask(second, 1)

    run_until(system, executor, lambda: rooms.inside[second.id] == 1)


def test_postponed_executions_all_complete_without_a_counted_attempt(system, executor, rooms, ask, team, charlie):
    before = POSTPONED._value.get()
    ask(team, 9)
    run_until(system, executor, lambda: rooms.inside[team.id] == THREADS)
    ask(charlie.tenants.get(), 3)
    run_until(system, executor, lambda: POSTPONED._value.get() > before)
    waiting = Execution.objects.waiting()
    assert not waiting.filter(attempt__gt=0).exists()
    assert not waiting.filter(wake_at=None).exists()  # whatever becomes of this executor, the recoverer sends them

    rooms.let_out()
    run_until(system, executor, lambda: Execution.objects.completed().count() == 12)

    assert set(Execution.objects.values_list("attempt", "forgiven")) == {(1, 0)}
    assert not Attempt.objects.exists()
    assert rooms.most[team.id] <= THREADS


def test_postponed_executions_return_as_soon_as_threads_are_free(
    system, executor, rooms, ask, team, charlie, monkeypatch
) -> None:
    monkeypatch.setattr(spare, "SOONEST", timedelta(hours=1))
    monkeypatch.setattr(spare, "LATEST", timedelta(hours=2))
    ask(team, 9)
    run_until(system, executor, lambda: rooms.inside[team.id] == THREADS)
    ask(charlie.tenants.get(), 3)
    run_until(system, executor, lambda: Execution.objects.filter(not_before__gt=timezone.now()).exists())

    rooms.let_out()

    run_until(system, executor, lambda: Execution.objects.completed().count() == 12)
    assert set(Execution.objects.values_list("attempt", "forgiven")) == {(1, 0)}


def test_only_what_still_waits_for_the_time_it_was_postponed_to_is_brought_back(system, rooms, ask, team) -> None:
    ask(team, 3)
    now = timezone.now()
    first, again, later = now + SOON, now + 2 * SOON, now + 3 * SOON
    back, sent, postponed = Execution.objects.all()
    ledger.postpone([(one.id, first) for one in (back, sent, postponed)])
    Execution.objects.filter(pk=sent.pk).update(queued_at=now)
    ledger.postpone([(postponed.id, again)])

    ledger.bring_back([(one.id, first) for one in (back, sent, postponed)], now=now)

    assert dict(Execution.objects.values_list("pk", "not_before")) == {
        back.pk: now,
        sent.pk: first,
        postponed.pk: again,
    }
    ledger.bring_back([(postponed.id, again)], now=later)  # it has returned by itself
    assert Execution.objects.get(pk=postponed.pk).not_before == again


def test_a_backlog_is_passed_over_where_the_broker_can_choose(system, executor, rooms, ask, team, charlie) -> None:
    if not executor.inbox.chooses:
        pytest.skip("a message has to be taken to learn whose it is")
    before = POSTPONED._value.get()
    other = charlie.tenants.get()
    ask(team, 20)
    run_until(system, executor, lambda: rooms.inside[team.id] == THREADS)
    ask(other, 1)

    run_until(system, executor, lambda: rooms.inside[other.id] == 1)

    assert POSTPONED._value.get() == before, "to postpone a long backlog takes longer than to pass it over"


@pytest.mark.parametrize("looked_at", [500, 2])
def test_what_waits_behind_a_backlog_for_seconds_is_found(
    system, executor, rooms, ask, team, alice, charlie, monkeypatch, looked_at
) -> None:
    if executor.inbox.chooses:
        pytest.skip("nothing is behind a backlog")
    monkeypatch.setattr("execution.executor.MAX_LOOKED_AT", looked_at)
    monkeypatch.setattr(shelving, "BEFORE_A_LOOK", timedelta(0))  # the seconds are over
    other = charlie.tenants.get()
    ask(team, THREADS)
    run_until(system, executor, lambda: rooms.inside[team.id] == THREADS)
    executor.inbox.rest()
    monkeypatch.setattr(executor.inbox, "take", lambda limit, **_: nullcontext([]))  # as if the queue came to no end
    second = create_tenant(name="x", owner=alice).tenant
    ask(second, 5)  # of the same owner, before the other's
    ask(other, 1)

    run_until(system, executor, lambda: rooms.inside[other.id] == 1)


def test_a_tenant_that_is_alone_is_never_postponed(system, executor, rooms, ask, team) -> None:
    before = POSTPONED._value.get()
    ask(team, 5)
    run_until(system, executor, lambda: rooms.inside[team.id] == THREADS)

    for _ in range(5):
        executor.tick(wait=timedelta(milliseconds=20))

    assert rooms.inside[team.id] == THREADS
    assert POSTPONED._value.get() == before
    rooms.let_out()
    run_until(system, executor, lambda: Execution.objects.completed().count() == 5)


def test_without_spare_threads_one_tenant_may_hold_all(system, rooms, ask, team, charlie, settings) -> None:
    settings.EXECUTOR_SPARE_THREADS = 0
    executor = make_executor(threads=THREADS)
    executor.start()
    ask(team, 3)
    ask(charlie.tenants.get(), 1)
    run_until(system, executor, lambda: sum(rooms.inside.values()) == THREADS)
    for _ in range(5):
        executor.tick(wait=timedelta(milliseconds=20))

    assert sum(rooms.inside.values()) == THREADS
    rooms.let_out()
    executor.stop(SOON)


def test_spare_threads_start_and_postpone_nothing_while_outcomes_pile_up(
    system, executor, rooms, ask, team, charlie, monkeypatch
) -> None:
    before = POSTPONED._value.get()
    monkeypatch.setattr("execution.executor.MOST_UNWRITTEN", THREADS)
    monkeypatch.setattr(executor._bookkeeper, "note", lambda finished: None)  # as if the database hung
    rooms.let_out()
    ask(team, 5)
    run_until(system, executor, lambda: executor.holding == THREADS and not executor._running.threads)

    for _ in range(5):
        executor.tick(wait=timedelta(milliseconds=20))

    assert executor.holding == THREADS and POSTPONED._value.get() == before
    executor._let_go(list(executor._held))  # so that stopping need not wait for them


@pytest.mark.parametrize("status", [Status.RUNNING, Status.COMPLETED, Status.CANCELLED])
def test_only_what_waits_can_be_postponed(system, rooms, ask, team, status) -> None:
    ask(team, 1)
    Execution.objects.update(status=status, attempt=1, wake_at=None)
    [one] = Execution.objects.all()

    ledger.postpone([(one.id, timezone.now() + SOON)])

    assert ledger.tenants_of([one.id]) == []
    [after] = Execution.objects.all()
    assert (after.status, after.not_before, after.wake_at) == (status, one.not_before, None)
