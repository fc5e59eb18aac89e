"""What a fixed time does on the two days a year on which the clocks have something else in mind.

The defaults are Debian cron's. Schedules that follow real time have no choice to make: they run by the
clock on the wall, whatever it shows.
"""

from enum import StrEnum
from typing import TypeVar

from scheduling.recurrence.errors import InvalidSchedule, quoted


class OnGap(StrEnum):
    """What becomes of a time that the clocks skip."""

    RUN_ONCE = "run_once"  # right after the gap, however many times it swallowed
    SKIP = "skip"


class OnRepeat(StrEnum):
    """What becomes of a time that the clocks show twice."""

    RUN_ONCE = "run_once"  # the first time
    SKIP = "skip"
    RUN_TWICE = "run_twice"


Choice = TypeVar("Choice", bound=StrEnum)


def read_choice(field: str, value: object, choices: type[Choice]) -> Choice:
    """Return the member of `choices` that `value` names."""
    if isinstance(value, str) and value in list(choices):
        return choices(value)
    raise InvalidSchedule(field, f"{quoted(value)} is not a choice: allowed are {', '.join(choices)}.")
