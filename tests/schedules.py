"""Schedules of every kind, for tests of what holds for all of them, and the refusal of what is none."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import strategies as st

from scheduling.recurrence import (
    Bounded,
    Cron,
    Every,
    InvalidSchedule,
    Jittered,
    Once,
    OnGap,
    OnRepeat,
    parse_schedule,
)
from scheduling.recurrence.expressions import LONGEST_EXPRESSION, compile_expression

ZONES = (
    "UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca",
    "America/Havana", "America/St_Johns", "Antarctica/Troll", "Asia/Kathmandu", "Europe/Dublin",
)  # fmt: skip


PICKED = ("H", "H/2")


def field(low: int, high: int, *others: str) -> st.SearchStrategy[str]:
    """Return any way to write a field of numbers; `others` are its own special items."""
    number = st.integers(low, high)
    pair = st.tuples(number, number).map(sorted)
    step = st.integers(1, high - low + 1)
    item = st.one_of(
        number.map(str),
        pair.map(lambda ends: f"{ends[0]}-{ends[1]}"),
        st.tuples(pair, step).map(lambda parts: f"{parts[0][0]}-{parts[0][1]}/{parts[1]}"),
        step.map(lambda every: f"*/{every}"),
        st.sampled_from(["*", *others]),
    )
    return st.lists(item, min_size=1, max_size=3).map(",".join)


expressions = (
    st.tuples(
        field(0, 59, *PICKED, "H(0-29)/10"),
        field(0, 23, *PICKED, "H(0-5)"),
        st.just("*") | field(1, 31, *PICKED, "L"),
        st.just("*") | field(1, 12, *PICKED, "feb", "JUN-aug"),
        st.just("*")
        | field(0, 6, *PICKED, "7", "5-7", "5#2", "0#5", "7#1", "friL", "L0", "1#1,1#2,1#3,1#4,1#5", "mon-sun"),
    )
    .map(" ".join)
    .filter(lambda expression: len(expression) <= LONGEST_EXPRESSION)
)

# To the minute or not, and near enough for the clock changes that are known. Hypothesis wants its bounds naive.
instants = st.datetimes(datetime(2000, 1, 1), datetime(2037, 12, 31), timezones=st.just(UTC))

seeds = st.none() | st.uuids().map(str)


@st.composite
def crons(draw: st.DrawFn) -> Cron:
    """Return any cron schedule, with choices for clock changes where it has any."""
    cron = Cron(draw(expressions), draw(st.sampled_from(ZONES)), draw(seeds))
    if compile_expression(cron.plain).follows_real_time:
        return cron
    on_gap, on_repeat = draw(st.sampled_from(OnGap)), draw(st.sampled_from(OnRepeat))
    return Cron(cron.expression, cron.timezone, cron.seed, on_gap, on_repeat)


intervals = st.builds(Every, st.integers(1, 31_536_000), instants)


@st.composite
def bounded(draw: st.DrawFn) -> Bounded:
    """Return a recurring schedule with one bound or more."""
    rule = draw(crons() | intervals)
    start = draw(st.none() | instants) if isinstance(rule, Cron) else None
    earliest = rule.anchor if isinstance(rule, Every) else start or datetime(2000, 1, 1, tzinfo=UTC)
    end = draw(st.none() | st.timedeltas(timedelta(0), timedelta(days=9000)).map(lambda length: earliest + length))
    runs = draw(st.none() | st.integers(1, 10**9)) if start or end else draw(st.integers(1, 10**9))
    return Bounded(rule, start, end, runs)


@st.composite
def jittered(draw: st.DrawFn) -> Jittered:
    """Return a recurring schedule with jitter, and perhaps bounds."""
    rule = draw(crons() | intervals | bounded())
    bare = rule.bare()
    longest = min(bare.seconds, 86_400) if isinstance(bare, Every) else 86_400
    return Jittered(rule, draw(st.integers(1, longest)))


recurrences = st.one_of(st.builds(Once, instants), intervals, crons(), bounded(), jittered())


READ_AT = datetime(2027, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def refusal(data: object) -> InvalidSchedule:
    """Return how a schedule that is read at READ_AT is refused."""
    with pytest.raises(InvalidSchedule) as caught:
        parse_schedule(data, now=READ_AT)
    return caught.value
