"""What each kind of schedule promises, one promise at a time."""

import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.recurrence import Cron, Every, InvalidSchedule, Once, parse_schedule

NOW = datetime(2027, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
MICROSECOND = timedelta.resolution


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def runs(cron: Cron, after: str, until: str) -> list[str]:
    """Return the runs in (after, until] as short UTC texts."""
    found = []
    run = cron.next_after(utc(after))
    while run is not None and run <= utc(until):
        found.append(f"{run:%m-%d %H:%M}")
        run = cron.next_after(run)
    return found


# Once


def test_a_single_run_comes_once() -> None:
    once = Once(NOW)

    assert once.next_after(NOW - MICROSECOND) == NOW
    assert once.next_after(NOW) is None


# Every


def test_an_interval_starts_with_its_anchor() -> None:
    every = Every(90, NOW)

    assert every.next_after(NOW - timedelta(days=400)) == NOW
    assert every.next_after(NOW - MICROSECOND) == NOW
    assert every.next_after(NOW) == NOW + timedelta(seconds=90)


def test_a_late_run_does_not_make_every_later_one_late() -> None:
    every = Every(60, NOW)

    assert every.next_after(NOW + timedelta(seconds=119, microseconds=7)) == NOW + timedelta(seconds=120)


# Hypothesis wants its bounds naive.
instants = st.datetimes(
    datetime.fromisoformat("1970-01-01"), datetime.fromisoformat("2199-01-01"), timezones=st.just(UTC)
)


@settings(max_examples=200, deadline=None, database=None)
@given(
    st.integers(1, 31_536_000),
    instants,
    instants,
)
def test_an_interval_never_drifts_from_its_anchor(seconds: int, anchor: datetime, instant: datetime) -> None:
    run = Every(seconds, anchor).next_after(instant)

    assert run is not None
    assert run > instant
    assert (run - anchor) % timedelta(seconds=seconds) == timedelta(0)
    assert run == anchor or run - instant <= timedelta(seconds=seconds)


# Cron when the clocks change


def test_a_fixed_time_in_the_gap_runs_once_right_after_it() -> None:
    # Paris, 28 March 2027: 02:00 becomes 03:00 at 01:00 UTC.
    half_past_two = Cron("30 2 * * *", "Europe/Paris")

    assert runs(half_past_two, "2027-03-27T00:00", "2027-03-29T12:00") == [
        "03-27 01:30",
        "03-28 01:00",
        "03-29 00:30",
    ]


def test_several_fixed_times_in_one_gap_become_one_run() -> None:
    often = Cron("0,15,30,45 2,3 * * *", "Europe/Paris")

    assert runs(often, "2027-03-28T00:00", "2027-03-28T01:30") == [
        "03-28 01:00",
        "03-28 01:15",
        "03-28 01:30",
    ]


def test_a_fixed_time_in_the_repeated_hour_runs_the_first_time_only() -> None:
    # Paris, 31 October 2027: 03:00 becomes 02:00 at 01:00 UTC.
    half_past_two = Cron("30 2 * * *", "Europe/Paris")

    assert runs(half_past_two, "2027-10-30T12:00", "2027-11-01T12:00") == ["10-31 00:30", "11-01 01:30"]
    # Also when asked in the middle of the second time.
    assert half_past_two.next_after(utc("2027-10-31T01:15")) == utc("2027-11-01T01:30")


def test_a_schedule_that_follows_real_time_leaves_out_the_gap() -> None:
    assert runs(Cron("*/30 2 * * *", "Europe/Paris"), "2027-03-27T12:00", "2027-03-29T00:10") == ["03-29 00:00"]


def test_a_schedule_that_follows_real_time_runs_in_both_repeated_hours() -> None:
    assert runs(Cron("*/30 2 * * *", "Europe/Paris"), "2027-10-30T12:00", "2027-10-31T12:00") == [
        "10-31 00:00",
        "10-31 00:30",
        "10-31 01:00",
        "10-31 01:30",
    ]


def test_an_hourly_schedule_runs_every_real_hour_through_both_changes() -> None:
    for day in ("2027-03-28", "2027-10-31"):
        assert len(runs(Cron("@hourly", "Europe/Paris"), f"{day}T00:00", f"{day}T06:00")) == 6


def test_lord_howe_changes_by_half_an_hour() -> None:
    # 4 April 2027: 02:00 becomes 01:30 at 15:00 UTC on the 3rd. 3 October: 02:00 becomes 02:30 at 15:30.
    every_twenty = Cron("*/20 * * * *", "Australia/Lord_Howe")
    fixed = Cron("15 2 * * *", "Australia/Lord_Howe")

    assert runs(every_twenty, "2027-04-03T14:30", "2027-04-03T15:35") == [
        "04-03 14:40",
        "04-03 15:10",
        "04-03 15:30",
    ]
    assert runs(fixed, "2027-10-02T12:00", "2027-10-03T16:00") == ["10-02 15:30", "10-03 15:15"]


def test_apia_left_out_a_whole_day() -> None:
    # The clocks went from the end of 29 December 2011 to the start of the 31st, at 10:00 UTC.
    daily = Cron("0 12 * * *", "Pacific/Apia")
    on_the_30th = Cron("0 12 30 12 *", "Pacific/Apia")
    half_hours_on_the_30th = Cron("*/30 * 30 12 *", "Pacific/Apia")

    assert runs(daily, "2011-12-29T00:00", "2011-12-31T12:00") == [
        "12-29 22:00",
        "12-30 10:00",
        "12-30 22:00",
    ]
    assert on_the_30th.next_after(utc("2011-06-01T00:00")) == utc("2011-12-30T10:00")
    assert half_hours_on_the_30th.next_after(utc("2011-06-01T00:00")) == utc("2012-12-29T10:00")


def test_casablanca_turns_back_for_ramadan() -> None:
    # 2026: from +01:00 to UTC on 15 February at 02:00 UTC, and on again on 22 March at 02:00 UTC.
    daily = Cron("30 2 * * *", "Africa/Casablanca")

    assert runs(daily, "2026-02-14T12:00", "2026-02-16T12:00") == ["02-15 01:30", "02-16 02:30"]
    assert runs(daily, "2026-03-21T00:00", "2026-03-23T12:00") == [
        "03-21 02:30",
        "03-22 02:00",
        "03-23 01:30",
    ]


def test_a_match_years_away_is_found_through_every_change_in_between() -> None:
    assert Cron("0 12 29 2 *", "Europe/Paris").next_after(NOW) == utc("2028-02-29T11:00")
    assert Cron("*/5 12 29 2 *", "America/New_York").next_after(utc("2028-03-01T12:00")) == utc("2032-02-29T17:00")
    assert Cron("* * 29 2 */7", "Europe/Paris").next_after(utc("2032-03-01T00:00")) == utc("2060-02-28T23:00")
    assert Cron("0 0 29 2 *", "UTC").next_after(utc("2096-03-01T00:00")) == utc("2104-02-29T00:00")


# Cron, what an expression means


@pytest.mark.parametrize(
    ("expression", "same"),
    [
        ("0 9-9 * * *", "0 9 * * *"),
        ("0 9-9/5 * * *", "0 9 * * *"),
        ("5-5 * * * *", "5 * * * *"),
        ("0 0 * 3-3 *", "0 0 * 3 *"),
        ("0 0 * * 1-1", "0 0 * * 1"),
        ("0 0 * * 7", "0 0 * * 0"),
        ("0 0 * * 7-7", "0 0 * * 0"),
        ("0 0 * * 5-7", "0 0 * * 5,6,0"),
        ("0 0 * * 0-7", "0 0 * * *"),
        ("0 0 * * FRI-SUN", "0 0 * * 0,5,6"),
        ("0 0 * * sun-tue", "0 0 * * 0,1,2"),
        ("0 0 * * sun-sun", "0 0 * * 0"),
        ("0 0 * Jan,jUL-sep *", "0 0 * 1,7,8,9 *"),
        ("10/20 * * * *", "10,30,50 * * * *"),
        ("00 09 * * *", "0 9 * * *"),
        ("0 0 * * L5", "0 0 * * 5L"),
        ("0 0 * * friL", "0 0 * * 5L"),
        ("0 0 * * 7#1", "0 0 * * sun#1"),
        ("0 0 l * *", "0 0 L * *"),
        ("@Daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"),
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("  0   9 * *   1 ", "0 9 * * 1"),
    ],
)
def test_two_ways_to_write_one_schedule(expression: str, same: str) -> None:
    first, second = Cron(expression), Cron(same)

    run: datetime | None = NOW
    for _ in range(12):
        assert run is not None
        assert first.next_after(run) == second.next_after(run)
        run = first.next_after(run)


def test_day_of_month_or_weekday_when_both_are_restricted() -> None:
    assert runs(Cron("0 0 13 * 5"), "2027-08-01T00:00", "2027-08-31T00:00") == [
        "08-06 00:00",
        "08-13 00:00",
        "08-20 00:00",
        "08-27 00:00",
    ]
    assert runs(Cron("0 0 15 * 5#2"), "2027-08-01T00:00", "2027-08-31T00:00") == [
        "08-13 00:00",
        "08-15 00:00",
    ]


def test_day_of_month_and_weekday_when_one_starts_with_a_star() -> None:
    assert runs(Cron("0 0 */2 * 5"), "2027-08-01T00:00", "2027-08-31T00:00") == ["08-13 00:00", "08-27 00:00"]
    assert runs(Cron("0 0 13 * */5"), "2027-08-01T00:00", "2027-08-31T00:00") == ["08-13 00:00"]


def test_a_day_that_never_comes_does_not_hide_the_weekday_beside_it() -> None:
    assert Cron("0 0 31 2 1").next_after(utc("2027-03-01T00:00")) == utc("2028-02-07T00:00")


def test_a_day_that_never_comes_has_no_run() -> None:
    assert Cron("0 0 31 2 *").next_after(NOW) is None
    assert Cron("* * 31 2,4,6,9,11 *").next_after(NOW) is None


# All of them


EXAMPLES = [Once(NOW), Every(90, NOW), Cron("*/7 9-17 * * mon-fri", "Asia/Kathmandu")]


@pytest.mark.parametrize("recurrence", EXAMPLES)
def test_a_schedule_survives_storage(recurrence: Once | Every | Cron) -> None:
    stored = json.loads(json.dumps(recurrence.to_dict()))

    assert parse_schedule(stored, now=NOW + timedelta(days=9999), allow_past=True) == recurrence
    assert pickle.loads(pickle.dumps(recurrence)) == recurrence


@pytest.mark.parametrize("recurrence", EXAMPLES)
def test_an_instant_in_any_zone_is_the_same_instant(recurrence: Once | Every | Cron) -> None:
    instant = utc("2026-10-25T01:10")  # a repeated hour in Paris, the second time

    assert recurrence.next_after(instant.astimezone(ZoneInfo("Europe/Paris"))) == recurrence.next_after(instant)


@pytest.mark.parametrize("recurrence", EXAMPLES)
def test_the_ends_of_time_are_no_error(recurrence: Once | Every | Cron) -> None:
    assert recurrence.next_after(datetime.max.replace(tzinfo=UTC)) is None
    first = recurrence.next_after(datetime.min.replace(tzinfo=UTC))
    assert first is not None
    assert first >= utc("1970-01-01T00:00")


@pytest.mark.parametrize("recurrence", EXAMPLES)
def test_a_naive_instant_is_a_mistake_of_the_caller(recurrence: Once | Every | Cron) -> None:
    with pytest.raises(ValueError, match="naive") as caught:
        recurrence.next_after(NOW.replace(tzinfo=None))

    assert not isinstance(caught.value, InvalidSchedule)


def test_threads_may_share_a_schedule() -> None:
    cron = Cron("*/7 * 1,15 * 3", "Europe/Paris")
    starts = [NOW + timedelta(hours=7 * n) for n in range(200)]
    expected = [cron.next_after(start) for start in starts]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(cron.next_after, starts))

    assert found == expected


def test_time_arithmetic_needs_no_django() -> None:
    code = "import sys, scheduling.recurrence; sys.exit('django' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
