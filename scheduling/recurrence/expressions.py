"""Compiles a five-field cron expression into something that finds matching wall times.

croniter is given naive wall time and spelled-out lists only. Its own handling of time zones runs
fixed times twice in a repeated hour, and its own combination of the two day fields forgets one of
them when the weekday is numbered (`15 * 5#2`): offsets are walked in `cron`, days are combined here.
"""

import copy
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from croniter import CroniterBadDateError, croniter

from scheduling.recurrence.errors import InvalidSchedule, quoted
from scheduling.recurrence.fields import FIELDS, Values

LONGEST_EXPRESSION = 128  # characters; croniter's cost grows with every item of a list
COMPILED = 4096  # expressions kept, a few kilobytes each: teams share far fewer

NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

# How far croniter looks ahead. 29 February on a given weekday comes every 28 years, or after 40 around 2100.
YEARS_AHEAD = 50
# Any 50 years from here hold every combination of date and weekday: what finds nothing never will.
A_START = datetime(2000, 1, 1)  # noqa: DTZ001  wall time is naive


@dataclass(frozen=True)
class Expression:
    """A compiled expression: the wall times that match, and how it behaves when clocks change."""

    follows_real_time: bool  # else it names fixed times of the day
    matchers: tuple[croniter, ...]

    def next_wall_time(self, after: datetime) -> datetime | None:
        """Return the first matching wall time strictly later than `after`, to the minute."""
        # croniter reckons in floats, in which whole minutes are exact.
        minute = after.replace(second=0, microsecond=0)
        found = [wall for matcher in self.matchers if (wall := _next_match(matcher, minute)) is not None]
        return min(found, default=None)

    def wall_time_from(self, start: datetime) -> datetime | None:
        """Return the first matching wall time that is `start` or later."""
        return self.next_wall_time(start - timedelta.resolution)


def tidy(expression: object) -> str:
    """Return the expression with single blanks, having made sure that it is short, plain text."""
    if not isinstance(expression, str):
        raise InvalidSchedule(
            "expression", f"{quoted(expression)} is not a cron expression: give a text such as '0 9 * * 1-5'."
        )
    if len(expression) > LONGEST_EXPRESSION:
        raise InvalidSchedule(
            "expression",
            f"The expression has {len(expression)} characters: allowed are {LONGEST_EXPRESSION}. "
            "Use ranges and steps, or several jobs.",
        )
    # Not only for looks: other alphabets have digits too, and `int` reads them.
    strange = next((character for character in expression if not " " <= character <= "~"), None)
    if strange is not None:
        raise InvalidSchedule(
            "expression",
            f"The expression contains {quoted(strange)}: use plain ASCII characters, blanks between fields.",
        )
    return " ".join(expression.split())


@lru_cache(maxsize=COMPILED)
def compile_expression(expression: str) -> Expression:
    """Return the expression ready for use, or say which field is wrong and what it may hold."""
    minute, hour, day, month, weekday = read_fields(expression)
    times = f"{minute.spelled()} {hour.spelled()}"
    if day.starts_with_star or weekday.starts_with_star:
        spellings = [f"{times} {day.spelled()} {month.spelled()} {weekday.spelled()}"]
    else:
        # Both restricted: either may match, as in every cron since Vixie's.
        spellings = [
            f"{times} {day.spelled()} {month.spelled()} *",
            f"{times} * {month.spelled()} {weekday.spelled()}",
        ]
    matchers = (
        croniter(spelling, A_START, day_or=False, max_years_between_matches=YEARS_AHEAD) for spelling in spellings
    )
    return Expression(
        # Debian cron's rule, to the letter: it is the first character that counts.
        follows_real_time=minute.starts_with_star or hour.starts_with_star,
        # A matcher for 31 February would search half a century each time it is asked.
        matchers=tuple(matcher for matcher in matchers if _next_match(matcher, A_START) is not None),
    )


def read_fields(expression: str) -> list[Values]:
    """Return what each of the five fields of a plain expression stands for."""
    texts = expression.split()
    if expression.startswith("@"):
        if expression.lower() not in NICKNAMES:
            raise InvalidSchedule(
                "expression", f"{quoted(expression)} is not a nickname: allowed are {', '.join(NICKNAMES)}."
            )
        texts = NICKNAMES[expression.lower()].split()
    if len(texts) != len(FIELDS):
        raise InvalidSchedule(
            "expression",
            f"{quoted(expression)} has {len(texts)} field{'' if len(texts) == 1 else 's'}: write five, "
            "minute, hour, day of month, month and day of week, without seconds or years.",
        )
    return [field.read(text) for field, text in zip(FIELDS, texts, strict=True)]


def _next_match(matcher: croniter, after: datetime) -> datetime | None:
    # A croniter remembers where it is. Compiled ones are shared between threads, so each search
    # takes a copy; what the copy shares with it is only read.
    search = copy.copy(matcher)
    try:
        wall: datetime = search.get_next(datetime, start_time=after)
    except CroniterBadDateError:
        return None
    return wall
