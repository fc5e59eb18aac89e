"""What is asked at a clock change: expressions that have something to lose there."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import product
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)

# Every choice a fixed time has, the default first.
CHOICES = list(product(("run_once", "skip"), ("run_once", "skip", "run_twice")))


@dataclass(frozen=True)
class Question:
    """A schedule to ask for its runs around a change."""

    expression: str
    zone: str
    on_gap: str = "run_once"
    on_repeat: str = "run_once"


def expressions_around(change: datetime, zone: ZoneInfo) -> list[str]:
    """Return expressions of every kind, some made for this change."""
    before = (change - MINUTE).astimezone(zone).replace(tzinfo=None)
    after = change.astimezone(zone).replace(tzinfo=None)
    middle = before + (after - before) / 2  # skipped, or shown twice
    return [
        f"{middle.minute} {middle.hour} * * *",
        "*/20 * * * *",
        f"{before.minute} {before.hour} * * *",
        f"*/10 {middle.hour} * * *",
        f"1,31,59 {before.hour},{middle.hour},{after.hour} {before.day} * *",
        "17 * * * *",
        f"{after.minute} {after.hour} * * *",
        f"0,30 0-23 {after.day} * 1#1",
        f"15 {middle.hour} {middle.day} {middle.month} *",
        "0-59/15 0-23 * * *",
        "*/7 0-4,22,23 * * *",
        f"*/15 * {middle.day} {middle.month} *",
        "0 0 * * *",
        "5 */2 * * *",
        f"0-59/25 {min(before.hour, after.hour)}-{max(before.hour, after.hour)} L,{middle.day} * 0L,3",
    ]


def questions(name: str, change: datetime, *, seed: int, count: int) -> Iterator[Question]:
    """Return `count` of the questions there are at this change, others for each `seed`."""
    # By chance and not in turn: clocks go forward and back in turn as well, and the two would keep step.
    picker = random.Random(seed)
    for expression in picker.sample(expressions_around(change, ZoneInfo(name)), count):
        minute, hour, *_ = expression.split()
        if "*" in (minute[0], hour[0]):
            yield Question(expression, name)  # follows real time, and has nothing to choose
        else:
            # Half of them with the default, which is what nearly every job has.
            yield Question(expression, name, *picker.choice([CHOICES[0]] * len(CHOICES) + CHOICES))
