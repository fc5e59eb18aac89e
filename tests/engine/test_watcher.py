"""What a watcher notices, when it is told, to whom, and that it is told once."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from accounts.models import User
from accounts.services import register
from jobs import services
from jobs.alerts import looking
from jobs.alerts.composing import compose
from jobs.alerts.rules import delete_rule, update_rule
from jobs.models import AlertRule, Execution, Incident, Job, Mention, Notice, Watch
from jobs.services import NewJob
from jobs.states import Status
from tests.alerting import MINUTE, SECOND, Watched, due_at, due_later, execution_of, rule_of, told
from tests.conftest import PASSWORD
from tests.whole.processes import eventually

HOURLY = {"type": "interval", "seconds": 3600}


@pytest.fixture
def at_rest(new_job) -> Any:
    """Make a job that is not due while the test lasts."""
    return lambda **more: due_later(new_job(HOURLY, **more))


@pytest.fixture
def charlie() -> User:
    return register(username="charlie", email="charlie@example.com", password=PASSWORD)


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


def test_what_comes_before_the_pause_is_over_is_gathered_in_the_next_notice(watched, new_job, team) -> None:
    rule_of(team, pause=300.0)
    names = ["first", "second", "third"]
    jobs = [new_job(HOURLY, name=name) for name in names]
    due_at(jobs[0], watched.time - 40 * SECOND)
    [first] = watched.look()

    due_at(jobs[1], watched.time - 40 * SECOND)
    held_back = watched.look(after=10 * SECOND)
    due_at(jobs[2], watched.time - 40 * SECOND)
    held_back += watched.look(after=10 * SECOND)
    [second] = watched.look(after=300 * SECOND)

    assert held_back == []
    assert [len(told(one)) for one in (first, second)] == [1, 2]
    assert {line["title"] for line in second.content["incidents"]} == {"second", "third"}


def test_hundreds_that_are_missed_at_once_are_one_notice_with_their_number_and_cause(watched, team, new_job) -> None:
    rule_of(team)
    watched.look(without=("poller",))  # noted, and not yet for long
    due = watched.time - 40 * SECOND
    wanted = [NewJob("record", {}, HOURLY, name=f"job {number}") for number in range(500)]
    new_job()  # the task
    services.create_jobs(wanted, tenant=team, actor=None)
    Job.objects.filter(tenant=team, schedule__seconds=3600).update(next_run_at=due)

    notices = watched.look(without=("poller",))

    [notice] = [one for one in notices if one.rule.tenant_id]
    assert notice.content["counts"] == {"missed": 500} and notice.content["more"] == 480
    assert all(line["cause"] == "no poller is running" for line in notice.content["incidents"])
    assert Incident.objects.of_kind("missed").count() == 500


def test_very_many_are_told_in_one_notice_and_no_more_statements(
    watched, new_job, team, django_assert_num_queries
) -> None:
    rule, job = rule_of(team), new_job()
    alike = {"tenant": team, "job": job, "title": "t", "last_at": watched.time, "opened_at": watched.time}

    def happen(kind: str, many: int, **more: Any) -> None:
        incidents = [
            Incident(kind=kind, subject=f"{kind} {n}", key=f"{kind} {n} {more}", since=watched.time, **alike, **more)
            for n in range(many)
        ]
        Incident.objects.bulk_create(incidents, batch_size=500)
        mentions = [Mention(rule=rule, incident=one, tell_at=watched.time) for one in incidents]
        Mention.objects.bulk_create(mentions, batch_size=500)

    happen("late", 10, recovered_at=watched.time)
    happen("failed", 2_000, count=3)
    happen("missed", 5)
    with django_assert_num_queries(6):
        [notice] = compose(watched.time)

    assert notice.content["counts"] == {"missed": 5, "failed": 2_000, "recovered": 10}
    assert notice.content["more"] == 1_995
    assert [line["kind"] for line in notice.content["incidents"]] == ["missed"] * 5 + ["failed"] * 15
    assert set(Mention.objects.values_list("tell_at", "told")) == {(None, 1), (None, 3)}


@pytest.mark.parametrize(("kinds", "state"), [(["missed"], "new"), (["missed", "recovered"], "recovered")])
def test_what_is_over_before_it_could_be_told_is_told_by_its_kind_unless_recovered_is_asked_for(
    kinds, state, watched, new_job, team
) -> None:
    rule_of(team, kinds=kinds)
    jobs = [new_job(HOURLY, name=name) for name in ("first", "second")]
    due_at(jobs[0], watched.time - 40 * SECOND)
    watched.look()
    due_at(jobs[1], watched.time - 40 * SECOND)
    assert watched.look(after=10 * SECOND) == []  # the rule pauses
    due_later(jobs[1])
    assert watched.look(after=10 * SECOND) == []

    [notice] = watched.look(after=MINUTE)

    assert told(notice) == [("missed", state, "second")]
    assert notice.content["counts"] == {"missed" if state == "new" else "recovered": 1}
    assert notice.content["incidents"][0]["recovered_at"] and notice.content["incidents"][0]["lasted"] > 0


def test_a_patient_rule_is_told_of_what_lasts_and_of_nothing_else(watched, new_job, team) -> None:
    rule_of(team, patience=120.0)
    lasting = due_at(new_job(HOURLY, name="lasting"), watched.time - 40 * SECOND)
    brief = due_at(new_job(HOURLY, name="brief"), watched.time - 40 * SECOND)

    assert watched.look() == []
    due_later(brief)
    assert watched.look(after=MINUTE) == []
    [notice] = watched.look(after=MINUTE)

    assert told(notice) == [("missed", "new", "lasting")]
    assert Mention.objects.get().incident.job == lasting


def test_a_rule_hears_only_of_what_begins_after_it_was_made(watched, new_job, at_rest, team) -> None:
    due_at(new_job(HOURLY), watched.time - 40 * SECOND)
    execution_of(at_rest(), watched.time, Status.FAILED, finished_at=watched.time + SECOND)
    watched.look()
    watched.look(after=5 * SECOND)
    rule_of(team)

    assert watched.look(after=MINUTE) == []


def test_alices_rule_never_tells_of_charlies_jobs(watched, new_job, team, charlie) -> None:
    rule_of(team)
    new_job()  # the task
    theirs = services.create_job(NewJob("record", {}, HOURLY), tenant=charlie.tenants.get(), actor=None)
    due_at(theirs, watched.time - 40 * SECOND)
    execution_of(theirs, watched.time, Status.FAILED, finished_at=watched.time + SECOND)

    assert watched.look() == [] and watched.look(after=5 * SECOND) == []
    assert set(Incident.objects.values_list("kind", "tenant")) == {
        ("missed", theirs.tenant_id),
        ("failed", theirs.tenant_id),
    }


@pytest.mark.parametrize(
    ("scope", "hears"),
    [({}, {"a", "b"}), ({"tag": "billing"}, {"a"}), ({"job": "b"}, {"b"}), ({"kinds": ["failed"]}, set())],
)
def test_a_rule_hears_of_its_jobs_its_tag_and_its_kinds(scope, hears, watched, new_job, team) -> None:
    jobs = {"a": new_job(HOURLY, name="a", tags=["billing"]), "b": new_job(HOURLY, name="b")}
    rule_of(team, **{name: jobs["b"].pk if name == "job" else value for name, value in scope.items()})
    for job in jobs.values():
        due_at(job, watched.time - 40 * SECOND)

    heard = {line[2] for notice in watched.look() for line in told(notice)}

    assert heard == hears


def test_one_that_does_not_want_to_hear_that_it_is_over_does_not(watched, new_job, team) -> None:
    rule_of(team, kinds=["missed"])
    job = due_at(new_job(HOURLY), watched.time - 40 * SECOND)
    watched.look()
    due_later(job)

    assert watched.look(after=MINUTE) == []


def test_a_rule_that_was_switched_off_meanwhile_tells_nothing(watched, new_job, team) -> None:
    rule = rule_of(team, patience=60.0)
    due_at(new_job(HOURLY), watched.time - 40 * SECOND)
    watched.look()
    update_rule(rule, {"enabled": False}, actor=None)
    assert watched.look(after=MINUTE) == []
    update_rule(rule, {"enabled": True}, actor=None)
    assert watched.look(after=MINUTE) == []


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


def test_a_job_stays_late_while_another_of_its_executions_waits(watched, at_rest) -> None:
    job = at_rest()
    first, second = (execution_of(job, watched.time - minutes * MINUTE, Status.QUEUED) for minutes in (3, 2))
    watched.look()
    Execution.objects.filter(pk=first.pk).update(status=Status.RUNNING)
    watched.look()

    [incident] = Incident.objects.of_kind("late")
    assert incident.recovered_at is None and incident.execution == second.pk


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


def test_who_runs_it_hears_of_what_was_missed_anywhere_and_of_no_failures(watched, new_job, team, settings) -> None:
    settings.ALERT_EMAILS = ["ops@example.com"]
    watched.look()
    job = due_at(new_job(HOURLY, name="Nightly"), watched.time - 40 * SECOND)
    execution_of(job, watched.time, Status.FAILED, finished_at=watched.time + SECOND, error="E: no")

    [notice] = watched.look(after=5 * SECOND)

    assert told(notice) == [("missed", "new", "Nightly")]
    assert notice.content["incidents"][0]["tenant"] == team.name and notice.content["tenant"] is None


def test_contacts_follow_the_settings(watched, settings) -> None:
    settings.ALERT_EMAILS, settings.ALERT_WEBHOOK = ["a@example.com"], "https://example.com/hook"
    watched.look()
    settings.ALERT_EMAILS, settings.ALERT_WEBHOOK = ["b@example.com"], ""
    watched.look()

    assert list(AlertRule.objects.for_operators().enabled().values_list("emails", flat=True)) == [["b@example.com"]]


def test_contacts_that_vanish_forget_what_they_had_to_tell(watched, new_job, settings) -> None:
    settings.ALERT_EMAILS = ["ops@example.com"]
    jobs = [new_job(HOURLY) for _ in range(2)]
    due_at(jobs[0], watched.time - 40 * SECOND)
    [notice] = watched.look()
    due_at(jobs[1], watched.time - 40 * SECOND)
    assert watched.look(after=10 * SECOND) == []  # the contact pauses

    settings.ALERT_EMAILS = []
    watched.look(after=SECOND)
    settings.ALERT_EMAILS = ["ops@example.com"]

    later = [line for notice in watched.look(after=5 * MINUTE) for line in told(notice)]

    assert [kind for kind, _, _ in later] == ["stuck_poller"]  # which is new, and what was missed is not
    notice.refresh_from_db()
    assert notice.try_at is None and notice.error == "The rule was switched off."


def test_any_number_of_watchers_tell_everything_once(watched, new_job, at_rest, team) -> None:
    rule_of(team)
    for _ in range(20):
        due_at(new_job(HOURLY), watched.time - 40 * SECOND)
    job = at_rest()
    Watched().look()
    for number in range(5):
        execution_of(job, watched.time, Status.FAILED, finished_at=timezone.now(), error=f"E: {number}")
    others = [Watched() for _ in range(4)]
    barrier = Barrier(len(others))
    errors: list[BaseException] = []

    def race(one: Watched) -> None:
        barrier.wait()
        try:
            for _ in range(5):
                one.watcher.tick()
        except BaseException as error:
            errors.append(error)
        finally:
            connections.close_all()

    threads = [Thread(target=race, args=[one]) for one in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not errors
    assert Incident.objects.of_kind("missed").count() == 20
    assert Incident.objects.get(kind="failed").count == 5
    mentioned = [line["id"] for notice in Notice.objects.all() for line in notice.content["incidents"]]
    assert len(mentioned) == len(set(mentioned))


def test_a_look_that_fails_half_way_has_not_happened(watched, new_job, at_rest, team, monkeypatch) -> None:
    rule_of(team)
    watched.look()
    due_at(new_job(HOURLY), watched.time - 40 * SECOND)
    execution_of(at_rest(), watched.time, Status.FAILED, finished_at=watched.time + SECOND, error="E: no")

    def die(now: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as dying:
        dying.setattr("jobs.alerts.watcher.compose", die)
        with pytest.raises(SystemExit):
            watched.look(after=5 * SECOND)
    assert not Incident.objects.exists()

    [notice] = watched.look(after=5 * SECOND)
    assert notice.content["counts"] == {"missed": 1, "failed": 1}


@pytest.mark.skipif(connection.vendor != "postgresql", reason="one writer at a time")
def test_one_who_looks_keeps_nobody_waiting(watched) -> None:
    watched.look()
    looked: list[bool] = []

    def look() -> None:
        Watched().watcher.tick()
        looked.append(True)
        connections.close_all()

    with transaction.atomic():
        assert Watch.objects.hold() is not None
        thread = Thread(target=look)
        thread.start()
        thread.join(30)

    assert looked == [True]


def switch_off(rule: AlertRule) -> None:
    update_rule(rule, {"enabled": False}, actor=None)


def delete(rule: AlertRule) -> None:
    delete_rule(rule, actor=None)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="one writer at a time")
@pytest.mark.parametrize("act", [switch_off, delete])
def test_a_rule_that_is_to_go_waits_for_the_look_before_it_holds_anything(act, watched, new_job, team) -> None:
    rule = rule_of(team)
    due_at(new_job(HOURLY), watched.time - 40 * SECOND)
    watched.look()

    def end() -> None:
        act(rule)
        connections.close_all()

    def somebody_waits_for_us() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))")
            return cursor.fetchone() is not None

    thread = Thread(target=end)
    with transaction.atomic():
        assert Watch.objects.hold() is not None
        thread.start()
        eventually(somebody_waits_for_us)
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '30s'")
        rule.mentions.update(tell_at=watched.time)  # as a look does, in its order
        AlertRule.objects.filter(pk=rule.pk).update(told_at=watched.time)
    thread.join(30)

    assert not AlertRule.objects.enabled().exists()
    assert not Mention.objects.exclude(tell_at=None).exists()
