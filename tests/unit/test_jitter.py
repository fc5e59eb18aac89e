"""Jobs due at the same moment that start a little apart."""

import json
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.recurrence import Bounded, Cron, Every, InvalidSchedule, Jittered, Once, Recurrence, parse_schedule
from scheduling.recurrence.picks import pick

NOW = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
HOURLY = Cron("0 * * * *")
SECOND = timedelta(seconds=1)

keys = st.uuids().map(str)


def test_a_due_time_is_what_the_rule_says_whatever_the_jitter() -> None:
    jittered = Jittered(HOURLY, 600)

    assert jittered.next_after(NOW) == NOW + timedelta(hours=1)
    assert jittered.first_run(NOW) == HOURLY.first_run(NOW)


@pytest.mark.parametrize("recurrence", [HOURLY, Every(60, NOW), Once(NOW), Bounded(HOURLY, max_runs=3)])
def test_without_jitter_a_run_may_start_when_it_is_due(recurrence: Recurrence) -> None:
    assert recurrence.not_before(NOW, key="a job") == NOW


@settings(max_examples=100, deadline=None, database=None)
@given(keys, st.integers(1, 3600), st.integers(0, 10_000))
def test_a_start_is_delayed_by_less_than_the_jitter_and_the_same_each_time(key: str, jitter: int, hours: int) -> None:
    due = NOW + timedelta(hours=hours)

    start = Jittered(HOURLY, jitter).not_before(due, key=key)

    assert due <= start < due + jitter * SECOND
    assert start == Jittered(Cron("0 * * * *"), jitter).not_before(due, key=key)


def test_many_jobs_are_spread_evenly_over_the_whole_of_it() -> None:
    jittered = Jittered(HOURLY, 60)

    starts = [jittered.not_before(NOW, key=str(UUID(int=number))) - NOW for number in range(6000)]

    in_each_second = [sum(second * SECOND <= start < (second + 1) * SECOND for start in starts) for second in range(60)]
    assert min(in_each_second) > 50  # 100 on average; the picks are fixed, so this is no matter of luck
    assert max(in_each_second) < 150


def test_a_job_is_not_late_by_the_same_time_each_time() -> None:
    jittered = Jittered(HOURLY, 60)

    delays = {jittered.not_before(due, key="a job") - due for due in (NOW + timedelta(hours=n) for n in range(50))}

    assert len(delays) == 50


@settings(max_examples=60, deadline=None, database=None)
@given(
    keys,
    st.sampled_from(
        [
            Jittered(Cron("* * * * *"), 86_400),
            Jittered(Cron("0,1,30 2,3 * * *", "Europe/Paris"), 7200),
            Jittered(Every(5, NOW), 5),
            Jittered(Bounded(Cron("*/7 * * * *"), max_runs=5), 600),
        ]
    ),
    st.datetimes(datetime(2026, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),
)
def test_runs_start_in_the_order_they_are_due(key: str, jittered: Jittered, instant: datetime) -> None:
    starts = []
    due = jittered.next_after(instant)
    for _ in range(10):
        assert due is not None
        starts.append(jittered.not_before(due, key=key))
        due = jittered.next_after(due)
        assert due is None or starts[-1] < due

    assert starts == sorted(set(starts))


def test_a_later_end_does_not_move_the_runs_before_it() -> None:
    short = Jittered(Bounded(Cron("* * * * *"), end_at=NOW), 3600)
    long = Jittered(Bounded(Cron("* * * * *"), end_at=NOW + timedelta(days=1)), 3600)

    assert short.not_before(NOW, key="a job") == long.not_before(NOW, key="a job")


def test_how_picks_are_made_has_not_changed() -> None:
    # If this fails, every job that has jitter or an H is about to run at another time than yesterday.
    assert [pick(1000, "jitter", "a job", str(number)) for number in range(5)] == [213, 10, 768, 565, 740]
    assert Jittered(HOURLY, 60).not_before(NOW, key="a job") == NOW + timedelta(seconds=54, microseconds=554687)


def test_the_maximum_of_runs_holds_behind_jitter_too() -> None:
    jittered = Jittered(Bounded(HOURLY, max_runs=2), 60)

    assert jittered.next_due(NOW, runs_so_far=1) == NOW + timedelta(hours=1)
    assert jittered.next_due(NOW, runs_so_far=2) is None


@pytest.mark.parametrize(
    "jittered", [Jittered(HOURLY, 86_400), Jittered(Every(60, NOW), 60), Jittered(Bounded(HOURLY, NOW, NOW, 5), 1)]
)
def test_jitter_survives_storage(jittered: Jittered) -> None:
    stored = json.loads(json.dumps(jittered.to_dict()))

    assert stored["jitter"] == jittered.jitter
    assert parse_schedule(stored, now=NOW - SECOND) == jittered


@pytest.mark.parametrize(
    ("jitter", "message"),
    [
        (0, "0 is out of range: allowed are 1 to 86400 seconds"),
        (-1, "-1 is out of range"),
        (86_401, "86401 is out of range"),
        (10**30, "a number that large is out of range"),
        (True, "True is not a whole number of seconds: give 1 to 86400, or leave it out for none."),
        (None, "None is not a whole number"),
        (1.5, "1.5 is not a whole number"),
        ("60", "'60' is not a whole number"),
        ([], "a list is not a whole number"),
    ],
)
def test_jitter_that_is_no_number_of_seconds_up_to_a_day_is_refused(jitter: object, message: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        parse_schedule({"type": "cron", "expression": "@daily", "jitter": jitter}, now=NOW)

    assert caught.value.field == "jitter"
    assert message in str(caught.value)


def test_the_jitter_of_an_interval_is_no_longer_than_the_interval() -> None:
    with pytest.raises(InvalidSchedule, match="61 is out of range: allowed are 1 to 60 seconds, and no more than"):
        parse_schedule({"type": "interval", "seconds": 60, "jitter": 61}, now=NOW)


@pytest.mark.parametrize("kind", [{"type": "now"}, {"type": "once", "run_at": "2027-04-01T00:00:00Z"}])
def test_a_single_run_has_no_jitter(kind: dict[str, object]) -> None:
    with pytest.raises(InvalidSchedule, match="'jitter' is not part of a schedule of type"):
        parse_schedule(kind | {"jitter": 60}, now=NOW)


def test_a_schedule_with_jitter_must_still_have_a_run_ahead_of_it() -> None:
    with pytest.raises(InvalidSchedule, match="no run in the next five years"):
        parse_schedule({"type": "cron", "expression": "0 0 31 2 *", "jitter": 60}, now=NOW)
