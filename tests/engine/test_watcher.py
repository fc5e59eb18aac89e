"""What a watcher notices of jobs, and when it is over."""

from __future__ import annotations

from typing import Any

import pytest

from jobs import ledger, services
from jobs.alerts import looking
from jobs.models import Execution, Incident, Job
from jobs.states import Cause, Status
from tests.alerting import HOURLY, MINUTE, SECOND, due_at, due_later, execution_of, rule_of, told


def test_a_due_time_without_an_execution_is_told_once_with_job_and_time(watched, new_job, team) -> None:
    rule_of(team)
    due = watched.time - 40 * SECOND
    job = due_at(new_job(HOURLY, name="Nightly report"), due)

    [notice] = watched.look()
    again = [watched.look(after=MINUTE) for _ in range(3)]

    assert told(notice) == [("missed", "new", "Nightly report")]
    [line] = notice.content["incidents"]
    assert (line["job"], line["since"]) == (str(job.pk), due.isoformat())
    assert again == [[], [], []]
    assert Incident.objects.get(kind="missed").since == due


def test_one_that_is_only_a_little_late_is_not_missed(watched, new_job, team) -> None:
    rule_of(team)
    due_at(new_job(HOURLY), watched.time - 20 * SECOND)

    assert watched.look() == []
    assert not Incident.objects.of_kind("missed").exists()


def test_the_due_time_is_told_and_not_the_start_that_jitter_makes_of_it(watched, new_job, team) -> None:
    rule_of(team)
    due = watched.time - 90 * SECOND
    job = new_job(HOURLY)
    Job.objects.filter(pk=job.pk).update(next_run_at=due + 30 * SECOND, due_for=due)

    [notice] = watched.look()

    assert notice.content["incidents"][0]["since"] == due.isoformat()


def test_it_is_over_when_the_due_time_is_recorded_and_that_is_told_once(watched, new_job, team) -> None:
    rule_of(team)
    due = watched.time - 40 * SECOND
    job = due_at(new_job(HOURLY, name="Nightly report"), due)
    watched.look()

    due_later(job)
    [notice] = watched.look(after=MINUTE)

    assert told(notice) == [("missed", "recovered", "Nightly report")]
    assert notice.content["incidents"][0]["lasted"] == 100
    assert watched.look(after=MINUTE) == []


@pytest.mark.parametrize(("misfire", "became"), [("skip", "it was skipped: "), ("run_once", "it runs late")])
def test_it_is_told_whether_a_missed_due_time_runs_after_all(misfire, became, watched, system, new_job, team) -> None:
    rule_of(team)
    job = due_at(new_job(HOURLY, misfire=misfire), watched.time - 2 * MINUTE)
    watched.look()

    system.run_until(lambda: job.executions.exists())
    [notice] = watched.look(after=MINUTE)

    [line] = notice.content["incidents"]
    assert line["state"] == "recovered" and line["outcome"].startswith(became)


@pytest.mark.parametrize("act", [services.pause_job, services.cancel_job, services.delete_job])
def test_a_job_that_is_to_run_no_more_misses_nothing(act, watched, new_job) -> None:
    job = due_at(new_job(HOURLY), watched.time - 40 * SECOND)
    watched.look()

    act(job, actor=None)
    watched.look()

    assert Incident.objects.get(kind="missed").recovered_at == watched.time


def test_an_execution_that_waits_too_long_is_late_until_it_starts(watched, at_rest, team) -> None:
    rule_of(team)
    job = at_rest(name="Report")
    waits = execution_of(job, watched.time - 2 * MINUTE, Status.QUEUED)
    execution_of(at_rest(name="soon"), watched.time - 30 * SECOND, Status.QUEUED)
    execution_of(at_rest(name="in line"), watched.time - 2 * MINUTE, Status.SCHEDULED, waits_for=waits.pk)

    [notice] = watched.look()
    Execution.objects.filter(pk=waits.pk).update(status=Status.RUNNING)
    Execution.objects.exclude(pk=waits.pk).update(status=Status.COMPLETED)
    [over] = watched.look(after=MINUTE)

    assert told(notice) == [("late", "new", "Report")]
    assert notice.content["incidents"][0]["execution"] == str(waits.pk)
    assert told(over) == [("late", "recovered", "Report")]


def test_an_execution_that_a_full_executor_postpones_again_and_again_is_late(watched, at_rest) -> None:
    waits = execution_of(at_rest(), watched.time, Status.QUEUED)
    backfilled = execution_of(at_rest(), watched.time - MINUTE, Status.SCHEDULED)
    Execution.objects.filter(pk=backfilled.pk).update(cause=Cause.BACKFILL, not_before=watched.time + 60 * MINUTE)

    for _ in range(6):
        ledger.postpone([(waits.pk, watched.time + 40 * SECOND)])
        watched.look(after=30 * SECOND)

    [incident] = Incident.objects.all()
    assert (incident.kind, incident.execution, incident.recovered_at) == ("late", waits.pk, None)
    assert incident.since == waits.recorded_at
    assert looking.offered(watched.time - MINUTE, watched.time, ["record"]) == {"record"}
    Execution.objects.filter(pk=waits.pk).update(status=Status.RUNNING)
    watched.look(after=SECOND)
    assert Incident.objects.get().recovered_at == watched.time


def test_a_job_stays_late_while_another_of_its_executions_waits(watched, at_rest) -> None:
    job = at_rest()
    first, second = (execution_of(job, watched.time - minutes * MINUTE, Status.QUEUED) for minutes in (3, 2))
    watched.look()
    Execution.objects.filter(pk=first.pk).update(status=Status.RUNNING)
    watched.look()

    [incident] = Incident.objects.of_kind("late")
    assert incident.recovered_at is None and incident.execution == second.pk


def test_a_job_stays_late_while_more_wait_than_are_looked_at(watched, at_rest, monkeypatch) -> None:
    monkeypatch.setattr(looking, "MOST_LATE", 1)
    job = at_rest()
    first, second = (execution_of(job, watched.time - minutes * MINUTE, Status.QUEUED) for minutes in (9, 2))
    watched.look()
    Execution.objects.filter(pk=first.pk).update(status=Status.RUNNING)
    execution_of(at_rest(), watched.time - 5 * MINUTE, Status.QUEUED)  # which is looked at in place of the second
    watched.look()
    still = Incident.objects.get(kind="late", subject=str(job.pk)).recovered_at
    Execution.objects.filter(pk=second.pk).update(status=Status.RUNNING)
    watched.look()

    assert still is None
    assert Incident.objects.get(kind="late", subject=str(job.pk)).recovered_at == watched.time


def test_failures_of_a_job_that_are_alike_are_one_incident(watched, at_rest, team) -> None:
    rule_of(team)
    watched.look()
    job = at_rest(name="Sync")
    for number in range(3):
        error = f"TryAgain: answered 503 for {number}"
        execution_of(job, watched.time, Status.FAILED, finished_at=watched.time + SECOND, error=error)
    execution_of(job, watched.time, Status.FAILED, finished_at=watched.time + SECOND, error="ValueError: no")

    [notice] = watched.look(after=5 * SECOND)

    assert sorted((line["count"], line["error"][:8]) for line in notice.content["incidents"]) == [
        (1, "ValueErr"),
        (3, "TryAgain"),
    ]


def test_further_failures_are_told_when_there_are_twice_as_many(watched, at_rest, team) -> None:
    rule_of(team)
    watched.look()
    job = at_rest(name="Sync")

    def fail() -> list[Any]:
        execution_of(job, watched.time, Status.FAILED, finished_at=watched.time + SECOND, error="E: no")
        return [line["count"] for notice in watched.look(after=MINUTE) for line in notice.content["incidents"]]

    assert [fail() for _ in range(8)] == [[1], [2], [], [4], [], [], [], [8]]


def test_a_failure_that_is_written_late_is_found_all_the_same(watched, at_rest, team) -> None:
    rule_of(team)
    watched.look()
    happened = watched.time
    watched.look(after=5 * MINUTE)
    execution_of(at_rest(name="Sync"), happened, Status.FAILED, finished_at=happened + SECOND, error="E: no")

    [notice] = watched.look(after=5 * SECOND)

    assert told(notice) == [("failed", "new", "Sync")]
    assert watched.look(after=MINUTE) == []


def complete_later(failed: Execution, at: Any) -> None:
    execution_of(failed.job, at, Status.COMPLETED, finished_at=at + SECOND)


def complete_and_skip_the_next(failed: Execution, at: Any) -> None:
    complete_later(failed, at)
    execution_of(failed.job, at + 2 * SECOND, Status.SKIPPED, finished_at=at + 2 * SECOND)


def replay_it(failed: Execution, at: Any) -> None:
    Execution.objects.filter(pk=failed.pk).update(status=Status.COMPLETED, finished_at=at + SECOND)


def discard_it(failed: Execution, at: Any) -> None:
    Execution.objects.filter(pk=failed.pk).update(discarded_at=at)


@pytest.mark.parametrize("mend", [complete_later, complete_and_skip_the_next, replay_it, discard_it])
def test_a_failure_is_over_when_the_job_completes_again_or_it_was_seen_to(mend, watched, at_rest, team) -> None:
    rule_of(team)
    watched.look()
    job = at_rest(name="Sync")
    failed = execution_of(job, watched.time, Status.FAILED, finished_at=watched.time + SECOND, error="E: no")
    watched.look(after=5 * SECOND)
    assert watched.look(after=MINUTE) == []

    mend(failed, watched.time)
    [notice] = watched.look(after=MINUTE)

    assert told(notice) == [("failed", "recovered", "Sync")]


def test_a_run_that_completed_before_a_failure_mends_nothing(watched, at_rest, team) -> None:
    rule_of(team)
    watched.look()
    job = at_rest(name="Sync")
    execution_of(job, watched.time + SECOND, Status.COMPLETED, finished_at=watched.time + 2 * SECOND)
    execution_of(job, watched.time, Status.FAILED, finished_at=watched.time + 3 * SECOND, error="E: no")
    watched.look(after=5 * SECOND)

    assert watched.look(after=MINUTE) == []
    assert Incident.objects.get(kind="failed").recovered_at is None


def test_a_job_that_a_poller_has_just_moved_on_is_for_the_next_look(watched, at_rest, team, monkeypatch) -> None:
    rule_of(team)
    job = due_at(at_rest(name="Report"), watched.time)
    watched.look(after=MINUTE)
    stale = list(looking.no_longer_missed(list(Incident.objects.all())))
    due_at(job, watched.time - 40 * SECOND)
    monkeypatch.setattr(looking, "no_longer_missed", lambda known: stale)  # as it read a moment before

    watched.look(after=SECOND)
    monkeypatch.undo()
    watched.look(after=SECOND)

    assert list(Incident.objects.order_by("opened_at").values_list("recovered_at", flat=True))[1:] == [None]


def test_what_came_due_while_nothing_ran_is_told_only_if_it_is_not_made_up_for(watched, new_job, at_rest) -> None:
    """After a reboot, the watcher may look before the poller and the executors have done anything."""
    watched.look()
    made_up_for, forgotten = (due_at(new_job(HOURLY), watched.time + 5 * MINUTE) for _ in range(2))
    waits, starts = (execution_of(at_rest(), watched.time, Status.QUEUED) for _ in range(2))

    watched.look(after=10 * MINUTE, without=("poller", "executor"))
    at_once = Incident.objects.count()
    due_later(made_up_for)
    Execution.objects.filter(pk=starts.pk).update(status=Status.RUNNING)
    for _ in range(7):
        watched.look(after=10 * SECOND)

    assert at_once == 0
    told = {("missed", forgotten.pk), ("late", waits.job_id), ("stuck_poller", None)}
    assert set(Incident.objects.values_list("kind", "job")) == told


def test_a_poller_that_does_not_come_back_with_the_watcher_is_told(watched, new_job) -> None:
    watched.look()

    watched.look(after=10 * MINUTE, without=("poller",))
    at_once = Incident.objects.count()
    for _ in range(2):
        watched.look(after=10 * SECOND, without=("poller",))

    assert at_once == 0
    assert Incident.objects.get().kind == "no_poller"
