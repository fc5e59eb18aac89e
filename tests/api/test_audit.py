"""The audit trail over the API."""

from __future__ import annotations

from base64 import b64encode
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from jobs.models import AuditEvent
from tests.conftest import client_of

pytestmark = pytest.mark.django_db

AUDIT = "/api/v1/audit"
JOB = {
    "task": "send_email",
    "payload": {"to": "alice@example.com", "subject": "Hello", "body": "There"},
    "schedule": {"type": "interval", "seconds": 3600},
}


def acts(answer) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [one["action"] for one in answer.json()["results"]]


def test_every_act_is_told_with_who_did_it_and_what_it_changed(api, bob, team) -> None:
    job = api.post("/api/v1/jobs", JOB).json()
    client_of(bob, team).patch(f"/api/v1/jobs/{job['id']}", {"name": "Report"})

    changed, created = api.get(AUDIT).json()["results"]

    assert (created["action"], created["actor"], created["before"]) == ("create", "alice", None)
    assert (changed["action"], changed["actor"], changed["job"]) == ("update", "bob", job["id"])
    assert changed["before"]["name"] == "" and changed["after"]["name"] == "Report"


def test_it_is_narrowed_down_by_job_actor_action_and_window(api, bob, team) -> None:
    one, other = (api.post("/api/v1/jobs", JOB).json()["id"] for _ in range(2))
    client_of(bob, team).post(f"/api/v1/jobs/{one}/pause")
    before = timezone.now()
    AuditEvent.objects.filter(action="pause").update(at=before + timedelta(hours=1))

    assert acts(api.get(AUDIT)) == ["pause", "create", "create"]
    assert acts(api.get(AUDIT, {"job": other})) == ["create"]
    assert acts(api.get(AUDIT, {"actor": "bob"})) == ["pause"]
    assert acts(api.get(AUDIT, {"action": "create"})) == ["create", "create"]
    assert acts(api.get(AUDIT, {"start_time": before.isoformat()})) == ["pause"]
    assert acts(api.get(AUDIT, {"end_time": before.isoformat()})) == ["create", "create"]
    assert acts(api.get(AUDIT, {"actor": "charlie"})) == []


def test_pages_follow_each_other_even_where_many_events_are_of_one_moment(api) -> None:
    api.post("/api/v1/jobs/bulk", {"jobs": [JOB] * 7})
    seen, url = [], f"{AUDIT}?page_size=3"

    while url:
        page = api.get(url).json()
        seen += [one["id"] for one in page["results"]]
        url = page["next"]

    assert seen == sorted(seen, reverse=True) and len(set(seen)) == 7


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"job": "1"}, "job"),
        ({"start_time": "soon"}, "start_time"),
        ({"end_time": "0001-01-01T00:00:00+14:00"}, "end_time"),
        ({"actor": "\x00"}, "actor"),
        ({"action": "x" * 41}, "action"),
    ],
)
def test_a_bad_criterion_is_named(api, query, field) -> None:
    answer = api.get(AUDIT, query)

    assert answer.status_code == 400 and answer.json()["errors"][0]["field"] == field


@pytest.mark.parametrize("position", ["nonsense", "2026-01-01", "0001-01-01T00:00:00+14:00", "\x00"])
def test_a_cursor_that_is_not_ours_is_refused(api, position) -> None:
    cursor = b64encode(urlencode({"p": position}).encode()).decode()

    answer = api.get(AUDIT, {"cursor": cursor})

    assert answer.status_code == 400 and answer.json()["errors"][0]["field"] == "cursor"


def test_an_act_does_not_store_a_long_payload_that_it_leaves_as_it_is(api) -> None:
    job = api.post("/api/v1/jobs", {"task": "send_email", "payload": JOB["payload"] | {"body": "x" * 20_000}}).json()[
        "id"
    ]

    api.post(f"/api/v1/jobs/{job}/run")
    api.patch(f"/api/v1/jobs/{job}", {"payload": JOB["payload"] | {"body": "y" * 20_000}})

    run, edit = (AuditEvent.objects.get(job=job, action=action) for action in ("run_now", "update"))
    assert run.before["payload"] is run.after["payload"] is None and run.after["omitted"] == ["payload"]
    assert edit.before["payload"]["body"][0] == "x" and edit.after["payload"]["body"][0] == "y"


def test_charlie_sees_nothing_of_it(api, charlie) -> None:
    api.post("/api/v1/jobs", JOB)

    assert acts(client_of(charlie).get(AUDIT)) == []
