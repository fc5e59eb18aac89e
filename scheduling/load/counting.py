"""Counts starts, minute by minute, within a bound on the work that takes."""

from dataclasses import dataclass, field
from itertools import accumulate

from scheduling.load.groups import Group
from scheduling.load.starts import Starts
from scheduling.load.window import MINUTE, Window

MOST_STEPS = 20_000_000  # a few seconds
STEPS_OF_A_PICK = 40  # jitter is reckoned for each job and run; that takes so much longer than to count one


@dataclass
class Tally:
    """How many executions start in each minute.

    What would take too long is spread evenly where it is about even in truth (jitter, short intervals), and left out
    where it is not; both are told.
    """

    window: Window
    steps: int = MOST_STEPS
    estimated: list[Group] = field(default_factory=list)
    left_out: list[Group] = field(default_factory=list)
    _exact: list[int] = field(init=False)
    _changes: list[float] = field(init=False)  # of an evenly spread number, from each minute on

    def __post_init__(self) -> None:
        self._exact = [0] * self.window.minutes
        self._changes = [0.0] * (self.window.minutes + 1)

    def add(self, group: Group) -> None:
        if self.steps <= 0 and not group.jitter and not isinstance(group.beat, int):
            self.left_out.append(group)
            return
        starts = Starts(group, self.window)
        steps = len(starts.dues) * (STEPS_OF_A_PICK * len(group.jobs) if group.jitter else 1)
        if steps > self.steps and (group.jitter or isinstance(group.beat, int)):
            self.estimated.append(group)
            self._spread(starts)
            return
        self.steps -= steps
        counts = self._exact
        for minute, jobs in starts.per_minute():
            counts[minute] += jobs

    def per_minute(self) -> list[int]:
        even = accumulate(self._changes)
        return [exact + round(about) for exact, about in zip(self._exact, even, strict=False)]

    def _spread(self, starts: Starts) -> None:
        for first, end, jobs in starts.even():
            minutes = range(max(0, first) // MINUTE, max(max(0, first) + 1, end - 1) // MINUTE + 1)
            each = jobs / len(minutes)
            self._changes[minutes.start] += each
            self._changes[min(minutes.stop, self.window.minutes)] -= each
