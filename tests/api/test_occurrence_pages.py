"""Any window of a job's due times is answered, page by page, with bounded work."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.backfill import backfill
from jobs.ids import execution_id
from jobs.models import Execution, Job
from jobs.states import Cause, Status
from tests.api.occurrences import HOUR, HOURLY, NOON, ask, outcomes

pytestmark = pytest.mark.django_db

MINUTELY = {"type": "cron", "expression": "* * * * *", "timezone": "UTC"}


def of(job: Job, due: datetime) -> Execution:
    times = {"due_at": due, "not_before": due, "recorded_at": due}
    identity = execution_id(job.id, due, Cause.SCHEDULE)
    return Execution(id=identity, job=job, tenant_id=job.tenant_id, task=job.task, priority=job.priority, **times)


def test_what_is_due_at_one_instant_is_told_together_however_short_the_answer(api, life) -> None:
    life.create(HOURLY)
    life.poll_until(NOON + HOUR).run_now()
    Execution.objects.filter(cause=Cause.SCHEDULE).update(status=Status.SKIPPED)
    life.after(hours=0.5)
    backfill(life.job, start=NOON + HOUR, end=life.now, actor=None)

    first = ask(api, life, NOON + HOUR, NOON + 3 * HOUR, limit=1)
    second = api.get(first["next"]).json()

    assert first["occurrences"][0]["cause"] == "schedule"
    assert {one["cause"] for one in first["occurrences"]} == {"schedule", "run_now", "backfill"}
    assert outcomes(second) == [("14:00", "upcoming", None)]


@pytest.mark.parametrize("most", [3, 5])
def test_a_job_that_is_run_by_hand_all_the_time_is_told_page_by_page(api, life, monkeypatch, most) -> None:
    monkeypatch.setattr("jobs.occurrences.MOST_ROWS", most)
    life.create(HOURLY)
    for _ in range(20):
        life.after(minutes=10).poll().run_now()

    told = ask(api, life, NOON + timedelta(minutes=1))
    found = told["occurrences"]
    while told["next"]:
        told = api.get(told["next"]).json()
        assert len(told["occurrences"]) <= most
        found += told["occurrences"]

    assert [one["cause"] for one in found].count("run_now") == 19, "the last one is due at the end of the window"
    assert [one["due_at"][11:16] for one in found if one["cause"] == "schedule"] == ["13:00", "14:00", "15:00"]


def test_an_answer_holds_a_number_of_due_times_and_says_where_to_go_on(api, life) -> None:
    life.create(HOURLY)
    life.poll_until(NOON + 10.5 * HOUR)
    life.at(NOON + 7.5 * HOUR).run_now()
    whole = ask(api, life, NOON - 5 * HOUR, NOON + 20 * HOUR)

    pages, address = [], None
    while address or not pages:
        told = api.get(address).json() if address else ask(api, life, NOON - 5 * HOUR, NOON + 20 * HOUR, limit=3)
        assert len(told["occurrences"]) <= 3
        pages += told["occurrences"]
        address = told["next"]

    assert pages == whole["occurrences"] and len(pages) == 26


def test_a_life_of_many_edits_is_told_page_by_page(api, life, monkeypatch) -> None:
    monkeypatch.setattr("jobs.occurrences.MOST_ACTS", 2)
    life.create(HOURLY)
    for _ in range(5):
        life.poll_until(life.now + 1.2 * HOUR).pause().after(hours=1.1).resume()
    window = NOON + 0.5 * HOUR, NOON + 15 * HOUR

    told = ask(api, life, *window)
    pages = told["occurrences"]
    rounds = 1
    while told["next"]:
        told = api.get(told["next"]).json()
        pages += told["occurrences"]
        rounds += 1

    assert rounds > 3
    assert [one["due_at"] for one in pages] == [
        (NOON + hours * HOUR).isoformat().replace("+00:00", "Z") for hours in range(1, 15)
    ]
    assert {one["outcome"] for one in pages} == {"waiting", "missed", "upcoming"}


CENTURY = timedelta(days=36525)


WINDOWS = {
    "an hour": (NOON + HOUR, NOON + 2 * HOUR),
    "a century": (NOON, NOON + CENTURY),
    "all times": (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)),
    "long ago": (datetime(1975, 1, 1, tzinfo=UTC), datetime(1980, 1, 1, tzinfo=UTC)),
    "far ahead": (datetime(2150, 1, 1, tzinfo=UTC), datetime(2199, 1, 1, tzinfo=UTC)),
    "beyond all schedules": (datetime(2300, 1, 1, tzinfo=UTC), datetime(2400, 1, 1, tzinfo=UTC)),
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("schedule", [MINUTELY, MINUTELY | {"max_runs": 10**6}, MINUTELY | {"max_runs": 1000}])
def test_any_window_is_answered_with_bounded_work(api, life, window, schedule) -> None:
    life.create(schedule)
    life.poll_until(NOON + timedelta(minutes=9))

    with CaptureQueriesContext(connection) as asked:
        began = time.perf_counter()
        told = ask(api, life, *WINDOWS[window], limit=1000)
        took = time.perf_counter() - began

    assert len(told["occurrences"]) <= 1000
    assert took < 5, "a fraction of a second, on a machine that has nothing else to do"
    assert len(asked) <= 7
    assert not [query["sql"] for query in asked if "COUNT(" in query["sql"].upper()]


def test_everything_is_read_by_index(api, life) -> None:
    other = life.create(HOURLY)
    Execution.objects.bulk_create(of(other, NOON + place * HOUR / 10) for place in range(2000))  # not to be read
    life.create(HOURLY)
    life.poll_until(NOON + 90 * HOUR)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")  # such small tables are read from end to end
    with CaptureQueriesContext(connection) as asked:
        ask(api, life, NOON, NOON + 200 * HOUR)

    read = [query["sql"] for query in asked if "jobs_execution" in query["sql"] or "jobs_auditevent" in query["sql"]]
    assert len(read) == 3
    for statement in read:
        with connection.cursor() as cursor:
            cursor.execute(("EXPLAIN " if connection.vendor == "postgresql" else "EXPLAIN QUERY PLAN ") + statement)
            plan = " ".join(str(line) for line in cursor.fetchall())
        assert "_of_a_job" in plan and "Seq Scan" not in plan and "SCAN jobs" not in plan, plan


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"from": "yesterday"}, "from"),
        ({"to": "2026-13-01T00:00:00Z"}, "to"),
        ({"from": "2026-11-16T00:00:00Z", "to": "2026-11-16T00:00:00Z"}, "to"),
        ({"from": "2300-11-16T00:00:00Z"}, "to"),
        ({"limit": 0}, "limit"),
        ({"limit": 1001}, "limit"),
        ({"until": "2026-11-16T00:00:00Z"}, "until"),
        ({"from": "0001-01-01T00:00:00+14:00"}, "from"),
    ],
)
def test_what_is_wrong_with_a_question_is_named(api, life, query, field) -> None:
    life.create(HOURLY)

    answer = api.get(f"/api/v1/jobs/{life.job.id}/occurrences", query)

    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_the_ends_of_the_calendar_are_no_error(api, life) -> None:
    life.create(HOURLY)

    for query in ({"to": "0001-01-01T00:00:00Z"}, {"from": "9999-12-31T23:59:59Z", "to": "9999-12-31T23:59:59.9Z"}):
        answer = api.get(f"/api/v1/jobs/{life.job.id}/occurrences", query)
        assert answer.status_code in (200, 400), answer.content


def test_without_a_window_it_is_the_last_day(api, life) -> None:
    life.create(HOURLY)
    life.poll_until(NOON + 30.5 * HOUR)

    told = ask(api, life)["occurrences"]

    assert len(told) == 24 and told[0]["due_at"] == "2026-11-16T19:00:00Z"
