"""What is done all day is found by an index, however much is stored."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from execution.registry import registry, task
from tests.engine.conftest import Anything

pytestmark = pytest.mark.skipif(connection.vendor != "postgresql", reason="plans are PostgreSQL's")

STORED = 50_000  # executions
JOBS = 20_000
BATCH = 100  # so much less than is stored that reading all of it is never the better plan
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
}


@pytest.fixture
def loaded(transactional_db: None, settings: Any) -> Iterator[None]:
    from benchmarks.fleet import TASK
    from benchmarks.load import distant, history

    settings.POLL_BATCH = BATCH
    task(TASK, payload=Anything)(lambda payload, run: None)
    distant(JOBS)
    history(STORED, of_jobs=100)
    yield
    del registry._tasks[TASK]


def test_every_hot_statement_and_every_page_is_served_by_an_index(loaded: None) -> None:
    from benchmarks.acts import Day
    from benchmarks.pages import Pages
    from benchmarks.plans import explained, scanned

    pages = Pages(timezone.now() - timedelta(seconds=STORED / 2))
    asked = explained([*Day().acts(), *pages.acts()])

    assert {one.place for _, one in asked} >= HOT
    read_whole = [f"{act}: {one.place}\n{one.plan}" for act, one in asked if scanned(one)]
    assert not read_whole, "\n\n".join(read_whole)
