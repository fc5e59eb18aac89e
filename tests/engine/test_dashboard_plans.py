"""However long the history, no page of the dashboard reads a table from one end to the other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection

from benchmarks.dashboard import Dashboard
from benchmarks.plans import explained, scanned
from execution.registry import registry, task
from tests.engine.conftest import Anything

pytestmark = pytest.mark.skipif(connection.vendor != "postgresql", reason="plans are PostgreSQL's")

STORED = 50_000  # executions
JOBS = 5_000


@pytest.fixture
def loaded(new_tables: None) -> Iterator[None]:
    from benchmarks.fleet import TASK
    from benchmarks.load import distant, history

    task(TASK, payload=Anything)(lambda payload, run: None)
    distant(JOBS)
    history(STORED, of_jobs=100)
    yield
    del registry._tasks[TASK]


def test_every_page_of_the_dashboard_is_served_by_an_index(loaded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.stats.load.AT_ONCE", JOBS * 2)  # or it would be reckoned in a thread, unseen

    asked = explained(Dashboard().acts())

    assert {act for act, _ in asked} >= {"dashboard: overview", "dashboard: a job", "dashboard: runs that failed"}
    read_whole = [f"{act}: {one.place}\n{one.plan}" for act, one in asked if scanned(one)]
    assert not read_whole, "\n\n".join(read_whole)
