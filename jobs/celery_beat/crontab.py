"""Celery's crontab fields, written as cron writes them. Pure.

Celery reads some that cron does not: ranges that wrap around (`22-4`, `fri-mon`), names of any length (`monday`), steps
longer than the field. And where day of month and day of week are both limited, Celery means both, cron either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

WEEKDAYS = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
PART = re.compile(r"(?P<first>\*|[0-9]+|[a-z]+)(?:-(?P<last>[0-9]+|[a-z]+))?(?:/(?P<step>[0-9]+))?", re.IGNORECASE)
DAYS_OF_NTH = {n: frozenset(range(7 * n - 6, 7 * n + 1)) for n in range(1, 5)}  # the second Friday is one of 8-14
ANY_DAY, ANY_WEEKDAY = frozenset(range(1, 32)), frozenset(range(7))
FIRST_DAY, SUNDAY = "*/31", "*/7"  # cron takes both days for meant where one of the fields starts with `*`


class Unreadable(ValueError):
    """A field that Celery would not read either, or that cron cannot say."""


@dataclass(frozen=True)
class Place:
    """One of the five fields."""

    name: str
    lowest: int
    highest: int
    names: Mapping[str, int] = field(default_factory=dict)

    def read(self, text: str) -> frozenset[int]:
        return frozenset(number for part in text.split(",") for number in self._part(part, text))

    def written(self, text: str) -> str:
        """The same for cron: as it is, where cron reads it so."""
        if all(self._is_cron(part) for part in text.split(",")):
            return text.lower()
        return ranges(self.read(text))

    def _part(self, part: str, text: str) -> Iterable[int]:
        found = PART.fullmatch(part)
        if found is None or (found["first"] == "*" and found["last"]) or (found["step"] and found["step"] == "0"):
            raise Unreadable(f"its {self.name} {text!r} is invalid in Celery.")
        size = self.highest - self.lowest + 1
        if found["first"] == "*":
            values = list(range(self.lowest, self.highest + 1))
        else:
            if found["step"] and not found["last"]:
                raise Unreadable(f"its {self.name} {text!r} is invalid in Celery: a step requires a range or *.")
            first = self._number(found["first"], text)
            last = self._number(found["last"], text) if found["last"] else first
            length = (last - first) % size + 1
            values = [self.lowest + (first - self.lowest + number) % size for number in range(length)]
        return values[:: int(found["step"] or 1)]

    def _number(self, word: str, text: str) -> int:
        number = int(word) if word.isdigit() else self.names.get(word[:3].lower())
        if number is None or not self.lowest <= number <= self.highest:
            raise Unreadable(f"its {self.name} {text!r} is invalid in Celery: unknown or out-of-range value {word!r}.")
        return number

    def _is_cron(self, part: str) -> bool:
        found = PART.fullmatch(part)
        if found is None or int(found["step"] or 1) > self.highest - self.lowest + 1:
            return False
        numbers = [self._number(word, part) for word in (found["first"], found["last"]) if word not in (None, "*")]
        return part == "*" or (all(len(word) <= 3 for word in re.split("[-/]", part)) and numbers == sorted(numbers))


MINUTE, HOUR = Place("minute", 0, 59), Place("hour", 0, 23)
DAY, MONTH = Place("day of month", 1, 31), Place("month", 1, 12, MONTHS)
WEEKDAY = Place("day of week", 0, 6, WEEKDAYS)


class Translated(NamedTuple):
    expression: str
    differs: bool  # from how it was written


def translated(minute: str, hour: str, day: str, month: str, weekday: str) -> Translated:
    """The cron expression that comes due when Celery's crontab does; raises Unreadable."""
    places = (MINUTE, HOUR, DAY, MONTH, WEEKDAY)
    for place, text in zip(places, (minute, hour, day, month, weekday), strict=True):
        place.read(text)
    days = _days(day, weekday)
    expression = " ".join([MINUTE.written(minute), HOUR.written(hour), days[0], MONTH.written(month), days[1]])
    return Translated(expression, expression != " ".join([minute, hour, day, month, weekday]).lower())


def _days(day: str, weekday: str) -> tuple[str, str]:
    """Day of month and day of week, both of which have to fit."""
    days, weekdays = DAY.read(day), WEEKDAY.read(weekday)
    if days == ANY_DAY:
        return "*", "*" if weekdays == ANY_WEEKDAY else WEEKDAY.written(weekday)
    if weekdays == ANY_WEEKDAY:
        return DAY.written(day), "*"
    written = DAY.written(day), WEEKDAY.written(weekday)
    if any(text.startswith("*") for text in written):
        return written
    for nth, of_nth in DAYS_OF_NTH.items():
        if days == of_nth:
            return "*", ",".join(f"{one}#{nth}" for one in sorted(weekdays))
    if 1 in days:
        return _starting_with(FIRST_DAY, days - {1}), WEEKDAY.written(weekday)
    if 0 in weekdays:
        return DAY.written(day), _starting_with(SUNDAY, weekdays - {0})
    raise Unreadable(
        f"both day of month ({day}) and day of week ({weekday}) are limited. Celery requires both to match, cron and "
        "Punctual either of them. Create the job by hand."
    )


def _starting_with(star: str, others: frozenset[int]) -> str:
    return ",".join([star, *([ranges(others)] if others else [])])


def ranges(numbers: frozenset[int]) -> str:
    """The shortest of what cron reads: one range with a step, or a list of ranges."""
    ordered = sorted(numbers)
    steps = {after - before for before, after in pairwise(ordered)}
    if len(ordered) > 2 and len(steps) == 1 and (step := steps.pop()) > 1:
        return f"{ordered[0]}-{ordered[-1]}/{step}"
    runs: list[list[int]] = []
    for number in ordered:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
