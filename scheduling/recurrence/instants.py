"""Reads and writes instants: moments in real time, always aware and in UTC.

A time without an offset is refused rather than guessed at: it names a different moment on every
machine that reads it.
"""

import re
from datetime import UTC, datetime, timedelta

from scheduling.recurrence.errors import InvalidSchedule, quoted

# Real schedules live well inside these; outside them are typing errors and the ends of `datetime`,
# where adding an offset overflows.
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)

# `datetime.fromisoformat` also reads week dates and any separator, and reads a bare date as midnight:
# the shape is checked first, so that what is accepted is what the message says.
_ISO_8601 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
    r"(?P<offset>Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_REMEDY = "write it as 2030-01-31T09:00:00Z, or with an offset such as 2030-01-31T09:00:00+02:00."


def read_instant(field: str, text: object) -> datetime:
    """Return the UTC instant that `text` names, to the microsecond."""
    if not isinstance(text, str):
        raise InvalidSchedule(field, f"{quoted(text)} is not a time: {_REMEDY}")
    shape = _ISO_8601.fullmatch(text)
    if shape is None:
        raise InvalidSchedule(field, f"{quoted(text)} is not an ISO 8601 date and time: {_REMEDY}")
    if shape["offset"] is None:
        raise InvalidSchedule(field, f"{quoted(text)} has no UTC offset: {_REMEDY}")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidSchedule(field, f"{quoted(text)} does not exist in the calendar: {_REMEDY}") from None
    return checked_instant(field, moment)


def checked_instant(field: str, moment: object) -> datetime:
    """Return `moment` in UTC, having made sure that it is aware and in the years we schedule for."""
    if not isinstance(moment, datetime):
        raise InvalidSchedule(field, f"{quoted(moment)} is not a datetime: give an aware one, in UTC.")
    if moment.utcoffset() is None:
        raise InvalidSchedule(field, f"{moment.isoformat()} has no UTC offset: give an aware time, in UTC.")
    try:
        instant = moment.astimezone(UTC)
    except OverflowError:
        instant = None
    if instant is None or not EARLIEST <= instant <= LATEST:
        raise InvalidSchedule(
            field,
            f"{moment.isoformat()} is out of range: allowed are the years {EARLIEST.year} to {LATEST.year}.",
        )
    return instant


def write_instant(instant: datetime) -> str:
    """Return the stored form of a UTC instant, which `read_instant` reads back unchanged."""
    return instant.isoformat().removesuffix("+00:00") + "Z"


def start_of_search(instant: datetime) -> datetime | None:
    """Return where to look for runs after `instant`: in UTC, inside the years we schedule for.

    None means that `instant` is past the last of them.
    """
    require_aware(instant)
    if instant >= LATEST:
        return None
    # One step back, because runs are sought strictly later and the very first instant counts.
    return max(instant, EARLIEST - timedelta.resolution).astimezone(UTC)


def require_aware(instant: datetime) -> None:
    """Refuse a naive instant: a mistake of the caller, not of the schedule, hence a plain ValueError."""
    if instant.utcoffset() is None:
        raise ValueError(f"{instant.isoformat()} is naive: pass an aware instant, in UTC.")
