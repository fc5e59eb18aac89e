"""Finds the clock changes of a zone by looking at its clock again and again."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

FIRST = datetime(2000, 1, 1, tzinfo=UTC)
LAST = datetime(2038, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)

NOT_ZONES = {"Factory", "localtime", "posixrules"}  # files beside the zones


def all_zones() -> list[str]:
    """Return every zone of the IANA database, whatever its name."""
    return sorted(name for name in available_timezones() if name not in NOT_ZONES)


def changes(zone: ZoneInfo, start: datetime = FIRST, end: datetime = LAST) -> list[datetime]:
    """Return every change of offset: looked for day by day, and then to the minute."""
    found = []
    day, offset = start, start.astimezone(zone).utcoffset()
    while day < end:
        next_offset = (day + DAY).astimezone(zone).utcoffset()
        if next_offset != offset:
            minutes = (day + number * MINUTE for number in range(1, 24 * 60 + 1))
            found.append(next(minute for minute in minutes if minute.astimezone(zone).utcoffset() != offset))
        day, offset = day + DAY, next_offset
    return found
