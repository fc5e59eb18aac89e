"""One act on many jobs, each with its own outcome."""

from __future__ import annotations

import json
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs import bulk_acts
from jobs.models import AuditEvent, Execution, Job
from jobs.states import JobStatus, Status
from tests.conftest import client_of
from tests.engine.system import together

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}
ACTS = ("pause", "resume", "cancel", "delete")


def jobs_of(api, count: int, **job) -> list[str]:
    wanted = {"task": "send_email", "payload": MAIL, "schedule": HOURLY} | job
    return [one["job"]["id"] for one in api.post("/api/v1/jobs/bulk", {"jobs": [wanted] * count}).json()["results"]]


def act(api, name: str, ids: list):
    return api.post(f"/api/v1/jobs/bulk/{name}", {"ids": ids})


def test_each_job_has_its_own_outcome(api) -> None:
    first, second, third = jobs_of(api, 3)
    api.post(f"/api/v1/jobs/{second}/cancel")
    nobody = str(uuid4())

    answer = act(api, "pause", [third, second, nobody, first, first])

    assert answer.status_code == 200
    told = answer.json()
    assert [one["status"] for one in told["results"]] == ["ok", "refused", "not_found", "ok", "ok"]
    assert [one["id"] for one in told["results"]] == [third, second, nobody, first, first]
    assert [one["index"] for one in told["results"]] == [0, 1, 2, 3, 4]
    assert (told["ok"], told["refused"], told["not_found"]) == (3, 1, 1)
    assert "CANCELLED" in told["results"][1]["reason"]
    assert {job.status for job in Job.objects.filter(pk__in=[first, third])} == {JobStatus.PAUSED}


@pytest.mark.parametrize("name", ACTS)
def test_what_is_answered_is_what_is_stored(api, name) -> None:
    ids = jobs_of(api, 3)
    if name == "resume":
        act(api, "pause", ids)

    told = act(api, name, ids).json()

    assert told["ok"] == 3
    for one in told["results"]:
        if name == "delete":
            assert api.get(f"/api/v1/jobs/{one['id']}").status_code == 404
        else:
            assert api.get(f"/api/v1/jobs/{one['id']}").json() | {"omitted": []} == one["job"]


@pytest.mark.parametrize("name", ACTS)
def test_an_act_on_many_does_what_the_act_on_one_does(api, name) -> None:
    alone, among = jobs_of(api, 2)
    for job in (alone, among):
        api.post(f"/api/v1/jobs/{job}/run")
        if name == "resume":
            api.post(f"/api/v1/jobs/{job}/pause")

    if name == "delete":
        api.delete(f"/api/v1/jobs/{alone}")
    else:
        api.post(f"/api/v1/jobs/{alone}/{name}")
    act(api, name, [among])

    rows = {str(job.pk): job for job in Job.objects.all()}
    for field in ("status", "next_run_at", "due_for", "version", "leased_until"):
        assert getattr(rows[alone], field) == getattr(rows[among], field), field
    assert bool(rows[alone].deleted_at) == bool(rows[among].deleted_at)
    told = {job: list(Execution.objects.filter(job=job).values_list("status", "reason")) for job in (alone, among)}
    assert told[alone] == told[among]
    events = {job: AuditEvent.objects.filter(job=job).latest("id") for job in (alone, among)}
    assert events[alone].action == events[among].action == name
    assert events[alone].before.keys() == events[among].before.keys()
    assert events[alone].after["status"] == events[among].after["status"]
    assert events[alone].actor == events[among].actor


def test_resuming_says_since_when_due_times_were_missed(api) -> None:
    missed, fresh, edited = jobs_of(api, 3)
    act(api, "pause", [missed, fresh, edited])
    long_ago = (timezone.now() - timedelta(hours=5)).replace(microsecond=0)
    for event in AuditEvent.objects.filter(action="pause", job__in=[missed, edited]):
        event.before["next_run_at"] = long_ago.isoformat()
        event.save()
    api.patch(f"/api/v1/jobs/{edited}", {"schedule": {"type": "interval", "seconds": 60}})

    results = act(api, "resume", [missed, fresh, edited]).json()["results"]

    assert [one.get("missed_since") for one in results] == [long_ago.isoformat().replace("+00:00", "Z"), None, None]
    assert all(one["job"]["status"] == "ACTIVE" and one["job"]["next_run_at"] for one in results)


def test_a_job_paused_past_its_only_run_is_finished_when_resumed(api) -> None:
    [job] = jobs_of(api, 1, schedule={"type": "once", "run_at": "2090-01-01T00:00:00Z"})
    act(api, "pause", [job])
    Job.objects.update(schedule={"type": "once", "run_at": "2020-01-01T00:00:00Z"})

    assert act(api, "resume", [job]).json()["results"][0]["job"]["status"] == "FINISHED"


@pytest.mark.parametrize("name", ["cancel", "delete"])
def test_ending_jobs_cancels_what_waits_and_asks_what_runs(api, name) -> None:
    waiting, running, done = jobs_of(api, 3)
    for job in (waiting, running, done):
        api.post(f"/api/v1/jobs/{job}/run")
    Execution.objects.filter(job=running).update(status=Status.RUNNING, attempt=1)
    Execution.objects.filter(job=done).update(status=Status.COMPLETED)

    act(api, name, [waiting, running, done])

    assert Execution.objects.get(job=waiting).status == Status.CANCELLED
    assert Execution.objects.get(job=running).cancel_requested_at is not None
    assert Execution.objects.get(job=done).status == Status.COMPLETED


@pytest.mark.parametrize("name", ACTS)
def test_two_hundred_jobs_cost_as_many_queries_as_two(api, name) -> None:
    few, many = jobs_of(api, 2), jobs_of(api, 200)
    for ids in (few, many):
        for job in ids[:2]:
            api.post(f"/api/v1/jobs/{job}/run")
        if name == "resume":
            act(api, "pause", ids)
    cost = []
    for ids in (few, many):
        with CaptureQueriesContext(connection) as asked:
            assert act(api, name, ids).json()["ok"] == len(ids)
        cost.append(len(asked))

    assert cost[0] == cost[1] < 15


def test_a_line_that_is_cancelled_costs_no_statement_for_each_place(api) -> None:
    few, many = jobs_of(api, 2, overlap="wait"), jobs_of(api, 20, overlap="wait")
    cost = []
    for ids in (few, many):
        for job in ids:
            runs = [UUID(api.post(f"/api/v1/jobs/{job}/run").json()["id"]) for _ in range(2)]
            Execution.objects.filter(pk=runs[1]).update(waits_for=runs[0])
            Job.objects.filter(pk=job).update(latest=runs[1])
        with CaptureQueriesContext(connection) as asked:
            act(api, "cancel", ids)
        cost.append(len(asked))

    assert cost[0] == cost[1]
    assert not Execution.objects.unfinished().exists()


@pytest.mark.parametrize("name", ACTS)
@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "ids"),
        ({"ids": []}, "ids"),
        ({"ids": None}, "ids"),
        ({"ids": "all"}, "ids"),
        ({"ids": ["nonsense"]}, "ids.0"),
        ({"ids": [str(uuid4()), {}]}, "ids.1"),
        ({"ids": [str(uuid4())], "force": True}, "force"),
        ({"ids": [str(uuid4())] * 1001}, "ids"),
        ([], "body"),
    ],
)
def test_a_bad_body_is_told_by_field(api, name, body, field) -> None:
    answer = api.generic("POST", f"/api/v1/jobs/bulk/{name}", json.dumps(body), content_type="application/json")

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == field


def test_a_thousand_jobs_are_acted_on_in_one_call(api) -> None:
    ids = jobs_of(api, 1000)

    assert act(api, "pause", ids).json()["ok"] == 1000
    assert act(api, "resume", ids).json()["ok"] == 1000
    assert act(api, "cancel", ids).json()["ok"] == 1000


@pytest.mark.parametrize("name", ACTS)
def test_charlie_finds_none_of_alices_jobs(api, charlie, name) -> None:
    [job] = jobs_of(api, 1)
    before = Job.objects.get()

    told = act(client_of(charlie), name, [job]).json()

    assert told["not_found"] == 1 and "job" not in told["results"][0]
    assert Job.objects.get().version == before.version


@pytest.mark.django_db(transaction=True)
def test_calls_that_race_for_the_same_jobs_each_act_on_them_once(api, alice, team) -> None:
    ids = [UUID(one) for one in jobs_of(api, 50)]
    acted: list[int] = []

    def pause() -> None:
        order = ids if len(acted) % 2 else ids[::-1]
        outcomes = bulk_acts.pause_jobs(order, tenant=team, actor=alice)
        acted.append(sum(not one.refused for one in outcomes.values()))

    together(pause)

    assert sum(acted) == len(ids)
    assert AuditEvent.objects.filter(action="pause").count() == len(ids)
    assert set(Job.objects.values_list("status", "version")) == {(JobStatus.PAUSED, 2)}
