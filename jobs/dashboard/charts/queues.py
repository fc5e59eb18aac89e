"""How many executions of each task wait, and how many run: numbers for bars that lie on their side. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jobs.dashboard.charts.scale import round_up
from jobs.stats.unfinished import Line

SHOWN = 8


class Queue(NamedTuple):
    line: Line
    running: float  # hundredths of the longest bar, and where each part begins
    retrying: float
    waiting: float
    after_running: float
    after_retrying: float


def chart(lines: Sequence[Line]) -> list[Queue]:
    most = round_up(max((line.waiting + line.retrying + line.running for line in lines), default=0))
    queues = []
    for line in lines[:SHOWN]:
        running, retrying, waiting = (round(100 * n / most, 2) for n in (line.running, line.retrying, line.waiting))
        queues.append(Queue(line, running, retrying, waiting, running, running + retrying))
    return queues
