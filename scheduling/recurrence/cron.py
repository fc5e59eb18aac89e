"""Runs on a cron expression, in the wall time of a zone.

When clocks change, the rule is Debian cron's. A schedule whose minute or hour starts with `*`
follows real time: skipped local times do not run and the repeated hour runs twice. Any other names
fixed times, each of which runs once: right after the gap that skipped it, or the first of the two
times a clock shows it.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from scheduling.recurrence.base import Recurrence
from scheduling.recurrence.expressions import Expression, compile_expression, tidy
from scheduling.recurrence.instants import start_of_search
from scheduling.recurrence.zone_names import zone_named
from scheduling.recurrence.zones import first_change, first_instant_showing, offset_at, wall_time

REMEMBERED = 4096  # answers, about a megabyte: more than a batch of new jobs can ask for


@dataclass(frozen=True)
class Cron(Recurrence):
    """Runs whenever the clocks of `timezone` show a time that `expression` matches."""

    expression: str
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        object.__setattr__(self, "expression", tidy(self.expression))
        compile_expression(self.expression)
        zone_named(self.timezone)

    def next_after(self, instant: datetime) -> datetime | None:
        start = start_of_search(instant)
        return None if start is None else _next_run(self.expression, self.timezone, start)

    def to_dict(self) -> dict[str, str | int]:
        return {"type": "cron", "expression": self.expression, "timezone": self.timezone}


# A new job asks twice, whether it will run and when, and a batch of new jobs asks for the same few at one instant.
@lru_cache(maxsize=REMEMBERED)
def _next_run(expression: str, timezone: str, after: datetime) -> datetime | None:
    compiled = compile_expression(expression)
    zone = zone_named(timezone)
    if compiled.follows_real_time:
        return _next_in_real_time(compiled, zone, after)
    return _next_fixed_time(compiled, zone, after)


def _next_fixed_time(expression: Expression, zone: ZoneInfo, after: datetime) -> datetime | None:
    wall = expression.next_wall_time(wall_time(after, zone))
    while wall is not None:
        run = first_instant_showing(wall, zone)
        # Not later when the clocks show this hour for the second time: it ran in the first.
        if run > after:
            return run
        wall = expression.next_wall_time(wall)
    return None


def _next_in_real_time(expression: Expression, zone: ZoneInfo, after: datetime) -> datetime | None:
    # One stretch of constant offset at a time: within it, wall time and real time run in step.
    start = after
    wall = expression.next_wall_time(wall_time(start, zone))
    while wall is not None:
        run = wall.replace(tzinfo=UTC) - offset_at(start, zone)
        change = first_change(start, run, zone)
        if change is None:
            return run
        # The clocks jump before they get there: look again from what they show then, that included.
        start = change
        wall = expression.wall_time_from(wall_time(start, zone))
    return None
