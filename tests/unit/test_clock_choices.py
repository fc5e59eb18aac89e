"""What a job may choose for times that the clocks skip or show twice."""

import json
from datetime import UTC, datetime

import pytest

from scheduling.recurrence import Cron, InvalidSchedule, OnGap, OnRepeat, parse_schedule

NOW = datetime(2027, 1, 1, tzinfo=UTC)
GAP = ("2027-03-27T12:00", "2027-03-29T12:00")  # Paris, the 28th: 02:00 becomes 03:00 at 01:00 UTC
REPEAT = ("2027-10-30T12:00", "2027-11-01T12:00")  # Paris, the 31st: 03:00 becomes 02:00 at 01:00 UTC


def runs(expression: str, window: tuple[str, str], zone: str = "Europe/Paris", **choices: str) -> list[str]:
    cron = Cron(expression, zone, **choices)
    start, end = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in window)
    found = []
    run = cron.next_after(start)
    while run is not None and run <= end:
        found.append(f"{run:%m-%d %H:%M}")
        run = cron.next_after(run)
    return found


def test_a_skipped_time_can_be_left_out() -> None:
    assert runs("30 2 * * *", GAP, on_gap="run_once") == ["03-28 01:00", "03-29 00:30"]
    assert runs("30 2 * * *", GAP, on_gap="skip") == ["03-29 00:30"]


def test_leaving_out_skipped_times_keeps_the_one_at_the_end_of_the_gap() -> None:
    assert runs("0,30 2,3 28 * *", GAP, on_gap="skip") == ["03-28 01:00", "03-28 01:30"]


def test_a_day_that_the_clocks_left_out_can_be_left_out() -> None:
    apia = ("2011-12-29T00:00", "2011-12-31T12:00")

    assert runs("0 12 * * *", apia, "Pacific/Apia", on_gap="skip") == ["12-29 22:00", "12-30 22:00"]
    assert runs("0-59 0-23 30 12 *", apia, "Pacific/Apia", on_gap="skip") == []


def test_a_repeated_time_can_be_left_out_or_run_both_times() -> None:
    assert runs("30 2 * * *", REPEAT, on_repeat="run_once") == ["10-31 00:30", "11-01 01:30"]
    assert runs("30 2 * * *", REPEAT, on_repeat="skip") == ["11-01 01:30"]
    assert runs("30 2 * * *", REPEAT, on_repeat="run_twice") == ["10-31 00:30", "10-31 01:30", "11-01 01:30"]


def test_several_repeated_times_run_in_the_order_the_clocks_show_them() -> None:
    assert runs("0,30 2,3 31 * *", REPEAT, on_repeat="run_twice") == [
        "10-31 00:00",
        "10-31 00:30",
        "10-31 01:00",
        "10-31 01:30",
        "10-31 02:00",
        "10-31 02:30",
    ]


def test_a_choice_for_the_one_change_leaves_the_other_as_it_is() -> None:
    assert runs("30 2 * * *", REPEAT, on_gap="skip") == runs("30 2 * * *", REPEAT)
    assert runs("30 2 * * *", GAP, on_repeat="skip") == runs("30 2 * * *", GAP)
    assert runs("30 2 * * *", GAP, on_repeat="run_twice") == runs("30 2 * * *", GAP)


def test_every_showing_and_nothing_else_is_real_time() -> None:
    chosen = {"on_gap": "skip", "on_repeat": "run_twice"}

    assert runs("0-59/20 0-23 * * *", GAP, **chosen) == runs("*/20 * * * *", GAP)
    assert runs("0-59/20 0-23 * * *", REPEAT, **chosen) == runs("*/20 * * * *", REPEAT)


def test_asking_in_the_middle_of_a_repeated_hour_is_no_different() -> None:
    in_the_first, in_the_second = (datetime(2027, 10, 31, hour, 10, tzinfo=UTC) for hour in (0, 1))
    twice = Cron("30 2 * * *", "Europe/Paris", on_repeat=OnRepeat.RUN_TWICE)
    never = Cron("30 2 * * *", "Europe/Paris", on_repeat=OnRepeat.SKIP)

    assert twice.next_after(in_the_first) == datetime(2027, 10, 31, 0, 30, tzinfo=UTC)
    assert twice.next_after(in_the_second) == datetime(2027, 10, 31, 1, 30, tzinfo=UTC)
    assert never.next_after(in_the_first) == never.next_after(in_the_second)


def test_only_what_was_chosen_is_stored() -> None:
    stored = {"type": "cron", "expression": "30 2 * * *", "timezone": "Europe/Paris"}
    chosen = stored | {"on_gap": "skip", "on_repeat": "run_twice"}

    assert parse_schedule(stored | {"on_gap": "run_once", "on_repeat": "run_once"}, now=NOW).to_dict() == stored
    assert json.loads(json.dumps(parse_schedule(chosen, now=NOW).to_dict())) == chosen
    assert parse_schedule(chosen, now=NOW) == Cron(
        "30 2 * * *", "Europe/Paris", on_gap=OnGap.SKIP, on_repeat=OnRepeat.RUN_TWICE
    )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("on_gap", "run_twice", "'run_twice' is not a choice: allowed are run_once, skip."),
        ("on_repeat", "twice", "'twice' is not a choice: allowed are run_once, skip, run_twice."),
        ("on_repeat", "SKIP", "'SKIP' is not a choice"),
        ("on_gap", "x" * 1000, "is not a choice"),
        ("on_gap", None, "None is not a choice"),
        ("on_gap", True, "True is not a choice"),
    ],
)
def test_an_unknown_choice_is_refused_with_the_known_ones(key: str, value: object, message: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        parse_schedule({"type": "cron", "expression": "30 2 * * *", key: value}, now=NOW)

    assert caught.value.field == key
    assert message in str(caught.value)


@pytest.mark.parametrize("expression", ["*/5 2 * * *", "0 * * * *", "@hourly", "H * * * *"])
@pytest.mark.parametrize(("key", "value"), [("on_gap", "skip"), ("on_repeat", "skip"), ("on_repeat", "run_twice")])
def test_what_follows_real_time_is_refused_a_choice(expression: str, key: str, value: str) -> None:
    with pytest.raises(InvalidSchedule, match="follows real time, because its minute or hour starts with") as caught:
        parse_schedule({"type": "cron", "expression": expression, key: value}, now=NOW)

    assert caught.value.field == key
