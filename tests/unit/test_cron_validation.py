"""Which cron expressions and zones are accepted, and what those who sent others are told."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduling.recurrence import Cron, InvalidSchedule, parse_schedule
from scheduling.recurrence.fields import FIELDS as FIELDS_OF_CRON
from scheduling.recurrence.fields import MINUTE
from tests.schedules import READ_AT as NOW
from tests.schedules import refusal


def test_a_run_once_in_four_years_is_accepted_and_one_in_twenty_eight_is_not() -> None:
    sunday_29_february = {"type": "cron", "expression": "0 0 29 2 */7"}

    assert parse_schedule({"type": "cron", "expression": "0 0 29 2 *"}, now=NOW)
    assert parse_schedule(sunday_29_february, now=NOW)  # 2032
    with pytest.raises(InvalidSchedule, match="five years"):
        parse_schedule(sunday_29_february, now=NOW.replace(year=2032))  # 2060


def test_a_stored_schedule_is_read_back_however_far_its_next_run_is() -> None:
    assert parse_schedule({"type": "cron", "expression": "0 0 31 2 *"}, now=NOW, allow_past=True)


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


@settings(max_examples=300, deadline=None, database=None)
@given(st.lists(st.text(alphabet="0123456789*/,-#L", min_size=1, max_size=5), min_size=5, max_size=5))
def test_an_expression_that_is_accepted_can_be_asked_for_its_next_run(fields: list[str]) -> None:
    try:
        cron = Cron(" ".join(fields), "Europe/Paris")
    except InvalidSchedule:
        return

    run = cron.next_after(NOW)

    assert run is None or run > NOW
