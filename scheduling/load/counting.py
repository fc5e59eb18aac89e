"""Counts starts, minute by minute, within a bound on the work that takes."""

from dataclasses import dataclass, field
from itertools import accumulate

from scheduling.load.groups import Group
from scheduling.load.starts import Starts
from scheduling.load.window import MINUTE, Window
from scheduling.recurrence import Cron

MAX_STEPS = 100_000_000  # half a minute
STEPS_OF_A_RULE = 500  # to begin with a cron rule takes as long as to count this number of its starts
STEPS_OF_A_GROUP = 40  # … and with another group of the same rule
STEPS_OF_A_PICK = 40  # jitter is reckoned for each job and run; that takes so much longer than to count one


@dataclass
class Budget:
    """What may still be spent on one report, in starts counted: by all of its parts together."""

    steps: int = MAX_STEPS

    @property
    def is_spent(self) -> bool:
        return self.steps <= 0

    def spend(self, steps: int) -> None:
        self.steps -= steps


@dataclass
class Tally:
    """How many executions start in each minute.

    Groups that would take too long are spread evenly where their starts are nearly even (jitter, short intervals), and
    left out elsewhere. The report names both. Once the budget is spent, only groups that can be spread without listing
    their starts are counted.
    """

    window: Window
    budget: Budget = field(default_factory=Budget)
    counted: list[Starts] = field(default_factory=list)  # walked through once, and kept for who looks closer
    estimated: list[Group] = field(default_factory=list)
    left_out: list[Group] = field(default_factory=list)
    _begun: set[Cron] = field(default_factory=set)
    _exact: list[int] = field(init=False)
    _changes: list[float] = field(init=False)  # of an evenly spread number, from each minute on

    def __post_init__(self) -> None:
        self._exact = [0] * self.window.minutes
        self._changes = [0.0] * (self.window.minutes + 1)

    def add(self, group: Group) -> None:
        budget, is_interval = self.budget, isinstance(group.beat, int)
        if budget.is_spent and (group.jitter or not is_interval):
            self.left_out.append(group)
            return
        if isinstance(group.beat, Cron):
            budget.spend(STEPS_OF_A_GROUP if group.beat in self._begun else STEPS_OF_A_RULE)
            self._begun.add(group.beat)
        starts = Starts(group, self.window)
        steps = len(starts.dues) * (STEPS_OF_A_PICK * len(group.jobs) if group.jitter else 1)
        if steps > budget.steps and (group.jitter or is_interval):
            budget.spend(0 if is_interval and not group.jitter else len(starts.dues))
            self.estimated.append(group)
            self._spread(starts)
            return
        budget.spend(steps)
        self.counted.append(starts)
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
