"""Spreads jobs that are due at the same moment over the seconds after it.

Jitter does not move a due time. The due time stays what the rule says and is what a run is known by;
jitter only says how long after it the run may start. The delay is picked from the job and the due
time, so every poller that asks gets the same one.

Runs stay in order: where the next due time is closer than the jitter, the delay is spread over the
time until that one instead. It never reaches it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from scheduling.recurrence.base import Recurrence
from scheduling.recurrence.bounds import Bounded
from scheduling.recurrence.cron import Cron
from scheduling.recurrence.errors import InvalidSchedule, quoted
from scheduling.recurrence.every import Every
from scheduling.recurrence.instants import write_instant
from scheduling.recurrence.picks import pick

LONGEST_JITTER = 86_400  # seconds, a day: whoever wants to spread further wants an `H`


@dataclass(frozen=True)
class Jittered(Recurrence):
    """The due times of `rule`, each of which may start up to, but not including, `jitter` seconds late."""

    rule: Every | Cron | Bounded
    jitter: int

    def __post_init__(self) -> None:
        # bool is an int to Python, and `true` would read as one second.
        if isinstance(self.jitter, bool) or not isinstance(self.jitter, int):
            raise InvalidSchedule(
                "jitter",
                f"{quoted(self.jitter)} is not a whole number of seconds: give 1 to {LONGEST_JITTER}, "
                "or leave it out for none.",
            )
        bare = self.rule.bare()
        # A cron expression has no one distance between its runs; there the delay is shortened, run by run.
        longest = min(bare.seconds, LONGEST_JITTER) if isinstance(bare, Every) else LONGEST_JITTER
        if not 1 <= self.jitter <= longest:
            raise InvalidSchedule(
                "jitter",
                f"{quoted(self.jitter)} is out of range: allowed are 1 to {longest} seconds, and no more than "
                "the seconds of an interval.",
            )

    def next_after(self, instant: datetime) -> datetime | None:
        return self.rule.next_after(instant)

    def next_due(self, after: datetime, *, runs_so_far: int) -> datetime | None:
        return self.rule.next_due(after, runs_so_far=runs_so_far)

    def not_before(self, due: datetime, *, key: str) -> datetime:
        window = timedelta(seconds=self.jitter)
        # Asked of the bare rule, so that moving a schedule's end does not move the runs before it.
        following = self.rule.bare().next_after(due)
        if following is not None:
            window = min(window, following - due)
        return start_within(window, due, key=key)

    def bare(self) -> Every | Cron:
        return self.rule.bare()

    def to_dict(self) -> dict[str, str | int]:
        return {**self.rule.to_dict(), "jitter": self.jitter}


def start_within(window: timedelta, due: datetime, *, key: str) -> datetime:
    """Return when the run of the job `key` starts that is due at `due`: within so long after it."""
    return due + pick(window // timedelta.resolution, "jitter", key, write_instant(due)) * timedelta.resolution
