"""What became of each due time, asked over the API."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs import services
from jobs.models import Attempt, AuditEvent, Execution
from jobs.occurrences import list_occurrences
from jobs.outcomes import Missed, Outcome
from jobs.states import AttemptOutcome, Status
from tests.api.occurrences import HOUR, HOURLY, NOON, ask, outcomes
from tests.conftest import client_of

pytestmark = pytest.mark.django_db


def ran(row: Execution, *, after: timedelta = timedelta(seconds=2), **changes) -> None:
    started = {"status": Status.COMPLETED, "attempt": 1, "started_at": row.due_at + after} | changes
    Execution.objects.filter(pk=row.pk).update(**started)


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


def test_the_history_of_other_jobs_is_not_read(api, life) -> None:
    life.create(HOURLY)
    life.poll_until(NOON + 1.5 * HOUR).pause()
    life.create(HOURLY)

    assert outcomes(ask(api, life, NOON + HOUR, NOON + 1.1 * HOUR)) == [("13:00", "missed", "not_created")]


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
