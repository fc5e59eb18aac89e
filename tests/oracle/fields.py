"""Tells whether a time matches a cron expression, one item of a field at a time.

Reads plain expressions only: numbers, lists, ranges, steps, `L`, `5#2` and `5L`. No names, no `H`.
"""

from datetime import date, datetime, timedelta
from functools import cache

DAY = timedelta(days=1)


def numbers(text: str, low: int, high: int) -> set[int]:
    """Return the values of a field of plain numbers."""
    found: set[int] = set()
    for item in text.split(","):
        values, _, step = item.partition("/")
        first, dash, last = values.partition("-")
        if values == "*":
            first, last = str(low), str(high)
        elif not dash:
            last = str(high) if step else first
        found |= set(range(int(first), int(last) + 1, int(step or 1)))
    return found


class Matcher:
    """Knows which minutes of the calendar an expression names."""

    def __init__(self, expression: str) -> None:
        minute, hour, self.day, month, self.weekday = expression.split()
        self.minutes = numbers(minute, 0, 59)
        self.hours = numbers(hour, 0, 23)
        self.months = numbers(month, 1, 12)
        self.follows_real_time = minute[0] == "*" or hour[0] == "*"
        self.matches_date = cache(self._matches_date)  # a day has many minutes

    def matches(self, wall: datetime) -> bool:
        return wall.minute in self.minutes and wall.hour in self.hours and self.matches_date(wall.date())

    def _matches_date(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_day = any(_is_day(item, day) for item in self.day.split(","))
        by_weekday = any(_is_weekday(item, day) for item in self.weekday.split(","))
        if self.day[0] == "*" or self.weekday[0] == "*":
            return by_day and by_weekday
        return by_day or by_weekday


def _is_day(item: str, day: date) -> bool:
    if item == "L":
        return (day + DAY).day == 1
    return day.day in numbers(item, 1, 31)


def _is_weekday(item: str, day: date) -> bool:
    weekday = day.isoweekday()  # 7 is Sunday
    if "#" in item:
        wanted, nth = item.split("#")
        return int(wanted) % 7 == weekday % 7 and (day.day - 1) // 7 + 1 == int(nth)
    if item.endswith("L"):
        return int(item[:-1]) % 7 == weekday % 7 and (day + 7 * DAY).month != day.month
    found = numbers(item, 0, 6)
    return weekday in found or weekday % 7 in found
