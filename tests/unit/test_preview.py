"""The next runs, as people are shown them."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.recurrence import Bounded, Cron, Every, Jittered, Once, OnGap, OnRepeat, Recurrence, preview
from tests.schedules import instants, recurrences

NOW = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def notes(cron: Cron, after: str, count: int) -> dict[str, str]:
    return {run.local.isoformat(): run.note for run in preview(cron, after=utc(after), count=count)}


def test_a_run_is_shown_in_utc_and_in_local_time_with_its_offset() -> None:
    first, second = preview(Cron("30 10 * * 5", "Asia/Jakarta"), after=NOW, count=2)

    assert first.at == utc("2027-03-05T03:30")
    assert first.at.tzinfo is UTC
    assert first.local.isoformat() == "2027-03-05T10:30:00+07:00"
    assert first.note == ""
    assert second.local.isoformat() == "2027-03-12T10:30:00+07:00"


def test_a_time_that_does_not_exist_is_explained() -> None:
    assert notes(Cron("30 2 * * *", "Europe/Paris"), "2027-03-26T12:00", 3) == {
        "2027-03-27T02:30:00+01:00": "",
        "2027-03-28T03:00:00+02:00": (
            "Clocks go forward from 02:00 to 03:00 on this day: 02:30 does not exist, so it runs at 03:00."
        ),
        "2027-03-29T02:30:00+02:00": "",
    }


def test_several_times_that_do_not_exist_are_one_run() -> None:
    shown = notes(Cron("0,15,30,45 2 * * *", "Europe/Paris"), "2027-03-28T00:00", 1)

    assert shown["2027-03-28T03:00:00+02:00"].endswith(
        "02:00, 02:15, 02:30 and others do not exist, so they become one run at 03:00."
    )


def test_a_run_that_is_left_out_is_explained_beside_the_next_one() -> None:
    skipping = Cron("30 2 * * *", "Europe/Paris", on_gap=OnGap.SKIP)
    real_time = Cron("*/30 2 * * *", "Europe/Paris")
    left_out = "Clocks go forward from 02:00 to 03:00 on 2027-03-28: 02:30 does not exist, and is left out."

    assert notes(skipping, "2027-03-27T12:00", 2) == {
        "2027-03-29T02:30:00+02:00": left_out,
        "2027-03-30T02:30:00+02:00": "",
    }
    assert notes(real_time, "2027-03-27T12:00", 1)["2027-03-29T02:00:00+02:00"].endswith(
        "02:00 and 02:30 do not exist, and are left out."
    )


@pytest.mark.parametrize(
    ("choice", "effect", "runs_on_the_day"),
    [
        (OnRepeat.RUN_ONCE, "02:30 comes twice, and runs the first time only.", 1),
        (OnRepeat.RUN_TWICE, "02:30 comes twice, and runs both times.", 2),
        (OnRepeat.SKIP, "02:30 comes twice, and is left out.", 0),
    ],
)
def test_a_time_that_comes_twice_is_explained(choice: OnRepeat, effect: str, runs_on_the_day: int) -> None:
    runs = preview(Cron("30 2 * * *", "Europe/Paris", on_repeat=choice), after=utc("2027-10-30T12:00"), count=2)

    assert runs[0].note.startswith("Clocks go back from 03:00 to 02:00 on ")
    assert runs[0].note.endswith(effect)
    assert sum(run.local.day == 31 for run in runs) == runs_on_the_day


def test_a_change_that_touches_no_run_is_mentioned_on_its_day() -> None:
    assert notes(Cron("0 9 * * *", "Europe/Paris"), "2027-03-27T12:00", 2) == {
        "2027-03-28T09:00:00+02:00": "Clocks go forward from 02:00 to 03:00 on this day: no run is affected.",
        "2027-03-29T09:00:00+02:00": "",
    }
    assert set(notes(Cron("0 9 * * 1", "Europe/Paris"), "2027-03-20T12:00", 3).values()) == {""}


def test_every_run_of_the_day_says_so() -> None:
    shown = notes(Cron("@hourly", "Europe/Paris"), "2027-10-30T20:30", 27)

    assert [note != "" for note in shown.values()] == [False] + [True] * 25 + [False]


def test_a_change_at_midnight_belongs_to_the_day_it_begins() -> None:
    # Havana, 9 March 2025: 00:00 becomes 01:00.
    assert notes(Cron("0 0 * * *", "America/Havana"), "2025-03-08T00:00", 3) == {
        "2025-03-08T00:00:00-05:00": "",
        "2025-03-09T01:00:00-04:00": (
            "Clocks go forward from 00:00 to 01:00 on this day: 00:00 does not exist, so it runs at 01:00."
        ),
        "2025-03-10T00:00:00-04:00": "",
    }


def test_a_change_over_midnight_is_told_with_dates() -> None:
    # Santiago, 4 April 2027: 00:00 becomes 23:00 of the 3rd.
    assert notes(Cron("30 23 * * *", "America/Santiago"), "2027-04-03T12:00", 2) == {
        "2027-04-03T23:30:00-03:00": (
            "Clocks go back from 2027-04-04 00:00 to 2027-04-03 23:00: "
            "2027-04-03 23:30 comes twice, and runs the first time only."
        ),
        "2027-04-04T23:30:00-04:00": "",
    }


def test_a_day_that_was_left_out_is_explained() -> None:
    assert notes(Cron("0 12 * * *", "Pacific/Apia"), "2011-12-29T12:00", 3) == {
        "2011-12-29T12:00:00-10:00": "",
        "2011-12-31T00:00:00+14:00": (
            "Clocks go forward from 2011-12-30 00:00 to 2011-12-31 00:00: "
            "2011-12-30 12:00 does not exist, so it runs at 2011-12-31 00:00."
        ),
        "2011-12-31T12:00:00+14:00": (
            "Clocks go forward from 2011-12-30 00:00 to 2011-12-31 00:00: "
            "2011-12-30 12:00 does not exist, so it runs at 2011-12-31 00:00."
        ),
    }


def test_half_an_hour_is_a_change_too() -> None:
    shown = notes(Cron("45 1 * * *", "Australia/Lord_Howe"), "2027-04-03T12:00", 1)

    assert list(shown.values()) == [
        "Clocks go back from 02:00 to 01:30 on this day: 01:45 comes twice, and runs the first time only."
    ]


def test_what_was_left_out_before_the_start_is_not_mentioned() -> None:
    skipping = Cron("30 2 * * *", "Europe/Paris", on_gap=OnGap.SKIP)
    bounded = Jittered(Bounded(skipping, start_at=utc("2027-03-28T12:00")), 60)

    assert [run.note for run in preview(bounded, after=utc("2027-03-20T00:00"), count=1)] == [""]


def test_bounds_end_a_preview() -> None:
    thrice = Bounded(Every(60, NOW), max_runs=3)

    assert [run.at for run in preview(thrice, after=NOW - timedelta(days=1), count=10)] == [
        NOW,
        NOW + timedelta(minutes=1),
        NOW + timedelta(minutes=2),
    ]
    assert len(preview(thrice, after=NOW, count=10, runs_so_far=2)) == 1
    assert preview(thrice, after=NOW, count=10, runs_so_far=3) == []
    assert preview(Once(NOW), after=NOW, count=10) == []


@pytest.mark.parametrize("count", [-1, 1001])
def test_a_preview_has_a_length_people_can_read(count: int) -> None:
    with pytest.raises(ValueError, match="allowed are 0 to 1000"):
        preview(Every(60, NOW), after=NOW, count=count)


@settings(max_examples=150, deadline=None, database=None)
@given(recurrences, instants, st.integers(0, 6))
def test_a_preview_is_the_next_run_again_and_again(recurrence: Recurrence, after: datetime, count: int) -> None:
    expected: list[datetime] = []
    run = recurrence.next_due(after, runs_so_far=0)
    while run is not None and len(expected) < count:
        expected.append(run)
        run = recurrence.next_due(run, runs_so_far=len(expected))

    shown = preview(recurrence, after=after, count=count)

    assert [one.at for one in shown] == expected
    assert [one.local for one in shown] == expected
    assert all(earlier.at < later.at for earlier, later in pairwise(shown))
    assert all(one.note == "" or one.note.endswith(".") for one in shown)
