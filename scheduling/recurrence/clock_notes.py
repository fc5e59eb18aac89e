"""Says in English what a change of the clocks does to the runs of a cron schedule.

Only tells what `walking` does; it decides nothing.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from scheduling.recurrence.clock_changes import OnGap, OnRepeat
from scheduling.recurrence.cron import Cron
from scheduling.recurrence.english import joined
from scheduling.recurrence.expressions import Expression, compile_expression
from scheduling.recurrence.zone_names import zone_named
from scheduling.recurrence.zones import SECOND, first_change, first_instant_showing, offset_at, wall_time

MOST_NAMED = 3  # affected times of one change: a schedule for every minute has sixty


def note_on(cron: Cron, *, previous: datetime, run: datetime) -> str:
    """Return what there is to say beside `run`; on most days nothing.

    A change on the day of the run is always mentioned. One on another day since `previous` is, if it
    made the schedule leave something out: the run that is missing has no line of its own.
    """
    zone = zone_named(cron.timezone)
    midnight = wall_time(run, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    today = first_instant_showing(midnight, zone)
    tomorrow = first_instant_showing(midnight + timedelta(days=1), zone)
    notes = []
    for change in _changes(zone, min(previous, today - SECOND), tomorrow - SECOND):
        effect, leaves_out = _effect(cron, zone, change)
        if change >= today:
            notes.append(f"{_change_in_words(zone, change, 'on this day')}: {effect}.")
        elif leaves_out:
            notes.append(f"{_change_in_words(zone, change, f'on {wall_time(change, zone):%Y-%m-%d}')}: {effect}.")
    return " ".join(notes)


def _changes(zone: ZoneInfo, after: datetime, until: datetime) -> Iterator[datetime]:
    change = first_change(after, until, zone)
    while change is not None:
        yield change
        change = first_change(change, until, zone)


def _both_walls(zone: ZoneInfo, change: datetime) -> tuple[datetime, datetime]:
    """Return what the clocks would have shown at the change, and what they do show."""
    return change.replace(tzinfo=None) + offset_at(change - SECOND, zone), wall_time(change, zone)


def _change_in_words(zone: ZoneInfo, change: datetime, day: str) -> str:
    old, new = _both_walls(zone, change)
    direction = "forward" if new > old else "back"
    where = "" if old.date() != new.date() else f" {day}"
    return f"Clocks go {direction} from {_shown(old, old, new)} to {_shown(new, old, new)}{where}"


def _effect(cron: Cron, zone: ZoneInfo, change: datetime) -> tuple[str, bool]:
    """Return what becomes of the affected times, and whether that is to be left out."""
    expression = compile_expression(cron.plain)
    old, new = _both_walls(zone, change)
    affected = _first_matches(expression, min(old, new), max(old, new))
    if not affected:
        return "no run is affected", False
    named = [_shown(wall, old, new) for wall in affected[:MOST_NAMED]]
    times = joined(named) if len(affected) <= MOST_NAMED else joined([*named, "others"])
    several = len(affected) > 1
    if new > old:
        return _effect_of_gap(cron, expression, times, several=several, end=_shown(new, old, new))
    return _effect_of_repeat(cron, expression, times, several=several)


def _effect_of_gap(cron: Cron, expression: Expression, times: str, *, several: bool, end: str) -> tuple[str, bool]:
    fact = f"{times} {'do' if several else 'does'} not exist"
    if expression.follows_real_time or cron.on_gap == OnGap.SKIP:
        return f"{fact}, and {'are' if several else 'is'} left out", True
    return f"{fact}, so {'they become one run' if several else 'it runs'} at {end}", False


def _effect_of_repeat(cron: Cron, expression: Expression, times: str, *, several: bool) -> tuple[str, bool]:
    fact = f"{times} {'come' if several else 'comes'} twice"
    run = "run" if several else "runs"
    if expression.follows_real_time or cron.on_repeat == OnRepeat.RUN_TWICE:
        return f"{fact}, and {run} both times", False
    if cron.on_repeat == OnRepeat.SKIP:
        return f"{fact}, and {'are' if several else 'is'} left out", True
    return f"{fact}, and {run} the first time only", False


def _first_matches(expression: Expression, start: datetime, end: datetime) -> list[datetime]:
    """Return the matching times from `start` up to `end`, but no more than it takes to see that they are many."""
    found: list[datetime] = []
    wall = expression.wall_time_from(start)
    while wall is not None and wall < end and len(found) <= MOST_NAMED:
        found.append(wall)
        wall = expression.next_wall_time(wall)
    return found


def _shown(wall: datetime, old: datetime, new: datetime) -> str:
    """Return a time of the day, with the date where the change reaches over midnight."""
    clock = f"{wall:%H:%M:%S}".removesuffix(":00")
    return clock if old.date() == new.date() else f"{wall:%Y-%m-%d} {clock}"
