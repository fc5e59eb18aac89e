"""How busy a tenant's coming hours are: over the API, and for whoever has a shell."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.conftest import client_of

pytestmark = pytest.mark.django_db

MAIL = {"to": "alice@example.com", "subject": "Hello", "body": "There"}
HOURLY = {"type": "cron", "expression": "0 * * * *"}


@pytest.fixture
def jobs(api) -> None:
    wanted = [{"task": "send_email", "payload": MAIL, "schedule": HOURLY, "name": f"report {n}"} for n in range(20)]
    wanted.append(
        {"task": "send_email", "payload": MAIL, "schedule": HOURLY | {"expression": "H * * * *", "jitter": 60}}
    )
    assert api.post("/api/v1/jobs/bulk", {"jobs": wanted}, format="json").json()["created"] == 21


def shell(*arguments: str) -> str:
    out = StringIO()
    call_command("schedule_load", *arguments, stdout=out)
    return out.getvalue()


def test_the_coming_hours_the_worst_minutes_and_what_would_help(api, jobs) -> None:
    answer = api.get("/api/v1/schedules/load", {"hours": 6})

    assert answer.status_code == 200
    told = answer.json()
    assert told["jobs"] == 21 and len(told["hours"]) == 6 and told["left_out"] == told["estimated"] == 0
    assert sum(hour["executions"] for hour in told["hours"]) == told["executions"]
    [worst, *_] = told["worst"]
    assert worst["executions"] >= 20
    assert worst["parts"][0]["schedule"] == {"type": "cron", "text": "0 * * * *", "timezone": "UTC", "jitter": 0}
    assert len(worst["parts"][0]["examples"]) == 3 and worst["parts"][0]["examples"][0]["name"].startswith("report")
    assert [advice["change"] for advice in told["advice"]] == [{"expression": "H * * * *"}]
    assert told["advice"][0]["text"].startswith("20 jobs with `0 * * * *`, up to 20 in a minute")


def test_a_paused_job_adds_nothing(api, jobs) -> None:
    for job in api.get("/api/v1/jobs").json()["results"]:
        api.post(f"/api/v1/jobs/{job['id']}/pause")

    assert api.get("/api/v1/schedules/load").json()["executions"] == 0


@pytest.mark.parametrize(
    ("query", "field"), [({"hours": 8760}, "hours"), ({"hours": 0}, "hours"), ({"days": 1}, "days")]
)
def test_what_is_wrong_with_a_question_is_named(api, query, field) -> None:
    answer = api.get("/api/v1/schedules/load", query)

    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert field != "hours" or query["hours"] == 0 or "168" in answer.json()["detail"]


def test_charlie_sees_nothing_of_alices_load(jobs, charlie) -> None:
    told = client_of(charlie).get("/api/v1/schedules/load").json()

    assert told["jobs"] == told["executions"] == 0 and told["worst"] == []


def test_nobody_asks_anonymously(client) -> None:
    assert client.get("/api/v1/schedules/load").status_code == 401


def test_more_jobs_than_a_report_counts_are_told(api, jobs, monkeypatch) -> None:
    monkeypatch.setattr("jobs.stats.load.MAX_JOBS", 5)

    told = api.get("/api/v1/schedules/load").json()

    assert (told["jobs"], told["left_out"]) == (5, 16)


def test_the_command_draws_and_advises(jobs, team, charlie) -> None:
    drawn = shell("--hours", "3")

    assert "21 jobs" in drawn and "0 * * * *" in drawn and "`H * * * *` would make it at most" in drawn
    assert "21 jobs" in shell("--tenant", str(team.pk)) and "0 jobs" in shell("--tenant", str(charlie.tenants.get().pk))
    assert "21 jobs" in shell("--tenant", team.name)


def test_the_command_answers_programs_with_json(jobs) -> None:
    told = json.loads(shell("--json", "--hours", "2"))

    assert told["jobs"] == 21 and len(told["hours"]) == 2
    assert told["worst"][0]["parts"][0]["written"]["text"] == "0 * * * *"


@pytest.mark.parametrize("arguments", [("--hours", "0"), ("--hours", "169"), ("--tenant", "nobody")])
def test_the_command_says_what_is_allowed(db, arguments) -> None:
    with pytest.raises(CommandError, match=r"allowed are 1 to 168|Give its id"):
        shell(*arguments)
