"""What is accepted as a schedule, and what those who sent something else are told."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.recurrence import Cron, Every, InvalidSchedule, Once, OnGap, OnRepeat, Recurrence, parse_schedule
from scheduling.recurrence.fields import FIELDS as FIELDS_OF_CRON
from scheduling.recurrence.fields import MINUTE

NOW = datetime(2027, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
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


def refusal(data: object) -> InvalidSchedule:
    with pytest.raises(InvalidSchedule) as caught:
        parse_schedule(data, now=NOW)
    return caught.value


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


def test_a_run_once_in_four_years_is_accepted_and_one_in_twenty_eight_is_not() -> None:
    sunday_29_february = {"type": "cron", "expression": "0 0 29 2 */7"}

    assert parse_schedule({"type": "cron", "expression": "0 0 29 2 *"}, now=NOW)
    assert parse_schedule(sunday_29_february, now=NOW)  # 2032
    with pytest.raises(InvalidSchedule, match="five years"):
        parse_schedule(sunday_29_february, now=NOW.replace(year=2032))  # 2060


def test_a_stored_schedule_is_read_back_however_far_its_next_run_is() -> None:
    assert parse_schedule({"type": "cron", "expression": "0 0 31 2 *"}, now=NOW, allow_past=True)


# What is refused, and how


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("0 25 * * *", "'25' is not an hour: allowed are 0-23, H, lists, ranges and steps."),
        ("60 * * * *", "'60' is not a minute: allowed are 0-59, H, lists, ranges and steps."),
        ("0 0 32 * *", "'32' is not a day of month: allowed are 1-31, L (the last day), H, lists, "),
        ("0 0 0 * *", "'0' is not a day of month: "),
        ("0 0 * 13 *", "'13' is not a month: allowed are 1-12 or JAN-DEC, H, lists, ranges and steps."),
        ("0 0 * 0 *", "'0' is not a month: "),
        ("0 0 * Foo *", "'Foo' is not a month: "),
        ("0 0 * mon *", "'mon' is not a month: "),
        ("0 0 * * 8", "'8' is not a day of week: allowed are 0-7 or SUN-SAT (0 and 7 are Sunday), "),
        ("0 0 * * jan", "'jan' is not a day of week: "),
        ("0 0 * * MON-WEN", "'MON-WEN' is not a day of week: "),
        ("0 0 * * 5#6", "'5#6' is not a day of week: "),
        ("0 0 * * 5#0", "'5#0' is not a day of week: "),
        ("0 0 * * 1-5#2", "'1-5#2' is not a day of week: "),
        ("0 0 * * 8L", "'8L' is not a day of week: "),
        ("0 0 * * L", "'L' is not a day of week: "),
        ("0 0 5#2 * *", "'5#2' is not a day of month: "),
        ("0 0 L-3 * *", "'L-3' is not a day of month: "),
        ("0 0 15W * *", "'15W' is not a day of month: "),
        ("0 0 LW * *", "'LW' is not a day of month: "),
        ("0 L * * *", "'L' is not an hour: "),
        ("0 0 ? * *", "'?' is not a day of month: "),
        ("0 0 * * ?", "'?' is not a day of week: "),
        ("R * * * *", "'R' is not a minute: "),
        ("R(0-9) * * * *", "'R(0-9)' is not a minute: "),
        ("-5 * * * *", "'-5' is not a minute: "),
        ("5- * * * *", "'5-' is not a minute: "),
        ("1-2-3 * * * *", "'1-2-3' is not a minute: "),
        ("*-5 * * * *", "'*-5' is not a minute: "),
        ("5-* * * * *", "'5-*' is not a minute: "),
        ("** * * * *", "'**' is not a minute: "),
        ("*/ * * * *", "'*/' is not a minute: "),
        ("/5 * * * *", "'/5' is not a minute: "),
        ("*/5/5 * * * *", "'*/5/5' is not a minute: "),
        ("*/-5 * * * *", "'*/-5' is not a minute: "),
        ("*/x * * * *", "'*/x' is not a minute: "),
        ("1.5 * * * *", "'1.5' is not a minute: "),
        ("005 * * * *", "'005' is not a minute: "),
        ("0x1 * * * *", "'0x1' is not a minute: "),
        ("1_0 * * * *", "'1_0' is not a minute: "),
        ("+5 * * * *", "'+5' is not a minute: "),
        (
            "Hx * * * *",
            "'Hx' in the minute field is no way to have a value picked: allowed are H, H/2, H(0-59) and H(0-59)/2, "
            "with values of 0-59.",
        ),
        ("0 HH * * *", "'HH' in the hour field is no way to have a value picked: "),
        ("H( * * * *", "'H(' in the minute field is no way"),
        ("H() * * * *", "'H()' in the minute field is no way"),
        ("H(5) * * * *", "'H(5)' in the minute field is no way"),
        ("H5 * * * *", "'H5' in the minute field is no way"),
        ("H-5 * * * *", "'H-5' in the minute field is no way"),
        ("H/ * * * *", "'H/' in the minute field is no way"),
        ("H(0-5)/x * * * *", "'H(0-5)/x' in the minute field is no way"),
        ("H/L * * * *", "'H/L' in the minute field is no way"),
        ("0-H * * * *", "'0-H' is not a minute: "),
        ("H(0-60) * * * *", "'60' is not a minute: allowed are 0-59, H, "),
        ("H(30-10) * * * *", "'30-10' in the minute field runs backwards: "),
        ("H/61 * * * *", "'H/61' in the minute field has a step of 61: allowed are steps of 1-60."),
        ("H/0 * * * *", "'H/0' in the minute field has a step of 0: "),
        ("H(0-9)/11 * * * *", "'H(0-9)/11' in the minute field has a step of 11: allowed are steps of 1-10."),
        (f"H/{'9' * 90} * * * *", "has a step of a number that large: "),
        (
            "0 0 H(1-31) * *",
            "'H(1-31)' in the day of month field is no way to have a value picked: allowed are H, H/2, H(1-28) and "
            "H(1-28)/2, with values of 1-28, the days that every month has.",
        ),
        ("0 0 H/29 * *", "'H/29' in the day of month field has a step of 29: allowed are steps of 1-28."),
        ("0 0 * * H#2", "'H#2' in the day of week field is no way"),
        ("0 0 * * HL", "'HL' in the day of week field is no way"),
        ("0 0 * * H(mon-wen)", "'mon-wen' is not a day of week: "),
        ("0 0 31 H(4-4) *", "'0 0 31 H(4-4) *' has no run in the next five years"),
        ("*/0 * * * *", "'*/0' in the minute field has a step of 0: allowed are steps of 1-60."),
        ("0 1-5/0 * * *", "'1-5/0' in the hour field has a step of 0: "),
        ("*/90 * * * *", "'*/90' in the minute field has a step of 90: "),
        (f"*/{'9' * 90} * * * *", "has a step of a number that large: "),
        (
            "0 17-9 * * *",
            "'17-9' in the hour field runs backwards: put the smaller value first, or write two ",
        ),
        ("0 0 * nov-feb *", "'nov-feb' in the month field runs backwards: "),
        ("0 0 * * 5-0", "'5-0' in the day of week field runs backwards: "),
        ("0 0 * * 7-1", "'7-1' in the day of week field runs backwards: "),
        ("1,,2 * * * *", "'1,,2' in the minute field has an empty item: remove the extra comma."),
        (",1 * * * *", "',1' in the minute field has an empty item: "),
        ("0 1, * * *", "'1,' in the hour field has an empty item: "),
        (
            "",
            "'' has 0 fields: write five, minute, hour, day of month, month and day of week, without",
        ),
        ("   ", "has 0 fields"),
        ("*", "'*' has 1 field: "),
        ("* * * *", "has 4 fields"),
        ("0 * * * * *", "has 6 fields: write five, minute, hour, day of month, month and day of week, without seconds"),
        ("0 0 * * * 0 2030", "has 7 fields"),
        (
            "@reboot",
            "'@reboot' is not a nickname: allowed are @hourly, @daily, @midnight, @weekly, @monthly, ",
        ),
        ("@every 5m", "'@every 5m' is not a nickname: "),
        ("@", "'@' is not a nickname: "),
        ("０ ９ * * *", r"The expression contains '\uff10': use plain ASCII characters"),
        ("٣ * * * *", r"contains '\u0663'"),
        ("0 9 * * *\u00a0", r"contains '\xa0'"),
        ("0\t9\t*\t*\t*", r"contains '\t'"),
        ("0 9 * * *\n", r"contains '\n'"),
        ("0 9 * * *\0", r"contains '\x00'"),
        ("\ud800 * * * *", r"contains '\ud800'"),
        ("* " * 65, "has 130 characters: allowed are 128."),
        ("1," * 50_000, "has 100000 characters: "),
        (
            "0 0 31 2 *",
            "'0 0 31 2 *' has no run in the next five years: check that its days exist in its months.",
        ),
        ("0 0 30 2 *", "has no run in the next five years"),
        ("* * 31 4,6,9,11 *", "has no run in the next five years"),
    ],
)
def test_a_bad_expression_is_refused_with_the_reason(expression: str, message: str) -> None:
    error = refusal({"type": "cron", "expression": expression})

    assert error.field == "expression"
    assert message in str(error)


def test_a_list_has_at_most_sixty_items() -> None:
    assert MINUTE.read(",".join("1" * 60)).numbers == {1}
    with pytest.raises(InvalidSchedule, match="The minute field has 61 items: allowed are 60"):
        MINUTE.read(",".join("1" * 61))


def test_an_expression_has_at_most_128_characters() -> None:
    sixty_items = ",".join(str(number % 10) for number in range(60))

    assert parse_schedule({"type": "cron", "expression": f"{sixty_items} * * * *".ljust(128)}, now=NOW)
    error = refusal({"type": "cron", "expression": f"{sixty_items} * * * *".ljust(129)})
    assert str(error).startswith("The expression has 129 characters: allowed are 128.")


field_like = st.text(alphabet="0123456789*/,-#()LlHhRWw?monfrijaec", min_size=1, max_size=12)


@settings(max_examples=400, deadline=None, database=None)
@given(st.integers(0, 4), field_like)
def test_the_refusal_of_a_field_names_it_and_says_what_to_do(place: int, text: str) -> None:
    texts = ["0", "0", "*", "*", "*"]
    texts[place] = text
    try:
        Cron(" ".join(texts))
    except InvalidSchedule as error:
        assert error.field == "expression"
        assert FIELDS_OF_CRON[place].name in str(error)
        assert "allowed are" in str(error) or "remove the extra comma" in str(error) or "runs backwards" in str(error)
        assert str(error).endswith(".")


@pytest.mark.parametrize(
    "name",
    [
        "", " ", ".", "..", "/", "../etc", "../../etc/passwd", "/etc/localtime",
        "/usr/share/zoneinfo/UTC", "\0", "UTC\0",
        "America", "America/", "america/new_york", "europe/paris", "utc ", "UTC\n", "Europe/Pari",
        "Europe/Atlantis", "CEST",
        "+02:00", "UTC+2", "localtime", "posixrules", "Factory", "posix/UTC", "right/UTC", "tzdata.zi",
        "zone.tab", "\ud800",
        "Ｕ", "x" * 100_000, "a/" * 5000,
    ],
)  # fmt: skip
def test_a_name_that_is_no_zone_is_refused(name: str) -> None:
    error = refusal({"type": "cron", "expression": "@daily", "timezone": name})

    assert error.field == "timezone"
    assert "No time zone is named" in str(error)


def test_a_misspelled_zone_is_told_the_right_one() -> None:
    error = refusal({"type": "cron", "expression": "@daily", "timezone": "europe/pariss"})

    assert str(error) == "No time zone is named 'europe/pariss'. Did you mean 'Europe/Paris'?"


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


@settings(max_examples=300, deadline=None, database=None)
@given(st.lists(st.text(alphabet="0123456789*/,-#L", min_size=1, max_size=5), min_size=5, max_size=5))
def test_an_expression_that_is_accepted_can_be_asked_for_its_next_run(fields: list[str]) -> None:
    try:
        cron = Cron(" ".join(fields), "Europe/Paris")
    except InvalidSchedule:
        return

    run = cron.next_after(NOW)

    assert run is None or run > NOW


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
