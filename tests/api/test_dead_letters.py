"""Dead letters over the API: counted by cause, listed, replayed and discarded."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pydantic_core import to_json

from accounts.models import Membership, Tenant
from jobs import dead_letters, ledger, services
from jobs.fingerprints import fingerprint
from jobs.ledger import NewExecution
from jobs.models import AuditEvent, Execution, Job
from jobs.redaction import MARK
from jobs.sealing import get_seal
from jobs.services import NewJob
from jobs.states import Cause, Status
from tests.conftest import client_of

pytestmark = pytest.mark.django_db

ROOT = "/api/v1/dead-letters"
MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HTTP = {"url": "https://example.com/", "method": "GET"}
HOURLY = {"type": "interval", "seconds": 3600}
GONE = "GiveUpNow: mailbox 5 is gone"
FULL = "GiveUpNow: the disk is full"


@pytest.fixture
def job(team) -> Job:
    return services.create_job(NewJob("send_email", MAIL, HOURLY), tenant=team, actor=None)


def dead_of(job: Job, count: int = 1, error: str = GONE, **changes) -> list[str]:
    """Executions that have failed for good, one due a minute before the other; the latest first."""
    now = timezone.now()
    new = [
        NewExecution(job.id, job.tenant_id, job.task, job.priority, now - timedelta(minutes=n), Cause.RUN_NOW)
        for n in range(count)
    ]
    ledger.record(new, [], now=now, wake_at=now)
    fields = {"status": Status.FAILED, "attempt": 4, "wake_at": None, "finished_at": now, "error": error}
    fields["fingerprint"] = fingerprint(job.task, error)
    Execution.objects.filter(pk__in=[one.id for one in new]).update(**fields | changes)
    return [str(one.id) for one in new]


def ids_of(answer) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [one["id"] for one in answer.json()["results"]]


def faults(answer) -> dict[str, str]:
    assert answer.status_code == 400 and answer["Content-Type"] == "application/problem+json"
    return {fault["field"]: fault["message"] for fault in answer.json()["errors"]}


def test_causes_are_listed_with_their_counts_most_frequent_first(api, job) -> None:
    dead_of(job, error=FULL)
    latest, *_ = dead_of(job, 3)

    most, least = api.get(ROOT).json()["results"]

    assert (most["count"], most["task"], most["error"], most["latest"]) == (3, "send_email", GONE, latest)
    assert most["fingerprint"] == fingerprint("send_email", "GiveUpNow: mailbox 77 is gone")
    assert least["count"] == 1 and least["error"] == FULL
    assert most["first"] == most["last"]
    assert api.get(ROOT, {"task": "other"}).json()["results"] == []
    assert len(api.get(ROOT, {"job": str(job.pk)}).json()["results"]) == 2
    assert "job" in faults(api.get(ROOT, {"job": "one"}))


def test_dead_letters_are_listed_by_cause_task_job_and_window(api, job) -> None:
    other = services.create_job(NewJob("send_email", MAIL, HOURLY), tenant=job.tenant, actor=None)
    gone, [full] = dead_of(job, 5), dead_of(other, error=FULL)
    dead_of(job, discarded_at=timezone.now())
    url = f"{ROOT}/executions"
    due = [Execution.objects.get(pk=one).due_at for one in gone]

    assert set(ids_of(api.get(url))) == {*gone, full}
    assert ids_of(api.get(url, {"fingerprint": fingerprint("send_email", GONE)})) == gone
    assert ids_of(api.get(url, {"job": str(other.pk)})) == [full]
    assert ids_of(api.get(url, {"task": "other"})) == []
    window = {"start_time": due[3].isoformat(), "end_time": due[1].isoformat()}
    assert ids_of(api.get(url, window)) == gone[2:4]


def test_the_list_is_paged_by_cursor(api, job) -> None:
    gone = dead_of(job, 5)

    first = api.get(f"{ROOT}/executions", {"page_size": 2})
    second = api.get(first.json()["next"])

    assert ids_of(first) + ids_of(second) == gone[:4]
    assert "cursor" in faults(api.get(f"{ROOT}/executions", {"cursor": "nonsense"}))


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"fingerprint": "x"}, "fingerprint"),
        ({"fingerprint": "A" * 16}, "fingerprint"),
        ({"job": "1"}, "job"),
        ({"start_time": "soon"}, "start_time"),
        ({"end_time": "0000-01-01"}, "end_time"),
        ({"task": "\x00"}, "task"),
        ({"task": "x" * 101}, "task"),
    ],
)
def test_a_bad_criterion_is_named(api, query, field) -> None:
    assert field in faults(api.get(f"{ROOT}/executions", query))


@pytest.mark.parametrize("end_of_time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
def test_any_time_is_a_bound(api, job, end_of_time) -> None:
    dead_of(job)

    for bound in ("start_time", "end_time"):
        assert api.get(f"{ROOT}/executions", {bound: end_of_time}).status_code == 200


@pytest.mark.parametrize("name", ["executions", "fingerprint", "filter"])
def test_those_named_by_ids_by_cause_or_by_criteria_are_replayed(api, alice, job, name) -> None:
    gone = dead_of(job, 3)
    [full] = dead_of(job, error=FULL)
    cause = fingerprint("send_email", GONE)
    which = {"executions": gone, "fingerprint": cause, "filter": {"fingerprint": cause, "task": "send_email"}}

    answer = api.post(f"{ROOT}/replay", {name: which[name]})

    assert answer.status_code == 200 and answer.json() == {"count": 3, "more": False}
    assert [str(pk) for pk in Execution.objects.dead().values_list("pk", flat=True)] == [full]
    event = AuditEvent.objects.get(action="replay")
    assert event.actor == alice and event.after["count"] == 3


def test_what_is_no_dead_letter_is_passed_over(api, job) -> None:
    [gone] = dead_of(job)
    [done] = dead_of(job, status=Status.COMPLETED)

    assert api.post(f"{ROOT}/replay", {"executions": [gone, done, str(uuid4())]}).json()["count"] == 1


def test_discarded_ones_stay_as_history_with_the_reason(api, job) -> None:
    [gone] = dead_of(job)

    answer = api.post(f"{ROOT}/discard", {"executions": [gone], "reason": "the shop is closed"})

    assert answer.json() == {"count": 1, "more": False}
    assert api.get(f"/api/v1/executions/{gone}").json()["reason"] == "the shop is closed"
    assert ids_of(api.get(f"{ROOT}/executions")) == []


def test_more_than_one_call_deals_with_are_told(api, job, monkeypatch) -> None:
    monkeypatch.setattr("jobs.api.dead_letters.MOST_AT_ONCE", 2)
    dead_of(job, 3)
    everything = {"filter": {"task": "send_email"}}

    assert api.post(f"{ROOT}/discard", everything).json() == {"count": 2, "more": True}
    assert api.post(f"{ROOT}/discard", everything).json() == {"count": 1, "more": False}


def test_one_call_gives_a_payload_to_no_more_than_it_may_store_copies_of(api, job, monkeypatch) -> None:
    monkeypatch.setattr("jobs.dead_letters.MAX_COPIED", 2 * len(to_json(MAIL)))
    dead_of(job, 5)
    edited = {"filter": {"task": "send_email"}, "payload": MAIL}

    assert api.post(f"{ROOT}/replay", edited).json() == {"count": 2, "more": True}
    careful = api.post(f"{ROOT}/replay", edited | {"canary": 1}).json()
    assert len(careful["canaries"]) + careful["others"] == 2
    monkeypatch.setattr("jobs.dead_letters.MAX_COPIED", 1)
    assert api.post(f"{ROOT}/replay", edited).json() == {"count": 1, "more": True}
    assert api.post(f"{ROOT}/replay", {"filter": {"task": "send_email"}}).json() == {"count": 1, "more": False}


def test_marks_are_filled_in_for_a_bounded_number_of_executions_a_call(api, team, monkeypatch) -> None:
    monkeypatch.setattr("jobs.dead_letters.MAX_FITTED", 2)
    payload = {"url": "https://1.1.1.1/", "headers": {"Authorization": "Bearer of-alice"}}
    job = services.create_job(NewJob("http_request", payload, HOURLY), tenant=team, actor=None)
    dead_of(job, 3)
    marked = {"filter": {"job": str(job.pk)}, "payload": payload | {"headers": {"Authorization": MARK}}}

    assert api.post(f"{ROOT}/replay", marked).json() == {"count": 2, "more": True}
    assert api.post(f"{ROOT}/replay", marked).json() == {"count": 1, "more": False}


def test_a_replays_payload_is_no_larger_than_the_tenants_payloads_may_be(api, team, job) -> None:
    Tenant.objects.filter(pk=team.pk).update(max_payload_bytes=200)
    [one] = dead_of(job)
    large = MAIL | {"body": "x" * 200}

    answers = [
        api.post(f"{ROOT}/replay", {"executions": [one], "payload": large}),
        api.post(f"/api/v1/executions/{one}/retry", {"payload": large}),
    ]

    for answer in answers:
        assert answer.status_code == 403 and answer.json()["quota"]["name"] == "payload_bytes"
    assert Execution.objects.dead().count() == 1


def test_an_edit_does_not_copy_a_payload_to_more_executions_than_one_act_may(api, job, monkeypatch) -> None:
    monkeypatch.setattr("jobs.models.execution.MAX_COPIED", 2 * len(to_json(MAIL)))
    path, change = f"/api/v1/jobs/{job.pk}", {"payload": MAIL | {"body": "Here"}}
    for _ in range(3):
        services.run_job_now(job, actor=None)

    answer = api.patch(path, change)

    assert answer.status_code == 409 and "3 executions wait" in answer.json()["detail"]
    assert not Execution.objects.filter(payload__isnull=False).exists()
    services.cancel_execution(Execution.objects.first(), actor=None)
    assert api.patch(path, change).status_code == 200
    assert Execution.objects.filter(payload__isnull=False).count() == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        ([], "body"),
        ({"executions": []}, "executions"),
        ({"executions": ["one"]}, "executions.0"),
        ({"executions": [str(UUID(int=1))] * 1_001}, "executions"),
        ({"fingerprint": "nonsense"}, "fingerprint"),
        ({"fingerprint": "a" * 16, "filter": {"task": "t"}}, "body"),
        ({"filter": {}}, "filter"),
        ({"filter": {"tsak": "t"}}, "filter.tsak"),
        ({"filter": {"start_time": "soon"}}, "filter.start_time"),
        ({"fingerprint": "a" * 16, "canary": 0}, "canary"),
        ({"fingerprint": "a" * 16, "canary": 10**9}, "canary"),
        ({"fingerprint": "a" * 16, "payload": {"n": 10**30}}, "payload.n"),
        ({"fingerprint": "a" * 16, "nonsense": 1}, "nonsense"),
    ],
)
def test_a_body_that_says_nothing_sensible_is_refused(api, body, field) -> None:
    assert field in faults(api.post(f"{ROOT}/replay", body))


def test_a_payload_is_checked_against_the_task_and_the_field_named(api, job) -> None:
    [gone] = dead_of(job)

    refused = api.post(f"{ROOT}/replay", {"executions": [gone], "payload": MAIL | {"bdoy": "x"}})
    taken = api.post(f"{ROOT}/replay", {"executions": [gone], "payload": MAIL | {"body": "Again"}})

    assert "payload.bdoy" in faults(refused)
    assert taken.json()["count"] == 1
    assert Execution.objects.get(pk=gone).payload["body"] == "Again"


def test_one_payload_for_several_tasks_is_refused(api, job) -> None:
    one, other = dead_of(job, 2)
    Execution.objects.filter(pk=one).update(task="other")

    answer = api.post(f"{ROOT}/replay", {"executions": [one, other], "payload": MAIL})

    assert "other, send_email" in faults(answer)["payload"]
    assert Execution.objects.dead().count() == 2


def test_a_careful_replay_tells_where_it_stands(api, job) -> None:
    *others, oldest = dead_of(job, 4)

    answer = api.post(f"{ROOT}/replay", {"filter": {"job": str(job.pk)}, "canary": 1})

    assert answer.status_code == 202
    told = answer.json()
    assert (told["state"], told["canaries"], told["others"], told["replayed"]) == ("TRYING", [oldest], 3, 0)
    assert told["actor"] == "alice" and told["payload"] is None
    assert api.get(f"{ROOT}/replays/{told['id']}").json() == told
    assert api.get(f"{ROOT}/replays").json()["results"] == [told | {"omitted": []}]
    assert set(ids_of(api.get(f"{ROOT}/executions"))) == set(others)


def test_charlie_sees_and_changes_nothing_of_alices(api, charlie, job) -> None:
    gone = dead_of(job, 2)
    replay = api.post(f"{ROOT}/replay", {"executions": gone[:1], "canary": 1}).json()["id"]
    stranger = client_of(charlie)
    body = {"executions": gone}

    assert stranger.get(ROOT).json()["results"] == []
    assert ids_of(stranger.get(f"{ROOT}/executions")) == []
    assert stranger.post(f"{ROOT}/replay", body).json()["count"] == 0
    assert stranger.post(f"{ROOT}/discard", body).json()["count"] == 0
    assert stranger.post(f"{ROOT}/replay", body | {"canary": 1}).json()["canaries"] == []
    assert stranger.get(f"{ROOT}/replays/{replay}").status_code == 404
    assert Execution.objects.dead().count() == 1


def test_a_viewer_may_look_and_no_more(team, bob, job) -> None:
    Membership.objects.filter(tenant=team, user=bob).update(role=Membership.Role.VIEWER)
    dead_of(job)
    viewer = client_of(bob, team)

    assert len(viewer.get(ROOT).json()["results"]) == 1
    assert viewer.post(f"{ROOT}/replay", {"fingerprint": "a" * 16}).status_code == 403
    assert viewer.post(f"{ROOT}/discard", {"fingerprint": "a" * 16}).status_code == 403


def test_a_replay_reads_no_payloads_that_it_replaces(job, alice) -> None:
    """Five hundred at once, each of half a megabyte, would be gigabytes once they are parsed."""
    found = Execution.objects.filter(pk__in=dead_of(job, 3, payload=MAIL))

    with CaptureQueriesContext(connection) as asked:
        assert dead_letters.replay(found, actor=alice, payload=MAIL | {"subject": "Again"}) == 3

    assert [one["sql"] for one in asked if one["sql"].startswith("SELECT") and '"payload"' in one["sql"]] == []


def test_payloads_that_marks_are_of_are_read_a_few_at_a_time(job, alice, monkeypatch) -> None:
    monkeypatch.setattr("jobs.dead_letters.FEW", 2)
    call = services.create_job(NewJob("http_request", HTTP, HOURLY), tenant=job.tenant, actor=None)
    own = [HTTP | {"headers": {"authorization": f"secret-{n}"}} for n in (1, 2, 2, 3)]
    for pk, payload in zip(reversed(dead_of(call, 4)), own, strict=True):
        Execution.objects.filter(pk=pk).update(payload=get_seal().sealed(payload, call.tenant_id, ()))
    marked = HTTP | {"headers": {"authorization": MARK}}

    assert dead_letters.replay(Execution.objects.filter(job=call), actor=alice, payload=marked) == 4

    kept = Execution.objects.filter(job=call).order_by("pk").values_list("payload", flat=True)
    assert [get_seal().opened(one, call.tenant_id) for one in kept] == own
