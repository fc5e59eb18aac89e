"""Finds the next run of an expression in a zone, through every change of its clocks.

The two ways to walk are Debian cron's. In real time a schedule runs whenever a clock on the wall shows
a matching time. Fixed times are each looked up on the calendar, and then it is asked when the clocks
show them.
"""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from scheduling.recurrence.clock_changes import OnGap, OnRepeat
from scheduling.recurrence.expressions import Expression
from scheduling.recurrence.zones import first_change, first_instant_showing, is_shown_twice, offset_at, wall_time


def next_in_real_time(expression: Expression, zone: ZoneInfo, after: datetime) -> datetime | None:
    """Return the first instant later than `after` at which the clocks show a matching time."""
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


def next_fixed_time(
    expression: Expression, zone: ZoneInfo, after: datetime, *, on_gap: OnGap, on_repeat: OnRepeat
) -> datetime | None:
    """Return the first run later than `after` of an expression that names fixed times."""
    if on_repeat != OnRepeat.RUN_TWICE:
        return _next_first_showing(expression, zone, after, on_gap, on_repeat)
    # Twice is whenever a clock shows it; that leaves the times which no clock shows.
    runs = [next_in_real_time(expression, zone, after)]
    if on_gap == OnGap.RUN_ONCE:
        runs.append(_next_first_showing(expression, zone, after, on_gap, on_repeat))
    return min((run for run in runs if run is not None), default=None)


def _next_first_showing(
    expression: Expression, zone: ZoneInfo, after: datetime, on_gap: OnGap, on_repeat: OnRepeat
) -> datetime | None:
    wall = expression.next_wall_time(wall_time(after, zone))
    while wall is not None:
        run = first_instant_showing(wall, zone)
        shown = wall_time(run, zone)
        # Not later when the clocks show this hour for the second time: it ran in the first.
        if run <= after or (on_repeat == OnRepeat.SKIP and is_shown_twice(wall, zone)):
            wall = expression.next_wall_time(wall)
        elif shown != wall and on_gap == OnGap.SKIP:
            # On at the end of the gap, which may have swallowed a day of them; what is due then is.
            wall = expression.wall_time_from(shown)
        else:
            return run
    return None
