"""What a schedule means, asked before and after it is saved."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from jobs.models import Job
from scheduling.due import record_due
from tests.conftest import client_of

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
FRIDAYS = {"type": "cron", "expression": "30 10 * * 5", "timezone": "Asia/Jakarta"}


def preview(api, schedule, **options):
    return api.post("/api/v1/schedules/preview", {"schedule": schedule} | options)


def create(api, schedule) -> dict:
    return api.post("/api/v1/jobs", {"task": "send_email", "payload": MAIL, "schedule": schedule}).json()


def test_a_schedule_is_told_in_words_and_as_its_next_runs(api) -> None:
    answer = preview(api, FRIDAYS, count=3, **{"from": "2026-11-16T00:00:00Z"})

    assert answer.status_code == 200
    told = answer.json()
    assert "10:30" in told["description"] and "Friday" in told["description"]
    assert [run["at"] for run in told["runs"]] == [
        "2026-11-20T03:30:00Z",
        "2026-11-27T03:30:00Z",
        "2026-12-04T03:30:00Z",
    ]
    assert told["runs"][0]["local"] == "2026-11-20T10:30:00+07:00" and told["runs"][0]["note"] == ""
    assert not Job.objects.exists()


def test_a_day_with_a_clock_change_says_what_happens_on_it(api) -> None:
    schedule = {"type": "cron", "expression": "30 2 * * *", "timezone": "Europe/Paris"}

    [run] = preview(api, schedule, count=1, **{"from": "2027-03-27T12:00:00Z"}).json()["runs"]

    assert run["at"] == "2027-03-28T01:00:00Z" and run["local"] == "2027-03-28T03:00:00+02:00"
    assert "02:30" in run["note"]


@pytest.mark.parametrize(
    ("schedule", "runs"),
    [
        ({"type": "now"}, 1),
        ({"type": "interval", "seconds": 60}, 10),
        ({"type": "interval", "seconds": 60, "max_runs": 3}, 3),
    ],
)
def test_as_many_runs_are_shown_as_there_are(api, schedule, runs) -> None:
    assert len(preview(api, schedule).json()["runs"]) == runs


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "schedule"),
        ({"schedule": {"type": "cron", "expression": "61 * * * *"}}, "schedule.expression"),
        ({"schedule": FRIDAYS, "count": 0}, "count"),
        ({"schedule": FRIDAYS, "count": 101}, "count"),
        ({"schedule": FRIDAYS, "from": "soon"}, "from"),
        ({"schedule": FRIDAYS, "until": "2027-01-01T00:00:00Z"}, "until"),
    ],
)
def test_what_is_wrong_with_a_question_is_named(api, body, field) -> None:
    answer = api.post("/api/v1/schedules/preview", body)

    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_a_jobs_preview_is_what_the_poller_then_does(api) -> None:
    job = create(api, {"type": "cron", "expression": "H H * * *", "timezone": "Europe/Paris", "max_runs": 5})
    expected = [run["at"] for run in api.get(f"/api/v1/jobs/{job['id']}/preview").json()["runs"]]

    Job.objects.update(overlap="allow")  # nothing runs here, so nothing would ever be over
    row = Job.objects.get()
    while row.next_run_at is not None:
        record_due(
            [row.id], now=row.next_run_at, misfire_grace=timedelta(minutes=1), publish_patience=timedelta(seconds=1)
        )
        row.refresh_from_db()

    due = row.executions.order_by("due_at").values_list("due_at", flat=True)
    assert [datetime.fromisoformat(at) for at in expected] == list(due) and len(due) == 5


def test_runs_that_were_made_are_not_promised_again(api) -> None:
    job = create(api, {"type": "interval", "seconds": 60, "max_runs": 3})
    row = Job.objects.get()
    record_due([row.id], now=row.next_run_at, misfire_grace=timedelta(minutes=1), publish_patience=timedelta(seconds=1))

    later = (timezone.now() + timedelta(minutes=2)).isoformat()
    assert len(api.get(f"/api/v1/jobs/{job['id']}/preview", {"from": later}).json()["runs"]) == 2


def test_charlie_cannot_preview_alices_job(api, charlie) -> None:
    job = create(api, FRIDAYS)

    assert client_of(charlie).get(f"/api/v1/jobs/{job['id']}/preview").status_code == 404


def test_nobody_previews_anonymously(client) -> None:
    assert (
        client.post("/api/v1/schedules/preview", {"schedule": FRIDAYS}, content_type="application/json").status_code
        == 401
    )
