"""Which schedule a job had when, from what the acts on it found and left."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import accumulate, islice, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.periods import Act, Standing, State, due_times, periods
from tests.schedules import instants, recurrences

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOURLY, DAILY = ({"type": "cron", "expression": expression} for expression in ("0 * * * *", "0 0 * * *"))

ACTIVE, PAUSED, NEW = (State(HOURLY, standing) for standing in (Standing.ACTIVE, Standing.PAUSED, Standing.NOT_CREATED))
CHANGED = State(DAILY, Standing.ACTIVE)

states = st.builds(State, st.sampled_from([HOURLY, DAILY]), st.sampled_from(Standing))


@st.composite
def lives(draw: st.DrawFn) -> list[Act]:
    """The acts of a job's life, each of which finds what the one before it left; some come at the same instant."""
    pauses = draw(st.lists(st.integers(0, 90), max_size=8))
    times = [NOON + minutes * MINUTE for minutes in accumulate(pauses)]
    through = draw(st.lists(states, min_size=len(times) + 1, max_size=len(times) + 1))
    return [Act(at, before, after) for at, (before, after) in zip(times, pairwise(through), strict=True)]


def state_at(instant: datetime, acts: list[Act], otherwise: State) -> State:
    """What the job was at an instant, told the other way round: from the beginning on."""
    state = acts[0].before if acts else otherwise
    for act in acts:
        if act.at < instant:
            state = act.after
    return state


def test_without_acts_a_job_was_always_what_it_is() -> None:
    [period] = periods(ACTIVE, [], after=NOON, until=NOON + MINUTE)

    assert period == (NOON, NOON + MINUTE, ACTIVE, None)


def test_each_act_ends_a_period_and_its_own_instant_belongs_to_that() -> None:
    made, paused = Act(NOON + MINUTE, NEW, ACTIVE), Act(NOON + 2 * MINUTE, ACTIVE, PAUSED)

    told = periods(PAUSED, [made, paused], after=NOON, until=NOON + 3 * MINUTE)

    assert told == [
        (NOON, NOON + MINUTE, NEW, made),
        (NOON + MINUTE, NOON + 2 * MINUTE, ACTIVE, paused),
        (NOON + 2 * MINUTE, NOON + 3 * MINUTE, PAUSED, None),
    ]


def test_an_act_after_the_window_tells_what_held_in_it() -> None:
    later = Act(NOON + 60 * MINUTE, ACTIVE, CHANGED)

    assert periods(CHANGED, [later], after=NOON, until=NOON + MINUTE) == [(NOON, NOON + MINUTE, ACTIVE, later)]


def test_an_act_that_changes_nothing_about_the_times_ends_nothing() -> None:
    renamed = Act(NOON + MINUTE, ACTIVE, ACTIVE)

    assert len(periods(ACTIVE, [renamed], after=NOON, until=NOON + 2 * MINUTE)) == 1


@settings(deadline=None)
@given(lives(), states, st.integers(-60, 400), st.integers(1, 400))
def test_periods_fill_the_window_and_each_instant_has_what_held_then(acts, otherwise, start, length) -> None:
    after, until = NOON + start * MINUTE, NOON + (start + length) * MINUTE
    present = acts[-1].after if acts else otherwise
    read = [act for act in acts if act.at > after]

    told = periods(present, read, after=after, until=until)

    assert told[0].after == after and told[-1].until == until
    assert all(one.until == other.after and one.state != other.state for one, other in pairwise(told))
    for period in told:
        assert period.after < period.until
        for instant in (period.after + timedelta.resolution, period.until):
            assert state_at(instant, acts, otherwise) == period.state
    assert all(period.ended and period.ended.at == period.until for period in told[:-1])


@settings(deadline=None)
@given(recurrences, instants, st.timedeltas(timedelta(seconds=1), timedelta(days=400)), st.floats(0, 1))
def test_a_window_in_two_parts_has_the_due_times_of_the_whole(recurrence, after, length, part) -> None:
    first = list(islice(due_times(recurrence, after=after, until=after + length), 30))
    until = first[-1] if len(first) == 30 else after + length  # so that it does not take long
    middle = after + (until - after) * part

    whole = list(due_times(recurrence, after=after, until=until))

    assert whole == first == sorted(set(whole)) and all(after < due <= until for due in whole)
    halves = [*due_times(recurrence, after=after, until=middle), *due_times(recurrence, after=middle, until=until)]
    assert halves == whole
