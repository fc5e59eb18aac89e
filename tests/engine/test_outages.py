"""A server that is away costs time, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import settings as django_settings

from jobs.models import Execution
from jobs.states import Status
from scheduling.index import fallback
from tests.cable import Cable
from tests.engine.system import System

needs_redis = pytest.mark.skipif(not django_settings.REDIS_URL, reason="this mode has no Redis")


@pytest.fixture
def cable(monkeypatch) -> Iterator[Cable]:
    """A link to Redis that can be cut."""
    from urllib.parse import urlsplit

    from scheduling.index.redis import RedisDueIndex

    target = urlsplit(django_settings.REDIS_URL)
    cable = Cable(target.hostname, target.port or 6379)
    credentials = "".join(target.netloc.rpartition("@")[:2])
    url = target._replace(netloc=f"{credentials}127.0.0.1:{cable.port}").geturl()
    index = RedisDueIndex(url, prefix=django_settings.NAME_PREFIX)
    monkeypatch.setattr("scheduling.index.get_due_index", lambda: index)
    monkeypatch.setattr("scheduling.processes.get_due_index", lambda: index)
    monkeypatch.setattr(fallback, "LEAVE_ALONE", 0.2)
    yield cable
    cable.thaw()
    cable.unplug()


@needs_redis
def test_jobs_are_accepted_and_run_while_redis_is_away_and_after_it_is_back(cable, new_job) -> None:
    system = System()
    before = new_job({"type": "interval", "seconds": 1})
    system.run_until(lambda: before.executions.filter(status=Status.COMPLETED))

    cable.unplug()
    during = new_job()
    system.run_until(lambda: during.executions.filter(status=Status.COMPLETED))
    ran = before.executions.count()
    system.run_until(lambda: before.executions.count() > ran)

    cable.mend()
    after = new_job()
    system.run_until(lambda: after.executions.filter(status=Status.COMPLETED))
    ran = before.executions.count()
    system.run_until(lambda: before.executions.count() > ran)
    system.stop()

    due = sorted(before.executions.values_list("due_at", flat=True))
    assert due == [due[0] + n * timedelta(seconds=1) for n in range(len(due))]
    assert Execution.objects.filter(job__in=[during, after]).count() == 2
