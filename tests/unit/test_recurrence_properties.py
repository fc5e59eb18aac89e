"""What holds for every schedule there can be, whatever its kind."""

import json
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.recurrence import Cron, Every, Once, Recurrence, describe, parse_schedule
from scheduling.recurrence.day_words import days_in_words
from scheduling.recurrence.fields import DAY_OF_MONTH, DAY_OF_WEEK, MONTH
from tests.oracle.fields import Matcher
from tests.schedules import crons, instants, recurrences

MICROSECOND = timedelta.resolution


def seed_of(recurrence: Recurrence) -> str | None:
    rule = recurrence.bare()
    return rule.seed if isinstance(rule, Cron) else None


@settings(max_examples=200, deadline=None, database=None)
@given(recurrences, instants)
def test_the_next_run_is_strictly_later_and_in_utc(recurrence: Recurrence, instant: datetime) -> None:
    run = recurrence.next_after(instant)

    assert run is None or (run > instant and run.tzinfo is UTC)


@settings(max_examples=150, deadline=None, database=None)
@given(recurrences, instants, st.timedeltas(timedelta(0), timedelta(days=3000)))
def test_a_later_start_never_finds_an_earlier_run(recurrence: Recurrence, instant: datetime, wait: timedelta) -> None:
    first, second = recurrence.next_after(instant), recurrence.next_after(instant + wait)

    if first is None:
        assert second is None
    else:
        assert second is None or first <= second


@settings(max_examples=150, deadline=None, database=None)
@given(recurrences, instants, st.floats(0, 1, exclude_max=True))
def test_the_same_run_is_found_from_every_start_before_it(
    recurrence: Recurrence, instant: datetime, fraction: float
) -> None:
    run = recurrence.next_after(instant)

    if run is not None:
        between = min(instant + fraction * (run - instant), run - MICROSECOND)
        assert recurrence.next_after(between) == run
        assert recurrence.next_after(run - MICROSECOND) == run


@settings(max_examples=200, deadline=None, database=None)
@given(recurrences, instants)
def test_what_is_stored_is_read_back_as_the_same_schedule(recurrence: Recurrence, now: datetime) -> None:
    stored = json.loads(json.dumps(recurrence.to_dict()))

    read = parse_schedule(stored, now=now, allow_past=True, seed=seed_of(recurrence))

    assert read == recurrence
    assert hash(read) == hash(recurrence)
    assert read.to_dict() == stored
    assert describe(read) == describe(recurrence)


@settings(max_examples=100, deadline=None, database=None)
@given(recurrences, instants, st.uuids().map(str))
def test_starts_come_in_the_order_of_their_due_times(recurrence: Recurrence, instant: datetime, key: str) -> None:
    due = [instant]
    while len(due) < 6 and (run := recurrence.next_after(due[-1])) is not None:
        due.append(run)
    starts = [recurrence.not_before(run, key=key) for run in due[1:]]

    assert all(run <= start for run, start in zip(due[1:], starts, strict=True))
    assert all(start < following for start, following in zip(starts, due[2:], strict=False))
    assert all(earlier < later for earlier, later in pairwise(starts))


@settings(max_examples=100, deadline=None, database=None)
@given(recurrences, instants, st.integers(0, 2 * 10**9))
def test_how_often_a_job_ran_can_only_end_its_schedule(recurrence: Recurrence, instant: datetime, runs: int) -> None:
    assert recurrence.next_due(instant, runs_so_far=runs) in (None, recurrence.next_after(instant))


@settings(max_examples=100, deadline=None, database=None)
@given(crons(), instants)
def test_a_choice_about_clock_changes_changes_nothing_on_other_days(cron: Cron, instant: datetime) -> None:
    plain = Cron(cron.expression, "UTC", cron.seed)
    chosen = Cron(cron.expression, "UTC", cron.seed, cron.on_gap, cron.on_repeat)

    assert chosen.next_after(instant) == plain.next_after(instant)


@settings(max_examples=50, deadline=None, database=None)
@given(st.builds(Once, instants), st.builds(Every, st.integers(1, 10**6), instants))
def test_schedules_of_different_kinds_are_never_equal(once: Once, every: Every) -> None:
    assert once != every


DAYS = ["*", "*/2", "1", "13", "L", "1,15,L", "1-31", "29-31", "10-20/3", "2-8/2", "1-4,9"]
MONTHS = ["*", "1", "2,3", "1-3,12", "*/3"]
WEEKDAYS = ["*", "*/2", "1-5", "0", "6,0", "5#2", "1#1,3#3", "5L", "0L,3#1", "1,5#2", "0-6", "1#1,1#2,1#3,1#4,1#5"]
TWO_YEARS = [date(2027, 1, 1) + timedelta(days=number) for number in range(2 * 366)]


def test_different_days_are_never_given_the_same_words() -> None:
    told: dict[str, list[date]] = {}

    for day in DAYS:
        for month in MONTHS:
            for weekday in WEEKDAYS:
                words = days_in_words(DAY_OF_MONTH.read(day), MONTH.read(month), DAY_OF_WEEK.read(weekday))
                matcher = Matcher(f"0 0 {day} {month} {weekday}")
                days = [one for one in TWO_YEARS if matcher.matches_date(one)]
                assert told.setdefault(words, days) == days, (day, month, weekday, words)
