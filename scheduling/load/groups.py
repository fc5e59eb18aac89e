"""Puts jobs together that run alike, so that a thousand of them are counted as one.

Two jobs run alike when the same rule makes their runs from the same due time on. An `H` is picked first: ten
thousand jobs with `H * * * *` are sixty groups.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

from scheduling.load.window import SECOND, Window
from scheduling.recurrence import (
    Bounded,
    Cron,
    Every,
    InvalidSchedule,
    Jittered,
    OnGap,
    OnRepeat,
    Recurrence,
    parse_schedule,
)
from scheduling.recurrence.spreading import resolve

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)  # what is stored has its anchor written down
REMEMBERED = 10_000  # schedules: of most kinds a team has a few, each shared by many jobs
EXAMPLES = 3  # jobs named for each way to write a schedule
ONCE = "once"

Result = TypeVar("Result")

Beat = Cron | int | None  # a cron rule, the seconds of an interval, or a single run


class TooManyNew(Exception):
    """A report may not read any more schedules that are new to this process."""


@dataclass(frozen=True, slots=True)
class Written:
    """A schedule as people wrote it, as far as it says how often: jobs that share one are named together."""

    type: str
    text: str  # the expression, or the seconds
    timezone: str = ""
    jitter: int = 0

    def __str__(self) -> str:
        where = f" {self.timezone}" if self.timezone not in ("", "UTC") else ""
        late = f" with jitter {self.jitter}" if self.jitter else ""
        match self.type:
            case "cron":
                return f"{self.text}{where}{late}"
            case "interval":
                return f"every {self.text} s{late}"
        return self.type


@dataclass(frozen=True, slots=True)
class NamedJob:
    """One of the jobs of a schedule, for an example."""

    id: UUID
    name: str


@dataclass(frozen=True)
class Group:
    """Jobs whose runs come about in the same way."""

    written: Written
    beat: Beat
    due: datetime  # the next due time of each
    end: datetime | None  # of the schedule; the last run may be at it
    left: int | None  # runs, that one included
    jobs: list[UUID] = field(compare=False)

    @property
    def jitter(self) -> int:
        return self.written.jitter


@dataclass
class Groups:
    """All jobs of a report. `add` them one by one; what cannot be read is counted, and otherwise left out."""

    window: Window
    max_new: int | None = None  # rules to read that are new to this process: half a millisecond each, at most
    jobs: int = 0
    left_out: int = 0
    examples: dict[Written, list[NamedJob]] = field(default_factory=dict)
    _groups: dict[tuple[object, ...], Group] = field(default_factory=dict)
    _new: int = 0

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    def __len__(self) -> int:
        return len(self._groups)

    def of(self, written: Written) -> list[Group]:
        return [group for group in self if group.written == written]

    def add(self, job: UUID, name: str, schedule: str, *, due: datetime, runs: int) -> None:
        """Take on a job that is due next at `due` and has had so many runs. `schedule` is JSON, as stored."""
        try:
            rule, end, most, jitter = self._read(_taken_apart, schedule)
            beat = self._beat(rule, job)
        except (InvalidSchedule, ValueError, TooManyNew):
            self.left_out += 1
            return
        written = _written(rule, jitter)
        examples = self.examples.setdefault(written, [])
        if len(examples) < EXAMPLES:
            examples.append(NamedJob(job, name))
        self.jobs += 1
        if due < self.window.end:
            self.put(Group(written, beat, due, end, None if most is None else max(1, most - runs), [job]))

    def put(self, group: Group) -> None:
        """Add a group's jobs to those that run alike."""
        due = self._to_the_point(group)
        key = (group.written, group.beat, due, group.end, group.left)
        known = self._groups.get(key)
        if known is None:
            self._groups[key] = replace(group, due=due)
        else:
            known.jobs.extend(group.jobs)

    def _beat(self, rule: Recurrence, job: UUID) -> Beat:
        match rule:
            case Cron() if rule.plain != rule.expression:
                picked = resolve(rule.expression, str(job))
                return self._read(plain_cron, picked, rule.timezone, rule.on_gap, rule.on_repeat)
            case Cron():
                return rule
            case Every():
                return rule.seconds
        return None

    def _read(self, remembered: "Remembered[Result]", *arguments: Any) -> Result:
        if arguments not in remembered:
            if self.max_new is not None and self._new >= self.max_new:
                raise TooManyNew
            self._new += 1
        return remembered(*arguments)

    def _to_the_point(self, group: Group) -> datetime:
        """Return the due time without what makes no difference to any minute: every job has an anchor of its own."""
        if not isinstance(group.beat, int) or group.jitter or group.end or group.due < self.window.now:
            return group.due
        step = timedelta(minutes=1) if group.beat % 60 == 0 else SECOND
        return group.due - (group.due - self.window.start) % step


class Remembered(Generic[Result]):
    """A function whose results are kept, and which tells whether it has one. Safe to share between threads."""

    def __init__(self, function: Callable[..., Result]) -> None:
        self._function = function
        self._results: dict[tuple[Any, ...], Result] = {}

    def __contains__(self, arguments: tuple[Any, ...]) -> bool:
        return arguments in self._results

    def __call__(self, *arguments: Any) -> Result:
        known = self._results.get(arguments)
        if known is not None:
            return known
        result = self._function(*arguments)
        if len(self._results) >= REMEMBERED:
            self._results.clear()
        self._results[arguments] = result
        return result


@Remembered
def _taken_apart(schedule: str) -> tuple[Recurrence, datetime | None, int | None, int]:
    """Return the rule, its end, its maximum of runs and its jitter. The start is no matter: the due time is known."""
    stored = parse_schedule(json.loads(schedule), now=LONG_AGO, allow_past=True)
    jitter = stored.jitter if isinstance(stored, Jittered) else 0
    within = stored.rule if isinstance(stored, Jittered) else stored
    if isinstance(within, Bounded):
        return within.rule, within.end_at, within.max_runs, jitter
    return within, None, None, jitter


def _written(rule: Recurrence, jitter: int) -> Written:
    match rule:
        case Cron():
            return Written("cron", rule.expression, rule.timezone, jitter)
        case Every():
            return Written("interval", str(rule.seconds), jitter=jitter)
    return Written(ONCE, "")


@Remembered
def plain_cron(expression: str, timezone: str, on_gap: OnGap, on_repeat: OnRepeat) -> Cron:
    return Cron(expression, timezone, on_gap=on_gap, on_repeat=on_repeat)
