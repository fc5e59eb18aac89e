"""How the system stands, as Prometheus is told."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from execution import gauges
from execution.models import Destination
from execution.processes import make_gauges
from jobs import ledger
from jobs.ledger import NewExecution
from jobs.models import Execution, Job, Presence
from jobs.states import Cause, Status
from scheduler_project.metrics import Looker
from scheduler_project.presence import Announcer
from scheduling.gauges import IndexGauges

SECOND = timedelta(seconds=1)
HOURLY = {"type": "interval", "seconds": 3600}


def look(collector=None) -> dict[str, float]:
    collector = collector or make_gauges()
    collector.look()
    return told(collector)


def told(collector) -> dict[str, float]:
    samples = [sample for family in collector.collect() for sample in family.samples]
    return {" ".join((sample.name, *sample.labels.values())): sample.value for sample in samples}


@pytest.fixture
def recorded(new_job):
    """Record executions of one job, as changed."""
    job = new_job(HOURLY)

    def record(count: int = 1, **changes) -> None:
        now = timezone.now()
        dues = [now - n * SECOND for n in range(count)]
        new = [NewExecution(job.id, job.tenant_id, job.task, job.priority, due, Cause.RUN_NOW) for due in dues]
        ledger.record(new, [], now=now, wake_at=now + 3600 * SECOND)
        Execution.objects.filter(pk__in=[one.id for one in new]).update(**changes)

    return record


def test_an_idle_system_has_nothing_to_tell_but_zeros(system) -> None:
    assert set(look().values()) == {0}


def test_what_waits_is_told_by_task_and_what_runs_or_is_not_due_is_not_counted(recorded) -> None:
    recorded(3)
    recorded(1, status=Status.RUNNING)
    recorded(1, not_before=timezone.now() + 60 * SECOND)

    stands = look()

    assert stands["queue_depth record"] == 3 and stands["queue_depth send_email"] == 0


def test_no_more_is_counted_than_matters(recorded, monkeypatch) -> None:
    monkeypatch.setattr(gauges, "MOST", 2)
    recorded(3)

    assert look()["queue_depth record"] == 2


def test_a_job_that_no_poller_takes_is_told_by_its_age(new_job) -> None:
    job = new_job(HOURLY)
    Job.objects.filter(pk=job.pk).update(next_run_at=timezone.now() - 90 * SECOND)

    assert 90 <= look()["oldest_due_seconds"] < 150


def test_who_is_there_is_told_and_who_was_is_not(system) -> None:
    for role, tasks in (("poller", []), ("recoverer", []), ("executor", ["send_email"])):
        Announcer(role, tasks=tasks).say()
    stands = look()
    Presence.objects.update(seen_at=timezone.now() - 60 * SECOND)
    later = look()

    names = ("pollers_alive", "recoverers_alive", "executors_alive send_email", "executors_alive http_request")
    assert [stands[name] for name in names] == [1, 1, 1, 0]
    assert [later[name] for name in names] == [0, 0, 0, 0]
    assert "executors_alive resize_video" not in stands  # workers in other languages do not say that they are there


def test_dead_letters_and_destinations_that_are_down_are_counted(recorded) -> None:
    now = timezone.now()
    recorded(2, status=Status.FAILED, finished_at=now, wake_at=None)
    recorded(1, status=Status.FAILED, finished_at=now, wake_at=None, discarded_at=now)
    for name, state in (("a", "down"), ("b", "troubled")):
        Destination.objects.create(name=name, state=state, since=now, probe_at=now, touched_at=now)

    stands = look()

    assert stands["dead_letters"] == 2 and stands["destinations_down"] == 1


def test_the_due_index_is_told_by_its_size(system, new_job) -> None:
    for _ in range(3):
        new_job(HOURLY)

    assert look(IndexGauges(system.poller.index)) == {"due_index_size": 3}


def test_what_cannot_be_read_any_more_is_not_told_any_more() -> None:
    class Flaky:
        def __init__(self) -> None:
            self.answers = [None, OperationalError("gone"), None]
            self.known = False
            self.seen: list[bool] = []

        def look(self) -> None:
            if error := self.answers.pop(0):
                raise error
            self.known = True

        def forget(self) -> None:
            self.known = False

    flaky = Flaky()
    looker = Looker([flaky], every=60)
    for _ in range(3):
        looker.look()
        flaky.seen.append(flaky.known)

    assert flaky.seen == [True, False, True]
