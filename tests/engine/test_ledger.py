"""Batches of moves, each with its guard."""

from __future__ import annotations

import random
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.utils import timezone

from jobs import ledger
from jobs.ledger import NewExecution, Outcome, claiming
from jobs.models import Execution
from jobs.states import AttemptOutcome, Cause, Status
from tests.engine.system import together

SECOND = timedelta(seconds=1)


@pytest.fixture
def now():
    return timezone.now()


@pytest.fixture
def execution(new_job, now) -> UUID:
    job = new_job({"type": "interval", "seconds": 3600})
    new = NewExecution(job.id, job.tenant_id, job.task, job.priority, now, Cause.RUN_NOW)
    ledger.record([new], [], now=now, wake_at=now)
    return new.id


def claim(execution: UUID, now, seconds: int = 10):
    return ledger.claim([execution], worker="me", now=now, until=now + seconds * SECOND)


def completed(execution: UUID, attempt: int, now) -> Outcome:
    return Outcome(execution, attempt, Status.COMPLETED, now, result='{"ok": true}')


def test_a_due_time_recorded_twice_is_one_execution(new_job, now) -> None:
    job = new_job({"type": "interval", "seconds": 3600})
    new = NewExecution(job.id, job.tenant_id, job.task, job.priority, now)

    assert ledger.record([new], [], now=now, wake_at=now) == [new]
    assert ledger.record([new], [], now=now, wake_at=now) == []
    assert job.executions.count() == 1


def test_an_execution_is_claimed_once(execution, now) -> None:
    [won] = claim(execution, now)

    assert won.attempt == 1
    assert claim(execution, now) == []


def test_a_worker_that_lost_its_lease_cannot_report_a_result(execution, now) -> None:
    [stale] = claim(execution, now)
    lost = Outcome(
        execution, stale.attempt, Status.RETRYING, now, retry_at=now, wake_at=now, ended=AttemptOutcome.UNKNOWN
    )
    assert ledger.settle([lost]) == [Status.RETRYING]
    [current] = claim(execution, now)

    assert ledger.settle([completed(execution, stale.attempt, now)]) == [None]
    assert ledger.heartbeat([(execution, stale.attempt, now + 60 * SECOND)]) == {}
    assert ledger.settle([completed(execution, current.attempt, now)]) == [Status.COMPLETED]


@pytest.mark.parametrize(
    ("ended", "suspect"),
    [(AttemptOutcome.CRASHED, True), (AttemptOutcome.UNKNOWN, False), (AttemptOutcome.FAILED, False)],
)
def test_only_who_lost_the_process_of_its_handler_is_a_suspect(execution, now, ended, suspect) -> None:
    [first] = claim(execution, now)
    ledger.settle([Outcome(execution, first.attempt, Status.RETRYING, now, wake_at=now, error="lost", ended=ended)])

    [second] = claim(execution, now)

    assert second.suspect is suspect


def test_a_heartbeat_extends_the_lease_of_those_still_held(execution, now) -> None:
    [won] = claim(execution, now)

    assert ledger.heartbeat([(execution, won.attempt, now + 60 * SECOND)]) == {(execution, 1): False}
    assert Execution.objects.get(pk=execution).wake_at == now + 60 * SECOND


def test_a_message_may_overtake_the_note_that_it_was_published(execution, now) -> None:
    claim(execution, now)

    ledger.mark_queued([(execution, 0)], now=now, wake_at=now + 300 * SECOND)

    row = Execution.objects.get(pk=execution)
    assert row.status == Status.RUNNING and row.wake_at == now + 10 * SECOND


def test_a_retry_is_not_claimed_before_its_time(execution, now) -> None:
    [won] = claim(execution, now)
    later = now + 30 * SECOND
    ledger.settle([Outcome(execution, won.attempt, Status.RETRYING, now, retry_at=later, wake_at=later)])

    assert claim(execution, now + SECOND) == []
    assert len(claim(execution, later)) == 1


def test_a_finished_execution_is_never_claimed_again(execution, now) -> None:
    [won] = claim(execution, now)
    ledger.settle([completed(execution, won.attempt, now)])

    assert claim(execution, now + SECOND) == []


def test_empty_batches_do_nothing(now) -> None:
    assert ledger.claim([], worker="me", now=now, until=now) == []
    assert ledger.settle([]) == []
    assert ledger.heartbeat([]) == {}
    assert ledger.record([], [], now=now, wake_at=now) == []


def test_a_late_note_does_not_touch_the_retry_that_came_of_it(execution, now) -> None:
    [won] = claim(execution, now)
    soon = now + 2 * SECOND
    ledger.settle([Outcome(execution, won.attempt, Status.RETRYING, now, retry_at=soon, wake_at=soon)])

    ledger.mark_queued([(execution, 0)], now=now, wake_at=now + 300 * SECOND)

    assert Execution.objects.get(pk=execution).wake_at == soon


def test_only_what_is_still_where_it_was_is_let_rest(execution, now) -> None:
    [won] = claim(execution, now)
    ledger.settle([completed(execution, won.attempt, now)])

    ledger.let_rest([(execution, Status.QUEUED)], wake_at=now + 300 * SECOND)

    assert Execution.objects.get(pk=execution).wake_at is None


@pytest.mark.parametrize(
    ("outcome", "becomes"),
    [(Status.RETRYING, Status.CANCELLED), (Status.FAILED, Status.CANCELLED), (Status.COMPLETED, Status.COMPLETED)],
)
def test_what_was_cancelled_while_it_ran_is_not_tried_again(execution, now, outcome, becomes) -> None:
    [won] = claim(execution, now)
    with transaction.atomic():
        Execution.objects.filter(pk=execution).cancel("enough", now)
    retry_at = now if outcome is Status.RETRYING else None
    wake_at = None if outcome is Status.COMPLETED else now + SECOND

    led_to = ledger.settle([Outcome(execution, won.attempt, outcome, now, retry_at=retry_at, wake_at=wake_at)])

    row = Execution.objects.get(pk=execution)
    assert led_to == [becomes]
    assert row.status == becomes and row.wake_at is None and row.finished_at == now and row.reason == "enough"


def test_a_stale_and_a_current_outcome_in_one_batch_are_told_apart(execution, now) -> None:
    [stale] = claim(execution, now)
    ledger.settle([Outcome(execution, stale.attempt, Status.RETRYING, now, retry_at=now, wake_at=now)])
    [current] = claim(execution, now)

    gave_up = Outcome(execution, stale.attempt, Status.FAILED, now, wake_at=now)
    led_to = ledger.settle([gave_up, completed(execution, current.attempt, now)])

    assert led_to == [None, Status.COMPLETED]


def test_a_completion_says_what_an_outcome_says_that_names_nothing_else(execution, now) -> None:
    usual = Outcome(execution, 2, Status.COMPLETED, now, result="{}", took=0.5)

    made = ledger.completion(execution, 2, now, "{}", 0.5)

    assert made == usual and type(made) is Outcome


def test_an_outcome_is_known_again_whose_commit_was_not_heard_of(execution, now) -> None:
    [won] = claim(execution, now)
    outcome = completed(execution, won.attempt, now)

    assert ledger.settle([outcome]) == [Status.COMPLETED]

    assert ledger.settle([outcome]) == [Status.COMPLETED]
    assert ledger.settle([outcome._replace(at=now + SECOND)]) == [None]
    assert Execution.objects.get(pk=execution).finished_at == now


def test_batches_that_touch_the_same_rows_never_wait_for_each_other(new_job, now) -> None:
    job = new_job({"type": "interval", "seconds": 3600})
    due = [now + n * timedelta(microseconds=1) for n in range(60)]
    rows = [NewExecution(job.id, job.tenant_id, job.task, job.priority, at, Cause.RUN_NOW) for at in due]
    ledger.record(rows, [], now=now, wake_at=now)
    later = now + 60 * SECOND

    def shuffled() -> list[UUID]:
        return random.sample([row.id for row in rows], len(rows))

    def ended(one: UUID) -> Outcome:
        retried = Outcome(one, 1, Status.RETRYING, now, retry_at=later, wake_at=later)
        return random.choice([completed(one, 1, now), retried])

    moves = [
        lambda: ledger.mark_queued([(one, 0) for one in shuffled()], now=now, wake_at=later),
        lambda: ledger.let_rest([(one, Status.QUEUED) for one in shuffled()], wake_at=later),
        lambda: ledger.claim(shuffled()[:20], worker="me", now=now, until=later),
        lambda: ledger.heartbeat([(one, 1, later) for one in shuffled()]),
        lambda: in_transaction(lambda: ledger.settle([completed(one, 1, now) for one in shuffled()[:20]])),
        lambda: in_transaction(lambda: ledger.settle([ended(one) for one in shuffled()[:20]])),
        lambda: in_transaction(lambda: job.executions.all().keep_payload({})),
        lambda: in_transaction(lambda: Execution.objects.filter(pk__in=shuffled()[:5]).cancel("enough", now)),
    ]

    def work() -> None:
        for _ in range(15):
            random.choice(moves)()

    together(work, count=6)


def in_transaction(act) -> None:
    with transaction.atomic():
        act()


def test_whoever_is_frozen_between_claiming_and_reading_does_not_take_over_anothers_attempt(
    execution, now, monkeypatch
) -> None:
    if connection.vendor == "postgresql":
        pytest.skip("PostgreSQL claims and reads in one statement")
    read = claiming.read_claims

    def frozen_for_long(executions):
        Execution.objects.filter(pk=execution).update(attempt=2, worker="another")
        return read(executions)

    monkeypatch.setattr(claiming, "read_claims", frozen_for_long)

    assert claim(execution, now) == []
