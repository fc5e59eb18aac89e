"""How many executions a second: `python -m benchmarks.throughput [JOBS] [EXECUTORS] [POLLERS]`.

A burst of jobs, in the mode that DATABASE_URL, REDIS_URL and AMQP_URL describe; one before it lets every process warm
up. In full mode the bare pipeline of `benchmarks.bare` takes turns with ours, so that what the machine does meanwhile
hits both. Either gets as many processes as do it good.
"""

from __future__ import annotations

import json
import os
import sys
from typing import NamedTuple

from benchmarks.burst import Burst, burst, rate, summary
from benchmarks.fleet import TASK, Fleet, fleet

HISTORY = 200_000  # executions stored before: a table nobody has used is no measure of one that is in use
WARM_UP = 3_000  # jobs
ROUNDS = 3
DEFAULTS = (20_000, 2, 2)  # jobs, executors, pollers


class Crew(NamedTuple):
    """How many processes there are of each kind. For us, each that executes has one for handlers beside it."""

    polling: int
    executing: int

    def __str__(self) -> str:
        return f"{self.polling} polling and {self.executing} executing"


# All are tried, as none is the fastest on every day.
OUR_CREWS: tuple[Crew, ...] = (Crew(2, 1), Crew(2, 2))
BARE_CREWS: tuple[Crew, ...] = (Crew(1, 1), Crew(1, 2), Crew(2, 2))


Tried = dict[Crew, list[Burst]]


def bare_possible() -> bool:
    return bool(os.environ.get("REDIS_URL") and os.environ.get("AMQP_URL"))


def prepare(on: Fleet, history: int = HISTORY) -> None:
    on.run("-m", "benchmarks.load", "history", str(history))


def start_warm(on: Fleet, *, executors: int, pollers: int = 1) -> None:
    on.start_executors(executors)
    on.start_pollers(pollers)
    on.start_recoverer()  # no installation is without: what it does for each execution counts
    _warm_up(on)


def ours(on: Fleet, *sizes: int, crew: Crew) -> list[Burst]:
    """A burst of each of these sizes, by freshly started processes that are warm."""
    start_warm(on, executors=crew.executing, pollers=crew.polling)
    measured = [burst(on, size) for size in sizes]
    on.stop()
    return measured


def bare(on: Fleet, *sizes: int, crew: Crew) -> list[Burst]:
    """The same by the bare pipeline, on the tables and queues that ours has made."""
    for _ in range(crew.polling):
        on.start("-m", "benchmarks.bare", "poll")
    for _ in range(crew.executing):
        on.start("-m", "benchmarks.bare", "execute", TASK)
    _warm_up(on)
    measured = [burst(on, size) for size in sizes]
    on.stop()
    return measured


def _warm_up(on: Fleet) -> None:
    burst(on, WARM_UP)
    on.tidy()


def fastest(tried: Tried) -> Crew:
    return max(tried, key=lambda crew: rate(tried[crew]))


def told(tried: Tried) -> dict[str, object]:
    """The rounds of the crew that it went on with, and what the others did in their one."""
    best = max(tried, key=lambda crew: len(tried[crew]))
    rounds = {str(crew): summary(measured)["rounds"] for crew, measured in tried.items()}
    return summary(tried[best]) | {"crew": str(best), "tried": rounds}


def main(jobs: int, executors: int, pollers: int) -> None:
    own: list[Burst] = []
    tried: Tried = {crew: [] for crew in BARE_CREWS} if bare_possible() else {}
    with fleet() as on:
        prepare(on)
        for _ in range(ROUNDS):
            own += ours(on, jobs, crew=Crew(pollers, executors))
            for crew in tried:
                tried[crew] += bare(on, jobs, crew=crew)
    print("ours", json.dumps(summary(own)))
    for crew in tried:
        print(f"bare pipeline, {crew}", json.dumps(summary(tried[crew])))
    if tried:
        print("vs_bare_pipeline", round(rate(own) / rate(tried[fastest(tried)]), 2))


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    main(*given, *DEFAULTS[len(given) :])
