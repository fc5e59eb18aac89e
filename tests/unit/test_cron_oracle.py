"""Cron compared with two independent readings of it.

The oracle shares nothing with the code under test: it walks real time minute by minute, looks at the
clock on the wall, and does what Debian cron's daemon would do at that minute. cronsim is the second
opinion, for zones whose clocks change by a whole hour. This is a slice of what `python -m tests.oracle`
goes through.
"""

import calendar
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.recurrence import Cron
from tests.oracle.changes import changes
from tests.oracle.comparing import mismatches
from tests.oracle.daemon import Window
from tests.oracle.fields import Matcher
from tests.oracle.questions import CHOICES, Question, expressions_around, questions
from tests.schedules import field

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
MARGIN = timedelta(hours=5)  # around a change; no clock has been put back further than three hours since 2000


def check(question: Question, window: Window, *, starts: int, seed: int) -> None:
    _, wrong = mismatches(question, window, starts=starts, seed=seed)
    assert not wrong


ZONES = {
    "Europe/Paris": (2027, 2027),
    "America/New_York": (2027, 2027),
    "Australia/Lord_Howe": (2026, 2027),  # half an hour
    "Pacific/Apia": (2011, 2011),  # a day left out
    "Africa/Casablanca": (2026, 2026),  # back for Ramadan
    "America/Havana": (2027, 2027),  # at midnight
    "America/Santiago": (2027, 2027),  # at midnight, southern
    "America/St_Johns": (2010, 2010),  # one minute past midnight
    "Antarctica/Troll": (2027, 2027),  # two hours
    "Antarctica/Casey": (2009, 2012),  # three hours
    "America/Caracas": (2016, 2016),  # half an hour, for good
    "Asia/Gaza": (2027, 2027),
    "Asia/Pyongyang": (2015, 2015),
    "Europe/Dublin": (2027, 2027),  # winter time is the exception
}


@pytest.mark.parametrize("name", ZONES)
def test_runs_around_a_clock_change_are_those_of_a_daemon_that_wakes_every_minute(name: str) -> None:
    zone = ZoneInfo(name)
    first, last = ZONES[name]
    found = changes(zone, datetime(first, 1, 1, tzinfo=UTC), datetime(last + 1, 1, 1, tzinfo=UTC))
    assert found

    for number, change in enumerate(found):
        window = Window.of(zone, change - MARGIN, change + MARGIN)
        by_default = [Question(expression, name) for expression in expressions_around(change, zone)]
        for question in {*by_default, *questions(name, change, seed=number, count=len(by_default))}:
            check(question, window, starts=6, seed=number)


def test_every_expression_is_asked_with_every_choice_it_has() -> None:
    change = datetime(2027, 3, 28, 1, tzinfo=UTC)
    asked = {question for seed in range(300) for question in questions("Europe/Paris", change, seed=seed, count=3)}

    for expression in expressions_around(change, ZoneInfo("Europe/Paris")):
        choices = {(question.on_gap, question.on_repeat) for question in asked if question.expression == expression}
        assert len(choices) == (1 if "*" in (expression[0], expression.split()[1][0]) else len(CHOICES))


NUMBERED_DAYS = ["5#2", "1#1,3#3", "0#5", "7#1", "5L", "0L,3#1", "1,5#2"]
DAYS = ["*", "*/2", "1", "13", "L", "1,15,L", "31", "29-31", "10-20/3", "*/31", "5,*"]
WEEKDAYS = ["*", "*/2", "1-5", "0", "7", "5-7", "6,0", "*/7", "2,*", *NUMBERED_DAYS]


@pytest.mark.parametrize("weekday", WEEKDAYS)
@pytest.mark.parametrize("day", DAYS)
def test_days_match_as_in_vixie_cron(day: str, weekday: str) -> None:
    expression = f"30 12 {day} 2,3,6,12 {weekday}"
    oracle = Matcher(expression)
    cron = Cron(expression, "UTC")
    dates = [date(2027, 1, 1) + n * DAY for n in range(2 * 366)]
    expected = [datetime(d.year, d.month, d.day, 12, 30, tzinfo=UTC) for d in dates if oracle.matches_date(d)]

    found = []
    run = cron.next_after(datetime(2027, 1, 1, tzinfo=UTC))
    while run is not None and run.date() <= dates[-1]:
        found.append(run)
        run = cron.next_after(run)

    assert found == expected


expressions = st.tuples(field(0, 59), field(0, 23), field(1, 28), st.just("*"), field(0, 6)).map(" ".join)
zones = st.sampled_from([*ZONES, "UTC", "Asia/Kathmandu", "Pacific/Chatham", "Africa/El_Aaiun"])
# Hypothesis wants its bounds naive.
instants = st.datetimes(
    datetime.fromisoformat("2000-01-01"), datetime.fromisoformat("2037-12-31"), timezones=st.just(UTC)
)


@settings(max_examples=60, deadline=None, database=None)
@given(expressions, zones, instants)
def test_any_expression_runs_as_in_a_daemon_that_wakes_every_minute(
    expression: str, name: str, start: datetime
) -> None:
    zone = ZoneInfo(name)
    start = start.replace(second=0, microsecond=0)
    while (start - MARGIN).astimezone(zone).utcoffset() != start.astimezone(zone).utcoffset():
        start -= MARGIN  # away from a change that the daemon did not see

    check(Question(expression, name), Window.of(zone, start, start + 2 * HOUR), starts=3, seed=1)


@settings(max_examples=150, deadline=None, database=None)
@given(expressions, zones, instants, st.floats(0, 1, exclude_max=True))
def test_the_next_run_is_later_and_the_same_from_every_start_before_it(
    expression: str, name: str, instant: datetime, fraction: float
) -> None:
    cron = Cron(expression, name)

    run = cron.next_after(instant)

    if run is not None:
        assert run > instant
        assert run.tzinfo is UTC
        assert cron.next_after(run - timedelta.resolution) == run
        assert cron.next_after(min(instant + fraction * (run - instant), run - timedelta.resolution)) == run


@settings(max_examples=100, deadline=None, database=None)
@given(expressions, zones, instants, st.timedeltas(timedelta(0), timedelta(days=400)))
def test_a_later_start_never_finds_an_earlier_run(
    expression: str, name: str, instant: datetime, wait: timedelta
) -> None:
    cron = Cron(expression, name)

    first, second = cron.next_after(instant), cron.next_after(instant + wait)

    assert first is None or second is None or first <= second


@pytest.mark.parametrize("name", ["UTC", "Europe/Paris", "America/New_York", "Asia/Kolkata"])
@pytest.mark.parametrize(
    "expression",
    [
        "0 * * * *",
        "*/40 1-3 * * *",
        "30 2 * * *",
        "30 1 * * 0",
        "0 9 * * 1-5",
        "0 0 1,15 * 3",
        "15 6 */9 * 2",
        "0 12 L * *",
        "45 23 * * 5#2",
        "0 0 29 2 *",
    ],
)
def test_cronsim_finds_the_same_runs(name: str, expression: str) -> None:
    start = datetime(2027, 3, 1, tzinfo=UTC)
    second_opinion = CronSim(expression, start.astimezone(ZoneInfo(name)))
    cron = Cron(expression, name)

    run: datetime | None = start
    for _ in range(200 if expression != "0 0 29 2 *" else 3):
        assert run is not None
        run = cron.next_after(run)
        assert run == next(second_opinion).astimezone(UTC)


def test_the_oracle_knows_the_calendar() -> None:
    # Who watches the watchman: the one thing the oracle works out for itself is which day is which.
    for month in range(1, 13):
        days = [date(2028, month, n) for n in range(1, calendar.monthrange(2028, month)[1] + 1)]
        fridays = [day for day in days if day.weekday() == calendar.FRIDAY]

        assert [day for day in days if Matcher("0 0 L * *").matches_date(day)] == days[-1:]
        assert [day for day in days if Matcher("0 0 * * 5#2").matches_date(day)] == [fridays[1]]
        assert [day for day in days if Matcher("0 0 * * 5L").matches_date(day)] == [fridays[-1]]
