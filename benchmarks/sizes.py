"""How much of everything a run measures: all of it, or just enough to see that it works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sizes:
    """The full run, which takes some ten minutes."""

    quick: bool = False
    rounds: int = 3
    jobs: int = 40_000  # a round of ours and of the bare pipeline: some seconds
    history: int = 200_000  # executions stored before
    burst: int = 10_000  # jobs due at one instant, of which the last start is looked at
    executors: int = 2
    pollers: int = 2
    curve: tuple[int, ...] = (1, 2, 4)  # executors
    # A round of each peer: some seconds, whatever its speed.
    peer_jobs: Mapping[str, int] = field(
        default_factory=lambda: {
            "celery_plain": 5_000,
            "celery_history": 1_000,
            "dramatiq": 12_000,
            "huey": 12_000,
            "procrastinate": 800,
        }
    )
    lone: int = 40  # jobs
    repeating: int = 1_000  # jobs that are due every second
    steady: int = 20  # seconds of them
    schedules: int = 10_000  # recurring ones, due at one instant, for us and for beat
    beat_patience: int = 25  # seconds after which the rate that beat has reached has to do
    few_stored: int = 1_000  # jobs that are not due while the poller's rounds are timed
    many_stored: int = 1_000_000
    polls: int = 15  # rounds of the poller
    posting: int = 8  # seconds
    bulk_calls: int = 10  # of a thousand jobs each
    # Further ones, which are no part of the ten minutes.
    short_history: int = 100_000  # executions
    long_history: int = 10_000_000
    looks: int = 7  # rounds of everything that is timed on either
    explained: int = 500_000  # executions stored while statements are explained
    indexed: int = 200_000  # jobs in the due index while its slots are compared
    partitioned: int = 400_000  # executions, a second apart: over the last days
    settling_in: int = 90  # seconds of the load before memory is looked at
    memory_every: int = 60  # seconds from look to look
    memory_looks: int = 10  # besides the first
    soak_rate: int = 500  # executions a second
    soak_every: int = 60  # seconds from look to look
    soak_looks: int = 30
    soak_kept: int = 300  # seconds that history is kept


def quick(rounds: int) -> Sizes:
    return Sizes(
        quick=True,
        rounds=rounds,
        jobs=3_000,
        history=5_000,
        burst=2_000,
        curve=(1, 2),
        peer_jobs={"celery_plain": 500, "celery_history": 200, "dramatiq": 500, "huey": 500, "procrastinate": 200},
        lone=10,
        steady=3,
        schedules=1_000,
        beat_patience=10,
        many_stored=50_000,
        polls=5,
        posting=2,
        bulk_calls=2,
        short_history=5_000,
        long_history=50_000,
        looks=2,
        explained=100_000,
        indexed=5_000,
        partitioned=200_000,
        settling_in=5,
        memory_every=3,
        memory_looks=3,
        soak_rate=50,
        soak_every=10,
        soak_looks=4,
        soak_kept=40,
    )


def full(rounds: int) -> Sizes:
    return Sizes(rounds=rounds)
