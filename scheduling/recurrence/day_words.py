"""Says in English on which days a cron expression runs."""

from collections.abc import Collection

from scheduling.recurrence.english import even_step, joined, listed, ordinal
from scheduling.recurrence.fields import Values

WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_SUNDAY = 7  # the week is read from Monday, so that a weekend is a row
_NTHS = range(1, 6)


def days_in_words(day: Values, month: Values, weekday: Values) -> str:
    """Return the days, such as "on Friday in March"; empty when it is every day."""
    both_must_match = day.starts_with_star or weekday.starts_with_star
    months = _months(month)
    if day.is_all or weekday.is_all:
        # Either may match, and one always does: then the other says nothing.
        words = _days_of_month(day) + _weekdays(weekday) if both_must_match else ""
        return " ".join(part for part in (words, months) if part)
    if both_must_match:
        words = f"{_days_of_month(day)}, if it falls {_weekdays(weekday, last='or')}"
    else:
        words = f"{_days_of_month(day)} or {_weekdays(weekday)}"
    return ", ".join(part for part in (words, months) if part)


def _days_of_month(day: Values) -> str:
    if day.is_all:
        return ""
    numbers = day.numbers
    last = ["the last day"] if day.special else []
    if step := even_step(numbers):
        spelled = [f"every {ordinal(step)} day from the {ordinal(min(numbers))} through the {ordinal(max(numbers))}"]
    else:
        spelled = [f"the {part}" for part in listed(numbers, ordinal)]
    return f"on {joined(spelled + last)} of the month"


def _weekdays(weekday: Values, last: str = "and") -> str:
    if weekday.is_all:
        return ""
    plain, numbered, in_last_week = _read_special(weekday)
    parts = listed({_SUNDAY if day == 0 else day for day in plain}, lambda day: WEEKDAYS[day % _SUNDAY])
    parts += [f"the {ordinal(nth)} {WEEKDAYS[day]}" for day, nth in sorted(numbered)]
    parts += [f"the last {WEEKDAYS[day]}" for day in sorted(in_last_week)]
    return f"on {joined(parts, last)}{' of the month' if numbered or in_last_week else ''}"


def _read_special(weekday: Values) -> tuple[Collection[int], set[tuple[int, int]], set[int]]:
    """Return the weekdays that run each week, those that run in one week of the month, and in the last."""
    numbered = {(int(item[0]), int(item[2])) for item in weekday.special if "#" in item}
    last = {int(item[1]) for item in weekday.special if item.startswith("l")}
    # A field that mixes them spells a plain weekday as all five of the month.
    every_week = {day for day, _ in numbered if all((day, nth) in numbered for nth in _NTHS)} | weekday.numbers
    return every_week, {(day, nth) for day, nth in numbered if day not in every_week}, last - every_week


def _months(month: Values) -> str:
    if month.is_all:
        return ""
    return f"in {joined(listed(month.numbers, lambda number: MONTHS[number - 1]))}"
