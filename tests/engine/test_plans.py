"""What is done all day is found by an index, however much is stored."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from benchmarks.acts import Act, Day
from benchmarks.pages import Pages
from benchmarks.plans import explained, scanned
from execution.registry import registry, task
from jobs import ledger
from jobs.ledger import NewExecution, Outcome
from jobs.models import Execution
from jobs.states import Status
from tests.engine.conftest import Anything

pytestmark = pytest.mark.skipif(connection.vendor != "postgresql", reason="plans are PostgreSQL's")

SECOND = timedelta(seconds=1)
STORED = 50_000  # executions
JOBS = 20_000
BATCH = 100  # so much less than is stored that reading all of it is never the better plan
SURPRISING = 2_000  # executions in a batch that nobody expected
HOT = {  # each sends at least one of the statements that are looked at
    "scheduling.rebuild.restore_overdue",
    "jobs.ledger.leasing.lease_due",
    "jobs.ledger.recording.lock_due",
    "jobs.ledger.recording.record",
    "jobs.ledger.recording.mark_queued",
    "jobs.ledger.claiming.claim",
    "jobs.ledger.claiming.heartbeat",
    "jobs.ledger.claiming.read_claims",
    "jobs.ledger.settling._complete",
    "jobs.ledger.settling._end_otherwise",
    "execution.recoverer.Recoverer.tick",
    "execution.broker.database.DatabaseInbox._ready",
    "jobs.alerts.looking.missed",
    "jobs.alerts.looking.no_longer_missed",
    "jobs.alerts.looking.late",
    "jobs.alerts.looking.unserved",
    "jobs.alerts.looking.failures",
    "jobs.alerts.looking.outcomes",
}


@pytest.fixture
def loaded(new_tables: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from benchmarks.fleet import TASK
    from benchmarks.load import history, various

    settings.POLL_BATCH = BATCH
    # As for a batch: what a page of the admin looks through is a small part of what is stored.
    monkeypatch.setattr("jobs.admin.lists.LOOKED_THROUGH", 500)
    task(TASK, payload=Anything)(lambda payload, run: None)
    various(JOBS)
    history(STORED, of_jobs=100)
    yield
    del registry._tasks[TASK]


def test_every_hot_statement_and_every_page_is_served_by_an_index(loaded: None) -> None:
    pages = Pages(timezone.now() - timedelta(seconds=STORED / 2))
    asked = explained([*Day().acts(), *pages.acts(), *pages.narrowed(), *pages.searched()])

    assert {one.place for _, one in asked} >= HOT
    assert not [act for act, one in asked if act.startswith("API") and "count(" in one.statement.lower()]
    read_whole = [f"{act}: {one.place}\n{one.plan}" for act, one in asked if scanned(one)]
    assert not read_whole, "\n\n".join(read_whole)


def test_a_wrong_guess_does_not_square_the_cost_of_a_batch(loaded: None, new_job: Any) -> None:
    """When PostgreSQL last counted, nothing waited: it expects that next to nothing passes the guards, and all does."""
    now = timezone.now()
    job = new_job()
    dues = [now - place * SECOND for place in range(SURPRISING)]
    executions = [NewExecution(job.id, job.tenant_id, job.task, job.priority, due) for due in dues]
    ledger.record(executions, [], now=now, wake_at=now)
    ids = [one.id for one in executions]
    until = now + timedelta(minutes=10)

    def beat() -> None:
        ledger.heartbeat([(one, 1, until) for one in ids])

    def settle() -> None:
        with transaction.atomic():
            ledger.settle([Outcome(one, 1, Status.COMPLETED, now) for one in ids])

    asked = explained(
        [
            Act("marking", lambda: ledger.mark_queued([(one, 0) for one in ids], now=now, wake_at=until)),
            Act("claiming", lambda: ledger.claim(ids, worker="me", now=now, until=until)),
            Act("heartbeats", beat),
            Act("settling", settle),
        ]
    )

    assert Execution.objects.filter(job=job, status=Status.COMPLETED).count() == SURPRISING
    assert {act for act, _ in asked} == {"marking", "claiming", "heartbeats", "settling"}
    compared = [f"{act}\n{one.plan}" for act, one in asked if "Rows Removed by Join Filter" in one.plan]
    assert not compared, "\n\n".join(compared)
