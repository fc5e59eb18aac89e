"""Alert rules and incidents over the API: who is told of what, and what was wrong."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from execution.outbound.signing import spell_secret
from jobs import services
from jobs.alerts import rules
from jobs.ids import new_job_id
from jobs.models import AlertRule, AuditEvent, Incident, Notice
from jobs.pruning import Kept, Pruner
from jobs.services import NewJob
from tests.alerting import SECOND, rule_of
from tests.conftest import client_of

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}
BY_MAIL = {"name": "On call", "channel": "email", "emails": ["oncall@example.com"]}
HOOK = {"name": "Pager", "channel": "webhook", "url": "https://example.com/hook"}
SECRET = spell_secret(b"a secret of twenty-four bytes or more")


@pytest.fixture
def job(alice, team):
    return services.create_job(NewJob("send_email", MAIL, HOURLY, name="Nightly"), tenant=team, actor=alice)


def asked(api, body: Any) -> Any:
    return api.post("/api/v1/alerts", body)


def faults(answer: Any) -> dict[str, str]:
    assert answer.status_code == 400, answer.content
    return {fault["field"]: fault["message"] for fault in answer.json()["errors"]}


def test_a_rule_is_made_read_changed_and_deleted(api, job) -> None:
    made = asked(api, BY_MAIL | {"job": str(job.pk), "kinds": ["missed", "recovered"], "patience": 60})
    assert made.status_code == 201, made.content
    rule = made.json()
    path = f"/api/v1/alerts/{rule['id']}"

    assert rule["job"] == str(job.pk) and rule["kinds"] == ["missed", "recovered"]
    assert (rule["patience"], rule["pause"], rule["enabled"], rule["latest_notice"]) == (60, 300, True, None)
    assert api.get(path).json() == rule
    assert [one["id"] for one in api.get("/api/v1/alerts").json()["results"]] == [rule["id"]]

    changed = api.patch(path, {"enabled": False, "pause": 30})
    assert changed.status_code == 200 and (changed.json()["enabled"], changed.json()["pause"]) == (False, 30)
    assert api.delete(path).status_code == 204
    assert api.get(path).status_code == 404 and not AlertRule.objects.exists()


def test_without_kinds_a_rule_hears_of_all(api) -> None:
    assert asked(api, BY_MAIL).json()["kinds"] == ["missed", "late", "failed", "recovered"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": "x"}, "channel"),
        (BY_MAIL | {"channel": "pigeon"}, "channel"),
        (BY_MAIL | {"emails": []}, "emails"),
        (BY_MAIL | {"emails": "oncall@example.com"}, "emails"),
        (BY_MAIL | {"emails": ["oncall"]}, "emails"),
        (BY_MAIL | {"emails": ["a@example.com\nBcc: b@example.com"]}, "emails"),
        (BY_MAIL | {"emails": [f"{number}@example.com" for number in range(21)]}, "emails"),
        (BY_MAIL | {"url": "https://example.com"}, "url"),
        (BY_MAIL | {"secret": SECRET}, "secret"),
        (BY_MAIL | {"kinds": []}, "kinds"),
        (BY_MAIL | {"kinds": ["recovered"]}, "kinds"),
        (BY_MAIL | {"kinds": ["no_poller"]}, "kinds"),
        (BY_MAIL | {"tag": "no spaces"}, "tag"),
        (BY_MAIL | {"job": "nonsense"}, "job"),
        (BY_MAIL | {"job": "01a1e389-b509-7876-bc9a-f4107a1b7fb7"}, "job"),
        (BY_MAIL | {"pause": 1}, "pause"),
        (BY_MAIL | {"pause": "60"}, "pause"),
        (BY_MAIL | {"patience": -1}, "patience"),
        (BY_MAIL | {"enabled": "yes"}, "enabled"),
        (BY_MAIL | {"enable": True}, "enable"),
        (HOOK | {"url": ""}, "url"),
        (HOOK | {"url": "example.com"}, "url"),
        (HOOK | {"url": "http://127.0.0.1:6379/"}, "url"),
        (HOOK | {"url": "http://169.254.169.254/latest"}, "url"),
        (HOOK | {"url": "http://localhost/"}, "url"),
        (HOOK | {"secret": "guess"}, "secret"),
        (HOOK | {"emails": ["oncall@example.com"]}, "emails"),
        ({"name": "x", "channel": "webhook"}, "url"),
        ({"name": "x", "channel": "email"}, "emails"),
    ],
)
def test_a_bad_rule_is_refused_with_the_field(body, field, api) -> None:
    assert field in {name.partition(".")[0] for name in faults(asked(api, body))}
    assert not AlertRule.objects.exists()


def test_a_rule_is_of_a_job_or_of_a_tag(api, job) -> None:
    assert "tag" in faults(asked(api, BY_MAIL | {"job": str(job.pk), "tag": "billing"}))


def test_a_rule_of_somebody_elses_job_is_refused(api, charlie) -> None:
    tenant = charlie.tenants.get()
    theirs = services.create_job(NewJob("send_email", MAIL, HOURLY), tenant=tenant, actor=charlie)

    assert "no such job" in faults(asked(api, BY_MAIL | {"job": str(theirs.pk)}))["job"]


def test_what_belongs_to_the_other_channel_goes_with_it(api) -> None:
    path = f"/api/v1/alerts/{asked(api, HOOK | {'secret': SECRET}).json()['id']}"

    changed = api.patch(path, {"channel": "email", "emails": ["oncall@example.com"]})

    assert changed.status_code == 200, changed.content
    assert (changed.json()["url"], changed.json()["has_secret"]) == ("", False)


def test_a_secret_is_kept_sealed_and_shown_to_nobody(api) -> None:
    made = asked(api, HOOK | {"secret": SECRET}).json()
    path = f"/api/v1/alerts/{made['id']}"
    api.patch(path, {"pause": 30})

    assert made["has_secret"] is True
    shown = [api.get(path).content.decode(), api.get("/api/v1/alerts").content.decode()]
    shown += [json.dumps([event.before, event.after]) for event in AuditEvent.objects.all()]
    shown.append(json.dumps(AlertRule.objects.get().sealed))
    assert not [text for text in shown if SECRET in text or SECRET.removeprefix("whsec_") in text]
    assert api.patch(path, {"secret": None}).json()["has_secret"] is False


def test_a_secret_is_not_kept_for_another_url(api) -> None:
    path = f"/api/v1/alerts/{asked(api, HOOK | {'secret': SECRET}).json()['id']}"
    elsewhere = {"url": "https://elsewhere.example.com/hook"}

    refused = api.patch(path, elsewhere)

    assert refused.status_code == 400 and "Enter the secret again" in faults(refused)["secret"]
    assert api.get(path).json()["url"] == HOOK["url"]
    assert api.patch(path, {"url": HOOK["url"], "pause": 60}).json()["has_secret"] is True
    assert api.patch(path, elsewhere | {"secret": SECRET}).json()["has_secret"] is True
    assert api.patch(path, {"url": HOOK["url"], "secret": None}).json()["has_secret"] is False


def test_every_act_on_a_rule_is_in_the_audit_trail(api, alice, job) -> None:
    rule = asked(api, BY_MAIL).json()["id"]
    api.patch(f"/api/v1/alerts/{rule}", {"job": str(job.pk)})
    api.post(f"/api/v1/alerts/{rule}/test")
    api.delete(f"/api/v1/alerts/{rule}")

    events = [one for one in api.get("/api/v1/audit").json()["results"] if "alert" in one["action"]]
    assert [(one["action"], one["actor"], one["job"]) for one in reversed(events)] == [
        ("create_alert", "alice", None),
        ("update_alert", "alice", str(job.pk)),
        ("test_alert", "alice", str(job.pk)),
        ("delete_alert", "alice", str(job.pk)),
    ]
    assert events[2]["before"]["job"] is None and events[2]["after"]["job"] == str(job.pk)


def test_a_test_notice_is_on_its_way_and_the_rule_tells_of_it(api) -> None:
    path = f"/api/v1/alerts/{asked(api, BY_MAIL).json()['id']}"

    answer = api.post(f"{path}/test")

    assert answer.status_code == 202, answer.content
    told = api.get(path).json()["latest_notice"]
    assert told == answer.json() and (told["attempts"], told["sent_at"]) == (0, None)
    assert Notice.objects.get().content["test"] is True


def test_a_rule_that_is_switched_off_cannot_be_tested(api) -> None:
    path = f"/api/v1/alerts/{asked(api, BY_MAIL | {'enabled': False}).json()['id']}"

    assert api.post(f"{path}/test").status_code == 409


def test_a_tenant_has_a_bounded_number_of_rules(api, monkeypatch) -> None:
    monkeypatch.setattr(rules, "MOST_RULES", 1)
    asked(api, BY_MAIL)

    answer = asked(api, BY_MAIL)

    assert answer.status_code == 403 and answer.json()["quota"]["name"] == "alert_rules"


def test_whoever_only_looks_sees_rules_and_makes_none(team, api, bob) -> None:
    rule = asked(api, BY_MAIL).json()["id"]
    bob.memberships.filter(tenant=team).update(role="viewer")
    viewer = client_of(bob, team)

    assert viewer.get(f"/api/v1/alerts/{rule}").status_code == 200
    assert asked(viewer, BY_MAIL).status_code == 403


@pytest.fixture
def incidents(team, job, charlie) -> list[Incident]:
    """One of each kind of Alice's, of which the failure is over; and one of Charlie's, and one of the system."""
    now = timezone.now()
    tenants = [team, team, team, charlie.tenants.get(), None]
    kinds = ["missed", "late", "failed", "missed", "no_poller"]
    return [
        Incident.objects.create(
            id=new_job_id(now + number * SECOND),
            kind=kind,
            tenant=tenant,
            job=job if tenant == team and kind != "late" else None,
            subject=str(number),
            key=str(number),
            title=f"{kind} {number}",
            since=now,
            last_at=now,
            opened_at=now,
            detail={"task": "send_email", "cause": "no poller is running"},
            recovered_at=now if kind == "failed" else None,
        )
        for number, (tenant, kind) in enumerate(zip(tenants, kinds, strict=True))
    ]


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        ("", [2, 1, 0]),
        ("?kind=missed", [0]),
        ("?open=true", [1, 0]),
        ("?open=false", [2]),
        ("?job={job}", [2, 0]),
        ("?job={job}&open=true", [0]),
        ("?page_size=2", [2, 1]),
    ],
)
def test_incidents_are_listed_newest_first_and_narrowed_down(question, numbers, api, job, incidents) -> None:
    answer = api.get("/api/v1/incidents" + question.replace("{job}", str(job.pk)))

    assert [one["id"] for one in answer.json()["results"]] == [str(incidents[number].pk) for number in numbers]


def test_an_incident_tells_what_when_and_why(api, job, incidents) -> None:
    told = api.get(f"/api/v1/incidents/{incidents[0].pk}").json()

    assert (told["kind"], told["job"], told["cause"]) == ("missed", str(job.pk), "no poller is running")


@pytest.mark.parametrize("number", [3, 4])
def test_incidents_of_others_and_of_the_system_are_not_there(number, api, incidents) -> None:
    assert api.get(f"/api/v1/incidents/{incidents[number].pk}").status_code == 404


@pytest.mark.parametrize("question", ["kind=no_poller", "open=maybe", "job=x", "jobs=x", "cursor=x"])
def test_a_question_that_nobody_can_read_is_refused(question, api, incidents) -> None:
    assert question.partition("=")[0] in faults(api.get(f"/api/v1/incidents?{question}"))


def test_what_is_over_goes_with_the_history_and_what_is_not_stays(team) -> None:
    old, now = timezone.now() - timedelta(days=30), timezone.now()
    rule = rule_of(team)
    base = {"kind": "failed", "tenant": team, "title": "t", "since": old, "last_at": old, "opened_at": old}
    gone, still_open, recent = (
        Incident.objects.create(id=new_job_id(at), subject=key, key=key, recovered_at=over, **base)
        for key, at, over in (("a", old, old), ("b", old, None), ("c", old, now))
    )
    sent, waiting = (
        Notice.objects.create(id=new_job_id(old), rule=rule, content={}, created_at=old, try_at=at)
        for at in (None, now)
    )

    steps = list(Pruner(Kept(history=timedelta(days=7)), batch=100).all_steps())

    assert set(Incident.objects.all()) == {still_open, recent} and gone.pk
    assert list(Notice.objects.all()) == [waiting] and sent.pk
    assert {step.what: step.gone for step in steps if step.gone} == {"incidents": 1, "notices": 1}
