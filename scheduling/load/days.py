"""Lists the runs of a cron expression within a window, a day at a step.

What `next_after` finds run by run, at a search each, is put together here from what an expression was read to mean: on
a day that matches, every one of its hours with every one of its minutes. Only around a change of the clocks, and only
for expressions that name fixed times, is it asked run by run: those rules are kept in one place.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from scheduling.recurrence import Cron
from scheduling.recurrence.expressions import NICKNAMES, compile_expression, read_fields
from scheduling.recurrence.zone_names import zone_named
from scheduling.recurrence.zones import first_change, offset_at, wall_time

DAY = timedelta(days=1)
REMEMBERED = 4096  # answers: a week of a few hundred expressions


def runs_between(cron: Cron, after: datetime, until: datetime) -> Iterator[datetime]:
    """Return each run later than `after` and earlier than `until`, in order."""
    zone = zone_named(cron.timezone)
    in_real_time = compile_expression(cron.plain).follows_real_time
    start, end = after, after
    while end < until:
        if in_real_time:
            end = _next_change(start, until, zone)
            yield from _of_days(cron, zone, start, end)
        elif (change := first_change(start - DAY, start + 2 * DAY, zone)) is not None:
            # A fixed time heeds a change that is yet to come (it will be shown again) or has been (it was skipped).
            end = min(until, change + 2 * DAY)
            yield from _one_by_one(cron, start, end)
        else:
            end = min(until, _next_change(start, until + DAY, zone) - DAY)
            yield from _of_days(cron, zone, start, end)
        start = end - timedelta.resolution  # the next stretch begins with the instant at which this one ended


def _one_by_one(cron: Cron, after: datetime, until: datetime) -> Iterator[datetime]:
    run = cron.next_after(after)
    while run is not None and run < until:
        yield run
        run = cron.next_after(run)


def _of_days(cron: Cron, zone: ZoneInfo, after: datetime, until: datetime) -> Iterator[datetime]:
    """The runs of a stretch in which the clocks go evenly."""
    times, days = _parts(cron.plain)
    first = after + timedelta.resolution
    offset = offset_at(first, zone)
    day = wall_time(first, zone).date()
    last = (until - timedelta.resolution + offset).date()
    while day <= last:
        if _matches(days, day):
            midnight = datetime(day.year, day.month, day.day, tzinfo=UTC) - offset
            if after < midnight and midnight + DAY <= until:
                yield from (midnight + time for time in times)
            else:
                yield from (run for time in times if after < (run := midnight + time) < until)
        day += DAY


def _next_change(start: datetime, until: datetime, zone: ZoneInfo) -> datetime:
    """Return when the stretch after `start` ends: with a change of the clocks, or at `until`."""
    return first_change(start + timedelta.resolution, until, zone) or until


@lru_cache(REMEMBERED)
def _parts(expression: str) -> tuple[tuple[timedelta, ...], str]:
    """Return the times of a day that an expression names, in order, and what it says of days."""
    minute, hour, *_ = read_fields(expression)
    times = tuple(timedelta(hours=h, minutes=m) for h in sorted(hour.numbers) for m in sorted(minute.numbers))
    return times, " ".join(NICKNAMES.get(expression.lower(), expression).split()[2:])


@lru_cache(REMEMBERED)
def _matches(days: str, day: date) -> bool:
    midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001  wall time is naive
    return compile_expression(f"0 0 {days}").wall_time_from(midnight) == midnight
