"""Runs on a cron expression, in the wall time of a zone.

When clocks change, the rule is Debian cron's. A schedule whose minute or hour starts with `*`
follows real time: skipped local times do not run and the repeated hour runs twice. Any other names
fixed times, each of which runs once: right after the gap that skipped it, or the first of the two
times a clock shows it.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from scheduling.recurrence.base import Recurrence
from scheduling.recurrence.expressions import Expression, compile_expression, tidy
from scheduling.recurrence.instants import start_of_search
from scheduling.recurrence.spreading import resolve
from scheduling.recurrence.zone_names import zone_named
from scheduling.recurrence.zones import first_change, first_instant_showing, offset_at, wall_time


@dataclass(frozen=True)
class Cron(Recurrence):
    """Runs whenever the clocks of `timezone` show a time that `expression` matches.

    `seed` names the job for which each `H` is picked. It is not stored with the schedule: the job knows
    its own name. Without one the picks are those of no job, good enough to show what may come.
    """

    expression: str
    timezone: str = "UTC"
    seed: str | None = None
    plain: str = field(init=False, compare=False, repr=False)  # the expression with every `H` picked

    def __post_init__(self) -> None:
        object.__setattr__(self, "expression", tidy(self.expression))
        object.__setattr__(self, "plain", resolve(self.expression, self.seed))
        if self.plain == self.expression:
            # Nothing was picked: jobs that share an expression then share what is worked out for it.
            object.__setattr__(self, "seed", None)
        compile_expression(self.plain)
        zone_named(self.timezone)

    def next_after(self, instant: datetime) -> datetime | None:
        start = start_of_search(instant)
        if start is None:
            return None
        expression = compile_expression(self.plain)
        zone = zone_named(self.timezone)
        if expression.follows_real_time:
            return _next_in_real_time(expression, zone, start)
        return _next_fixed_time(expression, zone, start)

    def bare(self) -> "Cron":
        return self

    def to_dict(self) -> dict[str, str | int]:
        return {"type": "cron", "expression": self.expression, "timezone": self.timezone}


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
