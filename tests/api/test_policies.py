"""What a job says about missed and overlapping runs, over the API and in the admin."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.services import register_admin
from jobs import services
from jobs.models import AuditEvent, Execution, Job
from jobs.services import NewJob
from jobs.states import Status

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}
SAID = {"misfire": "catch_up", "catch_up_window": 7200, "catch_up_max": 5, "overlap": "wait"}
UNSAID = {"misfire": "run_once", "catch_up_window": None, "catch_up_max": None, "overlap": None}


def create(api, **job):
    return api.post("/api/v1/jobs", {"task": "send_email", "payload": MAIL, "schedule": HOURLY} | job)


def shown(job: dict) -> dict:
    return {name: job[name] for name in SAID}


def faults(answer) -> dict[str, str]:
    assert answer.status_code == 400
    return {fault["field"]: fault["message"] for fault in answer.json()["errors"]}


def test_policies_are_set_shown_and_changed(api) -> None:
    job = create(api, **SAID).json()
    address = f"/api/v1/jobs/{job['id']}"

    assert shown(job) == SAID == shown(api.get(address).json())
    assert shown(api.patch(address, UNSAID).json()) == UNSAID
    assert AuditEvent.objects.get(action="update").before["overlap"] == "wait"


def test_a_job_that_says_nothing_has_the_defaults(api) -> None:
    assert shown(create(api).json()) == UNSAID


def test_policies_are_set_in_bulk_one_bad_one_keeps_no_other(api) -> None:
    job = {"task": "send_email", "payload": MAIL, "schedule": HOURLY}

    answer = api.post("/api/v1/jobs/bulk", {"jobs": [job | SAID, job | {"misfire": "catch_up"}]}).json()

    assert shown(answer["results"][0]["job"]) == SAID
    assert list(answer["results"][1]["errors"]) == ["overlap"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("misfire", "later"),
        ("misfire", None),
        ("overlap", "queue"),
        ("overlap", ""),
        ("catch_up_window", 0),
        ("catch_up_window", 10**30),
        ("catch_up_window", "a day"),
        ("catch_up_max", 0),
        ("catch_up_max", 1001),
    ],
)
def test_what_is_wrong_with_a_policy_is_named(api, field, value) -> None:
    assert list(faults(create(api, **{field: value}))) == [field]


@pytest.mark.parametrize("overlap", [None, "skip", "cancel_previous"])
def test_catching_up_is_refused_where_all_but_one_run_would_be_lost(api, overlap) -> None:
    message = faults(create(api, misfire="catch_up", overlap=overlap))["overlap"]

    assert "choose overlap 'allow' or 'wait'" in message and not Job.objects.exists()


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({"misfire": "catch_up", "overlap": "wait"}, {"overlap": None}),
        ({"overlap": "skip"}, {"misfire": "catch_up"}),
        (
            {"misfire": "catch_up", "schedule": {"type": "once", "run_at": "2090-01-01T00:00:00Z"}},
            {"schedule": HOURLY},
        ),
    ],
)
def test_an_edit_cannot_contradict_what_stays(api, first, then) -> None:
    job = create(api, **first).json()

    assert "overlap" in faults(api.patch(f"/api/v1/jobs/{job['id']}", then))


def test_the_answer_to_resume_says_what_was_missed(api) -> None:
    job = create(api).json()
    address = f"/api/v1/jobs/{job['id']}"
    first = timezone.now() - timedelta(hours=5)
    Job.objects.update(next_run_at=first, schedule=HOURLY | {"start_at": first.isoformat()})

    api.post(f"{address}/pause")
    resumed = api.post(f"{address}/resume").json()

    assert resumed["status"] == "ACTIVE" and resumed["next_run_at"] and resumed["misfire"] == "run_once"
    missed = resumed["missed"]
    assert (missed["count"], missed["more"]) == (6, False)
    assert datetime.fromisoformat(missed["first"]) == first
    assert datetime.fromisoformat(missed["last"]) == first + timedelta(hours=5)
    assert "not made up for" in missed["outcome"] and f"{address}/backfill" in missed["outcome"]
    assert not Execution.objects.exists()


def test_a_pause_in_which_nothing_was_due_says_so(api) -> None:
    address = f"/api/v1/jobs/{create(api).json()['id']}"
    api.post(f"{address}/pause")

    assert api.post(f"{address}/resume").json()["missed"] == {
        "count": 0,
        "more": False,
        "first": None,
        "last": None,
        "outcome": "No due time passed during the pause.",
    }


def test_a_schedule_changed_in_the_pause_has_missed_nothing_before_the_change(api) -> None:
    address = f"/api/v1/jobs/{create(api).json()['id']}"
    Job.objects.update(next_run_at=timezone.now() - timedelta(hours=5))
    api.post(f"{address}/pause")
    api.patch(address, {"schedule": {"type": "cron", "expression": "0 0 1 1 *"}})
    api.patch(address, {"name": "Renamed since"})

    assert api.post(f"{address}/resume").json()["missed"]["count"] == 0


def test_a_long_pause_is_counted_up_to_a_bound(api) -> None:
    address = f"/api/v1/jobs/{create(api).json()['id']}"
    first = timezone.now() - timedelta(hours=5)
    Job.objects.update(next_run_at=first, schedule={"type": "interval", "seconds": 1, "start_at": first.isoformat()})
    api.post(f"{address}/pause")

    missed = api.post(f"{address}/resume").json()["missed"]

    assert (missed["count"], missed["more"]) == (1000, True) and missed["outcome"].startswith("More than 1,000 ")
    assert timezone.now() - datetime.fromisoformat(missed["last"]) < timedelta(minutes=1)


def test_an_execution_shows_what_it_waits_for_and_what_it_covers(api, team) -> None:
    job = services.create_job(NewJob("send_email", MAIL, HOURLY), tenant=team, actor=None)
    ahead, waiting = services.run_job_now(job, actor=None), services.run_job_now(job, actor=None)
    now = timezone.now()
    Execution.objects.filter(pk=waiting.pk).update(waits_for=ahead.pk)
    Execution.objects.filter(pk=ahead.pk).update(
        status=Status.SKIPPED, reason="Missed.", finished_at=now, covers_until=now
    )

    behind = api.get(f"/api/v1/executions/{waiting.pk}").json()
    skipped = api.get(f"/api/v1/executions/{ahead.pk}").json()

    assert behind["waits_for"] == str(ahead.pk)
    assert ("waits", f"for {ahead.pk} to be over") in [(one["event"], one["detail"]) for one in behind["timeline"]]
    assert skipped["covers_until"] and skipped["reason"] == "Missed."
    assert ("skipped", "Missed.") in [(one["event"], one["detail"]) for one in skipped["timeline"]]


@pytest.fixture
def root(client, db):
    client.force_login(register_admin(username="root", email="root@example.com", password="x"))
    return client


def form(team, **changes) -> dict:
    fields = {"name": "", "tenant": str(team.pk), "task": "send_email", "payload": json.dumps(MAIL), "priority": "5"}
    return fields | {"schedule": json.dumps(HOURLY)} | changes


def test_policies_are_set_in_the_admin_and_stay_unless_they_are_changed(root, team) -> None:
    answer = root.post(reverse("admin:jobs_job_add"), form(team, **SAID))
    assert answer.status_code == 302, answer.context["errors"]
    job = Job.objects.get()
    assert {name: getattr(job, name) for name in SAID} == SAID

    address = reverse("admin:jobs_job_change", args=[job.pk])
    page = root.get(address).content.decode()
    assert "Cancel previous" in page and "catch up" in page
    root.post(address, form(team, schedule=json.dumps(job.schedule), **SAID, name="Renamed"))
    job.refresh_from_db()
    assert job.name == "Renamed" and {name: getattr(job, name) for name in SAID} == SAID


def test_resuming_in_the_admin_says_what_was_missed(root, team) -> None:
    job = services.create_job(NewJob("send_email", MAIL, HOURLY), tenant=team, actor=None)
    due = timezone.now() - timedelta(minutes=1)
    Job.objects.update(next_run_at=due, schedule=HOURLY | {"start_at": due.isoformat()})
    services.pause_job(job, actor=None)

    chosen = {"action": "resume", "_selected_action": [str(job.pk)], "confirmed": "yes"}
    answer = root.post(reverse("admin:jobs_job_changelist"), chosen, follow=True)

    assert "1 due time passed during the pause and is not made up for" in answer.content.decode()


def test_policies_that_contradict_each_other_are_told_beside_the_field(root, team) -> None:
    answer = root.post(reverse("admin:jobs_job_add"), form(team, misfire="catch_up", overlap="skip"))

    assert answer.status_code == 200 and "choose overlap" in answer.content.decode()
    assert not Job.objects.exists()
