"""What becomes of due times that were missed."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.policies import Allowances, InvalidPolicy, Misfire, Overlap, check_policies
from scheduling.misfire import Outcomes, Policy, count_missed, decide_missed
from scheduling.recurrence import Recurrence
from scheduling.upcoming import Upcoming, next_run
from tests.schedules import instants, recurrences

JOB = UUID("01900000-0000-7000-8000-000000000001")
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
EACH_MINUTE = {"type": "cron", "expression": "* * * * *", "timezone": "Europe/Paris"}
HOURLY = {"type": "interval", "seconds": 3600, "start_at": "2027-01-01T00:00:00Z"}


class Asked:
    """A job's schedule, and how often it was asked."""

    def __init__(self, schedule: dict) -> None:
        self.next_run = partial(next_run, json.dumps(schedule), job=JOB)
        self.times = 0

    def __call__(self, after: datetime, *, runs: int) -> Upcoming:
        self.times += 1
        return self.next_run(after, runs=runs)


def decide(schedule: dict, due: datetime, now: datetime, policy: Policy, *, runs: int = 0, rows: int = 100) -> Outcomes:
    allowances = Allowances(rows=rows)
    return decide_missed(Upcoming(due), Asked(schedule), runs=runs, now=now, policy=policy, allowances=allowances)


def hours(*back: int) -> list[datetime]:
    return [NOON - number * HOUR for number in back]


def test_run_once_runs_the_earliest_and_skips_the_others() -> None:
    outcomes = decide(HOURLY, NOON - 3 * HOUR, NOON + MINUTE, Policy(Misfire.RUN_ONCE))

    assert [run.due_at for run in outcomes.runs] == hours(3)
    assert [one.due_at for one in outcomes.skipped] == hours(2, 1, 0)
    assert outcomes.skipped[0].reason == (
        "Missed: nobody looked until 2027-03-01 12:01:00 UTC. One run, due 2027-03-01 09:00:00 UTC, stands for all "
        "(misfire: run_once)."
    )


def test_skip_runs_nothing() -> None:
    outcomes = decide(HOURLY, NOON - 3 * HOUR, NOON + MINUTE, Policy(Misfire.SKIP))

    assert outcomes.runs == [] and [one.due_at for one in outcomes.skipped] == hours(3, 2, 1, 0)


def test_catch_up_runs_each_that_is_within_the_window() -> None:
    outcomes = decide(HOURLY, NOON - 30 * HOUR, NOON + MINUTE, Policy(Misfire.CATCH_UP))

    assert [run.due_at for run in outcomes.runs] == hours(*range(23, -1, -1))
    assert [one.due_at for one in outcomes.skipped] == hours(*range(30, 23, -1))
    assert "longer ago than is caught up on: 1 day" in outcomes.skipped[0].reason


def test_catch_up_runs_the_earliest_up_to_the_maximum() -> None:
    outcomes = decide(HOURLY, NOON - 5 * HOUR, NOON, Policy(Misfire.CATCH_UP, 3 * HOUR, 2))

    assert [run.due_at for run in outcomes.runs] == hours(3, 2)
    assert [one.due_at for one in outcomes.skipped] == hours(5, 4, 1, 0)
    assert "no more than 2 are caught up on" in outcomes.skipped[-1].reason


def test_runs_count_for_the_maximum_of_a_schedule_and_skips_do_not() -> None:
    thrice = HOURLY | {"max_runs": 3}

    caught_up = decide(thrice, NOON - 9 * HOUR, NOON, Policy(Misfire.CATCH_UP), runs=1)
    skipped = decide(thrice, NOON - 9 * HOUR, NOON, Policy(Misfire.SKIP), runs=2)

    assert [run.due_at for run in caught_up.runs] == hours(9, 8) and caught_up.skipped == []
    assert len(skipped.skipped) == 10 and skipped.until == NOON


def test_a_run_whose_jitter_lets_it_start_later_is_not_missed() -> None:
    jittered = HOURLY | {"jitter": 3600}
    start = next_run(json.dumps(jittered), NOON - MINUTE, job=JOB, runs=0).start_at
    assert start is not None and start > NOON

    before = decide(jittered, NOON - 5 * HOUR, start - MINUTE, Policy(Misfire.SKIP))
    after = decide(jittered, NOON - 5 * HOUR, start, Policy(Misfire.SKIP))

    assert before.until == NOON - HOUR and after.until == NOON


@pytest.mark.parametrize("misfire", Misfire)
def test_a_year_of_minutes_is_no_more_work_than_two_hours(misfire) -> None:
    def work(absence: timedelta) -> int:
        asked = Asked(EACH_MINUTE)
        outcomes = decide_missed(
            Upcoming(NOON - absence), asked, runs=0, now=NOON, policy=Policy(misfire), allowances=Allowances()
        )
        assert outcomes.until == NOON
        assert len(outcomes.skipped) <= 100 and outcomes.skipped[-1].covers_until in (NOON, None)
        return asked.times

    most = {Misfire.CATCH_UP: 200}.get(misfire, 100)
    assert work(timedelta(days=365)) <= most + 100
    assert work(timedelta(days=365)) <= work(2 * HOUR) + (200 if misfire is Misfire.CATCH_UP else 40)


def test_what_was_missed_in_a_pause_is_counted_up_to_a_bound() -> None:
    first = Upcoming(NOON - 365 * DAY)

    counted = count_missed(first, Asked(EACH_MINUTE), runs=0, now=NOON, most=1000)
    none = count_missed(Upcoming(NOON + MINUTE), Asked(EACH_MINUTE), runs=0, now=NOON, most=1000)
    all_of_them = count_missed(Upcoming(NOON - 4 * HOUR), Asked(HOURLY), runs=0, now=NOON, most=5)

    assert (counted.count, counted.more, counted.first, counted.last) == (1000, True, first.start_at, NOON)
    assert (none.count, none.first) == (0, None)
    assert (all_of_them.count, all_of_them.more, all_of_them.last) == (5, False, NOON)


policies = st.builds(
    Policy, st.sampled_from(Misfire), st.none() | st.timedeltas(MINUTE, 400 * DAY), st.none() | st.integers(1, 30)
)


@settings(max_examples=200, deadline=None, database=None)
@given(recurrences, instants, st.integers(0, 150), st.floats(0, 1), policies, st.integers(1, 40), st.integers(0, 3))
def test_every_missed_due_time_has_exactly_one_outcome(
    recurrence: Recurrence, start: datetime, many: int, share: float, policy: Policy, rows: int, runs: int
) -> None:
    following = Asked(recurrence.to_dict())
    first = following(start, runs=runs)
    if first.start_at is None:
        return
    now = last = first.start_at
    for _ in range(many):
        upcoming = following(last, runs=0).start_at
        if upcoming is None:
            break
        now, last = last + share * (upcoming - last), upcoming
    now = max(now, first.start_at)

    outcomes = decide_missed(first, following, runs=runs, now=now, policy=policy, allowances=Allowances(rows=rows))

    ran = [run.due_at for run in outcomes.runs]
    missed, one = [], first
    while one.start_at is not None and one.start_at <= now:
        missed.append(one.due_at)
        one = following(one.due_at, runs=runs + sum(due <= one.due_at for due in ran))
    told = Counter(ran) + Counter(one.due_at for one in outcomes.skipped)
    for one in outcomes.skipped:
        if one.covers_until is not None:
            told += Counter(due for due in missed if one.due_at < due <= one.covers_until)
    assert told == Counter(missed), "each once, and no others"
    assert outcomes.until == missed[-1]
    assert len(outcomes.skipped) <= max(rows, 2) and ran == sorted(ran)
    assert all(len(one.reason) <= 300 for one in outcomes.skipped)
    match policy.misfire:
        case Misfire.SKIP:
            assert ran == []
        case Misfire.RUN_ONCE:
            assert ran == missed[:1]
        case Misfire.CATCH_UP:
            window, most = policy.window or DAY, policy.most or 100
            assert ran == [due for due in missed if due >= now - window][:most]


@pytest.mark.parametrize("overlap", [None, Overlap.SKIP, Overlap.CANCEL_PREVIOUS])
def test_catching_up_needs_runs_that_may_meet(overlap) -> None:
    with pytest.raises(InvalidPolicy, match="choose overlap 'allow' or 'wait'") as refused:
        check_policies(Misfire.CATCH_UP, overlap, recurring=True)

    assert refused.value.field == "overlap"


@pytest.mark.parametrize(
    ("misfire", "overlap", "recurring"),
    [
        (Misfire.CATCH_UP, Overlap.ALLOW, True),
        (Misfire.CATCH_UP, Overlap.WAIT, True),
        (Misfire.CATCH_UP, None, False),
        (Misfire.SKIP, Overlap.SKIP, True),
    ],
)
def test_other_policies_go_together(misfire, overlap, recurring) -> None:
    check_policies(misfire, overlap, recurring=recurring)
