"""What is wrong and what is over, by what was seen: no database, no clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.alerts.judging import (
    MOST_SEEN,
    OVERLAP,
    Absences,
    Cursor,
    Failure,
    Outcome,
    Stalls,
    Standstill,
    Waiting,
    failed_troubles,
    is_mended,
    late_troubles,
    stood_still,
    system_troubles,
    why_missed,
)
from jobs.alerts.kinds import Kind
from jobs.alerts.wording import subject_of, text_of
from jobs.states import Status

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
JOB, TENANT = uuid4(), uuid4()


def failure(at: datetime, *, job: UUID = JOB, error: str = "ValueError: no") -> Failure:
    return Failure(uuid4(), job, TENANT, "send_email", error, None, at, "Report", ())


def kinds(*, absent=(), standstill=None, unserved=(), stalled=(), overrun=()) -> list[Kind]:
    found = system_troubles(
        dict.fromkeys(absent, NOON - MINUTE),
        standstill,
        dict.fromkeys(unserved, NOON - MINUTE),
        stalled=dict.fromkeys(stalled, NOON - MINUTE),
        overrun=dict.fromkeys(overrun, 3),
        now=NOON,
        overdue=30 * SECOND,
        stuck=20 * SECOND,
    )
    return [one.kind for one in found]


def standing(due: int, since: int) -> Standstill:
    return Standstill(NOON - due * SECOND, NOON - since * SECOND)


@pytest.mark.parametrize(
    ("facts", "wrong"),
    [
        ({}, []),
        ({"absent": ["poller"]}, [Kind.NO_POLLER]),
        ({"absent": ["recoverer"]}, [Kind.NO_RECOVERER]),
        ({"absent": ["poller", "recoverer"]}, [Kind.NO_POLLER, Kind.NO_RECOVERER]),
        ({"unserved": ["b", "a"]}, [Kind.NO_EXECUTOR, Kind.NO_EXECUTOR]),
        ({"stalled": ["a"], "overrun": ["host-1"]}, [Kind.STUCK_EXECUTOR, Kind.STUCK_EXECUTOR]),
        ({"unserved": ["a"], "stalled": ["a"]}, [Kind.NO_EXECUTOR]),  # why nothing completes is known
        ({"standstill": standing(60, 30)}, [Kind.STUCK_POLLER]),
        ({"standstill": standing(60, 10)}, []),  # the earliest since a moment: it is behind, and moves
        ({"standstill": standing(20, 20)}, []),  # not overdue for long
        ({"absent": ["poller"], "standstill": standing(60, 30)}, [Kind.NO_POLLER]),  # why it stands still is known
    ],
)
def test_what_is_wrong_with_the_processes(facts, wrong) -> None:
    assert kinds(**facts) == wrong


def test_a_role_is_missing_from_when_it_was_first_missed_until_it_is_seen() -> None:
    missed = Absences({}).seen(["poller"], NOON).seen(["poller"], NOON + MINUTE)
    assert missed.since == {"poller": NOON}
    assert missed.lasting(NOON + MINUTE, MINUTE) == {"poller": NOON} and not missed.lasting(NOON, MINUTE)
    assert missed.seen([], NOON + MINUTE).seen(["poller"], NOON + 2 * MINUTE).since == {"poller": NOON + 2 * MINUTE}


def test_executors_stall_from_when_work_was_first_offered_or_an_attempt_was_last_concluded() -> None:
    first = Stalls({}).seen({"a", "b"}, {}, NOON)
    later = first.seen({"a", "b"}, {"b": NOON + MINUTE}, NOON + 2 * MINUTE)

    assert later.since == {"a": NOON, "b": NOON + MINUTE}
    assert later.lasting(NOON + 2 * MINUTE, 2 * MINUTE) == {"a": NOON}
    assert later.seen({"b"}, {}, NOON + 3 * MINUTE).since == {"b": NOON + MINUTE}  # nothing of `a` waits any more


def test_the_earliest_due_time_stands_still_from_when_it_was_first_the_earliest() -> None:
    first = stood_still(None, NOON, NOON + SECOND)
    assert first == stood_still(first, NOON, NOON + MINUTE) == Standstill(NOON, NOON + SECOND)
    assert stood_still(first, NOON + SECOND, NOON + MINUTE) == Standstill(NOON + SECOND, NOON + MINUTE)
    assert stood_still(first, None, NOON) is None


@pytest.mark.parametrize(("pollers", "stuck", "told"), [(0, False, "no poller"), (1, True, "stuck"), (1, False, "")])
def test_why_something_was_missed(pollers, stuck, told) -> None:
    troubles = system_troubles({}, standing(60, 60) if stuck else None, {}, now=NOON, overdue=SECOND, stuck=SECOND)
    assert told in why_missed(troubles, pollers=pollers) and bool(told) is bool(why_missed(troubles, pollers=pollers))


def test_executions_of_a_job_that_wait_are_one_and_told_by_the_oldest() -> None:
    waits = [Waiting(uuid4(), JOB, TENANT, "send_email", NOON + n * SECOND, "Report", ["x"]) for n in (2, 0, 1)]

    [one] = late_troubles(waits, {"send_email"})

    assert (one.count, one.since, one.execution, one.tags) == (3, NOON, waits[1].id, ["x"])
    assert one.detail["cause"] == "no executor serves send_email"


def test_failures_are_told_by_job_and_kind_of_error() -> None:
    other = uuid4()
    found = failed_troubles(
        [
            failure(NOON, error="HTTPError: 503 for order 1"),
            failure(NOON + SECOND, error="HTTPError: 503 for order 2"),
            failure(NOON, error="ValueError: no"),
            failure(NOON, job=other),
        ]
    )

    assert [(one.job, one.count, one.since) for one in found] == [(JOB, 2, NOON), (JOB, 1, NOON), (other, 1, NOON)]
    assert found[0].detail["error"].endswith("order 2") and found[0].last_at == NOON + SECOND


COMPLETED = Outcome(Status.COMPLETED, discarded=False)
DEAD = Outcome(Status.FAILED, discarded=False)


@pytest.mark.parametrize(
    ("own", "completed_since", "over"),
    [
        (DEAD, False, False),
        (DEAD, True, True),  # it works again
        (COMPLETED, False, True),  # replayed
        (Outcome(Status.SCHEDULED, False), False, False),  # being replayed
        (Outcome(Status.FAILED, True), False, True),  # let go
        (Outcome(Status.CANCELLED, False), False, True),
        (None, False, True),
    ],
)
def test_when_a_failure_is_over(own, completed_since, over) -> None:
    assert is_mended(own, completed_since=completed_since) is over


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 300)), max_size=60), st.integers(1, 10))
def test_each_failure_is_found_once_however_late_it_is_written(events, batch) -> None:
    """Each happens at some second, and is seen so many seconds later; looks are taken every ten."""
    rows = [(failure(NOON + at * SECOND), NOON + (at + delay) * SECOND) for at, delay in events]
    cursor, found = Cursor(NOON - SECOND), []
    for second in range(0, 1_500, 10):
        now = NOON + second * SECOND
        visible = sorted((one for one, seen in rows if seen <= now and one.at > cursor.after), key=lambda one: one.at)
        page = visible[: batch + len(cursor.seen)]
        new = [one for one in page if (one.id, one.at) not in cursor.seen]
        found += [one.id for one in new]
        cursor = cursor.advanced(new, now=now, all_read=len(page) < batch + len(cursor.seen))

    assert sorted(found) == sorted(one.id for one, _ in rows)


def test_what_is_remembered_of_failures_is_bounded() -> None:
    flood = [failure(NOON + number * timedelta(milliseconds=1)) for number in range(MOST_SEEN + 100)]

    cursor = Cursor(NOON - SECOND).advanced(flood, now=NOON + MINUTE, all_read=True)

    assert len(cursor.seen) == MOST_SEEN and cursor.after == flood[99].at
    assert not cursor.advanced([], now=NOON + MINUTE + 2 * OVERLAP, all_read=True).seen


def line(kind: str, state: str = "new", **more) -> dict:
    return {
        "kind": kind,
        "state": state,
        "title": "Nightly report",
        "job": str(JOB),
        "tenant": None,
        "since": NOON.isoformat(),
        "last_at": NOON.isoformat(),
        "count": 1,
        "cause": "",
        "error": "",
        "outcome": "",
        "recovered_at": (NOON + 65 * MINUTE).isoformat() if state == "recovered" else None,
        "lasted": 3900.0 if state == "recovered" else None,
    } | more


def notice(*lines: dict, counts=None, more=0) -> dict:
    return {
        "rule": {"id": "r", "name": "On call"},
        "tenant": {"id": "t", "name": "Acme"},
        "counts": counts or {},
        "incidents": list(lines),
        "more": more,
    }


def test_a_notice_of_one_thing_says_it_in_its_subject() -> None:
    missed = notice(line("missed", cause="no poller is running"))

    assert subject_of(missed) == "[Punctual] Missed: Nightly report, due 2026-11-16 12:00:00 UTC"
    assert "was due at 2026-11-16 12:00:00 UTC, and has no execution.\nBecause no poller is running." in text_of(missed)
    assert subject_of(notice(line("late"))) == "[Punctual] Late: Nightly report"
    assert subject_of(notice(line("failed", "again"))) == "[Punctual] Failed: Nightly report"
    over = notice(line("missed", "recovered", outcome="it was skipped: nobody looked in time."))
    assert subject_of(over) == "[Punctual] Recovered: Nightly report"
    assert "after 1 h 5 min; it was skipped: nobody looked in time.\n" in text_of(over)


def test_what_was_over_before_it_was_told_is_called_by_its_kind_and_said_to_be_over() -> None:
    brief = notice(line("late", recovered_at=(NOON + MINUTE).isoformat(), lasted=60.0))

    assert subject_of(brief) == "[Punctual] Late: Nightly report"
    assert "It is over since 2026-11-16 12:01:00 UTC, after 1 min.\n" in text_of(brief)


def test_a_notice_of_many_says_how_many() -> None:
    many = notice(line("missed"), line("failed"), counts={"missed": 500, "failed": 1, "recovered": 2}, more=483)

    assert subject_of(many) == "[Punctual] 500 due times missed, 1 failed, 2 recovered"
    assert "… and 483 more." in text_of(many)


def test_what_is_wrong_with_the_system_comes_first() -> None:
    system = line("no_poller", title="No poller is running: nothing becomes due.", job=None)

    assert subject_of(notice(system)) == "[Punctual] No poller is running: nothing becomes due."
    both = notice(system, line("missed"), counts={"no_poller": 1, "missed": 1})
    assert subject_of(both) == "[Punctual] No poller is running: nothing becomes due. 1 missed"
