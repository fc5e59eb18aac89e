"""Jobs over the API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from accounts.models import Membership
from jobs.api.jobs import JobViewSet
from jobs.models import AuditEvent, Execution, Job
from jobs.states import JobStatus, Status
from tests.conftest import client_of

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}


def create(api, **job):
    return api.post("/api/v1/jobs", {"task": "send_email", "payload": MAIL} | job)


def test_a_job_without_a_schedule_is_due_now(api) -> None:
    answer = create(api)

    assert answer.status_code == 201
    job = answer.json()
    assert job["status"] == "ACTIVE" and job["priority"] == "normal" and job["owner"] == "alice"
    due = datetime.fromisoformat(job["next_run_at"])
    assert abs(timezone.now() - due) < timedelta(seconds=30)


def test_a_job_once_is_due_at_its_time(api) -> None:
    job = create(api, schedule={"type": "once", "run_at": "2090-01-01T10:00:00+07:00"}).json()

    assert datetime.fromisoformat(job["next_run_at"]) == datetime(2090, 1, 1, 3, tzinfo=UTC)


def test_an_interval_is_counted_from_its_creation(api) -> None:
    job = create(api, schedule={"type": "interval", "seconds": 600}).json()

    start = datetime.fromisoformat(job["schedule"]["start_at"])
    assert datetime.fromisoformat(job["next_run_at"]) == start + timedelta(minutes=10)


def test_a_cron_job_is_due_in_its_own_time_zone(api) -> None:
    schedule = {"type": "cron", "expression": "30 10 * * 5", "timezone": "Asia/Jakarta"}

    job = create(api, schedule=schedule, name="Report", priority="high", max_retries=5).json()

    due = datetime.fromisoformat(job["next_run_at"])
    assert (due.hour, due.minute, due.weekday()) == (3, 30, 4)
    assert job["schedule"] == schedule
    assert (job["name"], job["priority"], job["max_retries"]) == ("Report", "high", 5)


def test_a_job_may_have_limits_of_its_own(api) -> None:
    limits = {"max_retries": 7, "retry_delay": 0.5, "retry_delay_cap": 60, "time_limit": 30, "lease": 5}

    job = create(api, schedule=HOURLY, **limits).json()

    assert {name: job[name] for name in limits} == limits
    assert api.patch(f"/api/v1/jobs/{job['id']}", {"time_limit": None}).json()["time_limit"] is None


def test_a_job_is_read_listed_changed_and_deleted(api) -> None:
    job = create(api, schedule=HOURLY, name="before").json()
    address = f"/api/v1/jobs/{job['id']}"

    assert api.get(address).json() == job
    assert [one["id"] for one in api.get("/api/v1/jobs").json()["results"]] == [job["id"]]
    changed = api.patch(address, {"name": "after", "priority": "low"}).json()
    assert (changed["name"], changed["priority"], changed["next_run_at"]) == ("after", "low", job["next_run_at"])
    assert api.delete(address).status_code == 204
    assert api.get(address).status_code == 404
    assert api.get("/api/v1/jobs").json()["results"] == []


def test_deleting_a_job_keeps_its_history(api) -> None:
    job = create(api, schedule=HOURLY).json()
    execution = api.post(f"/api/v1/jobs/{job['id']}/run").json()

    api.delete(f"/api/v1/jobs/{job['id']}")

    assert api.get(f"/api/v1/executions/{execution['id']}").json()["status"] == "CANCELLED"


def test_a_changed_schedule_takes_effect_at_once(api) -> None:
    job = create(api, schedule=HOURLY).json()

    changed = api.patch(f"/api/v1/jobs/{job['id']}", {"schedule": {"type": "once", "run_at": "2090-01-01T00:00:00Z"}})

    assert changed.json()["next_run_at"] == "2090-01-01T00:00:00Z"


def test_a_finished_job_given_a_new_schedule_is_active_again(api) -> None:
    job = create(api).json()
    Job.objects.update(status=JobStatus.FINISHED, next_run_at=None)

    changed = api.patch(f"/api/v1/jobs/{job['id']}", {"schedule": HOURLY}).json()

    assert changed["status"] == "ACTIVE" and changed["next_run_at"]


def test_pause_resume_and_cancel(api) -> None:
    address = f"/api/v1/jobs/{create(api, schedule=HOURLY).json()['id']}"

    paused = api.post(f"{address}/pause").json()
    assert (paused["status"], paused["next_run_at"]) == ("PAUSED", None)
    resumed = api.post(f"{address}/resume").json()
    assert resumed["status"] == "ACTIVE" and resumed["next_run_at"]
    cancelled = api.post(f"{address}/cancel").json()
    assert (cancelled["status"], cancelled["next_run_at"]) == ("CANCELLED", None)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("pause", "pause"),
        ("cancel", "pause"),
        ("cancel", "resume"),
        ("cancel", "cancel"),
        ("cancel", "run"),
        (None, "resume"),
    ],
)
def test_what_a_job_cannot_do_is_a_conflict_that_says_why(api, first, then) -> None:
    address = f"/api/v1/jobs/{create(api, schedule=HOURLY).json()['id']}"
    if first:
        api.post(f"{address}/{first}")

    answer = api.post(f"{address}/{then}")

    assert answer.status_code == 409
    assert answer["Content-Type"] == "application/problem+json"
    assert "job" in answer.json()["detail"]


def test_a_job_paused_past_its_only_run_is_finished_when_resumed(api) -> None:
    job = create(api, schedule={"type": "once", "run_at": "2090-01-01T00:00:00Z"}).json()
    api.post(f"/api/v1/jobs/{job['id']}/pause")
    Job.objects.update(schedule={"type": "once", "run_at": "2020-01-01T00:00:00Z"})

    assert api.post(f"/api/v1/jobs/{job['id']}/resume").json()["status"] == "FINISHED"


def test_run_now_answers_with_the_execution(api) -> None:
    job = create(api, schedule=HOURLY).json()

    answer = api.post(f"/api/v1/jobs/{job['id']}/run")

    assert answer.status_code == 202
    assert (answer.json()["cause"], answer.json()["status"]) == ("run_now", "SCHEDULED")
    [listed] = api.get(f"/api/v1/jobs/{job['id']}/executions").json()["results"]
    assert listed["id"] == answer.json()["id"]


def test_an_execution_shows_its_timeline(api) -> None:
    job = create(api, schedule=HOURLY).json()
    execution = api.post(f"/api/v1/jobs/{job['id']}/run").json()

    shown = api.get(f"/api/v1/executions/{execution['id']}").json()

    assert [moment["event"] for moment in shown["timeline"]] == ["due", "recorded"]
    assert shown["payload"] == MAIL and shown["attempts"] == []


def test_lists_are_filtered_and_paged(api) -> None:
    jobs = [create(api, schedule=HOURLY).json()["id"] for _ in range(5)]
    api.post(f"/api/v1/jobs/{jobs[0]}/pause")
    for job in jobs[1:4]:
        api.post(f"/api/v1/jobs/{job}/run")
    Execution.objects.filter(job=jobs[1]).update(status=Status.COMPLETED)

    assert [one["id"] for one in api.get("/api/v1/jobs?status=PAUSED").json()["results"]] == [jobs[0]]
    assert len(api.get("/api/v1/executions?status=SCHEDULED").json()["results"]) == 2
    first = api.get("/api/v1/jobs?page_size=3").json()
    second = api.get(first["next"]).json()
    assert [one["id"] for one in first["results"] + second["results"]] == jobs[::-1]


@pytest.mark.parametrize(
    "path",
    [
        "jobs?status=ASLEEP",
        "executions?status=x",
        "jobs?cursor=nonsense",
        "jobs?cursor=cD1mb28=",
        "executions?cursor=cD1mb28=",
    ],
)
def test_a_bad_filter_is_told(api, path) -> None:
    answer = api.get(f"/api/v1/{path}")

    assert answer.status_code in (400, 404)
    assert answer["Content-Type"] == "application/problem+json"


def test_one_trailing_slash_is_tolerated(api) -> None:
    assert api.post("/api/v1/jobs/", {"task": "send_email", "payload": MAIL}).status_code == 201
    assert api.get("/api/v1/jobs/").status_code == 200


def test_every_act_is_written_down(api, alice) -> None:
    job = create(api, schedule=HOURLY, name="old").json()
    api.patch(f"/api/v1/jobs/{job['id']}", {"name": "new"})
    api.post(f"/api/v1/jobs/{job['id']}/pause")

    events = AuditEvent.objects.order_by("id")
    assert [event.action for event in events] == ["create", "update", "pause"]
    assert {event.actor for event in events} == {alice}
    assert (events[1].before["name"], events[1].after["name"]) == ("old", "new")


class TestTenants:
    """Alice owns, Bob is on her team, Charlie must see nothing."""

    def test_bob_sees_the_jobs_of_alices_team(self, api, bob, team) -> None:
        job = create(api).json()

        answer = client_of(bob, team).get(f"/api/v1/jobs/{job['id']}")

        assert answer.status_code == 200 and answer.json()["owner"] == "alice"

    def test_bobs_own_tenant_is_another(self, api, bob) -> None:
        create(api)

        assert client_of(bob).get("/api/v1/jobs").json()["results"] == []

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("get", "jobs/{job}"),
            ("patch", "jobs/{job}"),
            ("delete", "jobs/{job}"),
            ("post", "jobs/{job}/pause"),
            ("post", "jobs/{job}/resume"),
            ("post", "jobs/{job}/run"),
            ("post", "jobs/{job}/cancel"),
            ("get", "jobs/{job}/executions"),
            ("get", "executions/{execution}"),
        ],
    )
    def test_charlie_cannot_reach_anything_of_alices(self, api, charlie, method, path) -> None:
        job = create(api, schedule=HOURLY).json()["id"]
        execution = api.post(f"/api/v1/jobs/{job}/run").json()["id"]

        answer = getattr(client_of(charlie), method)(f"/api/v1/{path.format(job=job, execution=execution)}", {})

        assert answer.status_code == 404
        assert answer["Content-Type"] == "application/problem+json"
        assert Job.objects.get(pk=job).status == JobStatus.ACTIVE

    def test_charlies_lists_are_empty(self, api, charlie) -> None:
        job = create(api, schedule=HOURLY).json()["id"]
        api.post(f"/api/v1/jobs/{job}/run")

        for path in ("jobs", "executions"):
            assert client_of(charlie).get(f"/api/v1/{path}").json()["results"] == []

    def test_charlie_cannot_speak_for_alices_tenant(self, charlie, team) -> None:
        answer = client_of(charlie, team).get("/api/v1/jobs")

        assert answer.status_code == 403
        assert "not one of your tenants" in answer.json()["detail"]

    @pytest.mark.parametrize("wanted", ["nonsense", "", "0" * 300, "\x00"])
    def test_a_bad_tenant_header_is_told(self, api, wanted) -> None:
        answer = api.get("/api/v1/jobs", headers={"X-Tenant-ID": wanted})

        assert answer.status_code == 403

    def test_a_viewer_may_look_and_not_touch(self, api, bob, team) -> None:
        job = create(api, schedule=HOURLY).json()["id"]
        Membership.objects.filter(user=bob, tenant=team).update(role=Membership.Role.VIEWER)
        viewer = client_of(bob, team)

        assert viewer.get(f"/api/v1/jobs/{job}").status_code == 200
        for method, path in (
            ("post", "jobs"),
            ("patch", f"jobs/{job}"),
            ("delete", f"jobs/{job}"),
            ("post", f"jobs/{job}/run"),
        ):
            answer = getattr(viewer, method)(f"/api/v1/{path}", {})
            assert answer.status_code == 403 and "Ask an owner" in answer.json()["detail"]


def test_a_job_deleted_a_moment_ago_is_not_found(api, monkeypatch) -> None:
    job = create(api, schedule=HOURLY).json()
    fetch = JobViewSet.get_object

    def fetch_then_lose(view):
        found = fetch(view)
        Job.objects.update(deleted_at=timezone.now(), next_run_at=None)
        return found

    monkeypatch.setattr(JobViewSet, "get_object", fetch_then_lose)

    assert api.post(f"/api/v1/jobs/{job['id']}/pause").status_code == 404
