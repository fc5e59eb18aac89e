"""What is told of what a watcher noticed, when, to whom, and that it is told once."""

from __future__ import annotations

from typing import Any

import pytest

from jobs import services
from jobs.alerts.composing import compose
from jobs.alerts.rules import update_rule
from jobs.models import AlertRule, Incident, Job, Mention
from jobs.services import NewJob
from jobs.states import Status
from tests.alerting import HOURLY, MINUTE, SECOND, due_at, due_later, execution_of, rule_of, told


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

    later = [line for _ in range(5) for notice in watched.look(after=MINUTE) for line in told(notice)]

    assert [kind for kind, _, _ in later] == ["stuck_poller"]  # which is new, and what was missed is not
    notice.refresh_from_db()
    assert notice.try_at is None and notice.error == "The rule was switched off."
