"""On the straight way no index is written to, and whatever leaves it is found all the same."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from jobs import ledger
from jobs.ledger import NewExecution, Outcome
from jobs.models import Cohort, Execution, Job
from jobs.states import CLAIMABLE, UNFINISHED, Status
from scheduler_project.doctor.work import overdue_executions
from tests.engine.system import together

SECOND = timedelta(seconds=1)
PATIENCE = 10 * SECOND

only_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL alone has cohorts")


@pytest.fixture
def record(new_job) -> Any:
    """Record executions of as many jobs, carried or not, so long ago."""

    def record(count: int = 1, *, carried: bool = True, ago: timedelta = timedelta()) -> list[Execution]:
        then = timezone.now() - ago
        jobs = [new_job({"type": "interval", "seconds": 3600}) for _ in range(count)]
        new = [NewExecution(job.id, job.tenant_id, job.task, job.priority, then) for job in jobs]
        with transaction.atomic():
            ledger.record(new, [], now=then, wake_at=then + PATIENCE, carried=lambda task: carried)
        return list(Execution.objects.filter(pk__in=[one.id for one in new]))

    return record


def complete(claims: list[ledger.Claim], now: datetime) -> None:
    outcomes = [Outcome(one.execution_id, one.attempt, Status.COMPLETED, now) for one in claims]
    with transaction.atomic():
        assert ledger.settle(outcomes) == [Status.COMPLETED] * len(claims)


def shelve(now: datetime | None = None) -> int:
    with transaction.atomic():
        return ledger.shelve(now or timezone.now(), 10)


def listed() -> set[Any]:
    return set(Execution.objects.filter(look_at__isnull=False).values_list("pk", flat=True))


def updates() -> tuple[int, int]:
    """Of late: rows of executions, and those for which no index was written to."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'jobs_execution'")
        return cursor.fetchone()


@only_postgresql
def test_from_its_record_to_its_end_an_execution_is_written_to_no_index_again(new_tables, record) -> None:
    ids = [one.pk for one in record(5)]
    now = timezone.now()

    with transaction.atomic():
        before = updates()  # of earlier transactions that were not reported yet
        claims = ledger.claim(ids, worker="w", now=now, until=now + 15 * SECOND)
        ledger.heartbeat([(one.execution_id, one.attempt, now + 20 * SECOND) for one in claims])
        complete(claims, now)
        assert [after - then for after, then in zip(updates(), before, strict=True)] == [15, 15]


@only_postgresql
def test_what_has_completed_is_never_listed_and_its_cohort_is_gone(record) -> None:
    one, other = record(2)
    now = timezone.now()
    complete(ledger.claim([one.pk, other.pk], worker="w", now=now, until=now + 15 * SECOND), now)

    assert Cohort.objects.count() == 1
    assert (shelve(), shelve(now + 5 * SECOND), shelve(now + 5 * SECOND)) == (0, 1, 0)
    assert listed() == set() and not Cohort.objects.exists()


@only_postgresql
@pytest.mark.parametrize("status", sorted(UNFINISHED | {Status.FAILED, Status.CANCELLED}))
def test_whatever_has_not_completed_stands_for_itself_once_its_cohort_was_looked_at(status, record) -> None:
    [one] = record()
    Execution.objects.filter(pk=one.pk).update(status=status, attempt=1)

    shelve(timezone.now() + 5 * SECOND)

    one.refresh_from_db()
    assert (one.fresh, one.shelf, one.look_at) == (False, status, one.wake_at)
    # And it does from then on, wherever it moves: there is nobody else to find it.
    for following in sorted(UNFINISHED):
        Execution.objects.filter(pk=one.pk).update(status=following)
        assert listed() == {one.pk}


@pytest.mark.parametrize("carried", [True, False])
def test_what_nobody_sent_is_sent_when_its_time_has_come(carried, system, record, recorder) -> None:
    record(carried=carried, ago=PATIENCE + SECOND)

    system.run_until(lambda: recorder.runs)


def test_the_work_of_an_executor_that_is_gone_within_moments_is_found(system, record, recorder) -> None:
    [one] = record(ago=20 * SECOND)
    long_ago = timezone.now() - 18 * SECOND
    ledger.claim([one.pk], worker="gone", now=long_ago, until=long_ago + 15 * SECOND)

    system.run_until(lambda: recorder.runs)
    assert recorder.runs[0][1].attempt == 2


def test_a_poller_has_cohorts_look_after_what_is_carried_and_after_nothing_else(system, new_job) -> None:
    new_job({"type": "now"})

    system.poller.tick()

    carried = connection.vendor == "postgresql" and system.poller.outbox.broker.carries("record")
    assert Execution.objects.get().fresh is carried
    assert Cohort.objects.exists() is carried


@only_postgresql
def test_any_number_of_recoverers_look_at_each_cohort_once_and_lose_none(record) -> None:
    ids = {one.pk for _ in range(12) for one in record(5)}
    looked_at: list[int] = []
    later = timezone.now() + 5 * SECOND

    def look() -> None:
        for _ in range(10):
            with transaction.atomic():
                looked_at.append(ledger.shelve(later, 2))

    together(look)

    assert sum(looked_at) == 12 and not Cohort.objects.exists()
    assert listed() == ids


@only_postgresql
def test_a_look_that_fails_half_way_has_not_happened(record) -> None:
    [one] = record()

    with pytest.raises(RuntimeError), transaction.atomic():
        ledger.shelve(timezone.now() + 5 * SECOND, 10)
        raise RuntimeError

    assert Cohort.objects.count() == 1
    shelve(timezone.now() + 5 * SECOND)
    assert listed() == {one.pk}


def test_people_see_what_a_cohort_stands_for(record) -> None:
    waiting, running, done = record(3)
    now = timezone.now()
    ours = ledger.claim([running.pk, done.pk], worker="w", now=now, until=now + 15 * SECOND)
    complete([one for one in ours if one.execution_id == done.pk], now)

    assert set(Execution.objects.held()) == {running}
    assert set(Execution.objects.standing(Status.SCHEDULED)) == {waiting}
    assert set(Execution.objects.unfinished().looked_after()) == {waiting, running}


def test_the_doctor_finds_what_no_recoverer_looks_at(record) -> None:
    record(ago=90 * SECOND)

    [finding] = overdue_executions()
    assert "1 execution(s) should have moved" in finding.fact


@only_postgresql
def test_the_columns_that_executions_are_found_by_follow_from_the_others(record) -> None:
    [one] = record()
    now = timezone.now()
    for fresh, status, woken, ended in product((True, False), Status, (None, now), (None, now)):
        Execution.objects.filter(pk=one.pk).update(fresh=fresh, status=status, wake_at=woken, finished_at=ended)
        one.refresh_from_db()
        straight = fresh and status in (Status.SCHEDULED, Status.RUNNING)
        expected = (
            None if straight or status is Status.COMPLETED else status,
            None if straight else woken,
            ended if status is Status.FAILED else None,
        )
        assert (one.shelf, one.look_at, one.failed_at) == expected


def test_what_executors_look_for_in_the_database_is_found_there_at_once(record) -> None:
    [one] = record(carried=False)

    assert list(Execution.objects.ready(timezone.now() + SECOND, [one.task])) == [one]
    assert one.status in CLAIMABLE and Job.objects.filter(pk=one.job_id).exists()
