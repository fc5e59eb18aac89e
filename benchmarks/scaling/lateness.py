"""How late executions start, by load: rounds that take all that has come due, one after the other. Pure.

A round has a price of its own and one for each execution, so under load rounds grow and carry more: lateness rises
slowly, and then all at once. What machines do besides is not in it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

BATCH = 1000  # executions a round, at most, and for each poller
POLLERS = 2


class Lateness(NamedTuple):
    p50_s: float
    p99_s: float
    max_s: float


def price_of_a_round(median_s: float, load: float) -> float:
    """In seconds, where half of all are later than `median_s` under some load, a part of what can be done.

    A round finds what came during the one before, so it takes price / (1 - load); who comes waits one and a half.
    """
    return median_s * (1 - load) / 1.5


def simulate(per_s: float, capacity: float, price: float, *, seconds: float = 20.0, seed: int = 1) -> Lateness:
    """With arrivals at random, `per_s` of them a second on average, where `capacity` a second can be done."""
    source = random.Random(seed)
    arrivals, now = [], 0.0
    while now < seconds:
        now += source.expovariate(per_s)
        arrivals.append(now)
    return of(arrivals, capacity, price)


def burst(count: int, capacity: float, price: float) -> Lateness:
    """With all of them due at one instant, as on the full hour."""
    return of([0.0] * count, capacity, price)


def of(arrivals: Sequence[float], capacity: float, price: float) -> Lateness:
    late: list[float] = []
    now, taken = 0.0, 0
    while taken < len(arrivals):
        now = max(now, arrivals[taken])
        due = taken
        while due < len(arrivals) and arrivals[due] <= now and due - taken < BATCH * POLLERS:
            due += 1
        now += price + (due - taken) / capacity
        late += [now - at for at in arrivals[taken:due]]
        taken = due
    late.sort()
    return Lateness(late[len(late) // 2], late[min(len(late) - 1, int(len(late) * 0.99))], late[-1])
