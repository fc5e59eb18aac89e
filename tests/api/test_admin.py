"""The admin: lists, history, and acts that go through the same services as the API's."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from accounts.services import register_admin
from jobs import admin_lists, services
from jobs.models import Attempt, AuditEvent, Execution, Job
from jobs.services import NewJob
from jobs.states import AttemptOutcome, JobStatus, Status

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "interval", "seconds": 3600}


@pytest.fixture
def root(client, db):
    client.force_login(register_admin(username="root", email="root@example.com", password="x"))
    return client


@pytest.fixture
def job(team) -> Job:
    return services.create_job(NewJob("send_email", MAIL, HOURLY, name="Hourly"), tenant=team, actor=None)


@pytest.fixture
def execution(job) -> Execution:
    execution = services.run_job_now(job, actor=None)
    Attempt.objects.create(
        execution=execution, number=1, outcome=AttemptOutcome.FAILED, error="451", finished_at=execution.due_at
    )
    return execution


@pytest.mark.parametrize("model", ["job", "execution", "attempt", "auditevent"])
def test_every_list_opens_filtered_and_searched(root, execution, model) -> None:
    page = root.get(reverse(f"admin:jobs_{model}_changelist"), {"q": ""})

    assert page.status_code == 200
    assert b"send_email" in page.content or b"Hourly" in page.content


def test_a_list_is_narrowed_down_to_a_task(root, execution) -> None:
    address = reverse("admin:jobs_execution_changelist")

    assert "1 execution" in root.get(address, {"task": "send_email"}).content.decode()
    assert "0 executions" in root.get(address, {"task": "http_request"}).content.decode()


def test_a_long_list_is_counted_no_further_than_its_pages_are_turned(root, execution, monkeypatch) -> None:
    monkeypatch.setattr(admin_lists, "MOST_COUNTED", 1)
    services.run_job_now(execution.job, actor=None)

    page = root.get(reverse("admin:jobs_execution_changelist")).content.decode()

    assert "1 execution" in page and page.count('class="action-select"') >= 1


def test_every_account_list_opens(root, team) -> None:
    for model in ("user", "tenant"):
        assert root.get(reverse(f"admin:accounts_{model}_changelist")).status_code == 200


def test_history_can_be_read_and_not_written(root, execution) -> None:
    address = reverse("admin:jobs_execution_change", args=[execution.pk])

    page = root.get(address)

    assert page.status_code == 200
    assert b"recorded" in page.content and b"451" in page.content and b"alice@example.com" in page.content
    assert root.post(address, {"status": "COMPLETED"}).status_code == 403
    assert root.get(reverse("admin:jobs_execution_add")).status_code == 403
    assert root.post(reverse("admin:jobs_execution_delete", args=[execution.pk])).status_code == 403


@pytest.mark.parametrize(
    ("action", "status"),
    [("pause_job", JobStatus.PAUSED), ("cancel_job", JobStatus.CANCELLED), ("run_job_now", JobStatus.ACTIVE)],
)
def test_actions_are_acts_of_the_person(root, job, action, status) -> None:
    root.post(reverse("admin:jobs_job_changelist"), {"action": action, "_selected_action": [str(job.pk)]})

    job.refresh_from_db()
    assert job.status == status
    assert AuditEvent.objects.filter(job=job, actor__username="root").count() == 1


def test_an_action_that_cannot_be_done_says_why(root, job) -> None:
    answer = root.post(
        reverse("admin:jobs_job_changelist"), {"action": "resume_job", "_selected_action": [str(job.pk)]}, follow=True
    )

    assert b"Only a paused job can be resumed" in answer.content


def form(team, **changes) -> dict:
    fields = {"name": "Made here", "tenant": str(team.pk), "task": "send_email", "payload": json.dumps(MAIL)}
    return fields | {"schedule": "", "priority": "5", "max_retries": ""} | changes


def test_a_job_made_in_the_admin_is_due(root, team) -> None:
    answer = root.post(reverse("admin:jobs_job_add"), form(team, schedule=json.dumps(HOURLY)))

    assert answer.status_code == 302, answer.context["errors"]
    job = Job.objects.get()
    assert job.next_run_at and job.owner.username == "root" and job.tenant == team


def test_a_changed_job_keeps_what_was_not_changed(root, job, team) -> None:
    before = job.next_run_at
    address = reverse("admin:jobs_job_change", args=[job.pk])

    answer = root.post(address, form(team, name="Renamed", schedule=json.dumps(job.schedule)))

    assert answer.status_code == 302
    job.refresh_from_db()
    assert job.name == "Renamed" and job.next_run_at == before


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"payload": '{"to": "nowhere"}'}, "is missing"),
        ({"schedule": '{"type": "cron", "expression": "61 * * * *"}'}, "minute"),
        ({"schedule": "not json"}, "valid JSON"),
        ({"task": "send_emial"}, "valid choice"),
    ],
)
def test_mistakes_are_told_beside_the_field(root, team, changes, says) -> None:
    answer = root.post(reverse("admin:jobs_job_add"), form(team, **changes))

    assert answer.status_code == 200 and says in answer.content.decode()
    assert not Job.objects.exists()


def test_deleting_a_job_keeps_its_history(root, job, execution) -> None:
    root.post(reverse("admin:jobs_job_delete", args=[job.pk]), {"post": "yes"})

    job.refresh_from_db()
    assert job.deleted_at and job.next_run_at is None
    assert Execution.objects.get().status == Status.CANCELLED


def test_an_emptied_schedule_stays_as_it_was(root, job, team) -> None:
    before = job.schedule

    answer = root.post(reverse("admin:jobs_job_change", args=[job.pk]), form(team, schedule=""))

    job.refresh_from_db()
    assert answer.status_code == 302 and job.schedule == before and job.next_run_at


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"payload": json.dumps(MAIL | {"body": "\x00"})}, "u0000"),
        ({"max_retries": "30000"}, "less than or equal to 100"),
    ],
)
def test_what_the_api_refuses_the_admin_refuses(root, job, team, changes, says) -> None:
    answer = root.post(reverse("admin:jobs_job_change", args=[job.pk]), form(team, **changes))

    assert answer.status_code == 200 and says in answer.content.decode()


def test_a_cancelled_job_cannot_be_edited(root, job, team) -> None:
    services.cancel_job(job, actor=None)

    answer = root.post(reverse("admin:jobs_job_change", args=[job.pk]), form(team, name="Again"))

    assert answer.status_code == 200 and "Create a new one" in answer.content.decode()
