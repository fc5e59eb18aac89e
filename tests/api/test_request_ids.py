"""A request's id is answered, and kept with what the request sets going."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from jobs import ledger
from jobs.models import Execution, Job, Replay
from jobs.states import Status
from scheduler_project.request_ids import current_request_id
from tests.api.test_dead_letters import HOURLY, MAIL, dead_of

pytestmark = pytest.mark.django_db

HERE = {"HTTP_X_REQUEST_ID": "abc-1"}


def claimed(execution: str) -> str | None:
    """The id that lines of this execution will have."""
    now = timezone.now() + timedelta(seconds=1)
    [claim] = ledger.claim([Execution.objects.get(pk=execution).pk], worker="me", now=now, until=now)
    return claim.request_id


def test_the_callers_id_is_answered_and_one_is_made_where_there_is_none(api) -> None:
    kept = api.get("/api/v1/jobs", **HERE)
    refused = api.get("/api/v1/jobs", HTTP_X_REQUEST_ID="x" * 1000)
    made = [api.get("/api/v1/nothing")["X-Request-ID"] for _ in range(2)]

    assert kept["X-Request-ID"] == "abc-1"
    assert len(refused["X-Request-ID"]) == 32
    assert len(set(made)) == 2 and all(len(one) == 32 for one in made)
    assert current_request_id() is None


def test_a_job_made_at_once_or_in_bulk_keeps_the_request_that_made_it(api) -> None:
    api.post("/api/v1/jobs", {"task": "send_email", "payload": MAIL}, **HERE)
    api.post("/api/v1/jobs/bulk", {"jobs": [{"task": "send_email", "payload": MAIL}] * 2}, **HERE)

    assert list(Job.objects.values_list("request_id", flat=True)) == ["abc-1"] * 3


def test_what_a_schedule_makes_tells_the_request_that_created_the_job(api) -> None:
    made = api.post("/api/v1/jobs", {"task": "send_email", "payload": MAIL, "schedule": HOURLY}, **HERE).json()
    job = Job.objects.get(pk=made["id"])
    now = timezone.now()
    due = ledger.NewExecution(job.id, job.tenant_id, job.task, job.priority, now)
    ledger.record([due], [], now=now, wake_at=now)

    assert claimed(str(due.id)) == "abc-1"
    assert Execution.objects.get().request_id is None  # nothing is written for it


def test_a_run_asked_for_tells_the_request_that_asked(api) -> None:
    job = api.post("/api/v1/jobs", {"task": "send_email", "payload": MAIL, "schedule": HOURLY}, **HERE).json()

    run = api.post(f"/api/v1/jobs/{job['id']}/run", HTTP_X_REQUEST_ID="run-2").json()

    assert claimed(run["id"]) == "run-2"


def test_a_replayed_one_tells_the_request_that_replayed_it(api) -> None:
    made = api.post("/api/v1/jobs", {"task": "send_email", "payload": MAIL, "schedule": HOURLY}, **HERE).json()
    one, two, *others = dead_of(Job.objects.get(pk=made["id"]), 4)

    api.post(f"/api/v1/executions/{one}/retry", {}, HTTP_X_REQUEST_ID="again-1")
    api.post("/api/v1/dead-letters/replay", {"executions": [two]}, HTTP_X_REQUEST_ID="again-2")
    careful = api.post("/api/v1/dead-letters/replay", {"executions": others, "canary": 1}, HTTP_X_REQUEST_ID="again-3")

    assert careful.status_code < 300, careful.content
    assert (claimed(one), claimed(two), claimed(others[-1])) == ("again-1", "again-2", "again-3")
    assert Replay.objects.get().request_id == "again-3"  # for those that follow
    assert Execution.objects.get(pk=others[0]).status == Status.FAILED


def test_lines_written_while_a_request_is_answered_name_it(api) -> None:
    made = api.post("/api/v1/jobs", {"task": "send_email", "payload": MAIL, "schedule": HOURLY}).json()
    [one] = dead_of(Job.objects.get(pk=made["id"]))

    with capture_logs(processors=[merge_contextvars]) as lines:
        api.post(f"/api/v1/executions/{one}/retry", {}, **HERE)

    assert [line["request_id"] for line in lines if line["event"] == "dead_letters.act"] == ["abc-1"]
