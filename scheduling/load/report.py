"""Puts the report together: hours, the worst minutes with what makes them up, and advice."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from heapq import nlargest
from statistics import median_low

from scheduling.load.advice import Advice, advise
from scheduling.load.counting import MAX_STEPS, Budget, Tally
from scheduling.load.groups import Group, Groups, NamedJob, Written
from scheduling.load.starts import Starts

LOOKED_AT = 240  # of the busiest minutes: most come again each hour, and are told once
SHOWN = 10  # worst minutes
PARTS = 3  # schedules named for each
UNUSUAL = 1.5  # times what a schedule starts in a minute on average
MOST_ADVICE = 8

Progress = Callable[[str, int, int], None]  # what is being done, how far, of how much


@dataclass(frozen=True)
class Hour:
    at: datetime
    executions: int
    busiest: int  # executions in its worst minute


@dataclass(frozen=True)
class Part:
    """What one way to write a schedule adds to a minute."""

    written: Written
    executions: int
    examples: list[NamedJob]


@dataclass(frozen=True)
class WorstMinute:
    at: datetime
    executions: int
    parts: list[Part]
    others: int  # executions of schedules that are not named
    alike: list[datetime]  # later minutes, of the busiest, that are made up of the same


@dataclass(frozen=True)
class Report:
    start: datetime
    end: datetime
    jobs: int
    executions: int
    typical: int  # executions in the median minute
    busiest: int
    hours: list[Hour]
    worst: list[WorstMinute]
    advice: list[Advice]
    busiest_then: int  # if all advice were followed
    estimated: int  # jobs whose starts are spread evenly rather than counted one by one
    left_out: int  # jobs that are in none of these numbers
    minutes: list[int]  # executions that each minute starts


def report_on(
    groups: Groups, *, left_out: int = 0, steps: int = MAX_STEPS, progress: Progress = lambda *_: None
) -> Report:
    """Count all jobs' starts, as far as `steps` go. `left_out` is how many more jobs there are, that nobody read."""
    window = groups.window
    tally = Tally(window, Budget(steps))
    # Those that many jobs share first: what is left out then is little.
    for done, group in enumerate(sorted(groups, key=lambda group: -len(group.jobs))):
        tally.add(group)
        progress("counting", done, len(groups))
    per_minute = tally.per_minute()
    worst = _worst(per_minute, groups, tally.counted)
    advice, then = _advice(worst, per_minute, groups, tally.budget)
    return Report(
        window.start,
        window.end,
        groups.jobs,
        sum(per_minute),
        median_low(per_minute),
        max(per_minute),
        [_hour(groups, per_minute, number) for number in range(window.hours)],
        worst,
        advice,
        max(then),
        _jobs(tally.estimated),
        left_out + groups.left_out + _jobs(tally.left_out),
        per_minute,
    )


def _hour(groups: Groups, per_minute: list[int], number: int) -> Hour:
    minutes = per_minute[number * 60 : number * 60 + 60]
    return Hour(groups.window.at_minute(number * 60), sum(minutes), max(minutes))


def _jobs(groups: list[Group]) -> int:
    return sum(len(group.jobs) for group in groups)


def _worst(per_minute: list[int], groups: Groups, counted: list[Starts]) -> list[WorstMinute]:
    """The busiest minutes, the worst first and then by time; those made up of the same schedules are one."""
    minutes = len(per_minute)
    busiest = nlargest(LOOKED_AT, range(minutes), key=lambda minute: (per_minute[minute], -minute))
    wanted = {minute for minute in busiest if per_minute[minute]}
    shares: dict[int, Counter[Written]] = defaultdict(Counter)
    usual: Counter[Written] = Counter()
    for starts in counted:
        group = starts.group
        usual[group.written] += len(starts.dues) * len(group.jobs)
        for minute, jobs in starts.per_minute(wanted):
            shares[minute][group.written] += jobs
    alike: dict[tuple[Written, ...], list[int]] = defaultdict(list)
    for minute in busiest:
        if minute in wanted:
            alike[_named(shares[minute], usual, minutes)].append(minute)
    worst = []
    for named, (first, *later) in list(alike.items())[:SHOWN]:
        parts = [Part(written, shares[first][written], groups.examples[written]) for written in named]
        others = per_minute[first] - sum(part.executions for part in parts)
        at = groups.window.at_minute
        worst.append(WorstMinute(at(first), per_minute[first], parts, others, [at(one) for one in sorted(later)]))
    return worst


def _named(share: Counter[Written], usual: Counter[Written], minutes: int) -> tuple[Written, ...]:
    """The schedules that make a minute worse than others: what runs every minute is not why this one is busy."""
    above = {written: jobs - UNUSUAL * usual[written] / minutes for written, jobs in share.items()}
    unusual = Counter({written: more for written, more in above.items() if more > 0})
    return tuple(written for written, _ in (unusual or share).most_common(PARTS))


def _advice(
    worst: list[WorstMinute], per_minute: list[int], groups: Groups, budget: Budget
) -> tuple[list[Advice], list[int]]:
    """What would help with the worst minutes, and the minutes as they would be then: as far as the budget goes."""
    asked: dict[Written, None] = dict.fromkeys(part.written for minute in worst for part in minute.parts)
    given: list[Advice] = []
    for written in asked:
        if len(given) < MOST_ADVICE and (spread := advise(written, groups, per_minute, budget)) is not None:
            given.append(spread.advice)
            per_minute = spread.per_minute
    return given, per_minute
