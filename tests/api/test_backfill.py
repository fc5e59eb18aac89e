"""Making up for due times that passed without a run, asked for over the API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Membership, Tenant
from jobs import services
from jobs.models import AuditEvent, Execution
from jobs.states import Cause, Status
from tests.conftest import client_of
from tests.lives import Life

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
HOURLY = {"type": "cron", "expression": "0 * * * *", "timezone": "UTC"}
MINUTELY = {"type": "cron", "expression": "* * * * *", "timezone": "UTC"}
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def ask(api, life: Life, start: datetime, end: datetime, **options):
    window = {"from": start.isoformat(), "to": end.isoformat()}
    return api.post(f"/api/v1/jobs/{life.job.id}/backfill", window | options)


def make(api, life: Life, start: datetime, end: datetime, **options) -> dict:
    answer = ask(api, life, start, end, dry_run=False, **options)
    assert answer.status_code == 202, answer.content
    return answer.json()


def backfilled() -> list[Execution]:
    return list(Execution.objects.filter(cause=Cause.BACKFILL).order_by("due_at"))


@pytest.fixture
def gaps(life) -> Life:
    """13:00 ran, 14:00 was skipped, 15:00 and 16:00 passed in a pause, 17:00 waits, 18:00 is to come."""
    life.create(HOURLY)
    life.poll_until(NOON + 2.5 * HOUR).pause().after(hours=2).resume()
    life.poll_until(NOON + 5.5 * HOUR)
    ran, skipped, _ = Execution.objects.order_by("id")
    Execution.objects.filter(pk=ran.pk).update(status=Status.COMPLETED)
    Execution.objects.filter(pk=skipped.pk).update(status=Status.SKIPPED, reason="the previous run was still going")
    return life


def test_a_dry_run_says_what_would_be_made_and_makes_nothing(api, gaps) -> None:
    answer = ask(api, gaps, NOON + HOUR, gaps.now, rate=30)

    assert answer.status_code == 200
    told = answer.json()
    assert told.pop("occurrences").startswith(f"http://testserver/api/v1/jobs/{gaps.job.id}/occurrences?from=2026")
    assert told.pop("executions") == f"http://testserver/api/v1/jobs/{gaps.job.id}/executions?cause=backfill"
    assert told == {
        "dry_run": True,
        "count": 3,
        "first": "2026-11-16T14:00:00Z",
        "last": "2026-11-16T16:00:00Z",
        "skipped": 1,
        "missed": 2,
        "left_alone": 2,
        "rate": 30,
        "seconds": 4.0,
    }
    assert not backfilled() and not AuditEvent.objects.filter(action="backfill").exists()


def test_each_due_time_without_a_run_gets_one_at_the_asked_rate(api, gaps) -> None:
    before = list(Execution.objects.order_by("id").values())

    told = make(api, gaps, NOON + HOUR, gaps.now, rate=30)

    made = backfilled()
    assert told["count"] == 3 and [one.due_at for one in made] == [NOON + n * HOUR for n in (2, 3, 4)]
    starts = [gaps.now + n * timedelta(seconds=2) for n in range(3)]
    assert [one.not_before for one in made] == [one.wake_at for one in made] == starts
    assert {(one.status, one.task, one.priority, one.tenant_id) for one in made} == {
        (Status.SCHEDULED, "send_email", gaps.job.priority, gaps.team.pk)
    }
    assert list(Execution.objects.exclude(cause=Cause.BACKFILL).order_by("id").values()) == before, "left alone"
    assert api.get(told["executions"]).json()["results"][0]["cause"] == "backfill"
    assert len(api.get(told["occurrences"]).json()["occurrences"]) == 5 + 3


def test_repeating_it_makes_nothing_twice(api, gaps) -> None:
    make(api, gaps, NOON + HOUR, gaps.now)

    for status in (Status.SCHEDULED, Status.RUNNING, Status.COMPLETED, Status.FAILED, Status.CANCELLED):
        Execution.objects.filter(cause=Cause.BACKFILL).update(status=status)
        told = make(api, gaps, NOON + HOUR, gaps.now)
        assert (told["count"], told["first"], told["left_alone"]) == (0, None, 5)

    assert len(backfilled()) == 3


@pytest.mark.parametrize("status", [status for status in Status if status != Status.SKIPPED])
def test_what_the_schedule_has_made_is_left_alone_whatever_became_of_it(api, gaps, status) -> None:
    Execution.objects.update(status=status)

    told = make(api, gaps, NOON + HOUR, gaps.now)

    assert (told["count"], told["left_alone"]) == (2, 3)


def test_due_times_from_before_the_job_can_be_made_up_for(api, life) -> None:
    life.create(HOURLY)

    assert make(api, life, NOON - 5 * HOUR, NOON)["count"] == 5


def test_what_a_poller_has_yet_to_record_is_left_to_it(api, life) -> None:
    life.create(HOURLY)
    life.after(hours=3.5)

    told = make(api, life, NOON + 0.5 * HOUR, life.now)
    life.poll()

    assert (told["count"], told["left_alone"]) == (0, 3)
    assert [one.due_at for one in Execution.objects.exclude(status=Status.SKIPPED)] == [NOON + HOUR]


def test_a_paused_or_finished_job_can_be_backfilled_and_stays_what_it_is(api, life) -> None:
    life.create(HOURLY | {"max_runs": 1})
    life.pause().after(hours=3.5)
    assert make(api, life, NOON + 0.5 * HOUR, life.now)["count"] == 3
    life.resume().poll_until(NOON + 4.5 * HOUR)

    row = life.row
    assert (row.status, row.runs) == ("FINISHED", 1), "what is made up for is none of the schedule's runs"
    assert make(api, life, NOON - HOUR, NOON)["count"] == 1
    assert life.row.status == "FINISHED" and life.row.next_run_at is None


def test_the_schedule_is_not_disturbed(api, gaps) -> None:
    before = gaps.row.next_run_at, gaps.row.runs, gaps.row.version

    make(api, gaps, NOON + HOUR, gaps.now)

    assert (gaps.row.next_run_at, gaps.row.runs, gaps.row.version) == before


def test_cancelling_the_job_cancels_what_waits(api, gaps) -> None:
    make(api, gaps, NOON + HOUR, gaps.now)

    gaps.cancel()

    assert {one.status for one in backfilled()} == {Status.CANCELLED}


def test_a_job_that_has_ended_cannot_be_backfilled(api, gaps) -> None:
    gaps.cancel()
    for dry_run in (True, False):
        answer = ask(api, gaps, NOON + HOUR, gaps.now, dry_run=dry_run)
        assert answer.status_code == 409 and "Create a new one" in answer.json()["detail"]

    services.delete_job(gaps.row, actor=None)
    assert ask(api, gaps, NOON + HOUR, gaps.now).status_code == 404
    assert not backfilled()


def test_it_is_written_down_with_its_window_and_count(api, gaps, alice) -> None:
    make(api, gaps, NOON + HOUR, gaps.now, rate=10)

    event = AuditEvent.objects.get(action="backfill")
    assert (event.actor, event.at, event.job_id) == (alice, gaps.now, gaps.job.id)
    assert event.after == {
        "from": "2026-11-16T13:00:00+00:00",
        "to": "2026-11-16T17:30:00+00:00",
        "rate": 10,
        "count": 3,
    }


def test_a_window_with_too_many_due_times_is_refused_with_one_that_fits(api, life) -> None:
    life.create(MINUTELY)
    life.pause().after(days=3)

    answer = ask(api, life, NOON, life.now, dry_run=False)

    assert answer.status_code == 400
    [error] = answer.json()["errors"]
    fits = (NOON + timedelta(minutes=1000)).isoformat().replace("+00:00", "Z")
    assert error["field"] == "to" and fits in error["message"] and "1,000" in error["message"]
    told = make(api, life, NOON, NOON + timedelta(minutes=1000), rate=6000)
    assert (told["count"], told["seconds"]) == (1000, 9.99)


def test_however_many_are_made_they_cost_the_same_few_statements(api, life) -> None:
    life.create(MINUTELY)
    life.pause().after(days=3)

    with CaptureQueriesContext(connection) as few:
        make(api, life, NOON, NOON + timedelta(minutes=2))
    with CaptureQueriesContext(connection) as many:
        make(api, life, NOON + HOUR, NOON + HOUR + timedelta(minutes=1000))

    assert len(few) == len(many) <= 16


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"from": None}, "from"),
        ({"to": None}, "to"),
        ({"to": "tomorrow"}, "to"),
        ({"to": "2030-01-01T00:00:00Z"}, "to"),
        ({"from": "2026-11-16T12:00:00Z", "to": "2026-11-16T12:00:00Z"}, "to"),
        ({"rate": 0}, "rate"),
        ({"rate": 6001}, "rate"),
        ({"dry_run": "perhaps"}, "dry_run"),
        ({"dryrun": False}, "dryrun"),
    ],
)
def test_what_is_wrong_with_a_request_is_named(api, gaps, change, field) -> None:
    body = {"from": "2026-11-16T12:00:00Z", "to": "2026-11-16T13:00:00Z", "dry_run": False} | change

    answer = api.post(f"/api/v1/jobs/{gaps.job.id}/backfill", body)

    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert not backfilled()


def test_bob_may_viewers_may_not_and_charlie_sees_nothing(api, gaps, bob, team, charlie) -> None:
    assert ask(client_of(bob, team), gaps, NOON, gaps.now).status_code == 200
    assert ask(client_of(charlie), gaps, NOON, gaps.now).status_code == 404

    Membership.objects.filter(user=bob, tenant=team).update(role=Membership.Role.VIEWER)
    assert ask(client_of(bob, team), gaps, NOON, gaps.now, dry_run=False).status_code == 403
    assert not backfilled()


def test_more_than_the_days_quota_has_left_is_refused(api, gaps, team) -> None:
    Tenant.objects.filter(pk=team.pk).update(max_executions_a_day=5)  # two are recorded, one is still to come

    refused = ask(api, gaps, NOON + HOUR, gaps.now, dry_run=False)

    assert refused.status_code == 429 and backfilled() == []
    assert refused.json()["quota"] == {"name": "executions_a_day", "limit": 5, "used": 3, "wanted": 3}
    assert refused["Retry-After"] == str(int(6.5 * 3600) + 1)  # until midnight
    Tenant.objects.update(max_executions_a_day=6)
    assert make(api, gaps, NOON + HOUR, gaps.now)["count"] == 3
