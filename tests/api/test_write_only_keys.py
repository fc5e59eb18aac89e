"""A key that may only write reads nothing: not by asking, and not by acts that change nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils import timezone

from accounts.keys import create_key
from jobs import services
from jobs.models import AuditEvent, Execution, Job, Replay
from jobs.services import NewJob
from tests.api.test_isolation import OPERATIONS, address
from tests.conftest import key_client

pytestmark = pytest.mark.django_db

KEPT = "what-nobody-may-read"
LETTER = {"url": f"https://example.com/{KEPT}"}
HOOK = {"name": "told", "channel": "webhook", "url": f"https://example.com/{KEPT}"}


@pytest.fixture
def job(team, alice) -> Job:
    schedule = {"type": "once", "run_at": "2090-01-01T00:00:00Z"}
    return services.create_job(NewJob("http_request", LETTER, schedule), tenant=team, actor=alice)


@pytest.fixture
def dead(job) -> Execution:
    made = services.run_job_now(job, actor=None)
    changes = {"status": "FAILED", "error": KEPT, "result": {"text": KEPT}, "finished_at": timezone.now()}
    Execution.objects.filter(pk=made.pk).update(**changes)
    return made


@pytest.fixture
def names(api, team, job, dead) -> dict[str, str]:
    """What paths may name of the tenant's."""
    now = timezone.now()
    replay = Replay.objects.create(tenant=team, payload=LETTER, canaries=[], others=[], created_at=now, state="DONE")
    return {
        "jobs": str(job.pk),
        "executions": str(dead.pk),
        "alerts": api.post("/api/v1/alerts", HOOK).json()["id"],
        "audit": str(AuditEvent.objects.filter(job=job).first().pk),
        "replays": str(replay.pk),
        "tenants": str(team.pk),
        "tasks": "http_request",
        **dict.fromkeys(("incidents", "keys", "invitations", "members", "images", "worker-keys"), "0"),
    }


@pytest.fixture
def writer(team, alice) -> Any:
    return key_client(create_key(tenant=team, creator=alice, name="CI", scopes=["write"]).text)


def test_nothing_can_be_asked_for(writer, names) -> None:
    read = {one.id for one in OPERATIONS if one.method == "get" and writer.get(address(one, names)).status_code < 400}

    assert read == {"list_tenants"}  # whom it speaks for


BODIES: dict[str, Any] = {
    "create_job": {"task": "http_request", "payload": LETTER, "idempotency_key": "k"},
    "create_jobs": {"jobs": [{"task": "http_request", "payload": LETTER}], "idempotency_key": "b"},
}
# Last of all what leaves nothing to be acted on.
ORDER = ["update_job", "run_job", "pause_job", "resume_job", "cancel_execution", "retry_execution"]


def test_no_act_tells_what_is_stored(writer, names, job, dead) -> None:
    by_id = {one.id: one for one in OPERATIONS if one.method != "get"}
    done = set()
    for name in [
        *ORDER,
        *sorted(by_id.keys() - set(ORDER), key=lambda name: ("delete" in name, "cancel" in name, name)),
    ]:
        body = BODIES.get(name, {})
        if name in ("pause_jobs", "resume_jobs", "cancel_jobs", "delete_jobs"):
            body = {"ids": [str(job.pk)]}
        for _ in range(2):  # sent again, it is answered from what is stored
            answer = writer.generic(by_id[name].method, address(by_id[name], names), _json(body), "application/json")
            if answer.status_code < 300:
                done.add(name)
                assert KEPT not in answer.content.decode(), name

    acts = {"update_job", "run_job", "pause_job", "resume_job", "retry_execution", "create_job"}
    assert {*acts, "create_jobs", "pause_jobs", "delete_job"} <= done


def test_no_alert_rule_sends_elsewhere_what_the_key_may_not_read(writer, names) -> None:
    rule = f"/api/v1/alerts/{names['alerts']}"

    answers = [writer.post("/api/v1/alerts", HOOK), writer.patch(rule, HOOK), writer.post(f"{rule}/test")]

    assert [answer.status_code for answer in answers] == [403] * 3
    assert "lacks the `read` scope" in answers[0].json()["detail"]


def test_a_key_that_may_read_too_is_told_what_it_made(team, alice) -> None:
    both = key_client(create_key(tenant=team, creator=alice, name="CI", scopes=["read", "write"]).text)

    assert both.post("/api/v1/jobs", {"task": "http_request", "payload": LETTER}).json()["payload"] == LETTER


def _json(body: Any) -> bytes:
    return json.dumps(body).encode()
