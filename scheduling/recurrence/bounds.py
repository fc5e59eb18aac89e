"""When a recurring schedule begins and ends: from a time, until a time, after so many runs.

Bounds are put around a rule and leave its run times as they are: a start does not shift them, it
only leaves out the earlier ones. Both ends belong to the schedule: a run at exactly `start_at` or
`end_at` takes place.

How many runs there have been is not worked out here. It depends on what happened (due times may
be skipped), and counting from the beginning would cost more with every run. Whoever
records the runs counts them, and says how many in `next_due`.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from scheduling.recurrence.base import Recurrence
from scheduling.recurrence.cron import Cron
from scheduling.recurrence.errors import InvalidSchedule, quoted
from scheduling.recurrence.every import Every
from scheduling.recurrence.instants import checked_instant, require_aware, write_instant

MOST_RUNS = 1_000_000_000  # every second for thirty years, and it fits a database's integer


@dataclass(frozen=True)
class Bounded(Recurrence):
    """The runs of `rule` from `start_at` to `end_at`, both included, and `max_runs` of them at most."""

    rule: Every | Cron
    start_at: datetime | None = None
    end_at: datetime | None = None
    max_runs: int | None = None

    def __post_init__(self) -> None:
        if self.start_at is None and self.end_at is None and self.max_runs is None:
            raise ValueError("Bounded needs a bound: without one, use the rule itself.")
        if self.start_at is not None:
            if isinstance(self.rule, Every):
                raise InvalidSchedule("start_at", "An interval starts with its anchor: give the start as that.")
            object.__setattr__(self, "start_at", checked_instant("start_at", self.start_at))
        if self.end_at is not None:
            object.__setattr__(self, "end_at", checked_instant("end_at", self.end_at))
        if self.max_runs is not None:
            _check_max_runs(self.max_runs)
        self._check_order()

    def next_after(self, instant: datetime) -> datetime | None:
        """Return the first run of the rule that is later than `instant` and within the two times.

        `max_runs` has no say in it: see `next_due`.
        """
        run = self.rule.next_after(self.earliest_start(instant))
        return None if run is None or (self.end_at is not None and run > self.end_at) else run

    def next_due(self, after: datetime, *, runs_so_far: int) -> datetime | None:
        if self.max_runs is not None and runs_so_far >= self.max_runs:
            return None
        return self.next_after(after)

    def bare(self) -> Every | Cron:
        return self.rule

    def to_dict(self) -> dict[str, str | int]:
        stored = self.rule.to_dict()
        if self.start_at is not None:
            stored["start_at"] = write_instant(self.start_at)
        if self.end_at is not None:
            stored["end_at"] = write_instant(self.end_at)
        if self.max_runs is not None:
            stored["max_runs"] = self.max_runs
        return stored

    def earliest_start(self, instant: datetime) -> datetime:
        """Return `instant`, or what is just before the start if that is later: runs are sought after it."""
        require_aware(instant)
        return instant if self.start_at is None else max(instant, self.start_at - timedelta.resolution)

    def _check_order(self) -> None:
        start = self.rule.anchor if isinstance(self.rule, Every) else self.start_at
        if start is not None and self.end_at is not None and self.end_at < start:
            raise InvalidSchedule(
                "end_at",
                f"{write_instant(self.end_at)} is before the start, {write_instant(start)}: "
                "give a time at or after the start.",
            )


def bounded(
    rule: Every | Cron, *, start_at: datetime | None, end_at: datetime | None, max_runs: int | None
) -> Every | Cron | Bounded:
    """Return `rule` within those bounds that are given: the rule itself if none is."""
    if start_at is None and end_at is None and max_runs is None:
        return rule
    return Bounded(rule, start_at, end_at, max_runs)


def _check_max_runs(runs: object) -> None:
    # bool is an int to Python, and `true` would read as a single run.
    if isinstance(runs, bool) or not isinstance(runs, int):
        raise InvalidSchedule("max_runs", f"{quoted(runs)} is not a whole number of runs: give 1 to {MOST_RUNS}.")
    if not 1 <= runs <= MOST_RUNS:
        raise InvalidSchedule("max_runs", f"{quoted(runs)} is out of range: allowed are 1 to {MOST_RUNS} runs.")
