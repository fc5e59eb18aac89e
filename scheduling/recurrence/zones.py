"""Walks a zone's offsets: what the clock on the wall shows, and when it jumps.

Two kinds of time meet here and nowhere else. An *instant* is aware and in UTC; *wall time* is naive,
what a clock in the zone shows. Arithmetic on aware local datetimes is avoided throughout: Python
adds to them in wall time and says nothing about the jump in between.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

# How far apart offsets are sampled. Since 1970 no zone has changed twice within six days.
SAMPLE = timedelta(days=1)

SECOND = timedelta(seconds=1)  # no zone changes its offset between two seconds


def wall_time(instant: datetime, zone: ZoneInfo) -> datetime:
    """Return what a clock in `zone` shows at `instant`."""
    return instant.astimezone(zone).replace(tzinfo=None)


def offset_at(instant: datetime, zone: ZoneInfo) -> timedelta:
    """Return how far the clocks of `zone` are ahead of UTC at `instant`."""
    offset = instant.astimezone(zone).utcoffset()
    assert offset is not None  # a ZoneInfo always knows it for an aware time
    return offset


def first_instant_showing(wall: datetime, zone: ZoneInfo) -> datetime:
    """Return the first instant at which the clocks of `zone` show `wall` or have just skipped it.

    In a repeated hour that is the first of the two; in a gap it is the change itself, the moment
    when the clocks passed `wall` without showing it.
    """
    instant = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if wall_time(instant, zone) == wall:
        return instant
    # Read with the offset from before the gap a skipped time lies after the change, and read with the
    # one from behind the gap it lies before: the change is between the two.
    earlier = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return _change_between(earlier, instant, zone)


def is_shown_twice(wall: datetime, zone: ZoneInfo) -> bool:
    """Tell whether the clocks of `zone` are put back so that they show `wall` a second time."""
    first, second = (wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    # In a gap the two readings differ as well, but the other way round.
    return first < second


def first_change(after: datetime, until: datetime, zone: ZoneInfo) -> datetime | None:
    """Return the first instant later than `after`, and no later than `until`, with a new offset."""
    offset = offset_at(after, zone)
    start = after
    while start < until:
        end = min(start + SAMPLE, until)
        if offset_at(end, zone) != offset:
            return _change_between(start, end, zone)
        start = end
    return None


def _change_between(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """Return the instant of the one change of offset in (before, after]."""
    offset = offset_at(before, zone)
    # Whole seconds, so that halving ends on the change itself and not a microsecond beside it.
    low, high = before.replace(microsecond=0), after.replace(microsecond=0)
    while high - low > SECOND:
        middle = low + (high - low) // 2 // SECOND * SECOND
        if offset_at(middle, zone) == offset:
            low = middle
        else:
            high = middle
    return high
