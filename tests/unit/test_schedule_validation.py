"""What is accepted as a schedule, and what those who sent something else are told."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.recurrence import Cron, Every, InvalidSchedule, Once, OnGap, OnRepeat, Recurrence, parse_schedule
from tests.schedules import READ_AT as NOW
from tests.schedules import refusal

YEAR = 31_536_000
FIELDS = (
    "run_at",
    "seconds",
    "expression",
    "timezone",
    "start_at",
    "end_at",
    "max_runs",
    "jitter",
    "on_gap",
    "on_repeat",
)


# What is accepted


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"type": "now"}, Once(NOW)),
        ({"type": "once", "run_at": "2027-03-01T13:00:00Z"}, Once(NOW.replace(hour=13, microsecond=0))),
        ({"type": "once", "run_at": "2027-03-01T15:00+02:00"}, Once(NOW.replace(hour=13, microsecond=0))),
        (
            {"type": "once", "run_at": "2027-03-01 15:00:00.5+0200"},
            Once(NOW.replace(hour=13, microsecond=500000)),
        ),
        ({"type": "once", "run_at": "2027-03-01T13:00:00.123456789Z"}, Once(NOW.replace(hour=13))),
        ({"type": "interval", "seconds": 1}, Every(1, NOW)),
        ({"type": "interval", "seconds": YEAR}, Every(YEAR, NOW)),
        (
            {"type": "interval", "seconds": 60, "start_at": "2020-01-01T00:00:00Z"},
            Every(60, datetime(2020, 1, 1, tzinfo=UTC)),
        ),
        ({"type": "cron", "expression": "0 9 * * 1-5"}, Cron("0 9 * * 1-5", "UTC")),
        (
            {"type": "cron", "expression": " @daily ", "timezone": "America/Argentina/Buenos_Aires"},
            Cron("@daily", "America/Argentina/Buenos_Aires"),
        ),
    ],
)
def test_a_schedule_is_read_and_stored_with_the_same_meaning(data: object, expected: Recurrence) -> None:
    recurrence = parse_schedule(data, now=NOW)

    assert recurrence == expected
    assert parse_schedule(recurrence.to_dict(), now=NOW + timedelta(days=1), allow_past=True) == expected


def test_an_interval_is_stored_with_the_start_it_was_given_now() -> None:
    stored = parse_schedule({"type": "interval", "seconds": 60}, now=NOW).to_dict()

    assert stored == {"type": "interval", "seconds": 60, "start_at": "2027-03-01T12:00:00.123456Z"}


def test_a_run_in_the_past_is_refused_unless_it_is_stored_already() -> None:
    data = {"type": "once", "run_at": "2027-03-01T11:58:59Z"}

    error = refusal(data)

    assert error.field == "run_at"
    assert str(error) == ("2027-03-01T11:58:59Z is in the past: give a later time, or use type 'now' to run at once.")
    assert parse_schedule(data, now=NOW, allow_past=True) == Once(datetime(2027, 3, 1, 11, 58, 59, tzinfo=UTC))


def test_a_clock_that_is_a_minute_behind_is_forgiven() -> None:
    assert parse_schedule({"type": "once", "run_at": "2027-03-01T11:59:30Z"}, now=NOW)


# What is refused, and how


deep: list[Any] = []
for _ in range(100_000):
    deep = [deep]

NOT_TEXTS: list[object] = [
    None,
    True,
    0,
    1.5,
    float("nan"),
    10**30,
    b"0 9 * * *",
    [],
    {},
    ["0 9 * * *"],
    deep,
]


@pytest.mark.parametrize("value", NOT_TEXTS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    ("field", "data"),
    [
        ("type", {}),
        ("expression", {"type": "cron"}),
        ("timezone", {"type": "cron", "expression": "@daily"}),
        ("run_at", {"type": "once"}),
        ("start_at", {"type": "interval", "seconds": 60}),
        ("on_gap", {"type": "cron", "expression": "@daily"}),
        ("on_repeat", {"type": "cron", "expression": "@daily"}),
    ],
)
def test_a_value_that_should_be_a_text_is_refused(field: str, data: dict[str, object], value: object) -> None:
    assert refusal({**data, field: value}).field == field


@pytest.mark.parametrize(
    "seconds",
    [
        0, -1, YEAR + 1, 10**30, 10**5000, -(10**5000), True, False, None, 1.0, 60.5, float("inf"),
        "60", "", [], {}, deep,
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_an_interval_that_is_no_number_of_seconds_up_to_a_year_is_refused(seconds: object) -> None:
    assert refusal({"type": "interval", "seconds": seconds}).field == "seconds"


@pytest.mark.parametrize(
    "text",
    [
        "", "now", "tomorrow", "2030", "2030-01-01", "2030-01-01T09:00", "2030-01-01T09:00:00",
        "2030-01-01Z",
        "2030-02-30T09:00:00Z", "2030-13-01T09:00:00Z", "2030-01-01T25:00:00Z", "2030-01-01T09:60:00Z",
        "2030-01-01T09:00:60Z", "2030-01-01T09:00:00+24:00", "2030-01-01T09:00:00+99:99",
        "2030-01-01T09:00:00 Z",
        "2030-01-01T09:00:00Z\n", " 2030-01-01T09:00:00Z", "2030-01-01x09:00:00Z", "2030-W01-1T09:00:00Z",
        "20300101T090000Z", "２０３０-01-01T09:00:00Z", "2030-01-01T09:00:00Europe/Paris", "1893456000",
        "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00+00:01", "2201-01-01T00:00:00Z", "2200-12-31T23:59:59-01:00",
        "2030-01-01T09:00:00\0Z", "\ud800",
        "2030-01-01T09:00:00.Z", "2030-01-01T09:00:00." + "1" * 100_000 + "Z",
    ],
)  # fmt: skip
@pytest.mark.parametrize(("kind", "field"), [("once", "run_at"), ("interval", "start_at")])
def test_a_text_that_names_no_instant_is_refused(kind: str, field: str, text: str) -> None:
    data = {"type": kind, field: text} | ({"seconds": 60} if kind == "interval" else {})

    assert refusal(data).field == field


@pytest.mark.parametrize("data", [None, True, 5, "@daily", b"", [], [{"type": "now"}], (), deep])
def test_a_schedule_that_is_no_object_is_refused(data: object) -> None:
    assert refusal(data).field == "schedule"


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({}, "type"),
        ({"type": "once"}, "run_at"),
        ({"type": "interval"}, "seconds"),
        ({"type": "cron"}, "expression"),
        ({"type": "cron", "timezone": "UTC"}, "expression"),
    ],
)
def test_a_missing_part_is_named(data: object, field: str) -> None:
    error = refusal(data)

    assert error.field == field
    assert f"'{field}' is missing" in str(error)


@pytest.mark.parametrize("kind", ["", "Cron", "cron ", "daily", "\0", "x" * 100_000])
def test_an_unknown_type_is_refused_with_the_known_ones(kind: str) -> None:
    error = refusal({"type": kind})

    assert error.field == "type"
    assert "allowed are now, once, interval, cron." in str(error)


@pytest.mark.parametrize("key", ["tz", "Timezone", "seconds", "", "\0", "x" * 100_000, 5, None, ("a",)])
def test_an_unknown_key_is_refused_by_name_with_the_allowed_ones(key: object) -> None:
    error = refusal({"type": "cron", "expression": "@daily", key: 1})

    assert error.field == "schedule"
    allowed = "type, expression, timezone, start_at, end_at, max_runs, jitter, on_gap, on_repeat"
    assert f"allowed are {allowed}." in str(error)
    if key == "tz":
        assert "'tz' is not part of a schedule of type 'cron'" in str(error)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=8), children, max_size=3),
    max_leaves=5,
)
cron_like = st.text(alphabet="0123456789*/,-#LlHhRWw?@ montusjafe", max_size=30)
kinds = st.sampled_from(["now", "once", "interval", "cron"])
schedules = st.fixed_dictionaries(
    {"type": kinds | json_values},
    optional={
        "run_at": json_values | st.datetimes(timezones=st.timezones()).map(datetime.isoformat),
        "seconds": json_values | st.integers(-5, 2 * YEAR),
        "start_at": json_values | st.datetimes(timezones=st.timezones()).map(datetime.isoformat),
        "expression": json_values | cron_like | st.lists(cron_like, min_size=5, max_size=5).map(" ".join),
        "timezone": json_values | st.timezone_keys(allow_prefix=True),
        "end_at": json_values | st.datetimes(timezones=st.timezones()).map(datetime.isoformat),
        "max_runs": json_values | st.integers(-5, 5),
        "jitter": json_values | st.integers(-5, 90_000),
        "on_gap": json_values | st.sampled_from(OnGap),
        "on_repeat": json_values | st.sampled_from(OnRepeat),
    },
)


@settings(max_examples=400, deadline=None, database=None)
@given(schedules | json_values)
def test_whatever_is_sent_is_either_a_schedule_that_can_be_stored_or_refused(data: object) -> None:
    try:
        recurrence = parse_schedule(data, now=NOW)
    except InvalidSchedule as error:
        assert error.field in {"schedule", "type", *FIELDS}
        assert str(error).isascii()
        assert str(error).isprintable()
        assert len(str(error)) < 300
    else:
        assert parse_schedule(recurrence.to_dict(), now=NOW) == recurrence


def test_a_naive_now_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="naive") as caught:
        parse_schedule({"type": "now"}, now=NOW.replace(tzinfo=None))

    assert not isinstance(caught.value, InvalidSchedule)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Once(NOW.replace(tzinfo=None)),
        lambda: Once("2027-01-01T00:00:00Z"),  # type: ignore[arg-type]
        lambda: Every(0, NOW),
        lambda: Every(60, NOW.replace(tzinfo=None)),
        lambda: Cron("0 25 * * *", "UTC"),
        lambda: Cron("@daily", "Mars/Olympus"),
    ],
)
def test_an_invalid_schedule_cannot_be_built_in_code_either(build: Any) -> None:
    with pytest.raises(InvalidSchedule):
        build()
