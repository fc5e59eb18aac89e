"""A list costs no more memory because documents are long: a row says what it omits, and one row has all of it."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs import services
from jobs.api.pagination import NewestFirst
from jobs.models import AuditEvent, Execution, Job, Replay
from jobs.models.listing import MAX_LISTED
from jobs.services import NewJob
from tests.conftest import PASSWORD, client_of

pytestmark = pytest.mark.django_db

SHORT = {"url": "https://example.com/"}
LONG = SHORT | {"body": {"text": "x" * MAX_LISTED}}
MOST = MAX_LISTED + 5_000  # characters of one row


def new_job(team, alice, payload: dict[str, Any] = LONG, **more: Any) -> Job:
    return services.create_job(NewJob("http_request", payload, **more), tenant=team, actor=alice)


@pytest.fixture
def jobs(team, alice) -> list[Job]:
    return [new_job(team, alice, SHORT, name="short"), *(new_job(team, alice, name="long") for _ in range(3))]


@pytest.fixture
def executions(jobs) -> list[Execution]:
    made = [services.run_job_now(job, actor=None) for job in jobs]
    for one, text in zip(made, ("short", *["x" * MAX_LISTED] * 3), strict=True):
        Execution.objects.filter(pk=one.pk).update(result={"text": text}, status="FAILED", finished_at=timezone.now())
    return made


def test_a_list_of_jobs_omits_long_payloads_and_one_job_has_its_own(api, jobs) -> None:
    rows = api.get("/api/v1/jobs").json()["results"]

    assert {row["name"]: (row["omitted"], row["payload"]) for row in rows} == {
        "short": ([], SHORT),
        "long": (["payload"], None),
    }
    assert all(api.get(f"/api/v1/jobs/{row['id']}").json()["payload"] in (SHORT, LONG) for row in rows)


@pytest.mark.parametrize("path", ["executions", "dead-letters/executions"])
def test_a_list_of_executions_omits_long_results_and_one_has_its_own(api, executions, path) -> None:
    rows = api.get(f"/api/v1/{path}").json()["results"]

    assert sorted((row["omitted"], row["result"] is None) for row in rows) == [([], False)] + [(["result"], True)] * 3
    for row in rows:
        assert api.get(f"/api/v1/executions/{row['id']}").json()["result"]["text"]


def test_the_last_execution_of_each_job_omits_a_long_result(api, executions) -> None:
    rows = api.get("/api/v1/jobs", {"expand": "last_execution"}).json()["results"]

    assert sorted(row["last_execution"]["omitted"] for row in rows) == [[], ["result"], ["result"], ["result"]]


def test_the_audit_trail_omits_long_snapshots_and_one_event_has_its_own(api, jobs, charlie) -> None:
    services.update_job(jobs[-1], {"name": "renamed", "payload": LONG | {"method": "PUT"}}, actor=None)

    row = api.get("/api/v1/audit").json()["results"][0]

    assert (row["action"], row["before"], row["after"]) == ("update", None, None)
    assert row["omitted"] == ["before", "after"]
    whole = api.get(f"/api/v1/audit/{row['id']}").json()
    assert (whole["before"]["name"], whole["after"]["name"]) == ("long", "renamed")
    assert client_of(charlie).get(f"/api/v1/audit/{row['id']}").status_code == 404
    for wrong in ("0" + str(row["id"]), "abc", "9" * 5000, "１"):
        assert api.get(f"/api/v1/audit/{wrong}").status_code == 404


def test_a_list_of_replays_omits_long_payloads_and_counts_without_reading(api, team, executions) -> None:
    ids = [str(one.pk) for one in executions]
    now = timezone.now()
    made = Replay.objects.create(tenant=team, payload=LONG, canaries=ids[:1], others=ids[1:], created_at=now)

    with CaptureQueriesContext(
        connection,
    ) as asked:
        [row] = api.get("/api/v1/dead-letters/replays").json()["results"]

    assert (row["omitted"], row["payload"], row["others"]) == (["payload"], None, 3)
    assert len(asked) == 2  # the membership, and the page
    whole = api.get(f"/api/v1/dead-letters/replays/{made.pk}").json()
    assert (whole["payload"], whole["others"]) == (LONG, 3)


@pytest.mark.parametrize("act", ["pause", "cancel", "delete"])
def test_an_act_on_many_jobs_reads_no_long_payload_and_loses_none(api, jobs, act) -> None:
    with CaptureQueriesContext(connection) as asked:
        answer = api.post(f"/api/v1/jobs/bulk/{act}", {"ids": [str(job.pk) for job in jobs]})

    assert answer.json()["ok"] == len(jobs)
    assert len(answer.content) < len(jobs) * MOST
    assert [row["job"]["omitted"] for row in answer.json()["results"]] == [[], ["payload"], ["payload"], ["payload"]]
    assert not [query for query in asked if "xxxxxxxx" in query["sql"]]  # nor does it write one anew
    assert [Job.objects.get(pk=job.pk).payload for job in jobs] == [SHORT, LONG, LONG, LONG]
    told = AuditEvent.objects.filter(job=jobs[-1], action=act).get()
    assert told.after["omitted"] == ["payload"] and told.after["name"] == "long"


def test_a_bulk_request_sent_again_is_answered_without_long_payloads(api) -> None:
    body = {"jobs": [{"task": "http_request", "payload": SHORT}] * 3, "idempotency_key": "k"}
    first = api.post("/api/v1/jobs/bulk", body).json()
    for row in first["results"]:  # grown since
        api.patch(f"/api/v1/jobs/{row['job']['id']}", {"payload": LONG})

    again = api.post("/api/v1/jobs/bulk", body)

    assert again["Idempotency-Replayed"] == "true"
    assert [row["job"]["omitted"] for row in again.json()["results"]] == [["payload"]] * 3


def test_no_list_reads_more_than_so_much_of_a_row(api, team, alice, executions) -> None:
    """Measured where it counts: in what comes from the database, whatever becomes of it afterwards."""
    for path in ("jobs?expand=last_execution", "executions", "audit", "dead-letters/executions"):
        answer = api.get(f"/api/v1/{path}")
        rows = len(answer.json()["results"])
        assert len(answer.content) < rows * 2_500, path  # none of the long documents


def test_every_list_of_documents_is_bounded(api, executions) -> None:
    """So is a list that somebody adds."""
    rows = [Job.objects, Execution.objects, AuditEvent.objects, Replay.objects]

    for manager in rows:
        assert hasattr(manager.all(), "in_list")
        found = manager.all().in_list().first()
        if found is not None:
            assert not {"payload", "result", "before", "after"} & vars(found).keys()
    assert NewestFirst.max_page_size * 2 * MAX_LISTED < 4 * 1024 * 1024


@pytest.mark.parametrize("page", ["/jobs", "/executions", "/", "/admin/jobs/job/", "/admin/jobs/execution/"])
def test_no_page_of_many_rows_reads_their_documents(alice, executions, page) -> None:
    alice.is_staff = alice.is_superuser = True
    alice.save()
    client = Client()
    assert client.login(username="alice", password=PASSWORD)

    with CaptureQueriesContext(connection) as asked:
        assert client.get(page).status_code == 200

    read = [one["sql"] for one in asked if '"jobs_job"."payload"' in one["sql"] or '."result"' in one["sql"]]
    assert not read
