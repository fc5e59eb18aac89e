"""What a watcher notices of the processes it watches, and of itself."""

from __future__ import annotations

import pytest

from jobs.models import Incident, Watch
from jobs.states import Status
from tests.alerting import HOURLY, MINUTE, SECOND, due_at, due_later, execution_of, told


def test_a_watcher_that_finds_nobody_has_looked_for_long_does_not_say_that_all_is_well(watched, monkeypatch) -> None:
    pinged = []
    watched.watcher.ping = pinged.append
    watched.look()
    monkeypatch.setattr(type(Watch.objects), "hold", lambda self: None)  # somebody else, who never ends

    watched.look(after=30 * SECOND)
    watched.look(after=MINUTE)

    assert len(pinged) == 2


@pytest.mark.parametrize(("role", "kind"), [("poller", "no_poller"), ("recoverer", "no_recoverer")])
def test_a_role_that_is_gone_for_longer_than_a_restart_takes_is_told_to_who_runs_it(
    role, kind, watched, settings
) -> None:
    settings.ALERT_EMAILS = ["ops@example.com"]
    watched.look()

    assert watched.look(after=5 * SECOND, without=(role,)) == []
    assert watched.look(after=15 * SECOND, without=(role,)) == []
    [notice] = watched.look(after=5 * SECOND, without=(role,))
    [over] = watched.look(after=MINUTE)

    assert [line[:2] for line in told(notice)] == [(kind, "new")]
    assert [line[:2] for line in told(over)] == [(kind, "recovered")]


def test_a_restart_is_nobodys_business(watched, settings) -> None:
    settings.ALERT_EMAILS = ["ops@example.com"]
    watched.look()

    for _ in range(5):
        assert watched.look(after=10 * SECOND, without=("poller",)) == watched.look(after=5 * SECOND) == []
    assert not Incident.objects.exists()


def test_a_poller_that_moves_nothing_is_stuck_and_one_that_is_behind_is_not(watched, new_job, settings) -> None:
    settings.ALERT_EMAILS = ["ops@example.com"]
    job = due_at(new_job(HOURLY), watched.time - MINUTE)
    for _ in range(5):  # behind: whenever somebody looks, another one is the earliest
        due_at(job, job.next_run_at + SECOND)
        watched.look(after=10 * SECOND)
    assert not Incident.objects.of_kind("stuck_poller").exists()

    watched.look(after=10 * SECOND)
    watched.look(after=10 * SECOND)

    assert Incident.objects.of_kind("stuck_poller").open().count() == 1
    due_later(job)
    watched.look(after=5 * SECOND)
    assert not Incident.objects.of_kind("stuck_poller").open().exists()


def test_work_that_no_executor_takes_is_told_and_an_empty_pool_without_work_is_not(watched, at_rest, settings) -> None:
    settings.ALERT_EMAILS = ["ops@example.com"]
    job = at_rest()
    assert watched.look(without=("executor",)) == []

    execution_of(job, watched.time - 2 * MINUTE, Status.QUEUED)
    [notice] = watched.look(after=5 * SECOND, without=("executor",))

    assert [line[:2] for line in told(notice)] == [("no_executor", "new"), ("late", "new")]
    assert notice.content["incidents"][1]["cause"] == "no executor serves record"


def test_an_executor_that_comes_and_goes_is_told_each_time(watched, at_rest, settings) -> None:
    settings.ALERT_EMAILS = ["ops@example.com"]
    execution_of(at_rest(), watched.time - 2 * MINUTE, Status.QUEUED)

    states = [
        line[1]
        for without in (("executor",), (), ("executor",))
        for notice in watched.look(after=MINUTE, without=without)
        for line in told(notice)
        if line[0] == "no_executor"
    ]

    assert states == ["new", "recovered", "new"]
