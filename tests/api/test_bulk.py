"""Many jobs in one call, each with its own outcome."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer

from accounts.models import Membership
from jobs import audit
from jobs.api.serializers import JobSerializer
from jobs.models import AuditEvent, Job
from scheduling import index as due_index
from scheduling.index import get_due_index
from scheduling.recurrence.instants import write_instant
from scheduling.upcoming import stored
from tests.conftest import client_of
from tests.engine.system import wipe_index

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}
FRIDAYS = {"type": "cron", "expression": "30 10 * * 5", "timezone": "Asia/Jakarta"}
LONG_AFTER = datetime(2100, 1, 1, tzinfo=UTC)


def mail(**job):
    return {"task": "send_email", "payload": MAIL} | job


def create(api, *jobs):
    return api.post("/api/v1/jobs/bulk", {"jobs": list(jobs)})


def test_each_job_has_its_own_outcome(api) -> None:
    answer = create(api, mail(name="good"), mail(task="send_emial"), mail(schedule=FRIDAYS), mail(priority="urgent"))

    assert answer.status_code == 200
    outcomes = answer.json()
    assert (outcomes["created"], outcomes["invalid"]) == (2, 2)
    assert [one["index"] for one in outcomes["results"]] == [0, 1, 2, 3]
    assert [one["status"] for one in outcomes["results"]] == ["created", "invalid", "created", "invalid"]
    assert outcomes["results"][0]["job"]["name"] == "good"
    assert list(outcomes["results"][1]["errors"]) == ["task"]
    assert list(outcomes["results"][3]["errors"]) == ["priority"]
    assert Job.objects.count() == 2


def test_what_is_answered_is_what_is_stored(api) -> None:
    limits = {"max_retries": 7, "retry_delay": 0.5, "retry_delay_cap": 60, "time_limit": 30, "lease": 5}
    odd = {"to": ["a@example.com", "B@Example.com"], "subject": "NULL", "body": "'\"\\{},%s €𝄞\n\t", "html": ""}
    jobs = [
        mail(name="NULL", priority="high", **limits),
        mail(payload=odd, schedule=HOURLY, retry_delay=1),
        mail(schedule=FRIDAYS, name="'\"\\{},%s €𝄞"),
        mail(schedule={"type": "once", "run_at": "2090-01-01T10:00:00+07:00"}, max_retries=None),
    ]

    results = create(api, *jobs).json()["results"]

    for sent, result in zip(jobs, results, strict=True):
        assert api.get(f"/api/v1/jobs/{result['job']['id']}").json() | {"omitted": []} == result["job"]
        assert result["job"]["payload"] == sent["payload"] and result["job"]["owner"] == "alice"
    assert {name: results[0]["job"][name] for name in limits} == limits


def test_one_of_many_is_made_exactly_as_one_alone(api) -> None:
    wanted = mail(name="same", schedule=FRIDAYS, priority="low", time_limit=9)

    alone = api.post("/api/v1/jobs", wanted).json()
    [among] = create(api, wanted).json()["results"]

    assert {"id", "created_at", "updated_at"} == {key for key in alone if alone[key] != among["job"][key]}


def test_jobs_without_a_schedule_are_due_now(api) -> None:
    outcomes = create(api, mail(), mail(schedule={"type": "now"})).json()

    assert outcomes["created"] == 2
    assert Job.objects.due(timezone.now()).count() == 2


def test_jobs_that_share_a_schedule_share_its_times_unless_it_gives_each_its_own(api) -> None:
    picked = {"type": "cron", "expression": "H H * * *"}
    late = {"type": "cron", "expression": "0 0 1 1 *", "jitter": 3600}

    results = create(api, *[mail(schedule=one) for one in (FRIDAYS, picked, late) for _ in range(20)]).json()["results"]

    times = [one["job"]["next_run_at"] for one in results]
    assert len(set(times[:20])) == 1
    assert len(set(times[20:40])) > 10 and len(set(times[40:])) > 10
    for one in results:
        alone = first_run(stored(json.dumps(one["job"]["schedule"]), UUID(one["job"]["id"])), one["job"])
        assert one["job"]["next_run_at"] == alone


def first_run(schedule, job) -> str:
    due = schedule.first_run(datetime.fromisoformat(job["created_at"]))
    return write_instant(schedule.not_before(due, key=job["id"]))


def test_what_looks_alike_in_python_is_told_apart(api) -> None:
    once, true = ({"type": "interval", "seconds": 60, "max_runs": runs} for runs in (1, True))

    results = create(api, mail(schedule=once), mail(schedule=true), mail(schedule=once)).json()["results"]

    assert [one["status"] for one in results] == ["created", "invalid", "created"]
    assert "schedule.max_runs" in results[1]["errors"]


def test_jobs_are_listed_in_the_order_they_were_sent(api) -> None:
    create(api, *(mail(name=str(number)) for number in range(100)))

    listed = api.get("/api/v1/jobs?page_size=200").json()["results"]

    assert [job["name"] for job in listed] == [str(number) for number in reversed(range(100))]


@pytest.mark.parametrize(
    ("item", "field", "says"),
    [
        (mail(payload={"to": "alice@example.com", "body": ""}), "payload.subject", "missing"),
        (mail(payload=MAIL | {"to": "nowhere"}), "payload.to.0", "email"),
        (mail(payload=MAIL | {"body": "a\x00b"}), "payload.body", "\\u0000"),
        (mail(payload={"n": 10**30}), "payload.n", "64 bits"),
        (mail(payload=[]), "payload", "JSON object"),
        (mail(schedule={"type": "cron", "expression": "61 * * * *"}), "schedule.expression", "minute"),
        (mail(schedule={"type": "once", "run_at": "2020-01-01T00:00:00Z"}), "schedule.run_at", "in the past"),
        (mail(nmae="typo"), "nmae", "Allowed: name, task"),
        (mail(lease=0.5), "lease", "1.0"),
        ({"payload": MAIL}, "task", "required"),
        ({}, "task", "required"),
        ([], "job", "JSON object"),
        (None, "job", "JSON object"),
        ("send_email", "job", "JSON object"),
    ],
)
def test_an_invalid_job_is_told_by_index_field_and_remedy_and_keeps_no_other_from_being_made(
    api, item, field, says
) -> None:
    outcomes = create(api, mail(), item, mail()).json()

    assert [one["status"] for one in outcomes["results"]] == ["created", "invalid", "created"]
    assert outcomes["results"][1]["index"] == 1
    assert says.lower() in outcomes["results"][1]["errors"][field].lower()
    assert Job.objects.count() == 2


def test_a_document_too_deep_spoils_its_own_job_only(api) -> None:
    body = f'{{"jobs": [{json.dumps(mail())}, {{"payload": {"[" * 40 + "]" * 40}}}]}}'

    answer = api.generic("POST", "/api/v1/jobs/bulk", body, content_type="application/json")

    assert [one["status"] for one in answer.json()["results"]] == ["created", "invalid"]
    assert "Flatten" in answer.json()["results"][1]["errors"]["payload"]


@pytest.mark.parametrize(
    "body",
    [
        {"jobs": []},
        {"jobs": [{}] * 1001},
        {"jobs": {"0": mail()}},
        {"jobs": None},
        {"jobs": "many"},
        {"jobs": [mail()], "atomic": True},
        {},
        [mail()],
        None,
    ],
)
def test_without_a_list_of_1_to_1000_nothing_is_made_and_the_limit_is_named(api, body) -> None:
    answer = api.generic("POST", "/api/v1/jobs/bulk", json.dumps(body), content_type="application/json")

    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["errors"][0]["field"] == "jobs"
    assert "1 to 1,000" in answer.json()["detail"]
    assert not Job.objects.exists()


def test_a_thousand_jobs_are_made_in_one_call(api) -> None:
    outcomes = create(api, *(mail(schedule=FRIDAYS) for _ in range(1000))).json()

    assert outcomes["created"] == len(outcomes["results"]) == Job.objects.count() == 1000


def test_five_hundred_jobs_cost_as_many_queries_as_two(api) -> None:
    kinds = [mail(schedule=FRIDAYS), mail(), mail(schedule=HOURLY, name="x", lease=5), mail(task="nothing")]

    with CaptureQueriesContext(connection) as few:
        create(api, *kinds[1:3])
    with CaptureQueriesContext(connection) as many:
        create(api, *kinds * 125)
    with CaptureQueriesContext(connection) as many_more_stored:
        create(api, *kinds * 125)

    assert Job.objects.count() == 2 + 2 * 375
    assert len(few) == len(many) == len(many_more_stored)


def test_every_job_made_is_written_down(api, alice, team) -> None:
    outcomes = create(api, mail(name="one"), mail(task="nothing"), mail(name="two", schedule=FRIDAYS)).json()

    events = list(AuditEvent.objects.order_by("id"))
    made = [one["job"] for one in outcomes["results"] if one["status"] == "created"]
    assert [str(event.job_id) for event in events] == [job["id"] for job in made]
    assert {(event.action, event.actor, event.tenant, event.before) for event in events} == {
        ("create", alice, team, None)
    }
    for event, job in zip(events, made, strict=True):
        assert event.after == audit.snapshot(Job.objects.get(pk=job["id"]))


@pytest.mark.django_db(transaction=True)
def test_the_due_index_has_them_all(api) -> None:
    wipe_index()
    index = get_due_index()
    with index.rebuilding():
        pass

    outcomes = create(api, mail(), mail(task="nothing"), mail(schedule=FRIDAYS), mail(schedule=HOURLY)).json()

    leased = index.lease(now=LONG_AFTER, until=LONG_AFTER, limit=10)
    wipe_index()
    assert {str(job) for job in leased} == {one["job"]["id"] for one in outcomes["results"] if "job" in one}
    assert len(leased) == 3


class Listener:
    """A due index that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[dict] = []

    def put(self, due) -> None:
        self.told.append(dict(due))

    def discard(self, jobs) -> None:
        assert not jobs


@pytest.fixture
def listener(monkeypatch) -> Listener:
    listener = Listener()
    monkeypatch.setattr(due_index, "get_due_index", lambda: listener)
    return listener


def test_the_due_index_is_told_once_and_after_the_commit(api, listener, django_capture_on_commit_callbacks) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        create(api, *[mail()] * 50)
        assert not listener.told

    assert listener.told == [dict(Job.objects.values_list("id", "next_run_at"))]
    assert len(listener.told[0]) == 50


def test_a_database_that_fails_half_way_stores_nothing_and_the_call_can_be_repeated(
    api, listener, monkeypatch, django_capture_on_commit_callbacks
) -> None:
    def fail(*_, **__) -> None:
        raise OperationalError("gone")

    with monkeypatch.context() as patch, django_capture_on_commit_callbacks(execute=True):
        patch.setattr(audit, "write_created", fail)
        answer = create(api, mail(), mail())

    assert answer.status_code == 503 and answer["Retry-After"]
    assert not Job.objects.exists() and not AuditEvent.objects.exists() and not listener.told
    assert create(api, mail(), mail()).json()["created"] == 2
    assert Job.objects.count() == AuditEvent.objects.count() == 2


class TestTenants:
    """Alice owns, Bob is on her team, Charlie must see nothing."""

    def test_jobs_belong_to_the_tenant_the_request_speaks_for(self, bob, team, charlie) -> None:
        outcomes = create(client_of(bob, team), mail(), mail()).json()

        assert {(job.tenant, job.owner) for job in Job.objects.all()} == {(team, bob)}
        for one in outcomes["results"]:
            assert client_of(charlie).get(f"/api/v1/jobs/{one['job']['id']}").status_code == 404
        assert client_of(charlie).get("/api/v1/jobs").json()["results"] == []

    def test_charlie_cannot_create_in_alices_tenant(self, charlie, team) -> None:
        assert create(client_of(charlie, team), mail()).status_code == 403
        assert not Job.objects.exists()

    def test_a_viewer_cannot_create(self, bob, team) -> None:
        Membership.objects.filter(user=bob, tenant=team).update(role=Membership.Role.VIEWER)

        assert create(client_of(bob, team), mail()).status_code == 403

    def test_nobody_cannot_create(self, db) -> None:
        assert create(client_of(None), mail()).status_code == 401


def test_a_job_is_shown_as_drf_would_show_it(api) -> None:
    create(api, mail(schedule=FRIDAYS, time_limit=2.5, name="€"), mail())
    shown = JobSerializer()

    for job in Job.objects.select_related("owner"):
        as_drf = serializers.ModelSerializer.to_representation(shown, job)
        assert JSONRenderer().render(shown.to_representation(job)) == JSONRenderer().render(as_drf)
