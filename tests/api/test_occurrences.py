"""What became of each due time, asked over the API."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import services
from jobs.backfill import backfill
from jobs.ids import execution_id
from jobs.models import Attempt, AuditEvent, Execution, Job
from jobs.occurrences import list_occurrences
from jobs.outcomes import Missed, Outcome
from jobs.states import AttemptOutcome, Cause, Status
from tests.conftest import client_of
from tests.lives import Life

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
HOURLY = {"type": "cron", "expression": "0 * * * *", "timezone": "UTC"}
MINUTELY = {"type": "cron", "expression": "* * * * *", "timezone": "UTC"}
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def ask(api, life: Life, start: datetime | None = None, end: datetime | None = None, **options) -> dict:
    window = {name: at.isoformat() for name, at in (("from", start), ("to", end)) if at is not None}
    answer = api.get(f"/api/v1/jobs/{life.job.id}/occurrences", window | options)
    assert answer.status_code == 200, answer.content
    return answer.json()


def outcomes(told: dict) -> list[tuple[str, str, str | None]]:
    return [(one["due_at"][11:16], one["outcome"], one["missed_because"]) for one in told["occurrences"]]


def ran(row: Execution, *, after: timedelta = timedelta(seconds=2), **changes) -> None:
    started = {"status": Status.COMPLETED, "attempt": 1, "started_at": row.due_at + after} | changes
    Execution.objects.filter(pk=row.pk).update(**started)


def of(job: Job, due: datetime) -> Execution:
    times = {"due_at": due, "not_before": due, "recorded_at": due}
    identity = execution_id(job.id, due, Cause.SCHEDULE)
    return Execution(id=identity, job=job, tenant_id=job.tenant_id, task=job.task, priority=job.priority, **times)


def test_every_due_time_of_a_life_has_its_outcome(api, life) -> None:
    life.create(HOURLY)
    life.poll_until(NOON + 2.5 * HOUR).pause()
    life.at(NOON + 4.5 * HOUR).resume()
    life.poll_until(NOON + 5.5 * HOUR).cancel()
    life.at(NOON + 7.5 * HOUR)
    first, second, third = Execution.objects.order_by("id")
    ran(first)

    told = ask(api, life, NOON - HOUR, NOON + 9 * HOUR)

    assert told["next"] is None
    assert outcomes(told) == [
        ("11:00", "missed", "not_created"),
        ("12:00", "missed", "not_created"),  # due at the instant of its creation: a job starts with what is later
        ("13:00", "ran", None),
        ("14:00", "cancelled", None),  # it still waited when the job was cancelled
        ("15:00", "missed", "paused"),
        ("16:00", "missed", "paused"),
        ("17:00", "cancelled", None),
        ("18:00", "missed", "cancelled"),
        ("19:00", "missed", "cancelled"),
    ]
    assert [one["execution"] for one in told["occurrences"] if one["execution"]] == [
        str(one.id) for one in (first, second, third)
    ]
    assert told["occurrences"][2]["late_by"] == 2.0 and told["occurrences"][2]["status"] == "COMPLETED"
    assert all(one["reason"] for one in told["occurrences"] if one["outcome"] in ("missed", "cancelled"))
    assert [period["status"] for period in told["periods"]] == [
        "NOT_CREATED",
        "ACTIVE",
        "PAUSED",
        "ACTIVE",
        "CANCELLED",
    ]


def test_the_history_of_a_deleted_job_can_still_be_told(life) -> None:
    life.create(HOURLY)
    life.poll_until(NOON + 1.5 * HOUR)
    services.delete_job(life.job, actor=None)
    life.after(hours=2)

    page = list_occurrences(life.row, start=NOON + HOUR, end=NOON + 9 * HOUR, now=life.now)

    assert [(one.due_at, one.outcome, one.missed_because) for one in page.occurrences] == [
        (NOON + HOUR, Outcome.CANCELLED, None),
        (NOON + 2 * HOUR, Outcome.MISSED, Missed.DELETED),
        (NOON + 3 * HOUR, Outcome.MISSED, Missed.DELETED),
    ]


def test_an_edited_schedule_holds_from_its_edit_on(api, life) -> None:
    life.create(HOURLY)
    life.poll_until(NOON + 1.5 * HOUR).change(schedule={"type": "cron", "expression": "*/20 * * * *"})
    life.poll_until(NOON + 2.5 * HOUR).change(name="not about the times")

    told = ask(api, life, NOON + timedelta(minutes=1), NOON + 3 * HOUR)

    assert [due for due, *_ in outcomes(told)] == ["13:00", "13:40", "14:00", "14:20", "14:40"]
    assert [one["outcome"] for one in told["occurrences"]] == ["waiting"] * 4 + ["upcoming"]
    assert [period["schedule"]["expression"] for period in told["periods"]] == ["0 * * * *", "*/20 * * * *"]
    assert told["periods"][0]["to"] == told["periods"][1]["from"] == "2026-11-16T13:30:00Z"


def test_what_nobody_recorded_was_missed_because_the_system_was_down(api, life) -> None:
    life.create(HOURLY)
    life.poll_until(NOON + 1.5 * HOUR).after(hours=2).pause()

    assert outcomes(ask(api, life, NOON + timedelta(minutes=1))) == [
        ("13:00", "waiting", None),
        ("14:00", "missed", "system_down"),
        ("15:00", "missed", "system_down"),
    ]


def test_what_is_about_to_be_recorded_is_told_from_what_is_to_come(api, life) -> None:
    life.create(HOURLY)
    life.at(NOON + HOUR)

    assert outcomes(ask(api, life, NOON + HOUR, NOON + 2.5 * HOUR)) == [
        ("13:00", "due", None),
        ("14:00", "upcoming", None),
    ]


def test_due_times_to_come_of_a_paused_job_are_on_hold(api, life) -> None:
    life.create(HOURLY)
    life.pause()

    assert outcomes(ask(api, life, NOON + HOUR, NOON + 2 * HOUR)) == [("13:00", "on_hold", None)]


@pytest.mark.parametrize("act", ["pause", "cancel", "change"])
def test_a_start_that_jitter_put_behind_an_act_was_missed_because_of_it(api, life, act) -> None:
    schedule = {"type": "interval", "seconds": 3600, "start_at": (NOON + HOUR).isoformat(), "jitter": 3600}
    job = life.create(schedule)
    assert job.next_run_at > NOON + HOUR, "jitter moved the start"
    life.at(NOON + HOUR + (job.next_run_at - NOON - HOUR) / 2)
    getattr(life, act)(**({"schedule": HOURLY} if act == "change" else {}))
    life.after(hours=3)

    told = ask(api, life, NOON + HOUR, NOON + 1.1 * HOUR)["occurrences"][0]

    assert told["outcome"] == "missed"
    assert told["missed_because"] == {"pause": "paused", "cancel": "cancelled", "change": "schedule_changed"}[act]


def test_a_start_that_jitter_put_off_is_still_to_come(api, life) -> None:
    life.create({"type": "interval", "seconds": 3600, "start_at": (NOON + HOUR).isoformat(), "jitter": 3600})
    life.at(NOON + HOUR)

    [told] = ask(api, life, NOON + HOUR, NOON + 1.5 * HOUR)["occurrences"]

    assert told["outcome"] == "upcoming" and "jitter" in told["reason"]


def test_a_skipped_due_time_says_why(api, life) -> None:
    life.create(HOURLY)
    life.poll_until(NOON + 1.5 * HOUR)
    Execution.objects.update(status=Status.SKIPPED, reason="the previous run was still going")

    [told] = ask(api, life, NOON + HOUR)["occurrences"]

    assert (told["outcome"], told["reason"]) == ("skipped", "the previous run was still going")


def test_one_skipped_row_may_speak_for_the_due_times_after_it(api, life) -> None:
    life.create(HOURLY)
    life.poll_until(NOON + 1.5 * HOUR)
    Execution.objects.update(status=Status.SKIPPED, reason="too late", covers_until=NOON + 3 * HOUR)
    life.after(hours=5)

    told = ask(api, life, NOON + 2 * HOUR, NOON + 4 * HOUR)["occurrences"]

    row = Execution.objects.get()
    assert [(one["outcome"], one["reason"], one["execution"]) for one in told] == [
        ("skipped", "too late", str(row.id)),
        ("skipped", "too late", str(row.id)),
    ]


def test_runs_asked_for_by_hand_are_listed_with_their_cause(api, life) -> None:
    life.create(HOURLY)
    life.at(NOON + 0.5 * HOUR).run_now()
    life.poll_until(NOON + HOUR).run_now()

    told = ask(api, life, NOON + 0.1 * HOUR, NOON + 1.1 * HOUR)["occurrences"]

    assert [(one["due_at"][11:16], one["cause"]) for one in told] == [
        ("12:30", "run_now"),
        ("13:00", "schedule"),
        ("13:00", "run_now"),
    ]


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


def test_late_by_is_counted_to_the_first_attempt(api, life) -> None:
    life.create(HOURLY)
    life.poll_until(NOON + 1.5 * HOUR)
    row = Execution.objects.get()
    ran(row, after=timedelta(minutes=9), attempt=3, status=Status.FAILED)
    for number, late in ((1, 3), (2, 60)):
        began = row.due_at + timedelta(seconds=late)
        Attempt.objects.create(
            execution=row, number=number, outcome=AttemptOutcome.FAILED, error="no", started_at=began, finished_at=began
        )

    [told] = ask(api, life, NOON + HOUR)["occurrences"]

    assert (told["outcome"], told["status"], told["late_by"]) == ("ran", "FAILED", 3.0)


def test_a_job_without_a_schedule_has_one_due_time(api, life) -> None:
    life.create({"type": "now"})

    assert outcomes(ask(api, life, NOON - HOUR, NOON + HOUR)) == [("12:00", "due", None)]
    life.poll()
    assert outcomes(ask(api, life, NOON - HOUR, NOON + HOUR)) == [("12:00", "waiting", None)]


def test_a_time_that_had_just_passed_when_it_was_accepted_is_listed(api, life) -> None:
    life.create(HOURLY)
    life.after(minutes=10).change(schedule={"type": "once", "run_at": "2026-11-16T12:09:30Z"})

    assert outcomes(ask(api, life, NOON + timedelta(seconds=1), NOON + HOUR)) == [("12:09", "due", None)]


@pytest.mark.parametrize("finished", [False, True])
def test_a_job_is_expected_no_more_often_than_its_maximum_of_runs(api, life, finished) -> None:
    life.create(HOURLY | {"max_runs": 3})
    if finished:
        life.poll_until(NOON + 5 * HOUR).change(name="renamed")
    else:
        life.poll_until(NOON + 1.5 * HOUR)

    assert [due for due, *_ in outcomes(ask(api, life, NOON + 0.5 * HOUR, NOON + 9 * HOUR))] == [
        "13:00",
        "14:00",
        "15:00",
    ]


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


def test_the_history_of_other_jobs_is_not_read(api, life) -> None:
    life.create(HOURLY)
    life.poll_until(NOON + 1.5 * HOUR).pause()
    life.create(HOURLY)

    assert outcomes(ask(api, life, NOON + HOUR, NOON + 1.1 * HOUR)) == [("13:00", "missed", "not_created")]


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


def test_bob_may_look_and_charlie_sees_nothing(api, life, bob, team, charlie) -> None:
    life.create(HOURLY)
    address = f"/api/v1/jobs/{life.job.id}/occurrences"

    assert client_of(bob, team).get(address).status_code == 200
    assert client_of(charlie).get(address).status_code == 404
    assert client_of(None).get(address).status_code == 401


def test_the_time_of_an_act_is_the_databases(life) -> None:
    life.create(HOURLY)
    life.after(hours=1).pause()

    assert list(AuditEvent.objects.order_by("id").values_list("action", "at")) == [
        ("create", NOON),
        ("pause", NOON + HOUR),
    ]
