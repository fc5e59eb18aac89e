"""When the jobs of a group start within a window: their due times, each late by its jitter.

Seconds are counted from the window's start. What should have started before it starts with it.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import islice

from scheduling.load.days import runs_between
from scheduling.load.groups import Group
from scheduling.load.window import MINUTE, SECOND, Window
from scheduling.recurrence import Cron
from scheduling.recurrence.jitter import start_within


@dataclass(frozen=True)
class Starts:
    group: Group
    window: Window

    @cached_property
    def dues(self) -> Sequence[int]:
        """The seconds at which each job of the group is due, the first of which may lie before the window."""
        first = self.window.second_of(self.group.due)
        later = self._later()
        if self.group.left is not None:
            later = later[: self.group.left - 1]
        if isinstance(later, range) and later and later.start == first + later.step:
            return range(first, later.stop, later.step)
        return [first, *later]

    def per_minute(self, only: Collection[int] | None = None) -> Iterator[tuple[int, int]]:
        """Minutes with how many start in them, in no order and perhaps in parts; of `only` these minutes, if given."""
        if self.group.jitter:
            return self._jittered(only)
        return self._on_time(only)

    def even(self) -> Iterator[tuple[int, int, int]]:
        """Stretches of seconds with how many starts they hold, spread about evenly: an estimate, at little cost."""
        jobs, dues = len(self.group.jobs), self.dues
        if self.group.jitter:
            for due, width in zip(dues, self._widths, strict=True):
                yield due, due + max(MINUTE, width // SECOND), jobs
        elif isinstance(self.group.beat, int):
            yield dues[0], dues[-1] + self.group.beat, jobs * len(dues)
        else:
            raise ValueError("Single runs and cron runs without jitter are not spread at all.")

    def _later(self) -> Sequence[int]:
        """The due times behind the first. One that is overdue is followed by what comes after now."""
        group, window = self.group, self.window
        after = max(group.due, window.now)
        last = window.end - timedelta.resolution
        if group.end is not None:
            last = min(last, group.end)
        match group.beat:
            case None:
                return []
            case int(seconds):
                step = timedelta(seconds=seconds)
                following = group.due + ((after - group.due) // step + 1) * step
                count = max(0, (last - following) // step + 1)
                first = window.second_of(following)
                return range(first, first + count * seconds, seconds)
            case cron:
                until = last + timedelta.resolution
                most = None if group.left is None else group.left - 1
                return [window.second_of(run) for run in islice(runs_between(cron, after, until), most)]

    def _on_time(self, only: Collection[int] | None) -> Iterator[tuple[int, int]]:
        jobs = len(self.group.jobs)
        for due in self.dues:
            minute = due // MINUTE if due > 0 else 0
            if only is None or minute in only:
                yield minute, jobs

    def _jittered(self, only: Collection[int] | None) -> Iterator[tuple[int, int]]:
        keys = [str(job) for job in self.group.jobs]
        first, end = self.dues[0], self.window.seconds
        for second, width in zip(self.dues, self._widths, strict=True):
            if only is not None and not self._touches(second, width, only):
                continue
            due = self.group.due + (second - first) * SECOND
            starts = (self.window.second_of(start_within(width, due, key=key)) for key in keys)
            for minute, jobs in Counter(max(0, start) // MINUTE for start in starts if start < end).items():
                if only is None or minute in only:
                    yield minute, jobs

    @cached_property
    def _widths(self) -> list[timedelta]:
        """How long after each due time a start may be: the jitter, or the time until the rule's next due time."""
        jitter = timedelta(seconds=self.group.jitter)
        if not isinstance(self.group.beat, Cron):
            return [jitter] * len(self.dues)  # no longer than the interval, or it would have been refused
        # The one behind the first is looked up: where the first is overdue, others are left out between them.
        nexts = [self._after(self.dues[0]), *self.dues[2:], self._after(self.dues[-1])][: len(self.dues)]
        return [min(jitter, (following - due) * SECOND) for due, following in zip(self.dues, nexts, strict=True)]

    def _after(self, second: int) -> int:
        assert isinstance(self.group.beat, Cron)
        following = self.group.beat.next_after(self.window.start + second * SECOND)
        return self.window.second_of(following or datetime.max.replace(tzinfo=self.window.start.tzinfo))

    def _touches(self, second: int, width: timedelta, minutes: Collection[int]) -> bool:
        reach = range(max(0, second) // MINUTE, max(0, second + width // SECOND) // MINUTE + 1)
        return any(minute in reach for minute in minutes)
