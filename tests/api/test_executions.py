"""Acts on one execution over the API."""

from __future__ import annotations

import pytest
from django.utils import timezone

from jobs import services
from jobs.models import Attempt, AuditEvent, Execution
from jobs.services import NewJob
from jobs.states import Status
from tests.conftest import client_of

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}


@pytest.fixture
def execution(team) -> Execution:
    job = services.create_job(NewJob("send_email", MAIL, HOURLY), tenant=team, actor=None)
    return services.run_job_now(job, actor=None)


def make(execution: Execution, status: Status, **rest) -> str:
    """Have it stand so; return its address."""
    Execution.objects.filter(pk=execution.pk).update(status=status, attempt=1, **rest)
    return f"/api/v1/executions/{execution.pk}"


@pytest.mark.parametrize("status", [Status.SCHEDULED, Status.QUEUED, Status.RETRYING])
def test_one_that_waits_is_cancelled_at_once(api, alice, execution, status) -> None:
    answer = api.post(f"{make(execution, status)}/cancel")

    assert answer.status_code == 200 and answer.json()["status"] == "CANCELLED"
    assert answer.json()["reason"] == "cancelled by hand"
    event = AuditEvent.objects.get(action="cancel_execution")
    assert event.actor == alice and event.after["execution"] == str(execution.pk)


def test_one_that_runs_is_told_to_end(api, execution) -> None:
    address = make(execution, Status.RUNNING)

    assert api.post(f"{address}/cancel").json()["status"] == "RUNNING"
    assert api.get(address).json()["cancel_requested_at"]


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.SKIPPED])
def test_one_that_is_over_cannot_be_cancelled(api, execution, status) -> None:
    answer = api.post(f"{make(execution, status)}/cancel")

    assert answer.status_code == 409 and status in answer.json()["detail"]
    assert not AuditEvent.objects.filter(action="cancel_execution").exists()


def test_it_shows_its_latest_attempts_and_no_more_than_a_hundred(api, execution, client, alice) -> None:
    now = timezone.now()
    Attempt.objects.bulk_create(
        Attempt(execution=execution, number=number, outcome="FAILED", finished_at=now, error=f"error {number}")
        for number in range(1, 151)
    )

    shown = api.get(make(execution, Status.FAILED)).json()
    client.force_login(alice)
    page = client.get(f"/executions/{execution.pk}").content.decode()

    assert [one["number"] for one in shown["attempts"]] == [*range(51, 151)]
    assert sum(moment["event"] == "attempt failed" for moment in shown["timeline"]) == 100
    assert "error 150" in page and "error 50<" not in page


def test_one_that_has_failed_is_retried(api, alice, execution) -> None:
    answer = api.post(f"{make(execution, Status.FAILED)}/retry", {})

    assert answer.status_code == 200 and answer.json()["status"] == "SCHEDULED"
    assert AuditEvent.objects.get(action="replay").actor == alice
    execution.refresh_from_db()
    assert execution.forgiven == 1


def test_it_is_retried_with_another_payload_that_fits(api, execution) -> None:
    address = make(execution, Status.FAILED)

    refused = api.post(f"{address}/retry", {"payload": {"to": "alice@example.com"}})
    taken = api.post(f"{address}/retry", {"payload": MAIL | {"body": "Again"}})

    assert refused.status_code == 400 and refused.json()["errors"][0]["field"] == "payload.subject"
    assert taken.status_code == 200 and api.get(address).json()["payload"]["body"] == "Again"
    assert api.post(f"{address}/retry", {"paylaod": {}}).status_code == 400


@pytest.mark.parametrize("status", sorted(set(Status) - {Status.FAILED}))
def test_one_that_has_not_failed_is_not_retried_and_the_reason_told(api, execution, status) -> None:
    answer = api.post(f"{make(execution, status)}/retry", {})

    assert answer.status_code == 409 and status in answer.json()["detail"]


def test_one_that_was_discarded_or_whose_job_has_ended_is_not_retried(api, execution) -> None:
    discarded = api.post(f"{make(execution, Status.FAILED, discarded_at=timezone.now())}/retry", {})
    address = make(execution, Status.FAILED, discarded_at=None)
    services.cancel_job(execution.job, actor=None)
    ended = api.post(f"{address}/retry", {})

    assert discarded.status_code == ended.status_code == 409
    assert "discarded" in discarded.json()["detail"] and "cancelled or deleted" in ended.json()["detail"]


def test_charlie_can_do_neither(charlie, execution) -> None:
    address = make(execution, Status.FAILED)

    assert client_of(charlie).post(f"{address}/retry", {}).status_code == 404
    assert client_of(charlie).post(f"{address}/cancel").status_code == 404


def test_one_that_failed_tells_its_cause_and_its_payload(api, execution) -> None:
    told = api.get(make(execution, Status.FAILED, fingerprint="a" * 16)).json()

    assert told["fingerprint"] == "a" * 16 and told["payload"] == MAIL
    assert told["discarded_at"] is None and told["attempts"] == []
    assert [moment["event"] for moment in told["timeline"]][:2] == ["due", "recorded"]
