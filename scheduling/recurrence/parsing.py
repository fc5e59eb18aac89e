"""Reads a schedule from its JSON form, as sent to the API and as stored with a job.

Nothing is guessed and nothing is ignored: a key that is not known is refused by name, because a
misspelled option that is dropped shows only when the job runs at the wrong time.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from scheduling.recurrence.base import Recurrence
from scheduling.recurrence.bounds import Bounded, bounded
from scheduling.recurrence.cron import Cron
from scheduling.recurrence.errors import InvalidSchedule, quoted
from scheduling.recurrence.every import Every
from scheduling.recurrence.instants import read_instant, require_aware, write_instant
from scheduling.recurrence.jitter import Jittered
from scheduling.recurrence.once import Once

# A client whose clock runs a little behind ours, or whose request took its time, asked for a time
# that was still to come when it asked.
CLOCK_TOLERANCE = timedelta(seconds=60)

# A run further away is taken for a mistake, such as 31 February. 29 February must stay possible.
FARTHEST_FIRST_RUN = timedelta(days=5 * 366)


_PICKED = re.compile(r"(^|[ ,])h", re.IGNORECASE)  # an item of a field that starts with H


def parse_schedule(data: object, *, now: datetime, allow_past: bool = False, seed: str | None = None) -> Recurrence:
    """Return the schedule that `data` describes; whatever is wrong with it is an InvalidSchedule.

    A new schedule must still have a run ahead of it. A stored one has been accepted before and is
    read back with `allow_past`, whatever has become of its runs in the meantime.

    `seed` names the job, for whom each `H` of a cron expression is picked: its id, as a text, and the
    same one each time. Without it the picks are stable but no job's own, as for a preview of a
    schedule that is not saved yet. `depends_on_seed` tells whether it matters.
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
    recurrence = read(data, now, seed)
    if not allow_past:
        _check_that_it_will_run(recurrence, now)
    return recurrence


def depends_on_seed(data: dict[str, Any]) -> bool:
    """Tell whether a stored schedule runs at other times for each job: whether it has an `H`.

    For whoever keeps answers: those of any other schedule may be shared between jobs.
    """
    expression = data.get("expression", "")
    # No nickname and no name of a month or day is in the way: THU is the only one with an h, and not in front.
    return not expression.startswith("@") and _PICKED.search(expression) is not None


def _read_once(data: dict[Any, Any], now: datetime, seed: str | None) -> Recurrence:
    return Once(read_instant("run_at", _required(data, "run_at", "a schedule of type 'once'")))


def _read_now(data: dict[Any, Any], now: datetime, seed: str | None) -> Recurrence:
    return Once(now)


def _read_interval(data: dict[Any, Any], now: datetime, seed: str | None) -> Recurrence:
    seconds = _required(data, "seconds", "a schedule of type 'interval'")
    anchor = read_instant("start_at", data["start_at"]) if "start_at" in data else now
    return _put_around(Every(seconds, anchor), data, start_at=None)


def _read_cron(data: dict[Any, Any], now: datetime, seed: str | None) -> Recurrence:
    expression = _required(data, "expression", "a schedule of type 'cron'")
    start = read_instant("start_at", data["start_at"]) if "start_at" in data else None
    choices = {key: data[key] for key in ("timezone", "on_gap", "on_repeat") if key in data}
    return _put_around(Cron(expression, seed=seed, **choices), data, start_at=start)


def _put_around(rule: Every | Cron, data: dict[Any, Any], *, start_at: datetime | None) -> Recurrence:
    if "max_runs" in data and data["max_runs"] is None:
        raise InvalidSchedule("max_runs", "None is not a number of runs: leave it out for no limit.")
    end = read_instant("end_at", data["end_at"]) if "end_at" in data else None
    within = bounded(rule, start_at=start_at, end_at=end, max_runs=data.get("max_runs"))
    return Jittered(within, data["jitter"]) if "jitter" in data else within


_BOUNDS = ("start_at", "end_at", "max_runs")
_Reader = Callable[[dict[Any, Any], datetime, str | None], Recurrence]
_KINDS: dict[str, tuple[tuple[str, ...], _Reader]] = {
    "now": ((), _read_now),
    "once": (("run_at",), _read_once),
    "interval": (("seconds", *_BOUNDS, "jitter"), _read_interval),
    "cron": (("expression", "timezone", *_BOUNDS, "jitter", "on_gap", "on_repeat"), _read_cron),
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
        case Cron():
            _check_that_its_days_come(recurrence, now)
        case Jittered(rule=rule):
            _check_that_it_will_run(rule, now)
        case Bounded(rule=rule, end_at=end):
            start = recurrence.earliest_start(now)
            if isinstance(rule, Cron):
                _check_that_its_days_come(rule, start)
            first = rule.next_after(start)
            if end is not None and first is not None and end < first:
                raise InvalidSchedule(
                    "end_at",
                    f"{write_instant(end)} is before the first run, which would be at {write_instant(first)}: "
                    "give that time or a later one.",
                )


def _check_that_its_days_come(cron: Cron, start: datetime) -> None:
    run = cron.next_after(start)
    if run is None or run > start + FARTHEST_FIRST_RUN:
        raise InvalidSchedule(
            "expression",
            f"{quoted(cron.expression)} has no run in the next five years: check that its days exist in its months.",
        )
