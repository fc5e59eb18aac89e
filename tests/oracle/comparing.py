"""Holds what `next_after` finds against what the daemon did."""

import random
from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim

from scheduling.recurrence import Cron, OnGap, OnRepeat
from tests.oracle.daemon import Window, runs
from tests.oracle.questions import Question

# cronsim has two known faults. It takes every change for one from a full hour to a full hour: at Lord Howe,
# whose clocks change by half an hour, it misses runs, and in St. John's, where they changed at one minute
# past midnight, it searches for ever. And started inside a repeated hour it misses runs; every window here
# starts hours before one.


def cronsim_can_tell(zone: ZoneInfo, change: datetime) -> bool:
    """Tell whether a change is one that cronsim understands: from a full hour to a full hour."""
    after = change.astimezone(zone)
    before = (change - timedelta(minutes=1)).astimezone(zone)
    return after.minute == 0 and before.minute == 59


def mismatches(question: Question, window: Window, *, starts: int, seed: int) -> tuple[int, list[str]]:
    """Return how many due times were compared, and what was found to differ.

    Compared is every run in the window, and what is found from `starts` odd moments within it.
    """
    cron = Cron(question.expression, question.zone, None, OnGap(question.on_gap), OnRepeat(question.on_repeat))
    expected = runs(question.expression, window, on_gap=question.on_gap, on_repeat=question.on_repeat)
    found = _walk(cron, window)
    wrong = [f"{question} from {window.start}: {_first_difference(found, expected)}"] if found != expected else []
    picker = random.Random(seed)
    for _ in range(starts):
        instant = window.start + picker.random() * (window.end - window.start)
        place = bisect_right(expected, instant)
        answer = cron.next_after(instant)
        if place < len(expected):
            if answer != expected[place]:
                wrong.append(f"{question} from {instant}: found {answer}, expected {expected[place]}")
        elif answer is not None and answer <= window.end:
            wrong.append(f"{question} from {instant}: found {answer}, expected none before {window.end}")
    return len(expected) + starts, wrong


def cronsim_mismatches(question: Question, window: Window) -> tuple[int, list[str]]:
    """The same with cronsim in the daemon's place, which knows the default choices only."""
    ask = CronSim(question.expression, window.start.astimezone(ZoneInfo(question.zone)))
    expected = []
    while (run := next(ask).astimezone(UTC)) <= window.end:
        expected.append(run)
    found = _walk(Cron(question.expression, question.zone), window)
    if found == expected:
        return len(expected), []
    return len(expected), [f"{question} from {window.start}, cronsim: {_first_difference(found, expected)}"]


def _walk(cron: Cron, window: Window) -> list[datetime]:
    found = []
    run = cron.next_after(window.start)
    while run is not None and run <= window.end:
        found.append(run)
        run = cron.next_after(run)
    return found


def _first_difference(found: list[datetime], expected: list[datetime]) -> str:
    first = min(set(found) ^ set(expected))
    return f"{first} was {'found' if first in found else 'not found'}"
