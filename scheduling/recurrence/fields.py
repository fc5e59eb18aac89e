"""Reads one field of a cron expression into the values it stands for.

Fields are read here rather than by croniter because croniter forgives too much: it takes `9-9` for
`*`, wraps ranges that run backwards, reads full-width digits and knows forms that other crons do not.
What leaves this module is a plain list of values, which leaves nothing to interpret.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from scheduling.recurrence.errors import InvalidSchedule, quoted

MOST_ITEMS = 60  # every minute of an hour, one by one; more can only be repetition

_ITEM = re.compile(
    r"(?P<first>\*|[0-9]{1,2}|[a-z]{3})(-(?P<last>[0-9]{1,2}|[a-z]{3}))?(/(?P<step>[0-9]+))?", re.IGNORECASE
)
_NTH_WEEKDAY = re.compile(r"(?P<day>[0-7]|[a-z]{3})#(?P<nth>[1-5])", re.IGNORECASE)
_LAST_WEEKDAY = re.compile(r"l(?P<after>[0-7])|(?P<before>[0-7]|[a-z]{3})l", re.IGNORECASE)

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SUNDAY = 7  # the other name of 0, so that a range may end on it: 5-7


@dataclass(frozen=True)
class Values:
    """What a field stands for: numbers, and days that depend on the month, in croniter's spelling."""

    numbers: frozenset[int]
    special: frozenset[str]
    is_all: bool
    starts_with_star: bool  # cron gives the star a meaning of its own, also in `*/2`

    def spelled(self) -> str:
        """Return the field as croniter is to read it."""
        if self.is_all:
            return "*"
        return ",".join([str(number) for number in sorted(self.numbers)] + sorted(self.special))


@dataclass(frozen=True)
class Field:
    """One of the five places in an expression, with what may stand in it."""

    name: str
    allowed: str
    lowest: int
    highest: int
    names: Mapping[str, int] = field(default_factory=dict)

    def read(self, text: str) -> Values:
        """Return the values that `text` stands for."""
        items = text.split(",")
        if len(items) > MOST_ITEMS:
            raise self._error(f"The {self.name} field has {len(items)} items: allowed are {MOST_ITEMS}; use ranges.")
        numbers: set[int] = set()
        special: set[str] = set()
        for item in items:
            if not item:
                raise self._error(f"{quoted(text)} in the {self.name} field has an empty item: remove the extra comma.")
            day = self._special(item)
            if day is not None:
                special.add(day)
            else:
                numbers.update(self.range_of(item))
        return self._values(numbers, special, starts_with_star=text.startswith("*"))

    def _values(self, numbers: set[int], special: set[str], *, starts_with_star: bool) -> Values:
        is_all = len(numbers) == self.highest - self.lowest + 1
        return Values(frozenset(numbers), frozenset(special), is_all, starts_with_star)

    def _special(self, item: str) -> str | None:
        """Return croniter's spelling of an item that is no number, or None."""
        return None

    def range_of(self, item: str) -> Iterator[int]:
        """Return the numbers that one item of a list stands for."""
        parts = _ITEM.fullmatch(item)
        if parts is None or (parts["first"] == "*" and parts["last"]):
            raise self._not_allowed(item)
        step = self._step(item, parts["step"])
        if parts["first"] == "*":
            return iter(range(self.lowest, self.highest + 1, step))
        first = self._number(parts["first"], item)
        last = first
        if parts["last"]:
            last = self._end_of_range(first, parts["last"], item)
        elif parts["step"]:
            last = max(first, self.highest)  # 10/20 is 10-59/20
        if last < first:
            raise self._error(
                f"{quoted(item)} in the {self.name} field runs backwards: put the smaller value first, "
                "or write two ranges with a comma between them."
            )
        return iter(range(first, last + 1, step))

    def _step(self, item: str, text: str | None) -> int:
        if text is None:
            return 1
        longest = self.highest - self.lowest + 1
        # A longer step would quietly mean "the first value only": */90 is not every 90 minutes.
        if not 1 <= int(text) <= longest:
            raise self._error(
                f"{quoted(item)} in the {self.name} field has a step of {quoted(int(text))}: "
                f"allowed are steps of 1-{longest}."
            )
        return int(text)

    def _number(self, text: str, item: str) -> int:
        number = int(text) if text.isdecimal() else self.names.get(text.lower())
        if number is None or not self.lowest <= number <= self._highest_written():
            raise self._not_allowed(item if number is None else text)
        return number

    def _end_of_range(self, first: int, text: str, item: str) -> int:
        return self._number(text, item)

    def _highest_written(self) -> int:
        return self.highest

    def _not_allowed(self, text: str) -> InvalidSchedule:
        article = "an" if self.name == "hour" else "a"
        return self._error(f"{quoted(text)} is not {article} {self.name}: allowed are {self.allowed}.")

    def _error(self, message: str) -> InvalidSchedule:
        return InvalidSchedule("expression", message)


class DayOfMonth(Field):
    """Days 1-31, and `L` for the last, whichever that is."""

    def _special(self, item: str) -> str | None:
        return "l" if item in ("l", "L") else super()._special(item)


class DayOfWeek(Field):
    """Days 0-6 from Sunday, 7 for Sunday too, `5#2` for the second Friday and `5L` for the last."""

    def _values(self, numbers: set[int], special: set[str], *, starts_with_star: bool) -> Values:
        days = {number % _SUNDAY for number in numbers}
        if special and len(days) < len(_WEEKDAYS):
            # croniter takes either plain weekdays or numbered ones: a plain one is all five of them.
            special = special | {f"{day}#{nth}" for day in days for nth in range(1, 6)}
            days = set()
        return super()._values(days, special, starts_with_star=starts_with_star)

    def _special(self, item: str) -> str | None:
        if nth := _NTH_WEEKDAY.fullmatch(item):
            return f"{self._number(nth['day'], item) % _SUNDAY}#{nth['nth']}"
        if last := _LAST_WEEKDAY.fullmatch(item):
            return f"l{self._number(last['after'] or last['before'], item) % _SUNDAY}"
        return super()._special(item)

    def _end_of_range(self, first: int, text: str, item: str) -> int:
        # By name a week may end on Sunday: fri-sun reads as 5-7, though SUN alone is 0.
        if text.lower() == "sun" and first > 0:
            return _SUNDAY
        return super()._end_of_range(first, text, item)

    def _highest_written(self) -> int:
        return _SUNDAY


MINUTE = Field("minute", "0-59, H, lists, ranges and steps", 0, 59)
HOUR = Field("hour", "0-23, H, lists, ranges and steps", 0, 23)
DAY_OF_MONTH = DayOfMonth("day of month", "1-31, L (the last day), H, lists, ranges and steps", 1, 31)
MONTH = Field(
    "month",
    "1-12 or JAN-DEC, H, lists, ranges and steps",
    1,
    12,
    {name: number for number, name in enumerate(_MONTHS, start=1)},
)
DAY_OF_WEEK = DayOfWeek(
    "day of week",
    "0-7 or SUN-SAT (0 and 7 are Sunday), 5#2 (the second Friday), 5L (the last), H, lists, ranges and steps",
    0,
    6,
    {name: number for number, name in enumerate(_WEEKDAYS)},
)

FIELDS = (MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)  # in the order they are written
