"""Reads and writes the corpus: one schedule a line, with its next twenty runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby, pairwise
from pathlib import Path

from scheduling.recurrence import Cron, OnGap, OnRepeat

CORPUS = Path(__file__).parent / "schedules.txt"
RUNS = 20  # of each schedule
MINUTE = timedelta(minutes=1)
NONE = "-"


@dataclass(frozen=True)
class Entry:
    """A schedule, where it is asked from, and what it is to answer."""

    expression: str
    zone: str
    seed: str | None
    on_gap: str
    on_repeat: str
    start: datetime
    runs: tuple[datetime, ...]

    @classmethod
    def read(cls, line: str) -> Entry:
        expression, zone, seed, on_gap, on_repeat, start, steps = line.rstrip("\n").split("\t")
        instant = datetime.strptime(start, "%Y-%m-%dT%H:%MZ").replace(tzinfo=UTC)
        runs = tuple(_after_steps(instant, steps))
        return cls(expression, zone, None if seed == NONE else seed, on_gap, on_repeat, instant, runs)

    def write(self) -> str:
        # Minutes from one run to the next, equal ones in a row counted: 1440x19 is the same time for 19 more days.
        steps = [(later - earlier) // MINUTE for earlier, later in pairwise((self.start, *self.runs))]
        rows = [(step, len(list(row))) for step, row in groupby(steps)]
        return "\t".join(
            (
                self.expression,
                self.zone,
                self.seed or NONE,
                self.on_gap,
                self.on_repeat,
                f"{self.start:%Y-%m-%dT%H:%MZ}",
                " ".join(str(step) if count == 1 else f"{step}x{count}" for step, count in rows),
            )
        )

    def cron(self) -> Cron:
        return Cron(self.expression, self.zone, self.seed, OnGap(self.on_gap), OnRepeat(self.on_repeat))

    def moved(self, places: Iterable[int]) -> str | None:
        """Return what has moved among the runs at these places, each looked for from the one before it."""
        cron = self.cron()
        before = (self.start, *self.runs)
        for place in places:
            found = cron.next_after(before[place])
            if found != self.runs[place]:
                asked = f"{self.expression!r} in {self.zone}, asked from {before[place]:%Y-%m-%d %H:%M} UTC"
                return f"{asked}: was {self.runs[place]:%Y-%m-%d %H:%M}, is {found and f'{found:%Y-%m-%d %H:%M}'}"
        return None


def corpus() -> list[Entry]:
    """Return every entry there is."""
    with CORPUS.open(encoding="ascii") as lines:
        return [Entry.read(line) for line in lines]


def _after_steps(start: datetime, steps: str) -> Iterator[datetime]:
    run = start
    for step in steps.split():
        minutes, _, count = step.partition("x")
        for _ in range(int(count or 1)):
            run += int(minutes) * MINUTE
            yield run
