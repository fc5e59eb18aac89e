"""What a watcher notices of the processes it watches, and of itself."""

from __future__ import annotations

import pytest

from jobs.models import Attempt, Execution, Incident, Presence, Watch
from jobs.states import AttemptOutcome, Status
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


def concluded(seen_at) -> None:
    Presence.objects.filter(role="executor").update(concluded_at=seen_at)


def test_executors_that_complete_nothing_of_what_waits_are_told_until_an_attempt_ends(
    watched, at_rest, settings
) -> None:
    settings.ALERT_EMAILS = ["ops@example.com"]
    execution_of(at_rest(), watched.time - 2 * MINUTE, Status.QUEUED)
    watched.look()
    concluded(watched.time + 2 * MINUTE)  # it is merely behind

    early = [line for _ in range(6) for notice in watched.look(after=MINUTE) for line in told(notice)]
    notices = [notice for _ in range(2) for notice in watched.look(after=MINUTE)]
    concluded(watched.time + SECOND)
    over = watched.look(after=MINUTE)

    assert not [line for line in early if line[0] == "stuck_executor"]
    assert [line[:2] for notice in notices for line in told(notice)] == [("stuck_executor", "new")]
    assert [line[:2] for notice in over for line in told(notice)] == [("stuck_executor", "recovered")]


def test_executors_that_lose_each_attempt_complete_nothing_though_nothing_waits(watched, at_rest) -> None:
    lost = execution_of(at_rest(), watched.time - 2 * MINUTE, Status.RETRYING)
    Execution.objects.filter(pk=lost.pk).update(not_before=watched.time + MINUTE * 60)

    for minute in range(7):
        Attempt.objects.create(
            execution=lost, number=minute + 1, outcome=AttemptOutcome.UNKNOWN, error="lost", finished_at=watched.time
        )
        watched.look(after=MINUTE)
    open_before = Incident.objects.of_kind("stuck_executor").open().count()
    watched.look(after=MINUTE)

    assert open_before == 0
    assert [one.subject for one in Incident.objects.of_kind("stuck_executor").open()] == ["record"]


def test_an_executor_that_holds_executions_past_their_time_limit_is_told_by_its_name(watched) -> None:
    watched.look()
    Presence.objects.filter(role="executor").update(overrun=2)
    watched.look(after=SECOND)

    assert "2 execution(s) past their time limit" in Incident.objects.of_kind("stuck_executor").open().get().title

    Presence.objects.filter(role="executor").update(overrun=0)
    watched.look(after=SECOND)
    assert not Incident.objects.of_kind("stuck_executor").open().exists()


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
