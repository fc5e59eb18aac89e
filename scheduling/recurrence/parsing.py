"""Reads a schedule from its JSON form, as sent to the API and as stored with a job.

Nothing is guessed and nothing is ignored: a key that is not known is refused by name, because a
misspelled option that is dropped shows only when the job runs at the wrong time.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from scheduling.recurrence.base import Recurrence
from scheduling.recurrence.cron import Cron
from scheduling.recurrence.errors import InvalidSchedule, quoted
from scheduling.recurrence.every import Every
from scheduling.recurrence.instants import read_instant, require_aware, write_instant
from scheduling.recurrence.once import Once

# A client whose clock runs a little behind ours, or whose request took its time, asked for a time
# that was still to come when it asked.
CLOCK_TOLERANCE = timedelta(seconds=60)

# A run further away is taken for a mistake, such as 31 February. 29 February must stay possible.
FARTHEST_FIRST_RUN = timedelta(days=5 * 366)


def parse_schedule(data: object, *, now: datetime, allow_past: bool = False) -> Recurrence:
    """Return the schedule that `data` describes; whatever is wrong with it is an InvalidSchedule.

    A new schedule must still have a run ahead of it. A stored one has been accepted before and is
    read back with `allow_past`, whatever has become of its runs in the meantime.
    """
    require_aware(now)
    if not isinstance(data, dict):
        raise InvalidSchedule("schedule", f"A schedule is an object with a 'type', not {quoted(data)}.")
    kind = _required(data, "type", "a schedule")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InvalidSchedule("type", f"{quoted(kind)} is not a type of schedule: allowed are {', '.join(_KINDS)}.")
    allowed, read = _KINDS[kind]
    for key in data:
        if key != "type" and key not in allowed:
            # Not named as the field: it is the sender's text, and of any length.
            raise InvalidSchedule(
                "schedule",
                f"{quoted(key)} is not part of a schedule of type '{kind}': "
                f"allowed are {', '.join(('type', *allowed))}.",
            )
    recurrence = read(data, now)
    if not allow_past:
        _check_that_it_will_run(recurrence, now)
    return recurrence


def _read_once(data: dict[Any, Any], now: datetime) -> Recurrence:
    return Once(read_instant("run_at", _required(data, "run_at", "a schedule of type 'once'")))


def _read_now(data: dict[Any, Any], now: datetime) -> Recurrence:
    return Once(now)


def _read_interval(data: dict[Any, Any], now: datetime) -> Recurrence:
    seconds = _required(data, "seconds", "a schedule of type 'interval'")
    anchor = read_instant("start_at", data["start_at"]) if "start_at" in data else now
    return Every(seconds, anchor)


def _read_cron(data: dict[Any, Any], now: datetime) -> Recurrence:
    expression = _required(data, "expression", "a schedule of type 'cron'")
    return Cron(expression, data.get("timezone", "UTC"))


_KINDS: dict[str, tuple[tuple[str, ...], Callable[[dict[Any, Any], datetime], Recurrence]]] = {
    "now": ((), _read_now),
    "once": (("run_at",), _read_once),
    "interval": (("seconds", "start_at"), _read_interval),
    "cron": (("expression", "timezone"), _read_cron),
}


def _required(data: dict[Any, Any], key: str, owner: str) -> Any:
    if key not in data:
        raise InvalidSchedule(key, f"'{key}' is missing: {owner} needs it.")
    return data[key]


def _check_that_it_will_run(recurrence: Recurrence, now: datetime) -> None:
    match recurrence:
        case Once(at=at) if at < now - CLOCK_TOLERANCE:
            raise InvalidSchedule(
                "run_at",
                f"{write_instant(at)} is in the past: give a later time, or use type 'now' to run at once.",
            )
        case Cron(expression=expression):
            run = recurrence.next_after(now)
            if run is None or run > now + FARTHEST_FIRST_RUN:
                raise InvalidSchedule(
                    "expression",
                    f"{quoted(expression)} has no run in the next five years: check that its days exist in its months.",
                )
