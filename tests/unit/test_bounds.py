"""A schedule that begins, ends, or is over after so many runs."""

import json
import pickle
from datetime import UTC, datetime, timedelta

import pytest

from scheduling.recurrence import Bounded, Cron, Every, InvalidSchedule, Recurrence, parse_schedule

NOW = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
NINE = Cron("0 9 * * *", "UTC")
MICROSECOND = timedelta.resolution


def day(number: int, hour: int = 9) -> datetime:
    return datetime(2027, 4, number, hour, tzinfo=UTC)


def refusal(data: dict[str, object]) -> InvalidSchedule:
    with pytest.raises(InvalidSchedule) as caught:
        parse_schedule({"type": "cron", "expression": "0 9 * * *"} | data, now=NOW)
    return caught.value


def test_runs_at_exactly_the_start_and_the_end_take_place() -> None:
    bounded = Bounded(NINE, start_at=day(2), end_at=day(4))

    assert bounded.first_run(NOW) == day(2)
    assert bounded.next_after(day(2)) == day(3)
    assert bounded.next_after(day(3)) == day(4)
    assert bounded.next_after(day(4)) is None


def test_a_moment_inside_the_bounds_is_all_it_takes() -> None:
    bounded = Bounded(NINE, start_at=day(2) + MICROSECOND, end_at=day(4) - MICROSECOND)

    assert bounded.first_run(NOW) == day(3)
    assert bounded.next_after(day(3)) is None


def test_a_start_leaves_out_earlier_runs_and_shifts_none() -> None:
    every_seven = Cron("*/7 * * * *")
    bounded = Bounded(every_seven, start_at=day(2) + timedelta(minutes=3))

    assert bounded.first_run(NOW) == day(2) + timedelta(minutes=7)
    assert bounded.next_after(day(20)) == every_seven.next_after(day(20))


def test_an_interval_ends_too() -> None:
    bounded = Bounded(Every(3600, day(1, 0)), end_at=day(1, 2))

    assert bounded.first_run(NOW) == day(1, 0)
    assert bounded.next_after(day(1, 1)) == day(1, 2)
    assert bounded.next_after(day(1, 2)) is None


def test_a_job_that_has_had_all_its_runs_is_due_no_more() -> None:
    thrice = Bounded(NINE, max_runs=3)

    assert thrice.next_due(day(2), runs_so_far=2) == day(3)
    assert thrice.next_due(day(2), runs_so_far=3) is None
    assert thrice.next_due(day(2), runs_so_far=4) is None


def test_whichever_bound_comes_first_ends_the_schedule() -> None:
    bounded = Bounded(NINE, end_at=day(4), max_runs=3)

    assert bounded.next_due(day(4), runs_so_far=1) is None
    assert bounded.next_due(day(1), runs_so_far=3) is None


@pytest.mark.parametrize("rule", [NINE, Every(60, NOW)])
def test_a_schedule_without_a_maximum_does_not_care_how_often_it_ran(rule: Recurrence) -> None:
    assert rule.next_due(day(2), runs_so_far=10**9) == rule.next_after(day(2))


@pytest.mark.parametrize(
    "bounded",
    [
        Bounded(NINE, start_at=day(2)),
        Bounded(NINE, end_at=day(2) + MICROSECOND),
        Bounded(NINE, max_runs=1),
        Bounded(Cron("0 16 * * *", "Asia/Jakarta"), day(2), day(2), 1_000_000_000),
        Bounded(Every(90, day(1)), end_at=day(1), max_runs=7),
    ],
)
def test_bounds_survive_storage(bounded: Bounded) -> None:
    stored = json.loads(json.dumps(bounded.to_dict()))

    assert parse_schedule(stored, now=NOW) == bounded
    assert parse_schedule(stored, now=day(30), allow_past=True) == bounded
    assert pickle.loads(pickle.dumps(bounded)) == bounded


def test_bounds_are_stored_beside_the_rule() -> None:
    assert Bounded(NINE, day(2), day(4), 3).to_dict() == {
        "type": "cron",
        "expression": "0 9 * * *",
        "timezone": "UTC",
        "start_at": "2027-04-02T09:00:00Z",
        "end_at": "2027-04-04T09:00:00Z",
        "max_runs": 3,
    }


@pytest.mark.parametrize(
    ("data", "field", "message"),
    [
        (
            {"start_at": "2027-04-02T00:00:00Z", "end_at": "2027-04-01T00:00:00Z"},
            "end_at",
            "2027-04-01T00:00:00Z is before the start, 2027-04-02T00:00:00Z: give a time at or after the start.",
        ),
        (
            {"end_at": "2027-03-01T12:00:00Z"},
            "end_at",
            "2027-03-01T12:00:00Z is before the first run, which would be at 2027-03-02T09:00:00Z: give that time ",
        ),
        (
            {"start_at": "2027-04-02T10:00:00Z", "end_at": "2027-04-03T08:00:00Z"},
            "end_at",
            "is before the first run, which would be at 2027-04-03T09:00:00Z",
        ),
        ({"start_at": "2027-04-02T10:00:00"}, "start_at", "has no UTC offset: write it as 2030-01-31T09:00:00Z"),
        ({"end_at": "2027-04-02"}, "end_at", "is not an ISO 8601 date and time"),
        ({"end_at": "2201-01-01T00:00:00Z"}, "end_at", "allowed are the years 1970 to 2200"),
        ({"start_at": 5}, "start_at", "5 is not a time"),
        ({"end_at": None}, "end_at", "None is not a time"),
        ({"max_runs": 0}, "max_runs", "0 is out of range: allowed are 1 to 1000000000 runs."),
        ({"max_runs": -1}, "max_runs", "-1 is out of range"),
        ({"max_runs": 10**9 + 1}, "max_runs", "1000000001 is out of range"),
        ({"max_runs": 10**5000}, "max_runs", "a number that large is out of range"),
        ({"max_runs": True}, "max_runs", "True is not a whole number of runs: give 1 to 1000000000."),
        ({"max_runs": 3.0}, "max_runs", "3.0 is not a whole number"),
        ({"max_runs": "3"}, "max_runs", "'3' is not a whole number"),
        ({"max_runs": [3]}, "max_runs", "a list is not a whole number"),
        ({"max_runs": None}, "max_runs", "leave it out for no limit"),
    ],
)
def test_bounds_that_make_no_sense_are_refused_with_what_is_allowed(
    data: dict[str, object], field: str, message: str
) -> None:
    error = refusal(data)

    assert error.field == field
    assert message in str(error)


def test_an_interval_may_not_end_before_it_starts() -> None:
    data = {"type": "interval", "seconds": 60, "start_at": "2027-04-02T00:00:00Z", "end_at": "2027-04-01T23:59:59Z"}

    with pytest.raises(InvalidSchedule, match="before the start") as caught:
        parse_schedule(data, now=NOW)

    assert caught.value.field == "end_at"


@pytest.mark.parametrize("kind", [{"type": "now"}, {"type": "once", "run_at": "2027-04-01T00:00:00Z"}])
@pytest.mark.parametrize("key", ["start_at", "end_at", "max_runs"])
def test_a_single_run_has_no_bounds(kind: dict[str, object], key: str) -> None:
    with pytest.raises(InvalidSchedule, match=f"'{key}' is not part of a schedule of type"):
        parse_schedule(kind | {key: "2027-04-01T00:00:00Z"}, now=NOW)


def test_a_schedule_may_start_later_than_five_years_from_now() -> None:
    far = {"type": "cron", "expression": "0 9 * * *", "start_at": "2040-01-01T00:00:00Z"}

    assert parse_schedule(far, now=NOW).first_run(NOW) == datetime(2040, 1, 1, 9, tzinfo=UTC)
    with pytest.raises(InvalidSchedule, match="no run in the next five years"):
        parse_schedule(far | {"expression": "0 9 30 2 *"}, now=NOW)


def test_a_stored_schedule_whose_end_has_passed_is_read_back() -> None:
    over = Bounded(NINE, end_at=day(2))

    assert parse_schedule(over.to_dict(), now=day(20), allow_past=True).first_run(day(20)) is None


def test_a_naive_instant_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="naive"):
        Bounded(NINE, start_at=day(2)).next_after(NOW.replace(tzinfo=None))


def test_bounds_that_bound_nothing_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="use the rule itself"):
        Bounded(NINE)
    with pytest.raises(InvalidSchedule, match="starts with its anchor"):
        Bounded(Every(60, NOW), start_at=day(2))
    with pytest.raises(InvalidSchedule, match="no UTC offset"):
        Bounded(NINE, end_at=day(2).replace(tzinfo=None))
