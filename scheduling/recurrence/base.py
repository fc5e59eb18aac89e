"""What every kind of schedule promises."""

from abc import ABC, abstractmethod
from datetime import datetime


class Recurrence(ABC):
    """A rule for run times. Immutable, comparable, and always valid: a bad one cannot be built."""

    @abstractmethod
    def next_after(self, instant: datetime) -> datetime | None:
        """Return the first run strictly later than `instant`, or None when there is none.

        The answer depends on the rule and the instant alone: asking again, or from any other
        instant before the same run, gives the same run.
        """

    def first_run(self, now: datetime) -> datetime | None:
        """Return the run that a job accepted at `now` starts with."""
        return self.next_after(now)

    def next_due(self, after: datetime, *, runs_so_far: int) -> datetime | None:
        """Return the next due time of a job that has been given `runs_so_far` runs, or None when it has had its last.

        What the poller asks with: `runs_so_far` is the number of runs recorded for the job by its
        schedule, one recorded just now included. Due times that were skipped and runs that a person
        asked for besides do not count. The answer depends on nothing else.
        """
        return self.next_after(after)

    def not_before(self, due: datetime, *, key: str) -> datetime:
        """Return when the run that is due at `due` may start: then, or a little later if the schedule has jitter.

        `key` names the job. The answer depends on the rule, the key and the due time alone, and the
        starts of two due times are always in the order of the due times.
        """
        return due

    def bare(self) -> "Recurrence":
        """Return the rule that makes the run times, without what is put around it."""
        return self

    @abstractmethod
    def to_dict(self) -> dict[str, str | int]:
        """Return the JSON form that is stored; `parse_schedule` reads it back to an equal rule."""
