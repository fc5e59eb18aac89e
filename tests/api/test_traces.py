"""What a traced request sets going keeps where it was traced, whichever way it was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone
from opentelemetry.sdk.trace import SpanProcessor

from jobs import ledger
from jobs.ledger import Claim
from jobs.models import Execution, Job, Replay
from scheduler_project import tracing
from scheduler_project.tracing.telemetry import Tracing
from tests.api.test_dead_letters import HOURLY, MAIL, dead_of

pytestmark = pytest.mark.django_db

JOB = {"task": "send_email", "payload": MAIL}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Everything is traced, below a span that is this one; nothing is exported."""
    monkeypatch.setattr(tracing, "active", Tracing("tests", SpanProcessor()))
    with tracing.active.span("a request", kind="server", attributes={}):
        yield tracing.current_traceparent()


def claimed(execution: str | UUID) -> Claim:
    now = timezone.now() + timedelta(seconds=1)
    [claim] = ledger.claim([Execution.objects.get(pk=execution).pk], worker="me", now=now, until=now)
    return claim


def recorded(job: str) -> UUID:
    """An execution that the job's schedule makes."""
    of = Job.objects.get(pk=job)
    now = timezone.now()
    new = ledger.NewExecution(of.id, of.tenant_id, of.task, of.priority, now)
    ledger.record([new], [], now=now, wake_at=now)
    return new.id


def test_a_job_that_runs_once_goes_on_in_the_trace_of_its_creation(here, api) -> None:
    claim = claimed(recorded(api.post("/api/v1/jobs", JOB).json()["id"]))

    assert (claim.traceparent, claim.linked) == (here, None)


def test_a_run_of_one_that_recurs_is_only_linked_to_its_creation(here, api) -> None:
    job = api.post("/api/v1/jobs", JOB | {"schedule": HOURLY}).json()["id"]
    claim = claimed(recorded(job))

    assert (claim.traceparent, claim.linked) == (None, here)


def test_a_run_that_was_asked_for_goes_on_in_the_trace_of_the_asking(here, api) -> None:
    job = api.post("/api/v1/jobs", JOB | {"schedule": HOURLY}).json()["id"]
    with tracing.active.span("another request", kind="server", attributes={}):
        there = tracing.current_traceparent()
        run = api.post(f"/api/v1/jobs/{job}/run").json()["id"]
    claim = claimed(run)

    assert here != there and (claim.traceparent, claim.linked) == (there, here)


def test_what_is_retried_or_replayed_goes_on_in_the_trace_of_the_asking(here, api) -> None:
    job = Job.objects.get(pk=api.post("/api/v1/jobs", JOB | {"schedule": HOURLY}).json()["id"])
    one, two, *others = dead_of(job, 4)
    Execution.objects.update(traceparent=None)

    api.post(f"/api/v1/executions/{one}/retry", {})
    api.post("/api/v1/dead-letters/replay", {"executions": [two]})
    api.post("/api/v1/dead-letters/replay", {"executions": others, "canary": 1})

    assert [claimed(pk).traceparent for pk in (one, two, others[-1])] == [here] * 3
    assert Replay.objects.get().origin.traceparent == here  # for those that follow


def test_what_is_backfilled_goes_on_in_the_trace_of_the_asking(here, api, life) -> None:
    began = life.now
    life.create({"type": "cron", "expression": "0 * * * *", "timezone": "UTC"})
    life.pause().after(hours=2).resume()
    window = {"from": began.isoformat(), "to": life.now.isoformat(), "dry_run": False}

    made = api.post(f"/api/v1/jobs/{life.job.id}/backfill", window)

    assert made.status_code == 202, made.content
    assert set(Execution.objects.values_list("traceparent", flat=True)) == {here}


def test_what_was_not_traced_has_nothing_written_for_it(api) -> None:
    claim = claimed(recorded(api.post("/api/v1/jobs", JOB).json()["id"]))

    assert Job.objects.get().traceparent is None
    assert (claim.traceparent, claim.linked) == (None, None)


def test_how_long_later_attempts_waited_is_reckoned_only_where_that_is_traced(here, api) -> None:
    traced, untraced = [recorded(api.post("/api/v1/jobs", JOB).json()["id"]) for _ in range(2)]
    Job.objects.filter(executions=untraced).update(traceparent=None)
    Execution.objects.update(attempt=1)

    assert claimed(traced).late is not None and claimed(untraced).late is None
